import MeshSession
import MeshWire
import Testing

@Suite("Who may do what — 40-groupactivities §9.6") struct RightsTests {
    private static func bench(_ change: (inout SessionOptions) -> Void = { _ in }) -> Bench {
        var options = SessionOptions()
        change(&options)
        // B starts it and A leads it, so that the two differ.
        var bench = Bench()
        bench.apply(
            .startSession(.init(activity: .chess, options: options, slot: "s")),
            by: Bench.b
        )
        for process in [Bench.a, Bench.b, Bench.c] {
            bench.apply(.join(nonce: 0), by: process)
        }
        bench.apply(.giveLead(to: bench.id(Bench.a)), by: Bench.b)
        return bench
    }

    /// Who of A (the lead), B (the initiator) and C may do it.
    private static func allowed(
        _ command: RoomCommand,
        session: SessionID = Bench.session,
        _ change: (inout SessionOptions) -> Void = { _ in }
    ) -> [Bool] {
        [Bench.a, Bench.b, Bench.c].map { process in
            var bench = bench(change)
            let before = bench.room.snapshot()
            let result = bench.apply(command, session: session, by: process)
            if case .refused = result {
                #expect(bench.room.snapshot() == before, "what is refused changes nothing")
                return false
            }
            return true
        }
    }

    private static let everyone = [true, true, true]
    private static let lead = [true, false, false]
    private static let initiator = [false, true, false]
    private static let replacement = RoomCommand.startSession(
        SessionBlueprint(activity: Activity(identifier: "go"), slot: "s")
    )

    @Test("end: everyone, unless the options say less") func end() {
        let end = RoomCommand.endSession(isExpiry: false)
        #expect(Self.allowed(end) == Self.everyone)
        #expect(Self.allowed(end) { $0.mayEnd = .lead } == Self.lead)
        #expect(Self.allowed(end) { $0.mayEnd = .initiator } == Self.initiator)
        #expect(Self.allowed(end) { $0.control = .leadOnly } == Self.lead)
    }

    @Test("replace: everyone, unless the options say less; also by a start in the slot")
    func replace() {
        let activity = RoomCommand.setActivity(Activity(identifier: "go"))
        for (command, session) in [(activity, Bench.session), (Self.replacement, Bench.other)] {
            #expect(Self.allowed(command, session: session) == Self.everyone)
            #expect(
                Self.allowed(command, session: session) { $0.mayReplace = .lead } == Self.lead
            )
            #expect(
                Self.allowed(command, session: session) { $0.mayReplace = .initiator }
                    == Self.initiator
            )
            #expect(
                Self.allowed(command, session: session) { $0.mayEnd = .lead } == Self.everyone
            )
        }
    }

    @Test("kick: the lead, unless the options say otherwise") func kick() {
        let target = Self.bench().id(Bench.c)
        let kick = RoomCommand.remove(target, isBan: false, note: "")
        #expect(Self.allowed(kick) == Self.lead)
        #expect(Self.allowed(kick) { $0.mayKick = .everyone } == Self.everyone)
        #expect(Self.allowed(kick) { $0.mayKick = .initiator } == Self.initiator)
    }

    @Test("capacity and lock: the lead, unless the options say otherwise; rights: the lead alone")
    func lock() {
        let locked = { (right: SessionRight) -> [Bool] in
            var options = SessionOptions(isLocked: true)
            options.mayLock = right
            return Self.allowed(.setOptions(options)) { $0.mayLock = right }
        }
        #expect(locked(.lead) == Self.lead)
        #expect(locked(.everyone) == Self.everyone)
        #expect(locked(.initiator) == Self.initiator)
        var options = SessionOptions()
        options.mayLock = .everyone
        options.mayEnd = .lead
        #expect(Self.allowed(.setOptions(options)) { $0.mayLock = .everyone } == Self.lead)
    }

    @Test("take an attachment out: everyone, unless the options say less") func removeAttachment() {
        let id = AttachmentID(Array(repeating: 7, count: 16)) ?? .zero
        let entry = JournalEntry(id: id, kind: .data, size: 1, root: .zero)
        func allowed(_ change: (inout SessionOptions) -> Void) -> [Bool] {
            [Bench.a, Bench.b, Bench.c].map { process in
                var bench = Self.bench(change)
                // By the lead, whom every rule lets add.
                bench.apply(.addAttachment(entry), by: Bench.a)
                let before = bench.room.snapshot()
                guard case .refused = bench.apply(.removeAttachment(id), by: process) else {
                    return bench.room.session(Bench.session)?.journal.isEmpty == true
                }
                #expect(bench.room.snapshot() == before, "what is refused changes nothing")
                return false
            }
        }
        #expect(allowed { _ in } == Self.everyone)
        #expect(allowed { $0.mayRemove = .lead } == Self.lead)
        #expect(allowed { $0.mayRemove = .initiator } == Self.initiator)
        #expect(allowed { $0.control = .leadOnly } == Self.lead)
        #expect(allowed { $0.mayEnd = .lead } == Self.everyone)
        var options = SessionOptions()
        options.mayRemove = .lead
        #expect(Self.allowed(.setOptions(options)) == Self.lead, "a right is the lead's to give")
    }

    @Test("a refusal says whom the room waits for") func refusals() {
        var bench = Self.bench { $0.mayEnd = .initiator }
        #expect(
            bench.apply(.endSession(isExpiry: false), by: Bench.c) == .refused(.notInitiator)
        )
        #expect(
            bench.apply(.remove(.zero, isBan: true, note: ""), by: Bench.b)
                == .refused(.notLead(holder: bench.id(Bench.a)))
        )
    }

    @Test("four rights are four bits of two; a fourth value is none") func bits() throws {
        let payload = RoomCommand.setOptions(CodingTests.rights).payload
        #expect(payload.prefix(4) == [33, 0, 0, 0b01_00_10_01])
        for shift in stride(from: 0, to: 8, by: 2) {
            var wrong = payload
            wrong[3] |= 3 << UInt8(shift)
            #expect(throws: RoomCommandError.self) {
                try RoomCommand(type: CommandType.setOptions.rawValue, payload: wrong)
            }
        }
    }
}
