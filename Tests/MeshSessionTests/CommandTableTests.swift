import MeshSession
import MeshWire
import Testing

/// Every command against every phase its origin can be in.
@Suite("Command × phase — 30-consensus §12") struct CommandTableTests {
    /// Where the origin stands when it asks.
    enum Phase: CaseIterable {
        case stranger, noSession, waiting, joined, lead
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var command: RoomCommand
        var results: [Phase: Outcome]
        var testDescription: String { "\(command.type)" }
    }

    /// A result without its details.
    enum Outcome: Equatable, Sendable {
        case accepted
        case refused(CommandRefusal)
    }

    static let rows: [Row] = [
        row(.setProfile(name: "Ada"), noSession: .accepted, .accepted, .accepted, .accepted),
        row(
            .startSession(SessionBlueprint(activity: .chess)),
            noSession: .accepted,
            .refused(.sessionExists),
            .refused(.sessionExists),
            .refused(.sessionExists)
        ),
        row(.setActivity(.chess), .refused(.notJoined), .accepted, .accepted),
        row(.endSession(isExpiry: false), .accepted, .accepted, .accepted),
        row(
            .endSession(isExpiry: true),
            .refused(.notLeader),
            .refused(.notLeader),
            .refused(.notExpired)
        ),
        row(.leave, .refused(.notJoined), .accepted, .accepted),
        row(
            .expire(.zero),
            .refused(.notLeader),
            .refused(.notLeader),
            .refused(.noSuchParticipant(.zero))
        ),
        row(.setOptions(SessionOptions()), .refused(.notJoined), .steward, .accepted),
        row(
            .remove(.zero, isBan: true, note: ""),
            .refused(.notJoined),
            .steward,
            .refused(.noSuchParticipant(.zero))
        ),
        row(
            .giveLead(to: .zero),
            .refused(.notJoined),
            .steward,
            .refused(.noSuchParticipant(.zero))
        ),
        row(.takeLead, .refused(.notJoined), .steward, .accepted),
        row(.setLeadMode(.switchable), .refused(.notJoined), .steward, .accepted),
        row(.requestState, .refused(.notJoined), .accepted, .accepted),
        row(.put(key: "k", value: [1]), .refused(.notJoined), .accepted, .accepted),
        row(
            .compareAndSet(key: "k", expected: .absent, value: [1]),
            .refused(.notJoined),
            .accepted,
            .accepted
        ),
        row(.delete(key: "k", expected: .anything), .refused(.notJoined), .accepted, .accepted),
        row(.add(key: "k", amount: 1), .refused(.notJoined), .accepted, .accepted),
        row(.insert(key: "k", element: [1]), .refused(.notJoined), .accepted, .accepted),
        row(.withdraw(key: "k", element: [1]), .refused(.notJoined), .accepted, .accepted),
        row(
            .append(LogDraft(number: 1, payload: [1])),
            .refused(.notJoined),
            .accepted,
            .accepted
        ),
        row(
            .refuseMove(MoveID(participant: .zero, number: 1), note: "no"),
            .refused(.notJoined),
            .steward,
            .refused(.noSuchParticipant(.zero))
        ),
        row(
            .addAttachment(JournalTests.entry(1)),
            .refused(.notJoined),
            .accepted,
            .accepted
        ),
        row(
            .removeAttachment(JournalTests.entry(1).id),
            .refused(.notJoined),
            .refused(.noSuchAttachment),
            .refused(.noSuchAttachment)
        ),
        row(
            .acknowledgeConflict(.value, key: "k"),
            noSession: .refused(.noSuchConflict),
            .refused(.noSuchConflict),
            .refused(.noSuchConflict),
            .refused(.noSuchConflict)
        ),
    ]

    private static func row(
        _ command: RoomCommand,
        noSession: Outcome = .refused(.noSuchSession),
        _ waiting: Outcome,
        _ joined: Outcome,
        _ lead: Outcome
    ) -> Row {
        Row(
            command: command,
            results: [
                .stranger: .refused(.notMember), .noSession: noSession, .waiting: waiting,
                .joined: joined, .lead: lead,
            ]
        )
    }

    @Test("each command gets its answer in each phase", arguments: rows)
    func table(row: Row) throws {
        for phase in Phase.allCases {
            var bench = Bench()
            var origin = Bench.b
            if phase != .noSession {
                bench.apply(.startSession(SessionBlueprint(activity: .chess)), by: Bench.a)
                bench.apply(.join(nonce: 0), by: Bench.a)
            }
            switch phase {
            case .stranger: origin = Bench.d
            case .noSession, .waiting: break
            case .joined: bench.apply(.join(nonce: 0), by: Bench.b)
            case .lead: origin = Bench.a
            }
            let before = bench.room.snapshot()
            let result = bench.apply(row.command, by: origin)
            var outcome = Outcome.accepted
            if case .refused(let refusal) = result {
                outcome = .refused(refusal)
                #expect(bench.room.snapshot() == before, "a refusal changes nothing: \(phase)")
            }
            var expected = try #require(row.results[phase])
            if expected == .steward { expected = .refused(.notLead(holder: bench.id(Bench.a))) }
            #expect(outcome == expected, "\(row.command.type) when \(phase)")
        }
    }

    @Test("every command that is not join has a row") func coverage() {
        let covered = Set(Self.rows.map(\.command.type)).union([.join])
        #expect(covered == Set(CommandType.allCases))
    }
}

extension CommandTableTests.Outcome {
    /// Refused because another holds the lead.
    static let steward = Self.refused(.notLead(holder: nil))
}
