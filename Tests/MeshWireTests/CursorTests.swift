import MeshWire
import Testing

@Suite("Byte cursors")
struct CursorTests {
    @Test("every field comes back as it was written")
    func roundTrip() throws {
        var writer = ByteWriter()
        writer.write(UInt8(1))
        writer.write(UInt16(0x0302))
        writer.write(UInt32(0x0706_0504))
        writer.write(UInt64.max - 1)
        writer.writeVariable(1 << 40)
        writer.writeString("größer")
        writer.writeBlob([9, 8, 7])
        writer.write(Position(epoch: Epoch(counter: 5, proposer: 6), index: 7))
        let bytes = writer.bytes
        #expect(Array(bytes.prefix(7)) == [1, 2, 3, 4, 5, 6, 7])
        var reader = ByteReader(bytes.raw)
        let first: UInt8 = try reader.read()
        let second: UInt16 = try reader.read()
        let third: UInt32 = try reader.read()
        let fourth: UInt64 = try reader.read()
        let variable = try reader.readVariable()
        let text = try reader.readString(limit: 100)
        let blob = try reader.readBlob(limit: 3)
        let position = try reader.readPosition()
        try reader.finish()
        #expect(first == 1)
        #expect(second == 0x0302)
        #expect(third == 0x0706_0504)
        #expect(fourth == UInt64.max - 1)
        #expect(variable == 1 << 40)
        #expect(text == "größer")
        #expect(blob == [9, 8, 7])
        #expect(position == Position(epoch: Epoch(counter: 5, proposer: 6), index: 7))
    }

    @Test("an integer is read where all of its bytes lie, and nowhere else")
    func integers() {
        let bytes: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8, 9]
        #expect(bytes.raw.integer(at: 1, UInt64.self) == 0x0908_0706_0504_0302)
        #expect(bytes.raw.integer(at: 7, UInt16.self) == 0x0908)
        #expect(bytes.raw.integer(at: 8, UInt8.self) == 9)
        for offset in [-1, 2, 9, Int.max, Int.min] {
            #expect(bytes.raw.integer(at: offset, UInt64.self) == nil)
        }
        #expect(bytes.raw.integer(at: 9, UInt8.self) == nil)
    }

    @Test("a cut at every byte throws `truncated`, never traps")
    func cuts() throws {
        var writer = ByteWriter()
        writer.write(UInt64(1))
        writer.writeBlob([1, 2, 3, 4])
        writer.writeVariable(1 << 20)
        let bytes = writer.bytes
        for count in 0..<bytes.count {
            let cut = Array(bytes.prefix(count))
            var reader = ByteReader(cut.raw)
            var error: WireError?
            do throws(WireError) {
                let _: UInt64 = try reader.read()
                _ = try reader.readBlob(limit: 10)
                _ = try reader.readVariable()
            } catch let thrown {
                error = thrown
            }
            guard case .truncated = error else {
                Issue.record("cut at \(count): \(String(describing: error))")
                continue
            }
        }
    }

    @Test("bytes left over throw `trailing` with their offset")
    func trailing() {
        let bytes: [UInt8] = [1, 2]
        var reader = ByteReader(bytes.raw)
        var error: WireError?
        do throws(WireError) {
            let _: UInt8 = try reader.read()
            try reader.finish()
        } catch let thrown {
            error = thrown
        }
        #expect(error == .trailing(at: 1))
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var bytes: [UInt8], value: UInt64?, because: String
        var testDescription: String { "\(bytes): \(because)" }
    }
    static let rows = [
        Row(bytes: [0], value: 0, because: "the least"),
        Row(bytes: [0x3f], value: 63, because: "the most of one byte"),
        Row(bytes: [0x40, 0x40], value: 64, because: "the least of two"),
        Row(bytes: [0x7b, 0xbd], value: 15_293, because: "RFC 9000 §A.1"),
        Row(bytes: [0x9d, 0x7f, 0x3e, 0x7d], value: 494_878_333, because: "RFC 9000 §A.1"),
        Row(
            bytes: [0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c],
            value: 151_288_809_941_952_652,
            because: "RFC 9000 §A.1"
        ),
        Row(bytes: [0x40, 0x25], value: nil, because: "37 in two bytes is too long"),
        Row(bytes: [0x80, 0, 0x3f, 0xff], value: nil, because: "16,383 in four bytes"),
        Row(bytes: [0xc0, 0, 0, 0, 0x3f, 0xff, 0xff, 0xff], value: nil, because: "in eight"),
        Row(bytes: [0x80, 1, 2], value: nil, because: "cut short"),
        Row(bytes: [], value: nil, because: "nothing"),
    ]

    @Test("varints have one form each", arguments: rows)
    func variable(_ row: Row) {
        var reader = ByteReader(row.bytes.raw)
        let value = try? reader.readVariable()  // the row tells that it fails, not how
        #expect(value == row.value)
        guard let value else { return }
        var writer = ByteWriter()
        writer.writeVariable(value)
        #expect(writer.bytes == row.bytes)
        #expect(VariableInteger.byteCount(value) == row.bytes.count)
    }

    @Test("a count above its limit is refused with its value")
    func limit() {
        let bytes: [UInt8] = [0x40, 0x64]
        var reader = ByteReader(bytes.raw)
        var error: WireError?
        do throws(WireError) { _ = try reader.readBlob(limit: 99) } catch let thrown {
            error = thrown
        }
        #expect(error == .overLimit(100, at: 0))
    }

    @Test("text that is not UTF-8 is refused")
    func text() {
        let bytes: [UInt8] = [2, 0xff, 0xfe]
        var reader = ByteReader(bytes.raw)
        var error: WireError?
        do throws(WireError) { _ = try reader.readString(limit: 9) } catch let thrown {
            error = thrown
        }
        #expect(error == .invalid(at: 0))
    }
}

