/// The word of `words` that was probably meant by `word`, or `nil` if none is near.
///
/// Near means at most two edits (a letter more, less, other, or two swapped), and fewer than half its letters;
/// or that `word` begins exactly one of them.
func suggestion(for word: String, among words: [String]) -> String? {
    let scored = words.map { ($0, distance(Array(word), Array($0))) }
    let limit = min(2, (word.count - 1) / 2)
    if let best = scored.filter({ $0.1 <= limit }).min(by: { $0.1 < $1.1 }) { return best.0 }
    let longer = words.filter { word.count >= 2 && $0.hasPrefix(word) }
    return longer.count == 1 ? longer[0] : nil
}

/// The distance of Damerau and Levenshtein in its restricted form (optimal string alignment).
private func distance(_ left: [Character], _ right: [Character]) -> Int {
    var rows = [Array(0...right.count)]
    for i in 1...max(1, left.count) where !left.isEmpty {
        var row = [i]
        for j in 1...max(1, right.count) where !right.isEmpty {
            let cost = left[i - 1] == right[j - 1] ? 0 : 1
            var best = min(rows[i - 1][j] + 1, row[j - 1] + 1, rows[i - 1][j - 1] + cost)
            if i > 1, j > 1, left[i - 1] == right[j - 2], left[i - 2] == right[j - 1] {
                best = min(best, rows[i - 2][j - 2] + 1)
            }
            row.append(best)
        }
        rows.append(row)
    }
    return rows.last?.last ?? right.count
}
