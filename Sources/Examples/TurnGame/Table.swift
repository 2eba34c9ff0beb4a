import GroupActivities
import Huddle

/// The table that all sit at: seats and moves stand in the session's values, so everybody sees the same
/// order, whoever comes later has all of it, and of two that move at once one is told so.
///
/// | key | value |
/// |---|---|
/// | `game` | the number of the running game; only who leads changes it |
/// | `seat x`, `seat o` | the participant that plays it |
/// | `GAME/MOVE` | the cell, such as `2/0` = `4` |
@MainActor
final class Table {
    enum Problem: Error, CustomStringConvertible {
        case notLead, notSeated, notYourTurn, taken, cellTaken

        var description: String {
            switch self {
            case .notLead: "only who leads may do that"
            case .notSeated: "take a seat first: sit x, or sit o"
            case .notYourTurn: "it is not your turn"
            case .taken: "somebody sits there"
            case .cellTaken: "that cell is not free"
            }
        }
    }

    private let session: Session
    private let me: String

    init(_ session: Session, _ participant: Participant) {
        self.session = session
        me = participant.id.uuidString
    }

    // MARK: What everybody sees

    /// The number of the running game and its moves, up to the first one that is not there.
    func game() async -> (number: Int, game: Game) {
        let number = await session.values["game"].flatMap(\.text).flatMap(Int.init) ?? 1
        var game = Game()
        while let value = await session.values["\(number)/\(game.moves.count)"],
            let cell = value.text.flatMap(Int.init), game.mayPlay(cell)
        {
            game.play(cell)
        }
        return (number, game)
    }

    /// Who sits where.
    func seats() async -> [Mark: String] {
        var seats: [Mark: String] = [:]
        for mark in Mark.allCases {
            seats[mark] = await session.values["seat \(mark.rawValue)"]?.text
        }
        return seats
    }

    // MARK: What one may do

    /// Takes a seat, unless somebody has it who is still here.
    func sit(_ mark: Mark) async throws {
        let key = "seat \(mark.rawValue)"
        let sitting = await session.values[key]
        let present = await session.participants.map(\.id.uuidString)
        if let sitting, sitting.text != me, present.contains(sitting.text ?? "") {
            throw Problem.taken
        }
        // Of two that sit down at once the log lets one.
        let expected: Values.Expectation =
            if let sitting { .revision(sitting.revision) } else { .absent }
        try await put(key, me, expected, otherwise: .taken)
    }

    /// Plays a cell for the seat whose turn it is.
    func play(_ cell: Int) async throws {
        let seats = await seats()
        let (number, game) = await game()
        guard seats.values.contains(me) else { throw Problem.notSeated }
        guard let turn = game.turn, seats[turn] == me else { throw Problem.notYourTurn }
        guard game.mayPlay(cell) else { throw Problem.cellTaken }
        let key = "\(number)/\(game.moves.count)"
        try await put(key, "\(cell)", .absent, otherwise: .notYourTurn)
    }

    /// Gets up from the table; what one played stays.
    func leave() async throws { try await session.leave() }

    /// Begins anew, which is up to who leads; if that participant is gone, another leads.
    func deal() async throws {
        guard await session.lead?.id.uuidString == me else { throw Problem.notLead }
        let number = await game().number
        try await session.values.set("game", to: Array("\(number + 1)".utf8))
    }

    private func put(
        _ key: String,
        _ value: String,
        _ expected: Values.Expectation,
        otherwise problem: Problem
    ) async throws {
        do throws(ValueError) {
            try await session.values.set(key, to: Array(value.utf8), if: expected)
        } catch {
            if case .conflict = error { throw problem }
            throw error
        }
    }
}
