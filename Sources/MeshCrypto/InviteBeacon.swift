package import MeshWire

/// "Somebody here invites": in clear, only while an invite is open.
package struct InviteBeacon: Hashable, Sendable {
    package static let byteCount = 64

    /// The open invite of the slot; new in each beacon when only links are open.
    package var invite: InviteID
    /// The slot, 0 to 99; zero when only links are open.
    package var slot: UInt8
    /// `.code`, or `.link` when only links are open.
    package var mode: HandshakeMode
    /// Whether a link is open, too.
    package var offersLink: Bool
    /// The port of the data socket.
    package var port: UInt16

    package init(
        invite: InviteID,
        slot: UInt8,
        mode: HandshakeMode,
        offersLink: Bool,
        port: UInt16
    ) {
        self.invite = invite
        self.slot = slot
        self.mode = mode
        self.offersLink = offersLink
        self.port = port
    }

    /// Reads a datagram.
    package init(_ datagram: RawSpan) throws(WireError) {
        guard datagram.byteCount == Self.byteCount else { throw .invalid(at: 0) }
        var reader = ByteReader(datagram)
        guard try reader.read(UInt8.self) == MessageType.inviteBeacon.rawValue else {
            throw .invalid(at: 0)
        }
        guard try reader.read(UInt8.self) == MessageType.version else { throw .invalid(at: 1) }
        let flags: UInt8 = try reader.read()
        guard flags & ~1 == 0 else { throw .reserved(at: 2) }
        for offset in 3..<8 {
            guard try reader.read(UInt8.self) == 0 else { throw .reserved(at: offset) }
        }
        offersLink = flags & 1 != 0
        invite = try reader.read()
        slot = try reader.read()
        guard let mode = HandshakeMode(rawValue: try reader.read()) else { throw .invalid(at: 25) }
        self.mode = mode
        port = try reader.read()
        for offset in 28..<64 {
            guard try reader.read(UInt8.self) == 0 else { throw .reserved(at: offset) }
        }
        guard mode == .code ? slot < 100 : mode == .link && slot == 0 else {
            throw .invalid(at: 24)
        }
    }

    /// The version of a datagram of this kind: what a joiner reports if it is not ours.
    package static func version(of datagram: RawSpan) -> UInt8? {
        guard datagram.byteCount == byteCount else { return nil }
        var reader = ByteReader(datagram)
        guard let type: UInt8 = try? reader.read(), type == MessageType.inviteBeacon.rawValue else {
            return nil
        }
        return try? reader.read()
    }

    /// The datagram.
    package func encode() -> [UInt8] {
        var writer = ByteWriter(capacity: Self.byteCount)
        writer.write(MessageType.inviteBeacon.rawValue)
        writer.write(MessageType.version)
        writer.write(UInt8(offersLink ? 1 : 0))
        writer.write(repeatElement(UInt8(0), count: 5))
        writer.write(invite)
        writer.write(slot)
        writer.write(mode.rawValue)
        writer.write(port)
        writer.write(repeatElement(UInt8(0), count: 36))
        return writer.bytes
    }
}

/// A joiner asks inviters to bring their next multicast beacon forward.
package struct InviteProbe: Hashable, Sendable {
    package static let byteCount = 64

    package var nonce: ClientNonce

    package init(nonce: ClientNonce) { self.nonce = nonce }

    /// Reads a datagram.
    package init(_ datagram: RawSpan) throws(WireError) {
        guard datagram.byteCount == Self.byteCount else { throw .invalid(at: 0) }
        var reader = ByteReader(datagram)
        guard try reader.read(UInt8.self) == MessageType.probe.rawValue else {
            throw .invalid(at: 0)
        }
        guard try reader.read(UInt8.self) == MessageType.version else { throw .invalid(at: 1) }
        for offset in 2..<8 {
            guard try reader.read(UInt8.self) == 0 else { throw .reserved(at: offset) }
        }
        nonce = try reader.read()
        for offset in 24..<64 {
            guard try reader.read(UInt8.self) == 0 else { throw .reserved(at: offset) }
        }
    }

    /// The datagram.
    package func encode() -> [UInt8] {
        var writer = ByteWriter(capacity: Self.byteCount)
        writer.write(MessageType.probe.rawValue)
        writer.write(MessageType.version)
        writer.write(repeatElement(UInt8(0), count: 6))
        writer.write(nonce)
        writer.write(repeatElement(UInt8(0), count: 40))
        return writer.bytes
    }
}
