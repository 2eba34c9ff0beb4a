import GroupActivities

/// The activity: noughts and crosses.
struct NoughtsAndCrosses: GroupActivity {
    static let activityIdentifier = "huddle.examples.noughts"

    var metadata: GroupActivityMetadata {
        var metadata = GroupActivityMetadata()
        metadata.title = "Noughts and crosses"
        metadata.type = .playTogether
        return metadata
    }
}

/// Who plays what.
enum Mark: String, CaseIterable, Codable {
    case cross = "x"
    case nought = "o"

    var other: Mark { self == .cross ? .nought : .cross }
}

/// One game: the cells that were played, in order; crosses begin.
struct Game: Codable, Equatable {
    private(set) var moves: [Int] = []

    /// Whose turn it is; `nil` once the game is over.
    var turn: Mark? { winner == nil && moves.count < 9 ? mark(ofMove: moves.count) : nil }

    /// Who has three in a row.
    var winner: Mark? {
        let lines = [
            [0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6],
        ]
        for line in lines {
            let marks = Set(line.map { mark(at: $0) })
            if marks.count == 1, let mark = marks.first.flatMap(\.self) { return mark }
        }
        return nil
    }

    func mark(at cell: Int) -> Mark? { moves.firstIndex(of: cell).map(mark(ofMove:)) }

    func mayPlay(_ cell: Int) -> Bool {
        turn != nil && (0..<9).contains(cell) && !moves.contains(cell)
    }

    mutating func play(_ cell: Int) { moves.append(cell) }

    /// The board in three lines; free cells show their number.
    var board: String {
        let cells = (0..<9).map { mark(at: $0)?.rawValue ?? "\($0)" }
        return (0..<3).map { cells[3 * $0..<3 * $0 + 3].joined(separator: " ") }
            .joined(separator: "\n")
    }

    private func mark(ofMove number: Int) -> Mark { number % 2 == 0 ? .cross : .nought }
}
