import MeshWire
import Testing

@testable import MeshCrypto

/// Both suites where this machine has AES, else the one; a skipped suite says so.
let suites: [Suite] =
    Sodium.hasHardwareAES
    ? [.chacha20Poly1305, .aes256GCM]
    : {
        print("SKIPPED: AES-256-GCM, no hardware for it here")
        return [.chacha20Poly1305]
    }()

/// A pair of keys that fit each other.
private struct Pair: ~Copyable {
    var near: TrafficKeys
    var far: TrafficKeys
    var scratch: [UInt8] = []

    init(_ suite: Suite, limits: KeyLimits? = nil, slab: SecretSlab? = nil) {
        let word = Capabilities(rawValue: suite == .aes256GCM ? 1 : 0)
        func keys(_ role: HandshakeRole) -> TrafficKeys {
            TrafficKeys(
                NoiseKeys(
                    initiatorToResponder: SecretBytes(fill(1)),
                    responderToInitiator: SecretBytes(fill(2)),
                    hash: fill(3, 64)
                ),
                TrafficKeys.Parameters(
                    role: role,
                    localIndex: role == .initiator ? 10 : 20,
                    remoteIndex: role == .initiator ? 20 : 10,
                    initiator: word,
                    responder: word,
                    now: .zero,
                    jitter: .seconds(4),
                    limits: limits
                ),
                slab: slab
            )
        }
        near = keys(.initiator)
        far = keys(.responder)
    }

    mutating func seal(_ plaintext: [UInt8], now: Instant = .zero) throws(KeyError) -> [UInt8] {
        var packet: [UInt8] = [9, 9, 9]
        DataHeader.append(receiverIndex: near.remoteIndex, to: &packet)
        packet += plaintext
        _ = try near.sealing.seal(from: 3, in: &packet, now: now)
        return Array(packet.dropFirst(3))
    }

    mutating func open(_ datagram: [UInt8], now: Instant = .zero) -> Opened {
        far.opening.open(datagram.raw, into: &scratch, now: now)
    }
}

@Suite("Sealing and opening — 10-security §6")
struct PacketKeyTests {
    @Test("what was sealed opens to the same bytes, once, at every size", arguments: suites)
    func roundTrip(suite: Suite) throws {
        var pair = Pair(suite)
        #expect(pair.near.suite == suite)
        for (number, size) in [0, 1, 15, 16, 17, 1_168, 8_968, 65_475].enumerated() {
            let plaintext = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            let datagram = try pair.seal(plaintext)
            #expect(datagram.count == size + Limits.sealOverheadBytes)
            let header = try #require(DataHeader(bytes: datagram))
            #expect(header == DataHeader(receiverIndex: 20, counter: UInt64(number)))
            let opened = pair.open(datagram)
            #expect(opened == .packet(byteCount: size))
            let text = Array(pair.scratch[..<size])
            #expect(text == plaintext)
            let again = pair.open(datagram)
            #expect(again == .replay)
        }
        #expect(pair.near.sealing.counter == 8)
        #expect(pair.far.opening.replays == 8)
        #expect(pair.far.opening.highest == 7)
    }

    @Test("no flipped bit is accepted, and the untouched original still is", arguments: suites)
    func flips(suite: Suite) throws {
        var pair = Pair(suite)
        let datagram = try pair.seal(Array("twelve bytes".utf8))
        for bit in 0..<datagram.count * 8 {
            var damaged = datagram
            damaged[bit / 8] ^= 1 << (bit % 8)
            let opened = pair.open(damaged)
            #expect(opened == .forged || opened == .exhausted, "bit \(bit)")
        }
        let original = pair.open(datagram)
        #expect(original == .packet(byteCount: 12))
    }

