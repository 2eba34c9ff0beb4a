// The datagrams of discovery (10-security §8):
//
//   BEACON         0 0x20 | 1 version | 2 zero x 6 | 8 nonce 24 | 32 sealed body 48 + tag 16           96 bytes
//     body         0 node ref 8 | 8 port u16 | 10 flags u16 | 12 counter u32 | 16 time/30 u32 |
//                  20 genTag 8 | 28 view tag 8 | 36 zero 12
//   INVITE-BEACON  0 0x21 | 1 version | 2 flags | 3 zero x 5 | 8 inviteID 16 | 24 slot | 25 mode |
//                  26 port u16 | 28 zero 36                                                          64 bytes
//   PROBE          0 0x22 | 1 version | 2 zero x 6 | 8 nonce 16 | 24 zero 40                           64 bytes
package import MeshWire

/// What a member tells the members near it; to outsiders 88 random bytes.
package struct Beacon: Hashable, Sendable {
    /// The first 8 bytes of K(beacon key, "huddle/1 node ref", NodeID), little-endian.
    package var nodeReference: UInt64
    /// The port of the data socket.
    package var port: UInt16
    /// Whether the others should bring their next beacon forward.
    package var asksForBeacons: Bool
    /// The generation of the room secret.
    package var generation: Generation
    /// Unix time divided by 30 s.
    package var timeBucket: UInt32
    /// The tag of the sender's view, see ``Hash/viewTag(_:_:)``.
    package var viewTag: UInt64

    package init(
        nodeReference: UInt64,
        port: UInt16,
        asksForBeacons: Bool,
        generation: Generation,
        timeBucket: UInt32,
        viewTag: UInt64
    ) {
        self.nodeReference = nodeReference
        self.port = port
        self.asksForBeacons = asksForBeacons
        self.generation = generation
        self.timeBucket = timeBucket
        self.viewTag = viewTag
    }
}

/// The key that seals the beacons of one generation.
package struct BeaconKey: Sendable {
    private let key: Secret
    /// The generation whose beacons it seals.
    package let generation: Generation

    /// The key of a room secret.
    package init(_ room: RoomSecret) {
        key = room.derive(.discovery)
        generation = room.generation
    }

    /// How beacons of this generation name a node.
    package func nodeReference(_ nodeID: NodeID) -> UInt64 {
        let reference = Hash.derive(.nodeReference, key: key.bytes, nodeID.bytes.raw)
        return Hash.word(reference.bytes.copied)
    }

    /// The datagram of a beacon, 96 bytes; the nonce is random.
    package func seal(_ beacon: Beacon, from source: inout some SecretSource) -> [UInt8] {
        var body = ByteWriter(capacity: 48)
        body.write(beacon.nodeReference)
        body.write(beacon.port)
        body.write(UInt16(beacon.asksForBeacons ? 1 : 0))
        body.write(beacon.generation.counter)
        body.write(beacon.timeBucket)
        body.write(beacon.generation.tag)
        body.write(beacon.viewTag)
        body.write(repeatElement(UInt8(0), count: 12))
        let nonce = source.bytes(24)
        let sealed = Sodium.sealExtended(
            body.bytes.raw,
            data: Self.header.raw,
            nonce: nonce.raw,
            key: key.bytes
        )
        return Self.header + nonce + (sealed ?? [])
    }

    /// The beacon in a datagram; nil if it is of another key, another generation, or malformed.
    package func open(_ datagram: RawSpan) -> Beacon? {
        guard datagram.byteCount == 96, datagram.extracting(0..<8).copied == Self.header else {
            return nil
        }
        let body = Sodium.openExtended(
            datagram.extracting(32..<96),
            data: datagram.extracting(0..<8),
            nonce: datagram.extracting(8..<32),
            key: key.bytes
        )
        guard let body, let beacon = try? Self.decode(body.raw) else { return nil }
        return beacon.generation == generation ? beacon : nil
    }

    private static func decode(_ body: RawSpan) throws(WireError) -> Beacon {
        var reader = ByteReader(body)
        let reference: UInt64 = try reader.read()
        let port: UInt16 = try reader.read()
        let flags: UInt16 = try reader.read()
        guard flags & ~1 == 0 else { throw .reserved(at: 10) }
        let counter: UInt32 = try reader.read()
        let timeBucket: UInt32 = try reader.read()
        let tag: UInt64 = try reader.read()
        let viewTag: UInt64 = try reader.read()
        for offset in 36..<48 {
            guard try reader.read(UInt8.self) == 0 else { throw .reserved(at: offset) }
        }
        try reader.finish()
        return Beacon(
            nodeReference: reference,
            port: port,
            asksForBeacons: flags & 1 != 0,
            generation: Generation(counter: counter, tag: tag),
            timeBucket: timeBucket,
            viewTag: viewTag
        )
    }

    private static let header: [UInt8] = [
        MessageType.beacon.rawValue, MessageType.version, 0, 0, 0, 0, 0, 0,
    ]
}
