package import MeshWire

/// What the log drives: equal entries in equal order give equal states on every process.
///
/// A value: the core copies it cheaply for checkpoints and never applies what is not committed.
package protocol StateMachine: Sendable {
    /// Applies a committed command and answers with the bytes its origin gets back, at most 1 KiB.
    ///
    /// Called once for each (origin, sequence), in log order, with a verified signature.
    mutating func apply(_ command: Command, at position: Position) -> [UInt8]

    /// Takes note of a committed view; `departed` left by LEAVE or kick, others not listed are absent.
    mutating func install(_ view: View, departed: [ProcessID], at position: Position)

    /// Whether what the first result promised the origin of `command` holds with the second.
    ///
    /// Both branches ran the command and the second's won; if not, the first is reported as
    /// discarded. A result that was trimmed is `nil`: say no if the two might differ.
    func isSameOutcome(of command: Command, _ left: [UInt8]?, _ right: [UInt8]?) -> Bool

    /// Decides what becomes of a branch that lost a merge (`30-consensus.md` §9).
    ///
    /// Asked of the winner's leader alone, of the state with all that stands before the merge entry,
    /// the view of all included.
    func plan(_ branch: LosingBranch) -> MergePlan

    /// Takes over what ``plan(_:)`` made; called on every replica, in log order.
    ///
    /// `buried` are the tags of processes that left for good on the losing branch. Bytes that are no
    /// patch change nothing, alike on every replica.
    mutating func merge(_ patch: [UInt8], buried: [UInt64], at position: Position)

    /// The canonical bytes of the state: equal states give equal bytes.
    func snapshot() -> [UInt8]

    /// Replaces the state by the one these bytes describe; called on a pristine machine.
    mutating func restore(from bytes: RawSpan) throws(WireError)
}

/// A branch as the state machine of the winner sees it: two states and what led from one to the other.
package struct LosingBranch: Sendable {
    /// The state where the branches parted; `nil` if nobody has it any more.
    package var base: (any StateMachine)?
    /// The state at the losing branch's end.
    package var state: any StateMachine
    /// The members of the losing view.
    package var members: [ProcessID]
    /// Tags of processes that left for good on the losing branch.
    package var buried: [UInt64]
    /// Its commands since the fork that the winner did not run, in their order, as far as its log
    /// still had them.
    package var commands: [BranchCommand]

    /// A command and what it gave.
    package struct BranchCommand: Sendable {
        /// Where it stood in the losing branch.
        package var position: Position
        /// What was asked.
        package var command: Command
        /// Its result there; `nil` if its origin had the answer, so that it was trimmed.
        package var result: [UInt8]?

        package init(position: Position, command: Command, result: [UInt8]?) {
            self.position = position
            self.command = command
            self.result = result
        }
    }

    package init(
        base: (any StateMachine)?,
        state: any StateMachine,
        members: [ProcessID],
        buried: [UInt64],
        commands: [BranchCommand]
    ) {
        self.base = base
        self.state = state
        self.members = members
        self.buried = buried
        self.commands = commands
    }
}

/// What a merge does to the winner's state.
package struct MergePlan: Sendable {
    /// The fate of each command of the branch, in their order.
    package var outcomes: [MergeOutcome]
    /// For ``StateMachine/merge(_:buried:at:)``; empty if nothing changes.
    package var patch: [UInt8]

    /// A plan.
    package init(outcomes: [MergeOutcome], patch: [UInt8]) {
        self.outcomes = outcomes
        self.patch = patch
    }
}

extension StateMachine {
    /// Equal bytes mean the same.
    package func isSameOutcome(of command: Command, _ left: [UInt8]?, _ right: [UInt8]?) -> Bool {
        left == right
    }
}
