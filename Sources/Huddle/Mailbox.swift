import Synchronization

/// The producer's end of a bounded queue between the node's thread and one consumer.
///
/// A lock and an array: the node fills it once per loop turn by ``send(contentsOf:)``, the consumer
/// takes all that waits at once, and is woken once per batch (`70-style.md` §10; 21 ns an element,
/// where an `AsyncStream` costs 0.8 µs). The consumer's end is a ``MailboxSequence``.
///
/// What happens when it is full is the policy: ``Policy/newest(_:)`` drops the oldest and counts;
/// ``Policy/bounded(_:)`` leaves the rest to the producer and calls `onSpace` once there is room.
package final class Mailbox<Element: Sendable>: Sendable {
    /// What happens when the mailbox is full.
    package enum Policy: Hashable, Sendable {
        /// Keep this many elements; the oldest are dropped and counted. For the fast lane.
        case newest(Int)
        /// Take elements up to this cost; the producer keeps the rest. For the reliable lane.
        case bounded(Int)
    }

    fileprivate let storage: MailboxStorage<Element>

    /// An empty mailbox.
    ///
    /// - Parameters:
    ///   - policy: The bound, at least 1, and what happens when it is reached.
    ///   - cost: What an element counts against the bound of `.bounded`, such as its bytes; 1 if
    ///     absent. An empty mailbox takes an element of any cost.
    ///   - onSpace: Called once, on the consumer's thread, when there is room again after
    ///     ``send(contentsOf:)`` had refused elements. It must not wait: hop to the loop from it.
    ///   - onAbandoned: Called once, on any thread, when the consumer let go of the sequence and all
    ///     its iterators.
    ///   - isMarked: Which elements of `.bounded` somebody wants to hear of one by one.
    ///   - onSettled: Called once for each of these, on any thread: `true` when the consumer has come back
    ///     for the next, `false` when it was let go of unread.
    package init(
        _ policy: Policy,
        cost: (@Sendable (Element) -> Int)? = nil,
        onSpace: (@Sendable () -> Void)? = nil,
        onAbandoned: (@Sendable () -> Void)? = nil,
        isMarked: (@Sendable (Element) -> Bool)? = nil,
        onSettled: (@Sendable (Element, Bool) -> Void)? = nil
    ) {
        storage = MailboxStorage(
            policy: policy,
            cost: cost,
            onSpace: onSpace,
            onAbandoned: onAbandoned,
            isMarked: isMarked,
            onSettled: onSettled
        )
    }

    /// The consumer's end; make one and hand it out.
    ///
    /// Once every copy of it and every iterator is gone, the mailbox counts as abandoned.
    package func makeSequence() -> MailboxSequence<Element> {
        MailboxSequence(token: MailboxToken(storage))
    }

    /// Adds elements and wakes the consumer once; answers how many were taken.
    ///
    /// With `.newest` that is all of them. With `.bounded` the first ones that fit; `onSpace` tells
    /// when to offer the rest again. After ``finish()`` or when abandoned, elements are thrown away
    /// and count as taken.
    @discardableResult
    package func send(contentsOf elements: [Element]) -> Int {
        storage.send(elements)
    }

    /// Adds one element; answers whether it was taken.
    @discardableResult
    package func send(_ element: Element) -> Bool {
        storage.send([element]) == 1
    }

    /// Ends the sequence once its consumer has taken what waits.
    package func finish() {
        storage.finish()
    }

    /// Whether the consumer has taken all and has asked for more, or is gone.
    ///
    /// If not, `onSpace` is called once when it has.
    package func isDrained() -> Bool { storage.isDrained() }

    /// Elements dropped by `.newest` so far.
    package var dropped: Int { storage.dropped }
    /// Elements that wait, without those the consumer has taken as its present batch.
    package var count: Int { storage.count }
    /// Whether nobody can receive any more.
    package var isAbandoned: Bool { storage.isAbandoned }
}

/// Messages or events as they come: an `AsyncSequence` over a bounded mailbox.
///
/// It is for one consumer. If several iterate it at once, each element goes to exactly one of them,
/// and which one is not defined. A cancelled wait answers `nil` and loses nothing: elements that were
/// not taken, also those of a loop left by `break`, are there for the next iterator.
public struct MailboxSequence<Element: Sendable>: AsyncSequence, Sendable {
    /// The sequence ends or goes on; it does not fail.
    public typealias Failure = Never

    fileprivate let token: MailboxToken<Element>

    /// An iterator that takes what waits by the batch.
    public func makeAsyncIterator() -> Iterator {
        Iterator(token: token)
    }

    /// Walks the elements; elements it took and did not give out return to the mailbox with it.
    public struct Iterator: AsyncIteratorProtocol {
        private let batch: MailboxBatch<Element>

        fileprivate init(token: MailboxToken<Element>) {
            batch = MailboxBatch(token)
        }

        /// The next element; `nil` at the end or when the task is cancelled.
        public mutating func next() async -> Element? {
            await next(isolation: #isolation)
        }

        /// The next element; `nil` at the end or when the task is cancelled.
        ///
        /// - Parameter isolation: The caller's isolation, which the wait does not leave.
        /// - Returns: The next element, or `nil`.
        public mutating func next(isolation: isolated (any Actor)?) async -> Element? {
            await batch.next(isolation: isolation)
        }

        /// All elements that are at hand, at least one; `nil` at the end or when the task is cancelled.
        ///
        /// - Parameter isolation: The caller's isolation, which the wait does not leave.
        /// - Returns: The elements in their order, or `nil`.
        public mutating func nextBatch(
            isolation: isolated (any Actor)? = #isolation
        ) async -> [Element]? {
            await batch.nextBatch(isolation: isolation)
        }
    }
}

/// What every copy of a sequence and its iterators share; with it the mailbox is abandoned.
private final class MailboxToken<Element: Sendable>: Sendable {
    let storage: MailboxStorage<Element>

    init(_ storage: MailboxStorage<Element>) {
        self.storage = storage
    }

    deinit {
        storage.abandon()
    }
}

/// The elements an iterator has taken and not given out yet.
private final class MailboxBatch<Element: Sendable> {
    private let token: MailboxToken<Element>
    private var elements: ArraySlice<Element> = []
    private var hasTaken = false

    init(_ token: MailboxToken<Element>) {
        self.token = token
    }

    deinit {
        if hasTaken { token.storage.putBack(elements) }
    }

    func nextBatch(isolation: isolated (any Actor)?) async -> [Element]? {
        guard let first = await next(isolation: isolation) else { return nil }
        defer { elements = [] }
        return [first] + elements
    }

    func next(isolation: isolated (any Actor)?) async -> Element? {
        while true {
            if let element = elements.popFirst() { return element }
            let storage = token.storage
            switch storage.take() {
            case .elements(let taken):
                elements = taken[...]
                hasTaken = true
            case .finished: return nil
            case .nothing:
                guard !Task.isCancelled else { return nil }
                await storage.wait(isolation: isolation)
            }
        }
    }
}
