import MeshSession
import MeshWire
import Testing

@Suite("The lead") struct LeadTests {
    @Test("the first to join leads") func first() {
        let bench = Bench.joined()
        #expect(bench.current?.lead == bench.id(Bench.a))
    }

    @Test("the initiator leads once it comes, whoever was faster; the second time it does not")
    func initiator() {
        var bench = Bench()
        bench.apply(.startSession(SessionBlueprint(activity: .chess)), by: Bench.a)
        bench.apply(.join(nonce: 0), by: Bench.b)
        #expect(bench.current?.lead == bench.id(Bench.b))
        bench.apply(.join(nonce: 0), by: Bench.a)
        #expect(bench.current?.lead == bench.id(Bench.a))
        bench.apply(.leave, by: Bench.a)
        #expect(bench.current?.lead == bench.id(Bench.b))
        bench.apply(.join(nonce: 0), by: Bench.a)
        #expect(bench.current?.lead == bench.id(Bench.b))
    }

    @Test("a lead that people have moved is not the initiator's any more")
    func decided() {
        var bench = Bench()
        bench.apply(.startSession(SessionBlueprint(activity: .chess)), by: Bench.a)
        for process in [Bench.b, Bench.c] { bench.apply(.join(nonce: 0), by: process) }
        let (b, c) = (bench.id(Bench.b), bench.id(Bench.c))
        #expect(bench.apply(.giveLead(to: c), by: Bench.b) == .done)
        bench.apply(.join(nonce: 0), by: Bench.a)
        #expect(bench.current?.lead == c)
        #expect(bench.current?.lead != b)
    }

    @Test("only the holder gives it, and only to who is present") func given() {
        var bench = Bench.joined()
        let (a, b, c) = (bench.id(Bench.a), bench.id(Bench.b), bench.id(Bench.c))
        bench.install([Bench.a, Bench.b])
        let foreign = bench.apply(.giveLead(to: b), by: Bench.b)
        let away = bench.apply(.giveLead(to: c))
        _ = bench.events()
        let given = bench.apply(.giveLead(to: b))
        #expect(
            [foreign, away, given] == [
                .refused(.notLead(holder: a)), .refused(.participantAway(c)), .done,
            ]
        )
        #expect(
            bench.events() == [.leadChanged(Bench.session, old: a, new: b, .given)]
        )
    }

    @Test("in the mode switchable anybody takes it, in none nobody") func taken() {
        var bench = Bench.joined(
            SessionBlueprint(activity: .chess, leadMode: .switchable)
        )
        let taken = bench.apply(.takeLead, by: Bench.c)
        #expect(taken == .done)
        #expect(bench.current?.lead == bench.id(Bench.c))
        bench.apply(.setLeadMode(.none), by: Bench.c)
        #expect(bench.current?.lead == nil)
        let refused = bench.apply(.takeLead, by: Bench.b)
        #expect(refused == .refused(.noLead))
    }

    @Test("the same command that takes the holder out names the successor") func succession() {
        var bench = Bench.joined()
        let (a, b, c) = (bench.id(Bench.a), bench.id(Bench.b), bench.id(Bench.c))
        bench.install([Bench.a, Bench.c])
        _ = bench.events()
        bench.apply(.leave, by: Bench.a)
        let changes = bench.events().filter { event in
            if case .leadChanged = event { true } else { false }
        }
        // B joined before C and is away, so it is passed over.
        #expect(changes == [.leadChanged(Bench.session, old: a, new: c, .succeeded)])
        #expect(bench.current?.lead != b)
    }

    @Test("an away holder keeps the lead until it expires") func away() {
        var bench = Bench.joined()
        let a = bench.id(Bench.a)
        bench.install([Bench.b, Bench.c], leader: Bench.b)
        #expect(bench.current?.lead == a)
        bench.apply(.expire(a), by: Bench.b)
        #expect(bench.current?.lead == bench.id(Bench.b))
    }

    @Test("with nobody present the lead waits for the first that comes back") func nobody() {
        var bench = Bench.joined()
        bench.install([Bench.a, Bench.d])
        bench.apply(.leave, by: Bench.a)
        #expect(bench.current?.lead == nil)
        bench.install([Bench.a, Bench.c, Bench.d])
        #expect(bench.current?.lead == bench.id(Bench.c))
    }

    @Test("control leadOnly keeps changes to the lead; the refusal names it") func control() {
        var bench = Bench.joined(
            SessionBlueprint(activity: .chess, options: SessionOptions(control: .leadOnly))
        )
        let refusal = CommandResult.refused(.notLead(holder: bench.id(Bench.a)))
        let commands: [RoomCommand] = [
            .put(key: "k", value: []), .setActivity(.chess), .endSession(isExpiry: false),
        ]
        for command in commands {
            let foreign = bench.apply(command, by: Bench.b)
            #expect(foreign == refusal)
            let own = bench.apply(command, by: Bench.a)
            #expect(own.isAccepted)
        }
    }

    @Test("where there is no lead the initiator answers for the session") func steward() {
        var bench = Bench.joined(
            SessionBlueprint(
                activity: .chess,
                leadMode: .none,
                options: SessionOptions(control: .leadOnly)
            )
        )
        let own = bench.apply(.put(key: "k", value: []), by: Bench.a)
        let foreign = bench.apply(.put(key: "k", value: []), by: Bench.b)
        #expect(own.isAccepted)
        #expect(foreign == .refused(.notLead(holder: bench.id(Bench.a))))
    }
}

extension CommandResult {
    var isAccepted: Bool {
        if case .refused = self { false } else { true }
    }
}
