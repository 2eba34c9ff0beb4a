/// Elements that wait, first in, first out; both ends cost the same however long it is.
struct Line<Element> {
    /// Nil once taken: what is taken belongs to the taker alone.
    private var elements: [Element?] = []
    /// Those before it are taken.
    private var start = 0

    var count: Int { elements.count - start }

    mutating func append(_ element: Element) {
        elements.append(element)
    }

    mutating func popFirst() -> Element? {
        guard start < elements.count else { return nil }
        let first = elements[start].take()
        start += 1
        // Half of the room is what is taken: moving the rest is paid by what was taken.
        if start * 2 >= elements.count {
            elements.removeFirst(start)
            start = 0
        }
        return first
    }
}

/// Events that a scheduler hands on: one by one and in order, whatever order it runs actions in.
///
/// A concurrent queue may run a later action first, and two at once; so an action does not hand
/// on its own event, but the first of the line, unless another action is about to.
final class ScheduledLine {
    private struct State {
        var events = Line<() -> Void>()
        /// How many of them may be handed on.
        var due = 0
        var isHandingOn = false
    }

    private let state = Locked(State())

    /// Appends `event`; `schedule` is given the action that makes one event of the line due.
    func append(_ event: @escaping () -> Void, _ schedule: (@escaping () -> Void) -> Void) {
        state.withLock { $0.events.append(event) }
        schedule(handOn)
    }

    private func handOn() {
        let isFirst = state.withLock { state in
            state.due += 1
            defer { state.isHandingOn = true }
            return !state.isHandingOn
        }
        guard isFirst else { return }
        while let event = next() { event() }
    }

    private func next() -> (() -> Void)? {
        state.withLock { state in
            guard state.due > 0, let event = state.events.popFirst() else {
                state.isHandingOn = false
                return nil
            }
            state.due -= 1
            return event
        }
    }
}
