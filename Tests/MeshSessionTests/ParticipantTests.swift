import MeshConsensus
import MeshSession
import MeshWire
import Testing

@Suite("Participants") struct ParticipantTests {
    @Test("the origin knows its identifier before the join is in the log") func reserved() {
        var bench = Bench()
        bench.apply(.startSession(SessionBlueprint(activity: .chess)))
        let record = Command(
            .join(nonce: 77),
            session: Bench.session,
            origin: Origin(Bench.b),
            sequence: 5
        )
        let expected = bench.room.participantID(
            session: Bench.session,
            process: Bench.b,
            nonce: 77
        )
        let result = bench.apply(record)
        #expect(result == .joined(expected, number: 1))
        #expect(bench.current?.participant(number: 1)?.id == expected)
    }

    @Test("a participation after a leave is a new one with a new number") func again() {
        var bench = Bench.joined()
        let first = bench.id(Bench.b)
        bench.apply(.leave, by: Bench.b)
        let result = bench.apply(.join(nonce: 0), by: Bench.b)
        #expect(bench.id(Bench.b) != first)
        #expect(result == .joined(bench.id(Bench.b), number: 4))
        #expect(bench.current?.participants.map(\.number) == [1, 3, 4])
    }

    @Test("a second join of the same process names its participant") func twice() {
        var bench = Bench.joined()
        let result = bench.apply(.join(nonce: 0), by: Bench.b)
        #expect(result == .refused(.alreadyJoined(bench.id(Bench.b))))
    }

