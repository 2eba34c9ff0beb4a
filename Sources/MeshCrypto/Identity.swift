package import MeshWire

/// An identity: an Ed25519 key pair; its public key is the `NodeID`.
///
/// A reference to one piece of memory, so that engine and endpoint can both sign with it and no copy
/// of the key ever exists. The public key is always computed from the seed, never read.
package final class Identity: Sendable {
    /// The public key.
    package let nodeID: NodeID
    private let key: SecretBytes

    /// The identity of a seed of 32 bytes.
    package init(seed: RawSpan) {
        let pair = Sodium.signingKey(seed: seed)
        nodeID = NodeID(pair.publicKey) ?? .zero
        key = pair.secret.duplicate()
    }

    /// A new identity.
    package convenience init(from source: inout some SecretSource) {
        let seed = source.secretBytes(32)
        self.init(seed: seed.bytes)
    }

    /// Signs `label ‖ 00 ‖ RoomID ‖ fields` (`10-security.md` §9).
    package func sign(_ label: SignatureLabel, room: RoomID, _ fields: [UInt8]) -> Signature {
        sign(Signature.message(label, room: room, fields).raw)
    }

    func sign(_ message: RawSpan) -> Signature {
        Signature(Sodium.sign(message, with: key)) ?? .zero
    }

    /// The seed, for the key file: the first half of what libsodium signs with.
    var seed: SecretBytes { key.part(0..<32) }
}

extension Identity: CustomReflectable {
    /// Shows nothing of the key.
    package var customMirror: Mirror { Mirror(self, children: ["nodeID": nodeID]) }
}

/// What a signature is about; a signature of one kind never verifies as another.
package enum SignatureLabel: String, CaseIterable, Sendable {
    /// A handshake's AUTH; the one kind without a room.
    case authentication = "huddle/1 auth"
    case operation = "huddle/1 op"
    case roster = "huddle/1 roster"
    case promise = "huddle/1 promise"
    case head = "huddle/1 head"
    case relay = "huddle/1 relay"
    case invite = "huddle/1 invite"
    case profile = "huddle/1 profile"
    /// A person's word for a node.
    case person = "huddle/1 person"
}

/// An Ed25519 signature, 64 bytes.
package struct Signature: Hashable, Sendable {
    /// Bytes of every signature.
    package static let byteCount = 64
    /// The 64 bytes.
    package let bytes: [UInt8]

    /// The signature with these bytes, or nil unless there are exactly 64.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = Array(bytes)
    }

    private init(zeros: Void) {
        bytes = Array(repeating: 0, count: Self.byteCount)
    }

    /// 64 zero bytes, which verify for nobody.
    package static let zero = Signature(zeros: ())

    /// Whether `nodeID` signed `label ‖ 00 ‖ RoomID ‖ fields`; about 40 µs.
    package func isValid(
        _ label: SignatureLabel,
        room: RoomID,
        _ fields: [UInt8],
        by nodeID: NodeID
    ) -> Bool {
        isValid(Self.message(label, room: room, fields).raw, by: nodeID)
    }

    func isValid(_ message: RawSpan, by nodeID: NodeID) -> Bool {
        Sodium.verify(bytes.raw, of: message, by: nodeID.bytes.raw)
    }

    static func message(
        _ label: SignatureLabel,
        room: RoomID,
        _ fields: [UInt8]
    ) -> [UInt8] {
        precondition(label != .authentication, "an AUTH has its own form")
        return Array(label.rawValue.utf8) + [0] + room.bytes + fields
    }
}
