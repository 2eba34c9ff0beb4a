import MeshConsensus
import MeshCrypto
import MeshEngine
import MeshSession
import MeshWire
import Testing

@Suite("Profiles are their nodes' own — 40-groupactivities §9.6") struct ProfileTests {
    @Test("the room's members see what the node signed, and no change of it") func signed() throws {
        let world = try Self.world()
        let first = world.nodes[0].engine.process
        let member = try Self.member(first, seenBy: world.nodes[1])
        let shown = world.nodes[1].engine.verifiedProfile(of: member)
        #expect(shown?.name == "node 0")

        // As a snapshot of a leader that lies would have it.
        let present = world.nodes[1].engine.room
        var room = try #require(present)
        let forged = try Self.snapshot(of: room, replacing: "node 0", by: "node 9")
        try room.restore(from: forged.raw)
        let lie = try #require(room.member(first))
        #expect(lie.profile.name == "node 9")
        let believed = world.nodes[1].engine.verifiedProfile(of: lie)
        #expect(believed == nil)
    }

    @Test("a person is shown if its key has signed for this node") func person() throws {
        var secrets = SeededSecrets(seed: 5)
        let person = Identity(from: &secrets)
        let world = try Self.world(person)
        for (index, other) in [(0, 1), (1, 0)] {
            let process = world.nodes[index].engine.process
            let member = try Self.member(process, seenBy: world.nodes[other])
            let seen = world.nodes[other].engine.verifiedProfile(of: member)
            #expect(seen?.person?.key == person.nodeID)
        }
    }

    @Test("a node that claims a key it does not have proves nothing") func claim() throws {
        var secrets = SeededSecrets(seed: 5)
        let person = Identity(from: &secrets)
        let world = try Self.world()
        let record = try #require(
            world.nodes[0].events.lazy.compactMap { event in
                if case .roomRecord(let record) = event { record } else { nil }
            }.first
        )
        // The identity of the world's first node, which signs the claim itself well.
        var own = SeededSecrets(seed: 1000)
        let identity = Identity(from: &own)
        let process = world.nodes[0].engine.process
        #expect(identity.nodeID == process.nodeID)
        var profile = MemberProfile(name: "Eve")
        profile.person = MemberProfile.Person(
            key: person.nodeID,
            proof: identity.sign(
                .person,
                room: record.secret.room,
                MemberProfile.proofBytes(of: process)
            ).bytes
        )
        profile.signature =
            identity.sign(
                .profile,
                room: record.secret.room,
                profile.signedBytes(of: process)
            ).bytes
        world.command(0, .submit(7, .setProfile(profile), session: .zero, level: .majority))
        let isThere = world.run {
            world.nodes[1].engine.room?.member(process)?.profile.name == "Eve"
        }
        #expect(isThere)
        let member = try Self.member(process, seenBy: world.nodes[1])
        let seen = world.nodes[1].engine.verifiedProfile(of: member)
        #expect(seen?.name == "Eve")
        #expect(seen?.person == nil)
    }

    private static func member(
        _ process: ProcessID,
        seenBy node: EngineWorld.Node
    ) throws -> RoomMember {
        let member = node.engine.room?.member(process)
        return try #require(member)
    }

    private static func world(_ person: Identity? = nil) throws -> EngineWorld {
        let world = try EngineWorld.room(2, person: person)
        let isShown = world.run {
            world.nodes.allSatisfy { node in
                node.engine.room?.members.allSatisfy { !$0.profile.isEmpty } == true
                    && node.engine.room?.members.count == 2
            }
        }
        #expect(isShown)
        return world
    }

    private static func snapshot(
        of room: RoomState,
        replacing name: String,
        by other: String
    ) throws -> [UInt8] {
        var bytes = room.snapshot()
        let place = try #require(
            bytes.indices.first { bytes[$0...].starts(with: Array(name.utf8)) }
        )
        bytes.replaceSubrange(place..<place + name.utf8.count, with: Array(other.utf8))
        return bytes
    }
}
