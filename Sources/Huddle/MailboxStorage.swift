import Synchronization

/// The queue behind a ``Mailbox``: one lock, one array, the consumers that wait.
final class MailboxStorage<Element: Sendable>: Sendable {
    enum Taken {
        case elements([Element])
        case nothing
        case finished
    }

    private struct State {
        var queue: [Element] = []
        /// The cost of what waits and of the batch taken last, which counts until the next is asked.
        var queuedCost = 0
        var takenCost = 0
        var dropped = 0
        var isFinished = false
        var isAbandoned = false
        /// The last of the batch taken last, if it is a marked one.
        var takenMark: Element?
        /// Whether elements were refused since there was room.
        var owesSpace = false
        /// Whether the producer is to be told when all was consumed.
        var owesDrained = false
        var waiters: [(id: UInt64, continuation: CheckedContinuation<Void, Never>)] = []
        var lastWaiter: UInt64 = 0

        mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
            defer { waiters.removeAll() }
            return waiters.map(\.continuation)
        }
    }

    private let state = Mutex(State())
    private let policy: Mailbox<Element>.Policy
    private let cost: (@Sendable (Element) -> Int)?
    private let onSpace: (@Sendable () -> Void)?
    private let onAbandoned: (@Sendable () -> Void)?
    private let isMarked: (@Sendable (Element) -> Bool)?
    private let onSettled: (@Sendable (Element, Bool) -> Void)?

    init(
        policy: Mailbox<Element>.Policy,
        cost: (@Sendable (Element) -> Int)?,
        onSpace: (@Sendable () -> Void)?,
        onAbandoned: (@Sendable () -> Void)?,
        isMarked: (@Sendable (Element) -> Bool)?,
        onSettled: (@Sendable (Element, Bool) -> Void)?
    ) {
        switch policy {
        case .newest(let bound), .bounded(let bound):
            precondition(bound > 0, "a mailbox holds something: \(bound)")
        }
        self.policy = policy
        self.cost = cost
        self.onSpace = onSpace
        self.onAbandoned = onAbandoned
        self.isMarked = isMarked
        self.onSettled = onSettled
    }

    // MARK: The producer

    func send(_ elements: [Element]) -> Int {
        guard !elements.isEmpty else { return 0 }
        // What is dropped dies outside the lock, since a deinit may do anything.
        var dropped: ArraySlice<Element> = []
        let (taken, woken) = state.withLock { state in
            guard !state.isFinished, !state.isAbandoned else {
                return (elements.count, [CheckedContinuation<Void, Never>]())
            }
            var taken = elements.count
            switch policy {
            case .newest(let bound):
                state.queue.append(contentsOf: elements)
                dropped = dropExcess(over: bound, from: &state)
            case .bounded(let bound):
                taken = accept(elements, bound: bound, into: &state)
                if taken < elements.count { state.owesSpace = true }
            }
            return (taken, state.queue.isEmpty ? [] : state.takeWaiters())
        }
        for continuation in woken { continuation.resume() }
        _ = dropped
        return taken
    }

    /// Drops the oldest elements above `bound` and answers them.
    private func dropExcess(over bound: Int, from state: inout State) -> ArraySlice<Element> {
        let excess = state.queue.count - bound
        guard excess > 0 else { return [] }
        defer {
            state.queue.removeFirst(excess)
            state.dropped += excess
        }
        return state.queue[..<excess]
    }

    /// Takes the first elements that fit; one always fits an empty mailbox.
    private func accept(_ elements: [Element], bound: Int, into state: inout State) -> Int {
        var taken = 0
        for element in elements {
            let price = price(element)
            let used = state.queuedCost + state.takenCost
            guard used == 0 || (price <= bound && used <= bound - price) else { break }
            state.queue.append(element)
            state.queuedCost += price
            taken += 1
        }
        return taken
    }

    func finish() {
        let woken = state.withLock { state in
            state.isFinished = true
            return state.takeWaiters()
        }
        for continuation in woken { continuation.resume() }
    }

    func isDrained() -> Bool {
        state.withLock { state in
            let isDrained =
                state.isAbandoned || state.queue.isEmpty && state.takenCost == 0
            state.owesDrained = !isDrained
            return isDrained
        }
    }

    var dropped: Int { state.withLock { $0.dropped } }
    var count: Int { state.withLock { $0.queue.count } }
    var isAbandoned: Bool { state.withLock { $0.isAbandoned } }

    // MARK: The consumer

    /// Takes a batch of what waits; the batch taken before counts as consumed.
    ///
    /// That is everything with `.newest`. With `.bounded` about half the bound, so that the producer
    /// can fill one half while the consumer works on the other. A marked element ends its batch, so that
    /// the next call tells that it was consumed.
    func take() -> Taken {
        let (taken, mustTell, mark) = state.withLock { state -> (Taken, Bool, Element?) in
            let mark = state.takenMark
            state.takenMark = nil
            let batch = takeBatch(&state)
            var mustTell = takeSpaceNotice(&state)
            if batch.isEmpty, state.owesDrained {
                state.owesDrained = false
                mustTell = true
            }
            guard batch.isEmpty else { return (.elements(batch), mustTell, mark) }
            return (state.isFinished ? .finished : .nothing, mustTell, mark)
        }
        if let mark { onSettled?(mark, true) }
        if mustTell { onSpace?() }
        return taken
    }

    private func takeBatch(_ state: inout State) -> [Element] {
        state.takenCost = 0
        guard case .bounded(let bound) = policy else {
            defer { state.queue = [] }
            state.takenCost = state.queue.count
            return state.queue
        }
        var count = 0
        while count < state.queue.count, state.takenCost < max(1, bound / 2) {
            let element = state.queue[count]
            state.takenCost += price(element)
            count += 1
            if isMarked?(element) == true {
                state.takenMark = element
                break
            }
        }
        state.queuedCost -= state.takenCost
        guard count < state.queue.count else {
            defer { state.queue = [] }
            return state.queue
        }
        defer { state.queue.removeFirst(count) }
        return Array(state.queue[..<count])
    }

    /// Whether the producer must be told that there is room: half the bound, or all of it.
    private func takeSpaceNotice(_ state: inout State) -> Bool {
        guard state.owesSpace, case .bounded(let bound) = policy else { return false }
        guard state.queuedCost + state.takenCost <= bound / 2 else { return false }
        state.owesSpace = false
        return true
    }

    private func price(_ element: Element) -> Int {
        max(0, cost?(element) ?? 1)
    }

    /// Returns what an iterator took and did not give out, to the front; what it gave out is consumed.
    func putBack(_ elements: ArraySlice<Element>) {
        guard !elements.isEmpty else {
            let mark = state.withLock { state in
                defer { state.takenMark = nil }
                return state.takenMark
            }
            if let mark { onSettled?(mark, true) }
            return
        }
        var dropped: ArraySlice<Element> = []
        let (woken, mustTell) = state.withLock { state in
            state.queue.insert(contentsOf: elements, at: 0)
            state.takenMark = nil
            switch policy {
            case .newest(let bound):
                dropped = dropExcess(over: bound, from: &state)
                state.takenCost = 0
            case .bounded:
                state.queuedCost += elements.reduce(0) { $0 + price($1) }
                state.takenCost = 0
            }
            return (state.takeWaiters(), takeSpaceNotice(&state))
        }
        for continuation in woken { continuation.resume() }
        if mustTell { onSpace?() }
        _ = dropped
    }

    /// Waits until there may be something to take; a cancelled task waits no longer.
    func wait(isolation: isolated (any Actor)?) async {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation(isolation: isolation) { continuation in
                let mustGoOn = state.withLock { state in
                    // Cancelled before this lock: seen here. Cancelled after: `cancel` finds us.
                    let isReady = !state.queue.isEmpty || state.isFinished || Task.isCancelled
                    if !isReady { state.waiters.append((id, continuation)) }
                    return isReady
                }
                if mustGoOn { continuation.resume() }
            }
        } onCancel: {
            cancel(id)
        }
    }

    private func cancel(_ id: UInt64) {
        let waiter = state.withLock { state in
            let index = state.waiters.firstIndex { $0.id == id }
            return index.map { state.waiters.remove(at: $0).continuation }
        }
        waiter?.resume()
    }

    func abandon() {
        let (isFirst, dropped) = state.withLock { state in
            defer {
                state.isAbandoned = true
                state.queue = []
                state.queuedCost = 0
            }
            return (!state.isAbandoned, state.queue)
        }
        if let isMarked, let onSettled {
            for element in dropped where isMarked(element) { onSettled(element, false) }
        }
        if isFirst { onAbandoned?() }
    }
}
