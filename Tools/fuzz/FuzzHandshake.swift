// modules: MeshWire MeshCrypto
//
// Every parser of MeshCrypto, behind and before its checks; the first byte chooses. What parses must
// encode to the same bytes again; nothing may trap or hang.
import MeshCrypto
import MeshWire

private let secret = RoomSecret(
    room: .zero,
    counter: 1,
    secret: Secret([UInt8](repeating: 7, count: 32).raw)
)
private let keys = ModeKeys.member(secret)
private let beacons = BeaconKey(secret)
private let node = LocalNode(
    identity: Identity(seed: [UInt8](repeating: 9, count: 32).raw),
    capabilities: [],
    incarnation: 1
)

private func require(_ condition: Bool, _ what: StaticString) {
    guard !condition else { return }
    preconditionFailure("\(what)")
}

private func seeds() -> HandshakeSeeds {
    HandshakeSeeds(
        staticKey: [UInt8](repeating: 1, count: 32),
        ephemeralKey: [UInt8](repeating: 2, count: 32),
        share: [UInt8](repeating: 3, count: 32)
    )
}

/// The bytes as a datagram of a type the first of them chooses: length and header are right, the rest
/// is as it came.
private func fitted(_ bytes: [UInt8]) -> [UInt8] {
    let types: [MessageType] = [.hello, .first, .second, .third, .inviteBeacon, .probe]
    guard let first = bytes.first else { return [] }
    let type = types[Int(first) % types.count]
    let count = type.byteCount ?? 0
    var datagram = Array(bytes.dropFirst().prefix(count))
    while datagram.count < count { datagram.append(0) }
    datagram[0] = type.rawValue
    datagram[1] = MessageType.version
    switch type {
    case .hello, .first:
        datagram.replaceSubrange(2..<16, with: [type == .hello ? 3 : 1, 0, 1] + zeros(11))
    case .second, .third:
        datagram.replaceSubrange(2..<16, with: [1, 0, 1, 0, 0, 0, 1] + zeros(7))
    case .inviteBeacon, .probe, .retry, .data, .beacon:
        break
    }
    return datagram
}

private func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

private func messages(_ bytes: [UInt8]) {
    if let message = try? HelloMessage(bytes.raw) {
        require(message.encode().prefix(176) == bytes.prefix(176), "HELLO reads back")
    }
    if let message = try? RetryMessage(bytes.raw, requestMac1: zeros(16)) {
        require(message.encode(requestMac1: zeros(16)) == bytes, "RETRY reads back")
    }
    if let message = try? FirstMessage(bytes.raw) {
        require(
            message.encode(mac1Key: keys.mac1Key).prefix(176) == bytes.prefix(176),
            "HS1 reads back"
        )
        if let opened = try? OpenedFirst(message, keys: keys, seeds: seeds()) {
            _ = try? ResponderHandshake(opened, index: 1, node: node)
        }
    }
    if let message = try? LaterMessage(bytes.raw) {
        let count = bytes.count - 16
        require(
            message.encode(mac1Key: keys.mac1Key).prefix(count) == bytes.prefix(count),
            "HS2 and HS3 read back"
        )
        if let dial = try? InitiatorHandshake(
            keys: keys,
            index: 1,
            clientNonce: .zero,
            cookie: .zero,
            seeds: seeds()
        ) {
            _ = try? dial.answer(message, node: node, now: .zero)
        }
    }
}

private func discovery(_ bytes: [UInt8]) {
    _ = beacons.open(bytes.raw)
    if let message = try? InviteBeacon(bytes.raw) {
        require(message.encode() == bytes, "an invite beacon reads back")
    }
    if let message = try? InviteProbe(bytes.raw) {
        require(message.encode() == bytes, "a probe reads back")
    }
    _ = DataHeader(bytes.raw)
    _ = Mac1.isValid(bytes.raw, key: keys.mac1Key)
}

private func frames(_ bytes: [UInt8]) {
    if let read = try? Authentication(bytes.raw) {
        require(read.encode() == bytes, "AUTH reads back")
    }
    if let read = try? Grant.decode(bytes.raw) {
        require(Grant.encode(read) == bytes, "GRANT reads back")
    }
    _ = KeyFileFormat.decode(bytes.raw)
}

private func texts(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    if let code = InviteCode(text) {
        require(InviteCode(code.text)?.text == code.text, "a code reads back")
    }
    if let link = InviteLink(text) {
        require(InviteLink(link.text)?.text == link.text, "a link reads back")
    }
    if let nodeID = NodeID(fingerprint: text) {
        require(NodeID(fingerprint: nodeID.fingerprint) == nodeID, "a fingerprint reads back")
    }
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHandshake(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    guard let choice = input.first else { return 0 }
    let bytes = Array(input.dropFirst())
    switch choice % 6 {
    case 0: messages(bytes)
    case 1: messages(fitted(bytes))
    case 2: discovery(bytes)
    case 3: discovery(fitted(bytes))
    case 4: frames(bytes)
    default: texts(bytes)
    }
    return 0
}