    @Test("no shortened or extended datagram is accepted", arguments: suites)
    func lengths(suite: Suite) throws {
        var pair = Pair(suite)
        let datagram = try pair.seal(fill(1, 40))
        for count in 0..<datagram.count {
            let opened = pair.open(Array(datagram[..<count]))
            #expect(opened == .forged, "\(count) bytes")
        }
        for extra in 1...64 {
            let opened = pair.open(datagram + fill(0, extra))
            #expect(opened == .forged, "\(extra) bytes more")
        }
        let original = pair.open(datagram)
        #expect(original == .packet(byteCount: 40))
    }

    @Test("a packet reflected to its sender is forged there", arguments: suites)
    func reflection(suite: Suite) throws {
        var pair = Pair(suite)
        let datagram = try pair.seal([1, 2, 3])
        let opened = pair.near.opening.open(datagram.raw, into: &pair.scratch, now: .zero)
        #expect(opened == .forged)
    }

    @Test("a forgery never moves the window: check, open, update", arguments: suites)
    func order(suite: Suite) throws {
        var pair = Pair(suite)
        var ahead = try pair.seal([1])
        ahead[10] = 0x10  // counter 2^20
        let forged = pair.open(ahead)
        #expect(forged == .forged)
        let next = try pair.seal([2])
        let opened = pair.open(next)
        #expect(opened == .packet(byteCount: 1))
        #expect(pair.far.opening.highest == 1)
    }

    struct LimitRow: Sendable, CustomTestStringConvertible {
        var suite: Suite
        var counter: UInt64
        var wants: Bool
        var seals: Bool
        var testDescription: String { "\(suite) at \(counter)" }
    }

    static let limitRows = [
        LimitRow(suite: .chacha20Poly1305, counter: 1 << 32 - 1, wants: false, seals: true),
        LimitRow(suite: .chacha20Poly1305, counter: 1 << 32, wants: true, seals: true),
        LimitRow(suite: .chacha20Poly1305, counter: 1 << 40 - 1, wants: true, seals: true),
        LimitRow(suite: .chacha20Poly1305, counter: 1 << 40, wants: true, seals: false),
        LimitRow(suite: .chacha20Poly1305, counter: .max - 1, wants: true, seals: false),
        LimitRow(suite: .aes256GCM, counter: 1 << 22 - 1, wants: false, seals: true),
        LimitRow(suite: .aes256GCM, counter: 1 << 22, wants: true, seals: true),
        LimitRow(suite: .aes256GCM, counter: 1 << 23 - 1, wants: true, seals: true),
        LimitRow(suite: .aes256GCM, counter: 1 << 23, wants: true, seals: false),
    ]

    @Test(
        "a key asks for its successor at the soft limit and stops at the hard one",
        arguments: limitRows
    )
    func limits(row: LimitRow) throws {
        guard suites.contains(row.suite) else { return }
        var pair = Pair(row.suite)
        pair.near.sealing.skip(to: row.counter)
        let wants = pair.near.wantsRekey(now: .zero)
        #expect(wants == row.wants)
        let isSpent = pair.near.sealing.isSpent(now: .zero)
        #expect(isSpent == !row.seals)
        guard row.seals else {
            #expect(throws: KeyError.exhausted) { _ = try pair.seal([1]) }
            return
        }
        let opened = pair.open(try pair.seal([1]))
        #expect(opened == .packet(byteCount: 1))
        // The other end sees the soft limit by the highest counter opened.
        let isDue1 = pair.far.wantsRekey(now: .zero)
        #expect(isDue1 == row.wants)
        let after = row.counter + 1
        #expect(pair.near.sealing.counter == after)
    }

    @Test("a counter at or above the hard stop is not opened", arguments: suites)
    func refusesCounters(suite: Suite) throws {
        var generous = KeyLimits(suite)
        generous.hardPackets = .max
        var sender = Pair(suite, limits: generous)
        var receiver = Pair(suite)
        sender.near.sealing.skip(to: KeyLimits(suite).hardPackets)
        let opened = receiver.open(try sender.seal([1]))
        #expect(opened == .exhausted)
        #expect(receiver.far.opening.refusals == 1)
    }

