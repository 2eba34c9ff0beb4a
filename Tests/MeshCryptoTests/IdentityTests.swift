import MeshWire
import Testing

@testable import MeshCrypto

@Suite("Identities, signatures, sources — 10-security §3, §9")
struct IdentityTests {
    static let identity = Identity(seed: fill(0x40).raw)
    static let room = RoomID(fill(1)) ?? .zero

    @Test("a signature holds for its label, room, fields and signer, and for no other")
    func signatures() {
        let fields = Array("index 7".utf8)
        let signature = Self.identity.sign(.operation, room: Self.room, fields)
        let nodeID = Self.identity.nodeID
        #expect(signature.isValid(.operation, room: Self.room, fields, by: nodeID))
        #expect(!signature.isValid(.head, room: Self.room, fields, by: nodeID))
        #expect(!signature.isValid(.operation, room: .zero, fields, by: nodeID))
        #expect(!signature.isValid(.operation, room: Self.room, fields + [0], by: nodeID))
        let other = Identity(seed: fill(0x41).raw).nodeID
        #expect(!signature.isValid(.operation, room: Self.room, fields, by: other))
        #expect(!Signature.zero.isValid(.operation, room: Self.room, fields, by: nodeID))
        #expect(Signature(fill(0, 63)) == nil)
        #expect(Signature(fill(0, 65)) == nil)
    }

    @Test("a small-order NodeID never verifies — S09")
    func smallOrder() throws {
        // The identity, y = 1: with R the identity and S = 0 the equation itself would hold.
        let nodeID = try #require(NodeID([1] + fill(0, 31)))
        let signature = try #require(Signature([1] + fill(0, 63)))
        #expect(!signature.isValid(.operation, room: Self.room, [], by: nodeID))
    }

    @Test("a process tag depends on node and incarnation")
    func processTags() {
        let first = Hash.processTag(Self.identity.nodeID, incarnation: 1)
        #expect(first == Hash.processTag(Self.identity.nodeID, incarnation: 1))
        #expect(first != Hash.processTag(Self.identity.nodeID, incarnation: 2))
        #expect(first != Hash.processTag(.zero, incarnation: 1))
    }

    @Test("H16 is not a cut of H, and all labels differ")
    func hashes() {
        let x = fill(5)
        let long: [UInt8] = Hash.digest(.keyFile, x.raw)
        let short = Hash.digest16(.keyFile, x.raw)
        #expect(short != Array(long[..<16]))
        let digests = Label.allCases.map { hexadecimal(Hash.digest($0, x.raw) as [UInt8]) }
        #expect(Set(digests).count == Label.allCases.count)
    }

    @Test("the seeded source repeats for its seed; the system's never does")
    func sources() {
        var first = SeededSecrets(seed: 1)
        var second = SeededSecrets(seed: 1)
        var third = SeededSecrets(seed: 2)
        let bytes = first.bytes(200)
        #expect(bytes == second.bytes(200))
        #expect(bytes != third.bytes(200))
        #expect(first.bytes(32) != first.bytes(32))
        var system = SystemSecrets()
        #expect(system.bytes(32) != system.bytes(32))
        #expect(system.index() != 0)
        var erased: any SecretSource = SeededSecrets(seed: 1)
        #expect(erased.bytes(200) == bytes, "an erased source draws the same")
    }

    @Test("constant-time equality answers like plain equality")
    func equality() {
        let bytes = fill(3, 16)
        var other = bytes
        #expect(Sodium.areEqual(bytes, other))
        other[15] = 4
        #expect(!Sodium.areEqual(bytes, other))
        #expect(!Sodium.areEqual(bytes, fill(3, 15)))
        #expect(Sodium.areEqual([], []))
    }
}
