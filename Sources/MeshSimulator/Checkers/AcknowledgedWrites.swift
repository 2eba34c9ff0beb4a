package import MeshWire

/// No acknowledged write is lost silently (`30-consensus.md` §15, 7 and 23; overview, guarantees).
///
/// Each key of the workload has one writer, which writes ascending numbers. At the end a key holds
/// its last acknowledged number or a later one of the same writer, unless a merge said that it
/// discarded the write. Counters count each acknowledged addition once and no addition twice.
package struct AcknowledgedWrites: Sendable {
    package static let invariant =
        "an acknowledged write is in the surviving state, superseded there, or reported discarded"

    /// A write of the workload: who wrote which number under which of its keys.
    package struct Write: Hashable, Comparable, Sendable, CustomStringConvertible {
        package var writer: Life
        package var key: Int
        package var number: UInt64

        package init(writer: Life, key: Int, number: UInt64) {
            self.writer = writer
            self.key = key
            self.number = number
        }

        package var description: String { "\(writer)/k\(key)=\(number)" }

        package static func < (left: Write, right: Write) -> Bool {
            (left.writer, left.key, left.number) < (right.writer, right.key, right.number)
        }
    }

    private struct Acknowledgment: Sendable {
        var position: Position
        var holders: [Life]
    }

    private var acknowledged: [Write: Acknowledgment] = [:]
    private var discarded: Set<Write> = []
    private var discardedAt: Set<Position> = []

    package init() {}

    /// How many writes were acknowledged.
    package var count: Int { acknowledged.count }
    /// How many writes a merge reported as discarded.
    package var discardedCount: Int { discarded.count + discardedAt.count }

    /// The writer heard that its write took effect at `position`, when `holders` had it in their
    /// logs.
    package mutating func acknowledge(_ write: Write, at position: Position, holders: [Life]) {
        acknowledged[write] = Acknowledgment(position: position, holders: holders)
    }

    /// Somebody was told that a merge gave this write up.
    package mutating func discard(_ write: Write) {
        discarded.insert(write)
    }

    /// Everybody was told that a merge gave up what was written at this position.
    package mutating func discard(at position: Position) {
        discardedAt.insert(position)
    }

    /// A merge could not tell what became of the writes at these positions.
    package mutating func discard(where isCovered: (Position) -> Bool) {
        // order: a set of positions has none
        for fact in acknowledged.values where isCovered(fact.position) {
            discardedAt.insert(fact.position)
        }
    }

    /// Compares with the state that survived: the number under each key, if any.
    ///
    /// A write may be gone if every process died that held it when it was acknowledged: without a
    /// disk that is no silent loss but the end of its branch.
    package func finish(
        isAlive: (Life) -> Bool,
        _ value: (Life, Int) -> UInt64?
    ) throws(Violation) {
        for (write, fact) in acknowledged.sorted(by: { $0.key < $1.key }) {
            let position = fact.position
            if discarded.contains(write) || discardedAt.contains(position)
                || !fact.holders.contains(where: isAlive)
            {
                continue
            }
            let kept = value(write.writer, write.key)
            guard let kept, kept >= write.number else {
                throw Violation(
                    Self.invariant,
                    "\(write) at \(position) is gone; the state has "
                        + (kept.map { "\($0)" } ?? "nothing")
                )
            }
        }
    }
}

/// Compare-and-set lets one of several writers win (`30-consensus.md` §15, 21).
///
/// Values are unique, so two successes that expected the same value are two successors of one state
/// of the register. Only branches may have that, and then one of them is discarded.
package struct RegisterHistory: Sendable {
    package static let invariant = "of writers that expect the same value one wins in a branch"

    private struct Success: Sendable {
        var value: UInt64
        var position: Position
        var holders: [Life]
    }

    private var successors: [UInt64: [Success]] = [:]
    private var discarded: Set<UInt64> = []
    private var discardedAt: Set<Position> = []

    package init() {}

    /// A compare-and-set from `expected` to `value` succeeded at `position`, held by `holders`.
    ///
    /// Throws at once if another succeeded in the same view: a view is one branch.
    package mutating func succeed(
        expected: UInt64,
        value: UInt64,
        at position: Position,
        holders: [Life]
    ) throws(Violation) {
        let others = successors[expected] ?? []
        if let other = others.first(where: { $0.position.epoch == position.epoch }) {
            throw Violation(
                Self.invariant,
                "\(value) at \(position) and \(other.value) at \(other.position) both follow "
                    + "\(expected)"
            )
        }
        successors[expected] =
            others + [Success(value: value, position: position, holders: holders)]
    }

    /// A merge gave the write of `value` up.
    package mutating func discard(_ value: UInt64) {
        discarded.insert(value)
    }

    /// A merge gave up what was written at this position.
    package mutating func discard(at position: Position) {
        discardedAt.insert(position)
    }

    /// A merge could not tell what became of the writes at these positions.
    package mutating func discard(where isCovered: (Position) -> Bool) {
        // order: a set of positions has none
        for success in successors.values.joined() where isCovered(success.position) {
            discardedAt.insert(success.position)
        }
    }

    /// Checks that of all that followed one value at most one survived.
    package func finish(isAlive: (Life) -> Bool) throws(Violation) {
        for (expected, followers) in successors.sorted(by: { $0.key < $1.key }) {
            let kept = followers.filter {
                !discarded.contains($0.value) && !discardedAt.contains($0.position)
                    && $0.holders.contains(where: isAlive)
            }
            if kept.count > 1 {
                throw Violation(
                    Self.invariant,
                    "\(kept.map { "\($0.value) at \($0.position)" }) all follow \(expected)"
                )
            }
        }
    }
}
