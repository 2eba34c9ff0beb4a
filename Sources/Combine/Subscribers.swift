/// The vocabulary of subscribers.
public enum Subscribers {
    /// How a publisher ended.
    public enum Completion<Failure: Error> {
        /// It published all it had.
        case finished
        /// It failed.
        case failure(Failure)
    }

    /// How many values a subscriber is ready for.
    ///
    /// Only whether it is above ``none`` counts: see ``Publisher``.
    public struct Demand: Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
        /// Any number of values.
        public static let unlimited = Demand(count: .max)

        /// No value.
        public static let none = Demand(count: 0)

        /// At most `value` values; a negative number counts as 0.
        public static func max(_ value: Int) -> Demand {
            Demand(count: Swift.max(0, value))
        }

        private let count: Int

        private init(count: Int) {
            self.count = count
        }

        /// The number of values, or nil for ``unlimited``.
        public var max: Int? { self == .unlimited ? nil : count }

        /// The number of values in words.
        public var description: String { max.map { "max(\($0))" } ?? "unlimited" }

        /// The sum; it stays ``unlimited`` beyond the largest integer.
        public static func + (left: Demand, right: Demand) -> Demand {
            let (sum, isOver) = left.count.addingReportingOverflow(right.count)
            return isOver ? .unlimited : Demand(count: sum)
        }

        /// Adds `right`.
        public static func += (left: inout Demand, right: Demand) {
            left = left + right
        }

        /// Whether the left one is ready for less.
        public static func < (left: Demand, right: Demand) -> Bool {
            left.count < right.count
        }
    }

    /// A subscriber that requests everything and calls closures.
    ///
    /// Every operator hears its upstream through one, and `sink` is one.
    public final class Sink<Input, Failure: Error>: Subscriber, Cancellable {
        private enum Phase {
            /// No publisher has answered yet.
            case waiting
            case subscribed(any Subscription)
            /// Cancelled or completed: nothing is passed on.
            case ended
        }

        /// Called with each value.
        public let receiveValue: (Input) -> Void

        /// Called with the end, unless cancelled before.
        public let receiveCompletion: (Subscribers.Completion<Failure>) -> Void
        private let phase = Locked(Phase.waiting)

        /// Makes a sink that subscribes to nothing yet.
        public init(
            receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
            receiveValue: @escaping (Input) -> Void
        ) {
            self.receiveValue = receiveValue
            self.receiveCompletion = receiveCompletion
        }

        /// Requests everything from the first subscription; a second one is cancelled.
        public func receive(subscription: any Subscription) {
            let isFirst = phase.withLock { phase in
                guard case .waiting = phase else { return false }
                phase = .subscribed(subscription)
                return true
            }
            if isFirst { subscription.request(.unlimited) } else { subscription.cancel() }
        }

        /// Passes a value on, unless cancelled.
        public func receive(_ input: Input) -> Subscribers.Demand {
            if isSubscribed { receiveValue(input) }
            return .none
        }

        /// Passes the end on, unless cancelled.
        public func receive(completion: Subscribers.Completion<Failure>) {
            if case .subscribed = phase.replace(with: .ended) { receiveCompletion(completion) }
        }

        /// Ends the subscription; nothing is passed on afterwards.
        public func cancel() {
            if case .subscribed(let subscription) = phase.replace(with: .ended) {
                subscription.cancel()
            }
        }

        private var isSubscribed: Bool {
            phase.withLock { phase in
                if case .subscribed = phase { true } else { false }
            }
        }
    }
}

extension Subscribers.Completion: Sendable {}
extension Subscribers.Completion: Equatable where Failure: Equatable {}
extension Subscribers.Completion: Hashable where Failure: Hashable {}
