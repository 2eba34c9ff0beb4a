/// Lines of cells in aligned columns.
struct Grid {
    private var lines: [[String]] = []

    /// A grid whose first line is `heading`.
    init(_ heading: [String] = []) {
        if !heading.isEmpty { lines.append(heading.map { $0 }) }
        hasHeading = !heading.isEmpty
    }

    private let hasHeading: Bool

    mutating func add(_ cells: [String]) {
        lines.append(cells)
    }

    /// The lines, two spaces between columns; the heading is dim.
    var text: String {
        let columns = lines.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            lines.map { column < $0.count ? visibleCount($0[column]) : 0 }.max() ?? 0
        }
        let rendered = lines.enumerated().map { index, cells in
            var line = ""
            for (column, cell) in cells.enumerated() {
                line += cell
                guard column < cells.count - 1 else { break }
                line += String(repeating: " ", count: widths[column] - visibleCount(cell) + 2)
            }
            return hasHeading && index == 0 ? Style.dim(line) : line
        }
        return rendered.joined(separator: "\n")
    }

    /// Characters a reader sees: without the escape sequences of ``Style``.
    private func visibleCount(_ text: String) -> Int {
        var count = 0
        var inEscape = false
        for character in text {
            if character == "\u{1b}" {
                inEscape = true
            } else if inEscape {
                inEscape = character != "m"
            } else {
                count += 1
            }
        }
        return count
    }
}
