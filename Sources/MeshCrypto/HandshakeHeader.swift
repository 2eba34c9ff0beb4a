package import MeshWire

/// The first byte of every datagram.
package enum MessageType: UInt8, CaseIterable, Sendable {
    case hello = 0x01
    case retry = 0x02
    case first = 0x03
    case second = 0x04
    case third = 0x05
    case data = 0x10
    case beacon = 0x20
    case inviteBeacon = 0x21
    case probe = 0x22

    /// The version this code speaks.
    package static let version: UInt8 = 1

    /// The exact length, nil for DATA.
    package var byteCount: Int? {
        switch self {
        case .hello, .first: 192
        case .retry, .inviteBeacon, .probe: 64
        case .second: 168
        case .third: 208
        case .beacon: 96
        case .data: nil
        }
    }
}

/// What a handshake rests on.
package enum HandshakeMode: UInt8, CaseIterable, Sendable {
    /// Both hold the room secret.
    case member = 1
    /// Both hold the secret of a link.
    case link = 2
    /// Both know a short code.
    case code = 3
    /// Both know the other's identity.
    case trusted = 4
}

/// The kinds of 16-byte value in handshake messages; none has a value.
package enum HandshakeKind {
    package enum ClientNonce {}
    package enum Cookie {}
    package enum Invite {}
}

/// 16 random bytes, new for each dial.
package typealias ClientNonce = ShortIdentifier<HandshakeKind.ClientNonce>
/// What a responder under load gives to an address that it wants to see again; zero for none.
package typealias Cookie = ShortIdentifier<HandshakeKind.Cookie>
/// An open invite; zero for none.
package typealias InviteID = ShortIdentifier<HandshakeKind.Invite>

/// The header of HELLO, RETRY, HS1, HS2 and HS3.
package struct HandshakeHeader: Hashable, Sendable {
    package static let byteCount = 16

    package var type: MessageType
    package var mode: HandshakeMode
    /// The sender's own index; zero in RETRY only.
    package var senderIndex: UInt32
    /// The receiver's index; zero in HELLO and HS1 only.
    package var receiverIndex: UInt32

    package init(
        type: MessageType,
        mode: HandshakeMode,
        senderIndex: UInt32,
        receiverIndex: UInt32
    ) {
        self.type = type
        self.mode = mode
        self.senderIndex = senderIndex
        self.receiverIndex = receiverIndex
    }

    /// Reads a header and checks all that needs no key: length, version, reserved bytes, indexes.
    package init(_ datagram: RawSpan) throws(WireError) {
        var reader = ByteReader(datagram)
        let first: UInt8 = try reader.read()
        guard let type = MessageType(rawValue: first) else { throw .unknownType(first, at: 0) }
        let isHandshake: Bool
        switch type {
        case .hello, .retry, .first, .second, .third: isHandshake = true
        case .data, .beacon, .inviteBeacon, .probe: isHandshake = false
        }
        guard isHandshake, datagram.byteCount == type.byteCount else { throw .invalid(at: 0) }
        guard try reader.read(UInt8.self) == MessageType.version else { throw .invalid(at: 1) }
        guard let mode = HandshakeMode(rawValue: try reader.read()) else { throw .invalid(at: 2) }
        guard try reader.read(UInt8.self) == 0 else { throw .reserved(at: 3) }
        self.type = type
        self.mode = mode
        senderIndex = try reader.read()
        receiverIndex = try reader.read()
        guard try reader.read(UInt32.self) == 0 else { throw .reserved(at: 12) }
        guard (senderIndex == 0) == (type == .retry) else { throw .invalid(at: 4) }
        guard (receiverIndex == 0) == (type == .hello || type == .first) else {
            throw .invalid(at: 8)
        }
        guard type != .hello || mode == .code else { throw .invalid(at: 2) }
    }

    func write(to writer: inout ByteWriter) {
        writer.write(type.rawValue)
        writer.write(MessageType.version)
        writer.write(mode.rawValue)
        writer.write(UInt8(0))
        writer.write(senderIndex)
        writer.write(receiverIndex)
        writer.write(UInt32(0))
    }
}

/// The message authentication code that ends every handshake message.
package enum Mac1 {
    package static let byteCount = 16

    /// Whether the last 16 bytes are the code of all before; constant time.
    package static func isValid(_ datagram: RawSpan, key: Secret) -> Bool {
        isValid(datagram, key: key.bytes)
    }

    static func isValid(_ datagram: RawSpan, key: RawSpan) -> Bool {
        let count = datagram.byteCount - byteCount
        guard count >= 0 else { return false }
        let expected = Hash.mac(key: key, datagram.extracting(0..<count))
        return Sodium.isEqual(expected.raw, datagram.extracting(count..<datagram.byteCount))
    }

    static func append(to writer: inout ByteWriter, key: RawSpan) {
        writer.write(Hash.mac(key: key, writer.bytes.raw))
    }

    /// The mac1 of a message: its last 16 bytes.
    package static func of(_ datagram: RawSpan) -> [UInt8] {
        let count = datagram.byteCount
        return datagram.extracting(max(0, count - byteCount)..<count).copied
    }
}
