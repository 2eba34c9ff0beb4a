import MeshWire

/// Follows a room's state and tells what changed since it looked last.
///
/// The state is a value that the log copies, rolls back and replaces, so nothing can be drained
/// from it. Where the state that was seen last lies on the present state's path, the observer
/// repeats the events that were recorded since then, with their reasons. Where it does not (a
/// snapshot, a branch that lost a merge, too many entries) it compares the two states; the reasons
/// are `unobserved` then, but no change is missed.
package struct RoomObserver: Sendable {
    /// The state as it was seen last.
    package private(set) var seen: RoomState

    /// An observer that saw `state` already; an empty room to be told everything.
    package init(seen state: RoomState) {
        seen = state
        seen.events.removeAll()
    }

    /// The events that lead from what was seen last to `state`, in order.
    package mutating func observe(_ state: RoomState) -> [RoomEvent] {
        let events =
            seen.position.flatMap { state.events.since($0) }
            ?? RoomDifference(from: seen, to: state).events
        seen = state
        // The record stays with the log's copy alone, which then changes it in place.
        seen.events.removeAll()
        return events
    }
}

/// The events of the last entries of the log, bounded in number and in bytes.
struct RecentEvents: Sendable {
    private struct Entry: Sendable {
        var position: Position
        var events: [RoomEvent] = []
    }

    private var entries = [Entry(position: .zero)]
    private var byteCount = 0

    /// Opens the entry at `position`; what is appended belongs to it.
    mutating func begin(at position: Position) {
        if entries.last?.position != position { entries.append(Entry(position: position)) }
        guard
            entries.count > 2 * SessionLimits.recentEntries
                || byteCount > SessionLimits.recentBytes
        else { return }
        entries.removeFirst(entries.count / 2)
        byteCount = entries.reduce(0) { sum, entry in
            entry.events.reduce(sum) { $0 + $1.byteCount }
        }
    }

    mutating func append(_ event: RoomEvent) {
        precondition(!entries.isEmpty, "an entry was begun before it has events")
        byteCount += event.byteCount
        entries[entries.count - 1].events.append(event)
    }

    /// The events after the entry at `position`; `nil` unless that entry is on record.
    func since(_ position: Position) -> [RoomEvent]? {
        guard let place = entries.lastIndex(where: { $0.position == position }) else { return nil }
        return entries[(place + 1)...].flatMap(\.events)
    }

    mutating func removeAll() {
        entries = []
        byteCount = 0
    }
}

extension RoomEvent {
    /// The bytes that the event keeps alive beyond its own size.
    fileprivate var byteCount: Int {
        switch self {
        case .valueChanged(_, let key, let value, _):
            key.utf8.count + (value?.content.byteCount ?? 0)
        case .activityChanged(_, let activity): activity.byteCount
        case .sessionStarted(let session): session.byteCount
        case .attachmentAdded(_, let record): record.entry.byteCount
        case .stateRequested(_, let request):
            (request.present.count + request.away.count) * ParticipantID.byteCount
        default: 0
        }
    }
}
