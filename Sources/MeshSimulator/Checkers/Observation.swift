package import MeshConsensus
package import MeshWire

/// One life of a simulated node, the name that the checkers use.
package struct Life: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The node.
    package var node: Int
    /// Which of its processes, from 1.
    package var incarnation: UInt32

    package init(node: Int, incarnation: UInt32) {
        self.node = node
        self.incarnation = incarnation
    }

    /// `n2#1`: the node, then its incarnation.
    package var description: String { "n\(node)#\(incarnation)" }

    package static func < (left: Life, right: Life) -> Bool {
        (left.node, left.incarnation) < (right.node, right.incarnation)
    }
}

/// What the checkers see of one process's consensus after a step.
package struct Observation: Sendable {
    /// Which process.
    package var life: Life
    /// Its short name in epochs.
    package var tag: UInt64
    /// What it is in its room.
    package var role: Role
    /// The highest epoch it promised.
    package var promised: Epoch
    /// The newest view it installed.
    package var view: View?
    /// The last entry before the one of ``view``, if the log still holds it.
    package var follows: Position?
    /// The epoch of an acknowledgment that it sent against its promise.
    package var misacknowledged: Epoch?
    /// The last committed position it knows.
    package var commit: Position
    /// The last position it applied.
    package var applied: Position
    /// The last position of its log.
    package var head: Position
    /// The hash of its log up to ``head``.
    package var headHash: Digest
    /// The hash of its log up to ``applied``.
    package var appliedHash: Digest
    /// A hash over the state's canonical bytes; `nil` if ``applied`` did not move.
    package var stateHash: UInt64?

    package init(
        life: Life,
        tag: UInt64,
        role: Role,
        promised: Epoch,
        view: View?,
        commit: Position,
        applied: Position,
        head: Position,
        headHash: Digest,
        appliedHash: Digest,
        stateHash: UInt64? = nil
    ) {
        self.life = life
        self.tag = tag
        self.role = role
        self.promised = promised
        self.view = view
        self.commit = commit
        self.applied = applied
        self.head = head
        self.headHash = headHash
        self.appliedHash = appliedHash
        self.stateHash = stateHash
    }
}

extension Observation {
    /// What is seen of `consensus`, the machine of the process `tag`.
    package init<Machine: StateMachine>(
        _ consensus: borrowing Consensus<Machine>,
        tag: UInt64,
        life: Life,
        hashingState: Bool
    ) {
        self.init(
            life: life,
            tag: tag,
            role: consensus.role,
            promised: consensus.promised,
            view: consensus.view,
            commit: consensus.commit,
            applied: consensus.applied,
            head: consensus.head,
            headHash: consensus.headHash,
            appliedHash: consensus.appliedHash,
            stateHash: hashingState ? SipHash.hash(consensus.machine.snapshot()) : nil
        )
        follows = view.flatMap { consensus.position(at: $0.start.index &- 1) }
    }
}
