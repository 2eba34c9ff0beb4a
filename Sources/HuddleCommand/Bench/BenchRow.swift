import Huddle

/// One figure, beside what could be expected of it in the same run.
struct BenchRow {
    /// What it is compared with.
    struct Limit {
        var name: String
        var figure: Double
    }

    var name: String
    var figure: Double
    var unit: String
    var limit: Limit?
    /// What it is to reach, in words.
    var goal: String?
    /// The number of digits behind the point.
    var digits = 1

    /// The figure in terms of its limit.
    var ratio: Double? { limit.flatMap { $0.figure > 0 ? figure / $0.figure : nil } }

    func show(asJSON isJSON: Bool) {
        guard !isJSON else { return Terminal.print(object.description) }
        var line = name.padded(40) + "\(decimals(figure, digits)) \(unit)"
        if let limit, let ratio {
            line += " = \(decimals(ratio, 2))× of \(decimals(limit.figure, digits)), \(limit.name)"
        }
        if let goal { line += "   goal \(goal)" }
        Terminal.print(line)
    }

    private var object: JSON {
        var members = [
            JSON.Member("name", .string(name)), JSON.Member("figure", .number(figure)),
            JSON.Member("unit", .string(unit)),
        ]
        if let limit, let ratio {
            members += [
                JSON.Member("limit", .number(limit.figure)),
                JSON.Member("limitName", .string(limit.name)),
                JSON.Member("ratio", .number(ratio)),
            ]
        }
        return JSON.object(members)
    }
}
