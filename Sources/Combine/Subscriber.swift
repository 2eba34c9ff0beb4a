import Synchronization

/// A receiver of a publisher's values.
public protocol Subscriber<Input, Failure>: CustomCombineIdentifierConvertible {
    /// What is received.
    associatedtype Input

    /// The error that may end the subscription.
    associatedtype Failure: Error

    /// Receives the subscription first; nothing more comes until it is requested from.
    func receive(subscription: any Subscription)

    /// Receives a value; the demand it returns is ignored, since demand is unlimited.
    func receive(_ input: Input) -> Subscribers.Demand

    /// Receives the end; nothing comes after it.
    func receive(completion: Subscribers.Completion<Failure>)
}

extension Subscriber where Input == Void {
    /// Receives a value without content.
    public func receive() -> Subscribers.Demand {
        receive(())
    }
}

/// The connection of one subscriber to a publisher.
public protocol Subscription: Cancellable, CustomCombineIdentifierConvertible {
    /// Starts the flow of values if `demand` is above `.none`; later requests change nothing.
    func request(_ demand: Subscribers.Demand)
}

/// A value with an identity for logs.
public protocol CustomCombineIdentifierConvertible {
    /// The identity, unique in the process.
    var combineIdentifier: CombineIdentifier { get }
}

extension CustomCombineIdentifierConvertible where Self: AnyObject {
    /// The identity of the object.
    public var combineIdentifier: CombineIdentifier { CombineIdentifier(self) }
}

/// The identity of a subscriber or subscription, unique in the process.
public struct CombineIdentifier: Hashable, Sendable, CustomStringConvertible {
    private enum Origin: Hashable {
        case object(ObjectIdentifier)
        case serial(UInt64)
    }

    private static let serials = Atomic<UInt64>(0)

    private let origin: Origin

    /// Makes an identity that no other has.
    public init() {
        let serial = Self.serials.wrappingAdd(1, ordering: .relaxed).newValue
        origin = .serial(serial)
    }

    /// The identity of `object`, valid as long as the object lives.
    public init(_ object: AnyObject) {
        origin = .object(ObjectIdentifier(object))
    }

    /// The number of the identity, in hexadecimal.
    public var description: String {
        switch origin {
        case .object(let identifier): "0x" + String(UInt(bitPattern: identifier), radix: 16)
        case .serial(let serial): "0x" + String(serial, radix: 16)
        }
    }
}

/// A subscriber that hides the type of another, or is made of three closures.
public struct AnySubscriber<Input, Failure: Error>: Subscriber {
    /// The identity of the hidden subscriber.
    public let combineIdentifier: CombineIdentifier
    private let onSubscription: (any Subscription) -> Void
    private let onValue: (Input) -> Subscribers.Demand
    private let onCompletion: (Subscribers.Completion<Failure>) -> Void

    /// Hides `subscriber`.
    public init<S: Subscriber>(_ subscriber: S) where S.Input == Input, S.Failure == Failure {
        combineIdentifier = subscriber.combineIdentifier
        onSubscription = { subscriber.receive(subscription: $0) }
        onValue = { subscriber.receive($0) }
        onCompletion = { subscriber.receive(completion: $0) }
    }

    /// Makes a subscriber of closures; without the first it never requests a value.
    public init(
        receiveSubscription: ((any Subscription) -> Void)? = nil,
        receiveValue: ((Input) -> Subscribers.Demand)? = nil,
        receiveCompletion: ((Subscribers.Completion<Failure>) -> Void)? = nil
    ) {
        combineIdentifier = CombineIdentifier()
        onSubscription = receiveSubscription ?? { _ in }
        onValue = receiveValue ?? { _ in .none }
        onCompletion = receiveCompletion ?? { _ in }
    }

    /// Passes the subscription on.
    public func receive(subscription: any Subscription) {
        onSubscription(subscription)
    }

    /// Passes a value on.
    public func receive(_ input: Input) -> Subscribers.Demand {
        onValue(input)
    }

    /// Passes the end on.
    public func receive(completion: Subscribers.Completion<Failure>) {
        onCompletion(completion)
    }
}
