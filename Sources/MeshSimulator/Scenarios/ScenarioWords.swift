import MeshFaults
import MeshWire

/// Why a text is no scenario: where, what was expected, what was found.
package struct ScenarioSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The line, from 1.
    package var line: Int
    /// What is wrong, and what to write.
    package var reason: String

    /// One sentence for the author.
    package var description: String { "line \(line): \(reason)" }
}

/// The words of one statement, taken one after the other.
struct ScenarioWords {
    let line: Int
    private(set) var rest: ArraySlice<String>

    init(_ text: some StringProtocol, line: Int) {
        self.line = line
        rest = text.split { $0.isWhitespace }.map { String($0) }[...]
    }

    init(_ words: ArraySlice<String>, line: Int) {
        self.line = line
        rest = words
    }

    var isEmpty: Bool { rest.isEmpty }
    var first: String? { rest.first }

    /// The error that something else was expected here.
    func expected(_ what: String) -> ScenarioSyntaxError {
        let found = rest.first.map { "`\($0)`" } ?? "the end of the line"
        return ScenarioSyntaxError(line: line, reason: "expected \(what), found \(found)")
    }

    /// Takes the next word, whatever it is.
    mutating func next(_ what: String) throws(ScenarioSyntaxError) -> String {
        guard let word = rest.first else { throw expected(what) }
        rest.removeFirst()
        return word
    }

    /// Takes the next word if it is this one.
    mutating func take(_ word: String) -> Bool {
        guard rest.first == word else { return false }
        rest.removeFirst()
        return true
    }

    /// Throws unless every word is taken.
    func finish(_ what: String = "nothing more") throws(ScenarioSyntaxError) {
        guard rest.isEmpty else { throw expected(what) }
    }

    /// Takes all that is left, as text.
    mutating func takeRest() -> String {
        defer { rest = [] }
        return rest.joined(separator: " ")
    }

    /// A time with its unit.
    mutating func time() throws(ScenarioSyntaxError) -> Duration {
        guard let word = rest.first, let time = Self.time(word) else {
            throw expected("a time such as 40ms")
        }
        rest.removeFirst()
        return time
    }

    static func time(_ word: some StringProtocol) -> Duration? {
        // What is no time is told by the caller, who knows the line.
        try? FaultUnits.time(String(word), "at")
    }

    mutating func number<Number: FixedWidthInteger>(
        _ what: String
    ) throws(ScenarioSyntaxError) -> Number {
        guard let word = rest.first, let number = Number(word) else { throw expected(what) }
        rest.removeFirst()
        return number
    }

    /// The parts of a list without spaces, `A,B`.
    mutating func list(_ what: String) throws(ScenarioSyntaxError) -> [String] {
        let word = try next(what)
        return word.split(separator: ",").map(String.init)
    }

    mutating func comparison() throws(ScenarioSyntaxError) -> Scenario.Comparison {
        guard let word = rest.first, let relation = Scenario.Comparison.Relation(rawValue: word)
        else { throw expected("<=, >= or =") }
        rest.removeFirst()
        return Scenario.Comparison(relation: relation, number: try number("a number"))
    }
}
