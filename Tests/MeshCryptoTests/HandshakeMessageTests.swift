import MeshWire
import Testing

@testable import MeshCrypto

@Suite("Handshake messages and cookies — 10-security §4")
struct HandshakeMessageTests {
    static let hello = HelloMessage(
        senderIndex: 9,
        clientNonce: KnownRun.clientNonce,
        invite: KnownRun.invite,
        slot: 99
    )

    @Test("HELLO reads back, and every reserved byte, slot, mode or version else is refused")
    func helloMessage() throws {
        let bytes = Self.hello.encode()
        #expect(bytes.count == 192)
        #expect(try HelloMessage(bytes: bytes) == Self.hello)
        let key = ModeKeys.mac1Key(invite: KnownRun.invite)
        let hasMac = Mac1.isValid(bytes.raw, key: key)
        #expect(hasMac)
        for offset in [0, 1, 2, 3, 8, 11, 12, 15] + Array(49..<176) {
            var damaged = bytes
            damaged[offset] ^= 0x40
            #expect(throws: WireError.self, "byte \(offset)") {
                _ = try HelloMessage(damaged.raw)
            }
        }
        var slot = bytes
        slot[48] = 100
        #expect(throws: WireError.overLimit(100, at: 48)) { _ = try HelloMessage(slot.raw) }
    }

    @Test("RETRY answers the request it answers, and no other — S18")
    func retry() throws {
        let hello = Self.hello.encode()
        let request = Mac1.of(hello.raw)
        let message = RetryMessage(
            mode: .code,
            receiverIndex: 9,
            cookie: KnownRun.cookie,
            invite: KnownRun.invite
        )
        let bytes = message.encode(requestMac1: request)
        #expect(bytes.count == 64)
        #expect(try RetryMessage(bytes: bytes, requestMac1: request) == message)
        #expect(throws: WireError.invalid(at: 48)) {
            _ = try RetryMessage(bytes.raw, requestMac1: fill(1, 16))
        }
        for bit in 0..<bytes.count * 8 {
            var damaged = bytes
            damaged[bit / 8] ^= 1 << (bit % 8)
            #expect(throws: WireError.self, "bit \(bit)") {
                _ = try RetryMessage(damaged.raw, requestMac1: request)
            }
        }
    }

    struct IndexRow: Sendable, CustomTestStringConvertible {
        var type: MessageType
        var sender: UInt32
        var receiver: UInt32
        var isGood: Bool
        var testDescription: String { "\(type) \(sender) \(receiver)" }
    }

    @Test(
        "indexes are zero where the chapter says, and nowhere else",
        arguments: [
            IndexRow(type: .hello, sender: 1, receiver: 0, isGood: true),
            IndexRow(type: .hello, sender: 0, receiver: 0, isGood: false),
            IndexRow(type: .hello, sender: 1, receiver: 1, isGood: false),
            IndexRow(type: .retry, sender: 0, receiver: 1, isGood: true),
            IndexRow(type: .retry, sender: 1, receiver: 1, isGood: false),
            IndexRow(type: .retry, sender: 0, receiver: 0, isGood: false),
            IndexRow(type: .first, sender: 1, receiver: 0, isGood: true),
            IndexRow(type: .first, sender: 1, receiver: 1, isGood: false),
            IndexRow(type: .second, sender: 1, receiver: 1, isGood: true),
            IndexRow(type: .second, sender: 1, receiver: 0, isGood: false),
            IndexRow(type: .third, sender: 1, receiver: 1, isGood: true),
            IndexRow(type: .third, sender: 0, receiver: 1, isGood: false),
        ]
    )
    func indexes(row: IndexRow) throws {
        var writer = ByteWriter()
        HandshakeHeader(
            type: row.type,
            mode: .code,
            senderIndex: row.sender,
            receiverIndex: row.receiver
        ).write(to: &writer)
        let count = try #require(row.type.byteCount)
        let bytes = writer.bytes + fill(0, count - 16)
        let header = try? HandshakeHeader(bytes.raw)
        #expect((header != nil) == row.isGood)
    }

    @Test("a reply is never larger than its request — S16")
    func amplification() throws {
        let sizes = try [MessageType.hello, .retry, .first, .second].map {
            try #require($0.byteCount)
        }
        #expect(sizes[1] <= sizes[0])
        #expect(sizes[1] <= sizes[2])
        #expect(sizes[3] <= sizes[2])
    }

    @Test("a cookie is good for its request, this and the next secret, no longer")
    func cookies() {
        var source = SeededSecrets(seed: 3)
        var now = Instant.zero
        var jar = CookieJar(now: now, from: &source)
        let address = SocketAddress(10, 0, 0, 1, port: 5)
        let nonce = KnownRun.clientNonce
        let cookie = jar.cookie(for: address, clientNonce: nonce, mode: .code, invite: .zero)
        func isValid(
            _ other: SocketAddress? = nil,
            _ clientNonce: ClientNonce = nonce,
            _ mode: HandshakeMode = .code,
            _ invite: InviteID = .zero
        ) -> Bool {
            jar.isValid(
                cookie,
                for: other ?? address,
                clientNonce: clientNonce,
                mode: mode,
                invite: invite
            )
        }
        #expect(isValid())
        #expect(!isValid(address.with(port: 6)))
        #expect(!isValid(SocketAddress(10, 0, 0, 2, port: 5)))
        #expect(!isValid(nil, .zero))
        #expect(!isValid(nil, nonce, .member))
        #expect(!isValid(nil, nonce, .code, KnownRun.invite))
        now += .seconds(119)
        jar.rotate(now: now, from: &source)
        #expect(isValid())
        now += .seconds(1)
        jar.rotate(now: now, from: &source)
        #expect(isValid(), "of the last secret")
        now += .seconds(120)
        jar.rotate(now: now, from: &source)
        #expect(!isValid())
    }

    @Test("after a long silence no old secret is left")
    func cookieAfterSilence() {
        var source = SeededSecrets(seed: 4)
        var jar = CookieJar(now: .zero, from: &source)
        let address = SocketAddress(10, 0, 0, 1, port: 5)
        let cookie = jar.cookie(
            for: address,
            clientNonce: .zero,
            mode: .member,
            invite: .zero
        )
        jar.rotate(now: .zero + .seconds(240), from: &source)
        #expect(
            !jar.isValid(cookie, for: address, clientNonce: .zero, mode: .member, invite: .zero)
        )
    }

    @Test("GRANT carries room, counter and secret, 68 bytes")
    func grant() throws {
        let bytes = Grant.encode(knownRoom)
        #expect(bytes == fill(0x22) + [1, 0, 0, 0] + fill(0x11))
        let decoded = try Grant.decode(bytes.raw)
        #expect(decoded.isEqual(to: knownRoom))
        #expect(decoded.generation == knownRoom.generation)
        for count in 0..<68 {
            let cut = Array(bytes[..<count])
            #expect(throws: WireError.self) { _ = try Grant.decode(cut.raw) }
        }
    }
}
