import MeshSession
import MeshWire
import Testing

@Suite("Requests for the state") struct StateRequestTests {
    @Test(
        "a request changes nothing and tells where it stands, who asks, who is asked, who was there"
    )
    func event() throws {
        var bench = Bench.joined()
        let (a, b, c) = (bench.id(Bench.a), bench.id(Bench.b), bench.id(Bench.c))
        let before = bench.room.session(Bench.session)
        let result = bench.apply(.requestState, by: Bench.b)
        #expect(result == .done)
        #expect(bench.room.session(Bench.session) == before)
        let position = try #require(bench.room.position)
        let request = StateRequest(
            position: position,
            requester: b,
            provider: a,
            present: [a, b, c]
        )
        #expect(bench.events() == [.stateRequested(Bench.session, request)])
    }

    @Test("while the lead is away the present participant that joined first is asked")
    func standIn() throws {
        var bench = Bench.joined()
        let (a, b, c) = (bench.id(Bench.a), bench.id(Bench.b), bench.id(Bench.c))
        bench.install([Bench.b, Bench.c])
        _ = bench.events()
        bench.apply(.requestState, by: Bench.c)
        let position = try #require(bench.room.position)
        let request = StateRequest(
            position: position,
            requester: c,
            provider: b,
            present: [b, c],
            away: [a]
        )
        #expect(bench.events() == [.stateRequested(Bench.session, request)])
        #expect(bench.current?.lead == a)
    }

    @Test("a session without a lead has nobody to ask") func noLead() {
        var bench = Bench.joined()
        bench.apply(.setLeadMode(.none), by: Bench.a)
        _ = bench.events()
        bench.apply(.requestState, by: Bench.b)
        let providers = bench.events().map { event -> ParticipantID? in
            if case .stateRequested(_, let request) = event {
                request.provider
            } else {
                ParticipantID.zero
            }
        }
        #expect(providers == [nil])
    }
}