@Suite("Values of the wire")
struct ValueTests {
    @Test("identifiers compare byte by byte and keep their bytes")
    func identifiers() throws {
        var generator = SeededGenerator(seed: 1)
        var all: [[UInt8]] = (0..<64).map { _ in
            (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
        }
        all.append([UInt8](repeating: 0, count: 32))
        let sorted = all.sorted { $0.lexicographicallyPrecedes($1) }
        let identifiers = try all.map { try #require(NodeID($0)) }.sorted()
        #expect(identifiers.map(\.bytes) == sorted)
        #expect(NodeID([UInt8](repeating: 0, count: 31)) == nil)
        #expect(SessionID([UInt8](repeating: 0, count: 17)) == nil)
        #expect(NodeID.zero.bytes == [UInt8](repeating: 0, count: 32))
    }

    @Test("an identifier shows eight digits at most")
    func description() throws {
        let identifier = try #require(NodeID((0..<32).map { UInt8($0 * 8) }))
        #expect(identifier.description == "00081018")
    }

    @Test("hex text and bytes come back as they were, and odd text is none")
    func hexadecimalText() {
        #expect(bytes(hexadecimal: hexadecimal([0, 0xab, 0xff])) == [0, 0xab, 0xff])
        #expect(bytes(hexadecimal: "AbFf") == [0xab, 0xff])
        #expect(bytes(hexadecimal: "abc") == nil)
        #expect(bytes(hexadecimal: "zz") == nil)
    }

    struct Address: CustomTestStringConvertible, Sendable {
        var text: String, shown: String?
        var testDescription: String { text }
    }
    static let addresses = [
        Address(text: "127.0.0.1:80", shown: "127.0.0.1:80"),
        Address(text: "255.255.255.255:65535", shown: "255.255.255.255:65535"),
        Address(text: "[::1]:18517", shown: "[::1]:18517"),
        Address(text: "[::]:1", shown: "[::]:1"),
        Address(text: "[fe80::1%2]:5", shown: "[fe80::1%2]:5"),
        Address(text: "[2001:db8:0:0:1:0:0:1]:9", shown: "[2001:db8::1:0:0:1]:9"),
        Address(text: "[1:2:3:4:5:6:7:8]:9", shown: "[1:2:3:4:5:6:7:8]:9"),
        Address(text: "[::ffff:0:0]:9", shown: "0.0.0.0:9"),
        Address(text: "127.0.0.1", shown: nil),
        Address(text: "127.0.0.256:1", shown: nil),
        Address(text: "127.0.0.1:65536", shown: nil),
        Address(text: "1.2.3:1", shown: nil),
        Address(text: "localhost:1", shown: nil),
        Address(text: "[::1]", shown: nil),
        Address(text: "[1:2]:1", shown: nil),
        Address(text: "[1::2::3]:1", shown: nil),
        Address(text: "[12345::]:1", shown: nil),
        Address(text: "[::1%x]:1", shown: nil),
        Address(text: "", shown: nil),
    ]

    @Test("addresses read and show one form", arguments: addresses)
    func address(_ row: Address) throws {
        let address = SocketAddress(row.text)
        #expect(address?.description == row.shown)
        guard let address else { return }
        #expect(SocketAddress(address.description) == address)
        #expect(address.addressBytes.count == 16)
    }

    @Test("an instant moved beyond the clock's end stays at the end")
    func saturation() {
        #expect(Instant.distantFuture + .seconds(1) == .distantFuture)
        #expect(Instant(nanoseconds: .max - 5) + .seconds(1) == .distantFuture)
        #expect(Instant(nanoseconds: .min) - .seconds(1) == Instant(nanoseconds: .min))
        #expect(Instant.zero + .seconds(Int64.max) == .distantFuture)
        #expect(Instant.distantFuture - Instant(nanoseconds: .min) == .nanoseconds(Int64.max))
        #expect(Instant(nanoseconds: .min) - .distantFuture == .nanoseconds(Int64.min))
        #expect(Instant.zero + .milliseconds(3) - Instant.zero == .milliseconds(3))
        #expect(Duration.seconds(Int64.max).wholeNanoseconds == .max)
        #expect(Duration.seconds(Int64.min).wholeNanoseconds == .min)
    }

    @Test("a seed gives the same numbers, and its streams differ")
    func generator() {
        var first = SeededGenerator(seed: 7)
        var second = SeededGenerator(seed: 7)
        #expect((0..<100).map { _ in first.next() } == (0..<100).map { _ in second.next() })
        var left = first.stream("left")
        var right = first.stream("right")
        #expect(left.next() != right.next())
        #expect((0..<1000).allSatisfy { _ in (0..<1).contains(first.unit()) })
    }
}
