/// Whether the operations on one register could have happened one after the other (Herlihy, Wing
/// 1990).
///
/// A register holds a number, zero before its first write. Counters are registers too. Registers are
/// independent, so a history is split by register first; each part is checked alone.
package enum Linearizability {
    /// What an operation does.
    package enum Action: Hashable, Sendable {
        case read
        case write(UInt64)
        case compareAndSet(expected: UInt64, UInt64)
        case add(UInt64)
    }

    /// What the caller heard.
    package enum Outcome: Hashable, Sendable {
        /// Nothing: it may have taken effect at any time since its call, or may never.
        case unknown
        /// The number that the register held before, which for a read is the number read.
        case held(UInt64)
        /// It took effect; a compare-and-set found what it expected.
        case done
        /// A compare-and-set found something else.
        case refused
    }

    /// One call and its return; times are ordinals of one clock that ticks at each call and return.
    package struct Operation: Hashable, Sendable, CustomStringConvertible {
        package var action: Action
        package var outcome: Outcome
        package var called: Int
        /// `nil` stays open to the end.
        package var returned: Int?

        package init(_ action: Action, _ outcome: Outcome, called: Int, returned: Int?) {
            self.action = action
            self.outcome = outcome
            self.called = called
            self.returned = returned
        }

        /// `write(5) held(4) [3, 7]`; an open end shows no second time.
        package var description: String {
            "\(action) \(outcome) [\(called), \(returned.map(String.init) ?? "")]"
        }

        /// The register's number afterwards; `nil` if this cannot happen while it holds `number`.
        package func apply(to number: UInt64) -> UInt64? {
            switch (action, outcome) {
            case (_, .held(let before)) where before != number: nil
            case (.read, .refused), (.write, .refused), (.add, .refused): nil
            case (.read, _): number
            case (.write(let value), _): value
            case (.add(let amount), _): number &+ amount
            case (.compareAndSet(let expected, let value), .done):
                number == expected ? value : nil
            case (.compareAndSet(let expected, _), .refused): number == expected ? nil : number
            case (.compareAndSet(let expected, let value), _):
                number == expected ? value : number
            }
        }
    }

    /// The answer of ``search(_:limit:)``.
    package enum Verdict: Hashable, Sendable {
        case linearizable
        /// No order fits. The longest that does has this many operations and cannot go on before the
        /// operation at this place of the history returns.
        case broken(longest: Int, stuckAt: Int)
        /// The limit came first.
        case undecided
    }

    /// Looks for an order that fits: Wing and Gong's search with Lowe's memory of what was tried.
    ///
    /// Exponential in the number of operations open at once, linear in what stands one behind the
    /// other. Gives up after `limit` trials.
    package static func search(_ history: [Operation], limit: Int = 2_000_000) -> Verdict {
        var search = Search(history)
        return search.run(limit)
    }

    /// The open operations that somebody may have seen the effect of; the others can be left out.
    ///
    /// An open write of a number that no answer tells of explains nothing, and whatever order holds
    /// with it holds without it. Sums and bare refusals tell of no single number: then all stay.
    package static func relevant(_ history: [Operation]) -> [Operation] {
        var seen: Set<UInt64> = []
        for operation in history {
            if case .add = operation.action { return history }
            guard operation.returned != nil else { continue }
            switch operation.outcome {
            case .held(let number): seen.insert(number)
            case .refused: return history
            case .done, .unknown: break
            }
            if case .compareAndSet(let expected, _) = operation.action { seen.insert(expected) }
        }
        var kept = history.map { $0.returned != nil }
        var isStable = false
        while !isStable {
            isStable = true
            for (place, operation) in history.enumerated() where !kept[place] {
                switch operation.action {
                case .write(let value) where seen.contains(value): break
                case .compareAndSet(let expected, let value) where seen.contains(value):
                    seen.insert(expected)
                case .read, .write, .compareAndSet, .add: continue
                }
                kept[place] = true
                isStable = false
            }
        }
        return history.indices.filter { kept[$0] }.map { history[$0] }
    }
}

extension Linearizability {
    /// A search under way.
    private struct Search {
        /// A call or a return in a doubly linked list, in order of time.
        private struct Event {
            var operation: Int
            var isCall: Bool
            var previous = -1
            var next = -1
        }

        private struct Configuration: Hashable {
            var done: [UInt64]
            var number: UInt64
        }

        private let history: [Operation]
        /// The list; its head stands first and is no event.
        private var events: [Event] = [Event(operation: -1, isCall: false)]
        private var returnOf: [Int]
        private var waiting = 0
        private var configuration: Configuration
        private var tried: Set<Configuration> = []
        private var taken: [(event: Int, number: UInt64)] = []
        private var longest = 0
        private var stuckAt = 0

        init(_ history: [Operation]) {
            self.history = history
            returnOf = Array(repeating: -1, count: history.count)
            configuration = Configuration(
                done: Array(repeating: 0, count: (history.count + 63) / 64),
                number: 0
            )
            var order: [(time: Int, event: Event)] = []
            for (place, operation) in history.enumerated() {
                order.append((operation.called, Event(operation: place, isCall: true)))
                guard let returned = operation.returned else { continue }
                order.append((returned, Event(operation: place, isCall: false)))
                waiting += 1
            }
            // Of one instant the call stands first: those two operations overlap.
            order.sort { ($0.time, $0.event.isCall ? 0 : 1) < ($1.time, $1.event.isCall ? 0 : 1) }
            for (_, event) in order {
                events[events.count - 1].next = events.count
                var event = event
                event.previous = events.count - 1
                if !event.isCall { returnOf[event.operation] = events.count }
                events.append(event)
            }
        }

        mutating func run(_ limit: Int) -> Verdict {
            var place = events[0].next
            var trials = 0
            while waiting > 0 {
                if place >= 0, events[place].isCall {
                    trials += 1
                    if trials > limit { return .undecided }
                    place = take(place) ? events[0].next : events[place].next
                    continue
                }
                // An operation returned here and none that was called before fits in front of it.
                if taken.count >= longest, place >= 0 {
                    longest = taken.count
                    stuckAt = events[place].operation
                }
                guard let (event, number) = taken.popLast() else {
                    return .broken(longest: longest, stuckAt: stuckAt)
                }
                putBack(event)
                configuration.number = number
                place = events[event].next
            }
            return .linearizable
        }

        /// Lets the operation called here be the next, unless that was tried or cannot be.
        private mutating func take(_ call: Int) -> Bool {
            let operation = events[call].operation
            guard let number = history[operation].apply(to: configuration.number) else {
                return false
            }
            var next = configuration
            next.done[operation / 64] |= 1 << UInt64(operation % 64)
            next.number = number
            guard tried.insert(next).inserted else { return false }
            taken.append((call, configuration.number))
            configuration = next
            unlink(call)
            if returnOf[operation] >= 0 {
                unlink(returnOf[operation])
                waiting -= 1
            }
            return true
        }

        private mutating func putBack(_ call: Int) {
            let operation = events[call].operation
            configuration.done[operation / 64] &= ~(1 << UInt64(operation % 64))
            if returnOf[operation] >= 0 {
                relink(returnOf[operation])
                waiting += 1
            }
            relink(call)
        }

        private mutating func unlink(_ place: Int) {
            let event = events[place]
            events[event.previous].next = event.next
            if event.next >= 0 { events[event.next].previous = event.previous }
        }

        private mutating func relink(_ place: Int) {
            let event = events[place]
            events[event.previous].next = place
            if event.next >= 0 { events[event.next].previous = place }
        }
    }
}
