import MeshWire

/// What stands before a message's payload inside a session's message: how it is to be read.
///
/// ```
/// 0        version and kind: high nibble 1, low nibble one of Kind
/// 1        flags: 4 part of a catch-up, 8 a receipt is wanted; no other bit
/// 2        type u64: the hash of its name; absent for raw bytes
/// …        payload
/// ```
///
/// The rest of the table in `40-groupactivities.md` §6 is carried below and not again: the session by the
/// channel's name, source and target by `MeshEngine.Envelope`, sequence, key and deadline by the lanes
/// of `20-transport.md`.
package struct MessageEnvelope: Hashable, Sendable {
    /// What the payload is.
    package enum Kind: UInt8, CaseIterable, Sendable {
        /// Bytes of the app's own, without a type.
        case raw = 0
        /// A value in the codec of ``MessageEncoder``.
        case value = 1
        /// The full name of the type, once for each link and type, before its first use.
        case bindName = 2
        /// As `value`, and the last one of a `latest`.
        case latestFinal = 3
    }

    /// What else is to be known of the message.
    package struct Flags: OptionSet, Hashable, Sendable {
        package var rawValue: UInt8

        package init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// Part of what brings a newcomer up to date.
        package static let catchUp = Flags(rawValue: 4)
        /// The sender wants to hear when the app has processed the message.
        package static let wantsReceipt = Flags(rawValue: 8)

        static let known: Flags = [.catchUp, .wantsReceipt]
    }

    /// Why bytes are no envelope; each case has its own counter at the receiver.
    package enum Refusal: Error, Hashable, Sendable {
        case truncated
        case unknownVersion(UInt8)
        case unknownKind(UInt8)
        case unknownFlags(UInt8)
        case tooLarge(size: Int, limit: Int)
        /// A name that is empty, too long or not UTF-8.
        case badName
    }

    /// What the payload is.
    package let kind: Kind
    /// What else is to be known.
    package let flags: Flags
    /// The hash of the type's name; 0 for raw bytes.
    package let type: UInt64

    private init(_ kind: Kind, _ flags: Flags, type: UInt64) {
        self.kind = kind
        self.flags = flags
        self.type = type
    }

    /// The envelope of raw bytes.
    package static func raw(flags: Flags = []) -> MessageEnvelope {
        MessageEnvelope(.raw, flags, type: 0)
    }

    /// The envelope of a value of the type whose name has this hash.
    package static func value(
        type: UInt64,
        flags: Flags = [],
        isFinal: Bool = false
    ) -> MessageEnvelope {
        MessageEnvelope(isFinal ? .latestFinal : .value, flags, type: type)
    }

    /// The bytes that bind a hash to the full name of its type.
    package static func binding(_ name: TypeName, type: UInt64) -> [UInt8] {
        MessageEnvelope(.bindName, [], type: type).encode(Array(name.text.utf8))
    }

    /// The most bytes of an envelope.
    package static let maximumBytes = 2 + 8

    private static let version: UInt8 = 1

    /// The envelope followed by `payload`.
    package func encode(_ payload: [UInt8]) -> [UInt8] {
        var writer = ByteWriter(capacity: payload.count + Self.maximumBytes)
        writer.write(Self.version << 4 | kind.rawValue)
        writer.write(flags.rawValue)
        if kind != .raw { writer.write(type) }
        writer.write(payload)
        return writer.bytes
    }

    /// Reads an envelope and the payload behind it, of at most `limit` bytes.
    package static func decode(
        _ bytes: [UInt8],
        limit: Int = MessageLimits.payloadBytes
    ) throws(Refusal) -> (envelope: MessageEnvelope, payload: [UInt8]) {
        guard bytes.count >= 2 else { throw .truncated }
        guard bytes[0] >> 4 == version else { throw .unknownVersion(bytes[0] >> 4) }
        guard let kind = Kind(rawValue: bytes[0] & 0xf) else { throw .unknownKind(bytes[0] & 0xf) }
        let flags = Flags(rawValue: bytes[1])
        guard flags.isSubset(of: .known) else { throw .unknownFlags(bytes[1]) }
        var type: UInt64 = 0
        var start = 2
        if kind != .raw {
            guard let hash: UInt64 = bytes.raw.integer(at: start) else { throw .truncated }
            (type, start) = (hash, start + 8)
        }
        let payload = Array(bytes[start...])
        guard payload.count <= limit else { throw .tooLarge(size: payload.count, limit: limit) }
        guard kind != .bindName || TypeName(received: payload) != nil else { throw .badName }
        return (MessageEnvelope(kind, flags, type: type), payload)
    }
}
