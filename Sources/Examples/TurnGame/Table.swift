import GroupActivities
import Huddle

/// A table that all sit at: who plays what, and the running game.
///
/// It is what the session's log makes of it: whoever applies the same entries has the same table. The
/// entries are moves that the lead accepted, lines such as `sit x`, `play 4`, `deal`.
struct Table: Codable, Equatable {
    /// The number of the running game.
    private(set) var number = 1
    private(set) var game = Game()
    /// Who sits where, by participant.
    private(set) var seats: [Mark: String] = [:]
    /// The index of the first entry that is not applied here.
    private(set) var next: UInt64 = 0

    /// Why the lead says no to a line; `nil` if it says yes.
    func objection(
        to line: String,
        by who: Participant,
        lead: Participant?,
        present: [Participant]
    )
        -> String?
    {
        let me = who.id.uuidString
        switch Line(line) {
        case .sit(let mark)?:
            let isHere = present.contains { $0.id.uuidString == seats[mark] && $0 != who }
            return isHere ? "somebody sits there" : nil
        case .play(let cell)?:
            guard seats.values.contains(me) else { return "take a seat first: sit x, or sit o" }
            guard let turn = game.turn, seats[turn] == me else { return "it is not your turn" }
            return game.mayPlay(cell) ? nil : "that cell is not free"
        case .deal?: return who == lead ? nil : "only who leads may do that"
        case nil: return "sit x, sit o, play CELL, deal, show, or leave"
        }
    }

    /// Does what an entry says, which the lead has looked at.
    mutating func apply(_ entry: LogEntry) {
        guard entry.index >= next, let mover = entry.mover else { return }
        next = entry.index + 1
        switch Line(String(decoding: entry.payload, as: UTF8.self)) {
        case .sit(let mark)?: seats[mark] = mover.uuid.uuidString
        case .play(let cell)?: game.play(cell)
        case .deal?:
            number += 1
            game = Game()
        case nil: break
        }
    }
}

/// What a player may say.
private enum Line {
    case sit(Mark), play(Int), deal

    init?(_ line: String) {
        let words = line.split(separator: " ")
        switch (words.first, words.dropFirst().first.map(String.init) ?? "") {
        case ("sit", let name):
            guard let mark = Mark(rawValue: name) else { return nil }
            self = .sit(mark)
        case ("play", let cell):
            guard let cell = Int(cell) else { return nil }
            self = .play(cell)
        case ("deal", _): self = .deal
        default: return nil
        }
    }
}
