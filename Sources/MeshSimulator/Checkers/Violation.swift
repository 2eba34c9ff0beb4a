/// An invariant that does not hold: what should be true, and what was seen instead.
package struct Violation: Error, Hashable, Sendable, CustomStringConvertible {
    /// The invariant in words.
    package var invariant: String
    /// What was seen.
    package var detail: String

    /// Says that `invariant` is broken by `detail`.
    package init(_ invariant: String, _ detail: String) {
        self.invariant = invariant
        self.detail = detail
    }

    /// Both in one sentence.
    package var description: String { "\(invariant): \(detail)" }
}
