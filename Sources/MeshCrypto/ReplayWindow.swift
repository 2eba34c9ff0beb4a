/// Which counters were seen: a ring of 8,192 bits (RFC 6479), 8,128 of them effective.
///
/// A counter is fresh above the highest seen, or less than 8,128 below it and not yet seen. The
/// order is check, open, update, never another (`10-security.md` §6): a forgery must not move it.
package struct ReplayWindow: Sendable {
    private static let wordCount = 128
    /// How far below the highest a counter may be.
    package static let effective: UInt64 = 64 * 127

    private var words = InlineArray<128, UInt64>(repeating: 0)
    /// The highest counter seen, if any.
    package private(set) var highest: UInt64?

    package init() {}

    /// Whether `counter` would be fresh.
    package func isFresh(_ counter: UInt64) -> Bool {
        guard let highest, counter <= highest else { return true }
        guard highest - counter < Self.effective else { return false }
        return words[Self.word(counter)] & Self.bit(counter) == 0
    }

    /// Notes a counter that was fresh and whose packet opened.
    package mutating func note(_ counter: UInt64) {
        if let highest, counter > highest {
            // The words between the old and the new highest start anew, each once at most.
            let steps = min(counter / 64 - highest / 64, UInt64(Self.wordCount))
            for step in 0..<steps { words[Self.word((counter / 64 &- step) &* 64)] = 0 }
        }
        highest = max(highest ?? counter, counter)
        words[Self.word(counter)] |= Self.bit(counter)
    }

    /// Checks and notes in one step, where nothing lies between.
    package mutating func accept(_ counter: UInt64) -> Bool {
        guard isFresh(counter) else { return false }
        note(counter)
        return true
    }

    private static func word(_ counter: UInt64) -> Int { Int(counter / 64 % UInt64(wordCount)) }
    private static func bit(_ counter: UInt64) -> UInt64 { 1 << (counter % 64) }
}
