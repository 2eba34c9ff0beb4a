// The datagrams of a handshake (10-security §4). Integers are little-endian, lengths exact, reserved
// bytes zero, mac1 the last 16 bytes over all before it:
//
//   header  0 type | 1 version = 1 | 2 mode | 3 zero | 4 senderIndex | 8 receiverIndex | 12 zero x 4
//   HELLO   16 clientNonce | 32 inviteID | 48 slot | 49 zero x 127 | 176 mac1            192 bytes
//   RETRY   16 cookie | 32 inviteID | 48 mac                                               64 bytes
//   HS1     16 clientNonce | 32 cookie | 48 Noise message 1 (128) | 176 mac1             192 bytes
//   HS2     16 Noise message 2 (136) | 152 mac1                                          168 bytes
//   HS3     16 Noise message 3 (176) | 192 mac1                                          208 bytes
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

/// HELLO: a joiner that holds a code asks for a cookie.
package struct HelloMessage: Hashable, Sendable {
    package var senderIndex: UInt32
    package var clientNonce: ClientNonce
    /// The invite meant, or zero for whatever invite of that slot the address has.
    package var invite: InviteID
    /// The code's public slot, 0 to 99.
    package var slot: UInt8

    package init(senderIndex: UInt32, clientNonce: ClientNonce, invite: InviteID, slot: UInt8) {
        self.senderIndex = senderIndex
        self.clientNonce = clientNonce
        self.invite = invite
        self.slot = slot
    }

    /// Reads the message; its mac1 is the caller's to check.
    package init(_ datagram: RawSpan) throws(WireError) {
        let header = try HandshakeHeader(datagram)
        guard header.type == .hello else { throw .invalid(at: 0) }
        var reader = ByteReader(datagram)
        _ = try reader.readSpan(HandshakeHeader.byteCount)
        senderIndex = header.senderIndex
        clientNonce = try reader.read()
        invite = try reader.read()
        slot = try reader.read()
        guard slot < 100 else { throw .overLimit(UInt64(slot), at: 48) }
        for offset in 49..<176 {
            guard try reader.read(UInt8.self) == 0 else { throw .reserved(at: offset) }
        }
    }

    /// The datagram.
    package func encode() -> [UInt8] {
        var writer = ByteWriter(capacity: 192)
        HandshakeHeader(type: .hello, mode: .code, senderIndex: senderIndex, receiverIndex: 0)
            .write(to: &writer)
        writer.write(clientNonce)
        writer.write(invite)
        writer.write(slot)
        writer.write(repeatElement(UInt8(0), count: 127))
        Mac1.append(to: &writer, key: ModeKeys.mac1Key(invite: invite).bytes)
        return writer.bytes
    }
}

/// RETRY: a responder asks for the same again, with a cookie.
package struct RetryMessage: Hashable, Sendable {
    package var mode: HandshakeMode
    package var receiverIndex: UInt32
    package var cookie: Cookie
    /// The invite met; zero in modes without one.
    package var invite: InviteID

    package init(mode: HandshakeMode, receiverIndex: UInt32, cookie: Cookie, invite: InviteID) {
        self.mode = mode
        self.receiverIndex = receiverIndex
        self.cookie = cookie
        self.invite = invite
    }

    /// Reads the answer to the request whose mac1 was `requestMac1`; throws if it answers another.
    package init(_ datagram: RawSpan, requestMac1: [UInt8]) throws(WireError) {
        let header = try HandshakeHeader(datagram)
        guard header.type == .retry else { throw .invalid(at: 0) }
        let key = Hash.secret(.retry, requestMac1.raw)
        guard Mac1.isValid(datagram, key: key.bytes) else { throw .invalid(at: 48) }
        var reader = ByteReader(datagram)
        _ = try reader.readSpan(HandshakeHeader.byteCount)
        mode = header.mode
        receiverIndex = header.receiverIndex
        cookie = try reader.read()
        invite = try reader.read()
    }

    /// The datagram, for whoever sent the request of that mac1.
    package func encode(requestMac1: [UInt8]) -> [UInt8] {
        var writer = ByteWriter(capacity: 64)
        HandshakeHeader(type: .retry, mode: mode, senderIndex: 0, receiverIndex: receiverIndex)
            .write(to: &writer)
        writer.write(cookie)
        writer.write(invite)
        Mac1.append(to: &writer, key: Hash.secret(.retry, requestMac1.raw).bytes)
        return writer.bytes
    }
}

/// HS1: the first Noise message.
package struct FirstMessage: Hashable, Sendable {
    package static let noiseBytes = 128

    package var mode: HandshakeMode
    package var senderIndex: UInt32
    package var clientNonce: ClientNonce
    package var cookie: Cookie
    package var noise: [UInt8]

    package init(
        mode: HandshakeMode,
        senderIndex: UInt32,
        clientNonce: ClientNonce,
        cookie: Cookie,
        noise: [UInt8]
    ) {
        self.mode = mode
        self.senderIndex = senderIndex
        self.clientNonce = clientNonce
        self.cookie = cookie
        self.noise = noise
    }

    /// Reads the message; its mac1 is the caller's to check.
    package init(_ datagram: RawSpan) throws(WireError) {
        let header = try HandshakeHeader(datagram)
        guard header.type == .first else { throw .invalid(at: 0) }
        var reader = ByteReader(datagram)
        _ = try reader.readSpan(HandshakeHeader.byteCount)
        mode = header.mode
        senderIndex = header.senderIndex
        clientNonce = try reader.read()
        cookie = try reader.read()
        noise = try reader.readBytes(Self.noiseBytes)
    }

    /// The datagram.
    package func encode(mac1Key: Secret) -> [UInt8] {
        var writer = ByteWriter(capacity: 192)
        HandshakeHeader(type: .first, mode: mode, senderIndex: senderIndex, receiverIndex: 0)
            .write(to: &writer)
        writer.write(clientNonce)
        writer.write(cookie)
        writer.write(noise)
        Mac1.append(to: &writer, key: mac1Key.bytes)
        return writer.bytes
    }
}

/// HS2 or HS3: the second or third Noise message.
package struct LaterMessage: Hashable, Sendable {
    /// Bytes of the Noise message of HS2.
    package static let secondNoiseBytes = 136
    /// Bytes of the Noise message of HS3.
    package static let thirdNoiseBytes = 176

    package var header: HandshakeHeader
    package var noise: [UInt8]

    package init(header: HandshakeHeader, noise: [UInt8]) {
        self.header = header
        self.noise = noise
    }

    /// Reads the message; its mac1 is the caller's to check.
    package init(_ datagram: RawSpan) throws(WireError) {
        let header = try HandshakeHeader(datagram)
        guard header.type == .second || header.type == .third else { throw .invalid(at: 0) }
        var reader = ByteReader(datagram)
        _ = try reader.readSpan(HandshakeHeader.byteCount)
        self.header = header
        noise = try reader.readBytes(reader.remaining - Mac1.byteCount)
    }

    /// The datagram.
    package func encode(mac1Key: Secret) -> [UInt8] {
        var writer = ByteWriter(capacity: 208)
        header.write(to: &writer)
        writer.write(noise)
        Mac1.append(to: &writer, key: mac1Key.bytes)
        return writer.bytes
    }
}
