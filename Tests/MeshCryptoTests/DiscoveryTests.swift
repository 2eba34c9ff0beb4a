import MeshWire
import Testing

@testable import MeshCrypto

@Suite("Discovery — 10-security §8")
struct DiscoveryTests {
    static let key = BeaconKey(knownRoom)
    static let beacon = Beacon(
        nodeReference: key.nodeReference(KnownRun.initiator.identity.nodeID),
        port: 40_000,
        asksForBeacons: true,
        generation: knownRoom.generation,
        timeBucket: 59_000_000,
        viewTag: Hash.viewTag(knownRoom.room, Epoch(counter: 3, proposer: 4))
    )

    @Test("a beacon is 96 bytes, opens under its key, and names nothing in clear")
    func sealed() {
        var source = SeededSecrets(seed: 8)
        let datagram = Self.key.seal(Self.beacon, from: &source)
        #expect(datagram.count == 96)
        #expect(datagram[..<8] == [0x20, 1, 0, 0, 0, 0, 0, 0])
        let opened = Self.key.open(datagram.raw)
        #expect(opened == Self.beacon)
        let again = Self.key.seal(Self.beacon, from: &source)
        #expect(again[8...] != datagram[8...], "the nonce is new")
        let clear = hexadecimal(datagram)
        for marker in [knownRoom.room.bytes, KnownRun.initiator.identity.nodeID.bytes] {
            #expect(!clear.contains(hexadecimal(marker.prefix(4))))
        }
    }

    @Test("another generation's key opens nothing")
    func otherGeneration() {
        var source = SeededSecrets(seed: 9)
        let datagram = Self.key.seal(Self.beacon, from: &source)
        let others = [
            RoomSecret(room: knownRoom.room, counter: 2, secret: knownRoom.secret),
            RoomSecret(room: .zero, counter: 1, secret: knownRoom.secret),
            RoomSecret(room: knownRoom.room, counter: 1, secret: Secret(fill(1))),
        ]
        for other in others {
            let opened = BeaconKey(other).open(datagram.raw)
            #expect(opened == nil)
        }
        var lie = Self.beacon
        lie.generation.counter = 7
        let lying = Self.key.seal(lie, from: &source)
        let opened = Self.key.open(lying.raw)
        #expect(opened == nil, "the body's generation is that of the key")
    }

    @Test("no flipped bit, no other length is accepted")
    func damage() {
        var source = SeededSecrets(seed: 10)
        let datagram = Self.key.seal(Self.beacon, from: &source)
        for bit in 0..<datagram.count * 8 {
            var damaged = datagram
            damaged[bit / 8] ^= 1 << (bit % 8)
            let opened = Self.key.open(damaged.raw)
            #expect(opened == nil, "bit \(bit)")
        }
        for count in Array(0..<96) + [97, 160] {
            let other = Array((datagram + fill(0, 64))[..<count])
            let opened = Self.key.open(other.raw)
            #expect(opened == nil, "\(count) bytes")
        }
    }

    @Test("two nodes have different references, one node one in a generation")
    func references() {
        let first = Self.key.nodeReference(KnownRun.initiator.identity.nodeID)
        let second = Self.key.nodeReference(KnownRun.responder.identity.nodeID)
        #expect(first != second)
        let next = BeaconKey(
            RoomSecret(room: knownRoom.room, counter: 2, secret: Secret(fill(0x13)))
        ).nodeReference(KnownRun.initiator.identity.nodeID)
        #expect(first != next)
    }

    static let invites = [
        InviteBeacon(
            invite: KnownRun.invite,
            slot: 7,
            mode: .code,
            offersLink: true,
            port: 1_234
        ),
        InviteBeacon(invite: KnownRun.invite, slot: 0, mode: .link, offersLink: true, port: 1),
    ]

    @Test("an invite beacon has the chapter's bytes and reads back", arguments: invites)
    func inviteBeacon(beacon: InviteBeacon) throws {
        let bytes = beacon.encode()
        let expected: [UInt8] =
            [0x21, 1, 1, 0, 0, 0, 0, 0] + fill(0x33, 16)
            + [beacon.slot, beacon.mode.rawValue] + [
                UInt8(beacon.port & 255), UInt8(beacon.port >> 8),
            ]
            + fill(0, 36)
        #expect(bytes == expected)
        #expect(try InviteBeacon(bytes: bytes) == beacon)
        #expect(InviteBeacon.version(bytes: bytes) == 1)
        for offset in Array(0..<8) + Array(28..<64) {
            var damaged = bytes
            damaged[offset] ^= 0x40
            #expect(throws: WireError.self, "byte \(offset)") {
                _ = try InviteBeacon(damaged.raw)
            }
        }
        for count in [0, 1, 63, 65] {
            let other = Array((bytes + [0])[..<count])
            #expect(throws: WireError.self) { _ = try InviteBeacon(other.raw) }
        }
    }

    @Test("an invite beacon of a later version says which")
    func laterVersion() {
        var bytes = Self.invites[0].encode()
        bytes[1] = 9
        #expect(InviteBeacon.version(bytes: bytes) == 9)
        #expect(InviteBeacon.version(bytes: [0x20] + fill(0, 63)) == nil)
        #expect(InviteBeacon.version(bytes: [0x21] + fill(0, 62)) == nil)
    }

    @Test("slots and modes that make no sense are refused")
    func invalidInvites() {
        for (slot, mode) in [(100, 3), (255, 3), (1, 2), (0, 1), (0, 4), (0, 0), (7, 9)] {
            var bytes = Self.invites[0].encode()
            bytes[24] = UInt8(slot)
            bytes[25] = UInt8(mode)
            #expect(throws: WireError.self, "\(slot) \(mode)") {
                _ = try InviteBeacon(bytes.raw)
            }
        }
    }

    @Test("a probe has the chapter's bytes and reads back")
    func probe() throws {
        let probe = InviteProbe(nonce: KnownRun.clientNonce)
        let bytes = probe.encode()
        #expect(bytes == [0x22, 1, 0, 0, 0, 0, 0, 0] + fill(0x44, 16) + fill(0, 40))
        #expect(try InviteProbe(bytes: bytes) == probe)
        for offset in Array(0..<8) + Array(24..<64) {
            var damaged = bytes
            damaged[offset] ^= 2
            #expect(throws: WireError.self) { _ = try InviteProbe(damaged.raw) }
        }
    }
}