    @Test("a process out of the view is away and comes back with its identifier") func awayAndBack()
        throws
    {
        var bench = Bench.joined()
        let before = try #require(bench.current?.participant(of: Bench.c))
        bench.install([Bench.a, Bench.b])
        let away = try #require(bench.current?.participant(of: Bench.c))
        #expect(!away.isPresent)
        #expect(bench.room.away.map(\.participant) == [away])
        #expect(
            bench.events() == [
                .memberAway(Bench.c), .participantAway(Bench.session, away),
            ]
        )
        bench.install([Bench.a, Bench.b, Bench.c])
        #expect(bench.current?.participant(of: Bench.c) == before)
        #expect(
            bench.events() == [
                .memberBack(Bench.c), .participantBack(Bench.session, before),
            ]
        )
    }

    @Test("only the leader expires, and only who is away") func expiry() {
        var bench = Bench.joined()
        let id = bench.id(Bench.c)
        let early = bench.apply(.expire(id), by: Bench.a)
        bench.install([Bench.a, Bench.b])
        let foreign = bench.apply(.expire(id), by: Bench.b)
        let due = bench.apply(.expire(id), by: Bench.a)
        #expect([early, foreign, due] == [.refused(.notExpired), .refused(.notLeader), .done])
        #expect(bench.current?.participants.count == 2)
        #expect(bench.room.member(Bench.c) != nil, "expiry is no tombstone")
    }

    @Test("a process that left the room takes its participants along at once") func departed() {
        var bench = Bench.joined()
        bench.install([Bench.a, Bench.b], departed: [Bench.c])
        #expect(bench.current?.participant(of: Bench.c) == nil)
        #expect(bench.room.member(Bench.c) == nil)
        let late = bench.apply(.join(nonce: 0), by: Bench.c)
        #expect(late == .refused(.notMember))
    }

    @Test("a node that was started anew inherits nothing — D9") func restarted() {
        var bench = Bench.joined()
        bench.apply(.setProfile(name: "Cleo"), by: Bench.c)
        let next = Bench.process("C", life: 2)
        bench.install([Bench.a, Bench.b, next])
        #expect(bench.current?.participant(of: Bench.c) == nil)
        #expect(bench.current?.participant(of: next) == nil)
        #expect(bench.room.member(Bench.c) == nil)
        #expect(bench.room.member(next)?.profile.name == "")
    }

    @Test("a session ends with its last participant") func lastOne() {
        var bench = Bench.joined()
        for process in [Bench.a, Bench.b] { bench.apply(.leave, by: process) }
        #expect(bench.current != nil)
        bench.install([Bench.a, Bench.b])
        let id = bench.id(Bench.c)
        _ = bench.events()
        bench.apply(.expire(id))
        #expect(bench.current == nil)
        #expect(bench.events().last == .sessionEnded(Bench.session, .everyoneLeft))
    }

    @Test("a session bound to its initiator ends with it") func initiator() {
        var bench = Bench.joined(
            SessionBlueprint(activity: .chess, lifetime: .endsWhenInitiatorLeaves)
        )
        bench.apply(.leave, by: Bench.b)
        #expect(bench.current != nil)
        bench.apply(.leave, by: Bench.a)
        #expect(bench.current == nil)
        #expect(bench.events().last == .sessionEnded(Bench.session, .initiatorLeft))
    }

    @Test("a session bound to an initiator that crashed ends after the grace, not before")
    func initiatorCrashed() {
        var bench = Bench.joined(
            SessionBlueprint(activity: .chess, lifetime: .endsWhenInitiatorLeaves)
        )
        let id = bench.id(Bench.a)
        bench.install([Bench.b, Bench.c], leader: Bench.b)
        #expect(bench.current != nil)
        bench.apply(.expire(id), by: Bench.b)
        #expect(bench.current == nil)
        #expect(bench.events().last == .sessionEnded(Bench.session, .initiatorLeft))
    }

    @Test("a session nobody joined is expired by the leader alone") func unjoined() {
        var bench = Bench()
        bench.apply(.startSession(SessionBlueprint(activity: .chess)), by: Bench.b)
        let foreign = bench.apply(.endSession(isExpiry: true), by: Bench.b)
        let due = bench.apply(.endSession(isExpiry: true), by: Bench.a)
        #expect([foreign, due] == [.refused(.notLeader), .done])
        #expect(bench.events().last == .sessionEnded(Bench.session, .expired))
    }

    @Test("capacity, lock and ban refuse a join, each by its name") func gates() {
        var bench = Bench.joined(
            SessionBlueprint(activity: .chess, options: SessionOptions(capacity: 3))
        )
        bench.install([Bench.a, Bench.b, Bench.c, Bench.d])
        let full = bench.apply(.join(nonce: 0), by: Bench.d)
        bench.apply(.setOptions(SessionOptions(capacity: 4, isLocked: true)))
        let locked = bench.apply(.join(nonce: 0), by: Bench.d)
        bench.apply(.setOptions(SessionOptions(capacity: 4)))
        bench.apply(.join(nonce: 0), by: Bench.d)
        let id = bench.id(Bench.d)
        bench.apply(.remove(id, isBan: true, note: "too loud"))
        let banned = bench.apply(.join(nonce: 0), by: Bench.d)
        #expect(
            [full, locked, banned] == [
                .refused(.full(.participants, limit: 3)), .refused(.locked), .refused(.banned),
            ]
        )
        #expect(
            bench.events().contains { event in
                guard case .participantLeft(_, let who, let why) = event else { return false }
                let reason = ParticipantLeaveReason.removed(
                    by: bench.id(Bench.a),
                    note: "too loud",
                    isBan: true
                )
                return who.id == id && why == reason
            }
        )
    }

    @Test("the table of absent members is bounded; the longest absent goes first") func bounded() {
        var bench = Bench()
        let count = UInt64(SessionLimits.absentMembers) + 10
        for life in 1...count {
            // Each is another node, so none replaces another.
            let node = Bench.digest([UInt8(life)])
            let guest = ProcessID(
                nodeID: NodeID(node.bytes) ?? .zero,
                incarnation: life,
                tag: 1000 + life
            )
            bench.install([Bench.a, guest])
            bench.install([Bench.a])
        }
        #expect(bench.room.members.count == SessionLimits.absentMembers + 1)
        #expect(bench.room.member(Bench.b) == nil)
        #expect(bench.room.members.contains { $0.process.tag == 1000 + count })
    }
}
