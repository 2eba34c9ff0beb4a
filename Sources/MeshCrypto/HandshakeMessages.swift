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