    @Test(
        "age asks for a rekey at 120 s less the jitter, and stops the key at 180 s",
        arguments: suites
    )
    func age(suite: Suite) throws {
        var pair = Pair(suite)
        let before = Instant.zero + .milliseconds(115_999)
        let due = Instant.zero + .seconds(116)
        let last = Instant.zero + .milliseconds(179_999)
        let stop = Instant.zero + .seconds(180)
        let isDue2 = pair.near.wantsRekey(now: before)
        #expect(!isDue2)
        let isDue3 = pair.near.wantsRekey(now: due)
        #expect(isDue3)
        let rekeyInstant = pair.near.rekeyInstant
        #expect(rekeyInstant == due)
        let stopInstant = pair.near.stopInstant
        #expect(stopInstant == stop)
        let first = try pair.seal([1], now: last)
        let second = try pair.seal([2], now: last)
        let opened = pair.open(first, now: last)
        #expect(opened == .packet(byteCount: 1))
        #expect(throws: KeyError.expired) { _ = try pair.seal([3], now: stop) }
        let late = pair.open(second, now: stop)
        #expect(late == .exhausted)
    }

    @Test("a closed key seals and opens nothing more", arguments: suites)
    func closing(suite: Suite) throws {
        var pair = Pair(suite)
        let datagram = try pair.seal([1])
        pair.near.sealing.close()
        pair.far.opening.close()
        #expect(throws: KeyError.expired) { _ = try pair.seal([1]) }
        let opened = pair.open(datagram)
        #expect(opened == .exhausted)
    }

    @Test("a key closes at the limit of failures, not one sooner", arguments: suites)
    func failures(suite: Suite) throws {
        var limits = KeyLimits(suite)
        limits.failures = 1 << 10
        var pair = Pair(suite, limits: limits)
        let good = try pair.seal([1])
        let better = try pair.seal([2])
        var bad = try pair.seal([3])
        bad[20] ^= 1
        for _ in 1..<limits.failures { _ = pair.open(bad) }
        let opened = pair.open(good)
        #expect(opened == .packet(byteCount: 1))
        let isDue4 = pair.far.wantsRekey(now: .zero)
        #expect(!isDue4)
        _ = pair.open(bad)
        let closed = pair.open(better)
        #expect(closed == .exhausted)
        let isDue5 = pair.far.wantsRekey(now: .zero)
        #expect(isDue5)
    }

    @Test("sealing without a header in the buffer is refused and changes nothing")
    func tooShort() {
        var pair = Pair(.chacha20Poly1305)
        for offset in [-1, 5, 20, 21, Int.max] {
            var buffer = fill(0, 20)
            #expect(throws: KeyError.tooShort) {
                _ = try pair.near.sealing.seal(from: offset, in: &buffer, now: .zero)
            }
            #expect(buffer == fill(0, 20))
        }
        #expect(pair.near.sealing.counter == 0)
    }

    @Test("DATA with reserved bytes set is no DATA")
    func reserved() throws {
        var pair = Pair(.chacha20Poly1305)
        let datagram = try pair.seal([])
        #expect(datagram.count == 32)
        for offset in 0..<4 {
            var damaged = datagram
            damaged[offset] ^= 0x80
            let header = DataHeader(damaged.raw)
            #expect(header == nil)
        }
    }

    @Test(
        "keys live in the slab, give their slots back, and overflow to the heap",
        arguments: suites
    )
    func slab(suite: Suite) throws {
        let slab = SecretSlab(slots: 3)
        #expect(slab.freeCount == 6)
        do {
            var pair = Pair(suite, slab: slab)
            // Four keys: three find a slot of their size, ChaCha keys then one of the larger.
            #expect(slab.freeCount == (suite == .aes256GCM ? 3 : 2))
            let opened = pair.open(try pair.seal([1, 2]))
            #expect(opened == .packet(byteCount: 2))
            #expect(!slab.isWiped)
        }
        #expect(slab.freeCount == 6)
        #expect(slab.isWiped, "no key outlives its owner — S59")
    }
}
