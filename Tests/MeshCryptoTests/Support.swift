import Foundation
import MeshCrypto
import MeshWire
import Testing

/// The published vectors, read from where they lie; never copied into the package.
enum Vectors {
    /// `$HUDDLE_VECTORS`, or `../shared/vectors` beside the package.
    static let folder: URL = {
        if let path = ProcessInfo.processInfo.environment["HUDDLE_VECTORS"], !path.isEmpty {
            return URL(fileURLWithPath: path, isDirectory: true)
        }
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { root.deleteLastPathComponent() }
        // A work tree may lie one folder deeper than the package itself.
        let places = ["../shared/vectors", "../../shared/vectors"].map {
            root.appendingPathComponent($0, isDirectory: true).standardizedFileURL
        }
        return places.first { FileManager.default.fileExists(atPath: $0.path) } ?? places[0]
    }()

    /// Whether the file is there; says so loudly if not.
    static func exist(_ name: String) -> Bool {
        let path = folder.appendingPathComponent(name).path
        guard !FileManager.default.fileExists(atPath: path) else { return true }
        print("SKIPPED: no test vectors at \(path); set HUDDLE_VECTORS to their folder")
        return false
    }

    static func load<Value: Decodable>(
        _ name: String,
        as _: Value.Type = Value.self
    ) throws -> Value {
        let data = try Data(contentsOf: folder.appendingPathComponent(name))
        return try JSONDecoder().decode(Value.self, from: data)
    }
}

/// The bytes of a hex literal in a test.
func hex(_ text: String, _ location: SourceLocation = #_sourceLocation) throws -> [UInt8] {
    try #require(bytes(hexadecimal: text), sourceLocation: location)
}

/// `count` times the same byte.
func fill(_ byte: UInt8, _ count: Int = 32) -> [UInt8] { [UInt8](repeating: byte, count: count) }

/// BLAKE2b-128 in hex, as the known answers of the design give datagrams.
func fingerprint(_ bytes: [UInt8]) -> String {
    hexadecimal(Hash.plain(bytes.raw, outputBytes: 16))
}

extension SecretBytes {
    init(_ bytes: [UInt8]) { self.init(bytes.raw) }
}

extension Secret {
    convenience init(_ bytes: [UInt8]) { self.init(bytes.raw) }
}

// Messages from arrays: a borrowed span of a temporary inside one expression is more than the
// compiler of 6.3.1 takes in places.
extension FirstMessage {
    init(bytes: [UInt8]) throws(WireError) { self = try FirstMessage(bytes.raw) }
}

extension LaterMessage {
    init(bytes: [UInt8]) throws(WireError) { self = try LaterMessage(bytes.raw) }
}

extension HelloMessage {
    init(bytes: [UInt8]) throws(WireError) { self = try HelloMessage(bytes.raw) }
}

extension RetryMessage {
    init(bytes: [UInt8], requestMac1: [UInt8]) throws(WireError) {
        self = try RetryMessage(bytes.raw, requestMac1: requestMac1)
    }
}

extension InviteBeacon {
    init(bytes: [UInt8]) throws(WireError) { self = try InviteBeacon(bytes.raw) }

    static func version(bytes: [UInt8]) -> UInt8? { version(of: bytes.raw) }
}

extension InviteProbe {
    init(bytes: [UInt8]) throws(WireError) { self = try InviteProbe(bytes.raw) }
}

extension DataHeader {
    init?(bytes: [UInt8]) { self.init(bytes.raw) }
}

extension Sodium {
    static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        isEqual(left.raw, right.raw)
    }
}

extension Handshake {
    mutating func read(bytes: [UInt8]) throws(HandshakeError) -> [UInt8] { try read(bytes.raw) }
}

/// A room whose secret and id are those of the known answers.
let knownRoom = RoomSecret(
    room: RoomID(fill(0x22)) ?? .zero,
    counter: 1,
    secret: Secret(fill(0x11))
)

/// The two nodes of the known runs.
enum KnownRun {
    static let initiator = LocalNode(
        identity: Identity(seed: fill(0x40).raw),
        capabilities: Capabilities(rawValue: 1),
        incarnation: 5
    )
    static let responder = LocalNode(
        identity: Identity(seed: fill(0x50).raw),
        capabilities: Capabilities(rawValue: 3),
        incarnation: 6
    )
    static let clientNonce = ClientNonce(fill(0x44, 16)) ?? .zero
    static let invite = InviteID(fill(0x33, 16)) ?? .zero
    static let cookie = Cookie(fill(0x55, 16)) ?? .zero
    static let initiatorIndex: UInt32 = 0x0102_0304
    static let responderIndex: UInt32 = 0x0506_0708

    static func initiatorSeeds(_ mode: HandshakeMode) -> HandshakeSeeds {
        HandshakeSeeds(
            staticKey: fill(0x41),
            ephemeralKey: fill(0x42),
            share: mode == .code ? [0x44] + fill(0, 31) : fill(0x43)
        )
    }

    static func responderSeeds(_ mode: HandshakeMode) -> HandshakeSeeds {
        HandshakeSeeds(
            staticKey: fill(0x51),
            ephemeralKey: fill(0x52),
            share: mode == .code ? [0x54] + fill(0, 31) : fill(0x53)
        )
    }
}

/// A whole handshake between two sides in memory, and what each ended with.
struct Run: ~Copyable {
    var first: [UInt8]
    var second: [UInt8]
    var third: [UInt8]
    var initiator: TrafficKeys
    var responder: TrafficKeys
    let proof: Authentication.Proof
    let peer: Authentication
    let authentication: Authentication

    init(
        keys: ModeKeys,
        responderKeys: ModeKeys? = nil,
        code: InviteCode? = nil,
        responderCode: InviteCode? = nil,
        initiator: LocalNode = KnownRun.initiator,
        responder: LocalNode = KnownRun.responder,
        cookie: Cookie = .zero,
        limits: KeyLimits? = nil
    ) throws {
        let dial = try InitiatorHandshake(
            keys: keys,
            code: code,
            index: KnownRun.initiatorIndex,
            clientNonce: KnownRun.clientNonce,
            cookie: cookie,
            seeds: KnownRun.initiatorSeeds(keys.mode)
        )
        let hello = dial.first
        let answer = try ResponderHandshake(
            OpenedFirst(
                FirstMessage(bytes: hello),
                keys: responderKeys ?? keys,
                seeds: KnownRun.responderSeeds(keys.mode)
            ),
            code: responderCode ?? code,
            index: KnownRun.responderIndex,
            node: responder
        )
        let reply = answer.second
        let answered = try dial.answer(
            LaterMessage(bytes: reply),
            node: initiator,
            now: .zero,
            limits: limits
        )
        let last = answered.third
        let accepted = try answer.accept(
            LaterMessage(bytes: last),
            node: responder,
            now: .zero,
            limits: limits
        )
        first = hello
        second = reply
        third = last
        proof = answered.proof
        peer = accepted.peer
        authentication = accepted.authentication
        self.initiator = answered.takeKeys()
        self.responder = accepted.takeKeys()
    }

    /// The responder's DATA 0: AUTH, padded.
    mutating func dataZero() throws -> [UInt8] {
        var packet: [UInt8] = []
        DataHeader.append(receiverIndex: responder.remoteIndex, to: &packet)
        packet.append(Authentication.frameType)
        packet += authentication.encode()
        while packet.count % 16 != 0 { packet.append(0) }
        _ = try responder.sealing.seal(from: 0, in: &packet, now: .zero)
        return packet
    }
}
