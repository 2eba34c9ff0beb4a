package import MeshCrypto
package import MeshWire

/// What a node keeps of a room to come back to it.
///
/// The file, little-endian; strings and lists stand behind their length as a varint:
///
/// ```
///  0  "huddle/1" | 8  02 | 9  0 x 7
/// 16  RoomID 32 | 48  secret 32 | 80  generation counter u32 | 84  0 x 4
/// 88  0 x 8, not read | 96  saved, seconds since 1970 i64
/// 104 name | count, addresses (16 B, scope u32, port u16) | state | check 16
/// ```
///
/// The check is BLAKE2b-128 of all before it: it finds damage, the mode of the file keeps others out.
package struct RoomRecord: Sendable {
    /// The room, the generation's counter and its secret.
    package var secret: RoomSecret
    /// What people call the room.
    package var name: String
    /// Where members were last seen, the best first.
    package var addresses: [SocketAddress]
    /// What else the owner of the record wants back; not read here.
    package var state: [UInt8]
    /// When it was saved, by the wall clock.
    package var savedSeconds: Int64

    package init(
        secret: RoomSecret,
        name: String,
        addresses: [SocketAddress],
        state: [UInt8] = [],
        savedSeconds: Int64
    ) {
        self.secret = secret
        self.name = name
        self.addresses = addresses
        self.state = state
        self.savedSeconds = savedSeconds
    }

    /// The room.
    package var room: RoomID { secret.room }

    /// Bytes of a name.
    package static let nameBytes = 255
    /// Addresses kept: the first ones.
    package static let addressLimit = 64
    /// Bytes of the owner's state.
    package static let stateBytes = 1 << 20
    /// Bytes of a file.
    static let fileBytes = stateBytes + 4096

    private static let head = Array("huddle/1".utf8) + [2, 0, 0, 0, 0, 0, 0, 0]

    /// The bytes of the file; the caller wipes them.
    func encoded() -> [UInt8] {
        precondition(state.count <= Self.stateBytes, "the state fits: \(state.count)")
        var writer = ByteWriter(capacity: 512 + state.count)
        writer.write(Self.head)
        writer.write(secret.room)
        writer.write(secret.secret.bytes)
        writer.write(secret.counter)
        writer.write(UInt32(0))
        writer.write(UInt64(0))
        writer.write(savedSeconds)
        writer.writeString(Self.cut(name))
        let kept = addresses.prefix(Self.addressLimit)
        writer.writeCount(kept.count)
        for address in kept {
            writer.write(address.addressBytes)
            writer.write(address.scope)
            writer.write(address.port)
        }
        writer.writeBlob(state)
        writer.write(Hash.plain(writer.bytes.raw, outputBytes: 16))
        return writer.bytes
    }

    /// The name, cut to ``nameBytes`` at a character.
    private static func cut(_ name: String) -> String {
        var name = name
        while name.utf8.count > nameBytes { name.removeLast() }
        return name
    }

    /// The record of a file's bytes.
    init(decoding bytes: [UInt8]) throws(WireError) {
        guard bytes.count > 16 else { throw .truncated(at: bytes.count) }
        let body = Array(bytes.dropLast(16))
        guard Hash.plain(body.raw, outputBytes: 16) == bytes.suffix(16) else {
            throw .invalid(at: body.count)
        }
        var reader = ByteReader(body.raw)
        guard try reader.readBytes(16) == Self.head else { throw .invalid(at: 0) }
        let room: RoomID = try reader.read()
        let secret = Secret(SecretBytes(try reader.readSpan(32)))
        let counter: UInt32 = try reader.read()
        guard try reader.read(UInt32.self) == 0 else { throw .reserved(at: 84) }
        self.secret = RoomSecret(room: room, counter: counter, secret: secret)
        // Files of before hold the highest epoch's counter here.
        _ = try reader.read(UInt64.self)
        savedSeconds = try reader.read()
        name = try reader.readString(limit: Self.nameBytes)
        addresses = []
        for _ in 0..<(try reader.readCount(limit: Self.addressLimit)) {
            let high = UInt64(bigEndian: try reader.read())
            let low = UInt64(bigEndian: try reader.read())
            let scope: UInt32 = try reader.read()
            let port: UInt16 = try reader.read()
            addresses.append(SocketAddress(high: high, low: low, scope: scope, port: port))
        }
        state = try reader.readBlob(limit: Self.stateBytes)
        try reader.finish()
    }
}
