package import MeshWire

/// A participant joins once, leaves at most once, and is silent afterwards (§15, 12 and 14).
///
/// Seen with the eyes of one process; a process that was off the log may see a participant's join
/// again when a merge or a snapshot replaced its state, which counts as a return.
package struct ParticipantLifecycle: Sendable {
    package static let invariant =
        "a participant has one join and at most one leave event, and nothing is heard from it after"

    private struct Sight: Hashable, Sendable {
        var observer: Life
        var participant: ParticipantID
    }

    private enum Phase: Sendable { case present, left }

    private var phases: [Sight: Phase] = [:]
    private var replaced: Set<Life> = []

    package init() {}

    /// The observer's state was replaced by a snapshot or an earlier checkpoint.
    package mutating func replaceState(of observer: Life) {
        replaced.insert(observer)
    }

    package mutating func join(
        _ participant: ParticipantID,
        seenBy observer: Life
    ) throws(Violation) {
        let sight = Sight(observer: observer, participant: participant)
        switch phases[sight] {
        case nil: break
        case .left where replaced.contains(observer): break
        case .left, .present:
            throw Violation(Self.invariant, "\(observer) saw \(participant) join twice")
        }
        phases[sight] = .present
    }

    package mutating func leave(
        _ participant: ParticipantID,
        seenBy observer: Life
    ) throws(Violation) {
        let sight = Sight(observer: observer, participant: participant)
        guard phases[sight] == .present else {
            throw Violation(
                Self.invariant,
                "\(observer) saw \(participant) leave that was not there"
            )
        }
        phases[sight] = .left
    }

    /// The session ended with all its participants, none of which gets an event of its own.
    package mutating func endSession(seenBy observer: Life) {
        // order: each is set alike
        for sight in phases.keys.filter({ $0.observer == observer }) { phases[sight] = .left }
    }

    /// The observer left the room and starts from nothing if it comes back.
    package mutating func forget(_ observer: Life) {
        // order: a filter keeps none
        phases = phases.filter { $0.key.observer != observer }
    }

    /// Whether the observer has seen this participant leave; one still to join is something else.
    package func isOver(_ participant: ParticipantID, for observer: Life) -> Bool {
        phases[Sight(observer: observer, participant: participant)] == .left
    }

    package func receive(
        from participant: ParticipantID,
        at observer: Life
    ) throws(Violation) {
        let sight = Sight(observer: observer, participant: participant)
        guard phases[sight] == .present else {
            throw Violation(
                Self.invariant,
                "\(observer) got a message of \(participant), which is not there"
            )
        }
    }
}
