/// A property of a class that publishes each change before it is stored.
///
/// A subscriber of `$name` gets the current value before `sink` returns, and each new value on the
/// thread that assigns it, while the property still reads as the old one:
///
/// ```swift
/// final class Lobby {
///     @Published var guests: Set<String> = []
/// }
/// let lobby = Lobby()
/// let greeting = lobby.$guests.sink { new in
///     for name in new.subtracting(lobby.guests) { print("welcome \(name)") }
/// }
/// ```
///
/// An assignment inside a sink publishes at once, inside of the emission that runs; when that one
/// ends, its own, older value is stored. The class need not be an ``ObservableObject``; if it is,
/// its ``ObservableObject/objectWillChange`` fires before each change.
@propertyWrapper
public struct Published<Value> {
    private var storage: PublishedStorage<Value>

    /// Starts with `wrappedValue`.
    public init(wrappedValue: Value) {
        self.init(initialValue: wrappedValue)
    }

    /// Starts with `initialValue`.
    public init(initialValue: Value) {
        storage = PublishedStorage(initialValue, spares: false)
    }

    /// Starts with `wrappedValue` and, if `sparesSubscribers`, never hands a subscriber that is
    /// made inside a sink of this property the version that the sink is handling.
    ///
    /// Such a subscriber gets the stored, old value during an emission and nothing during a
    /// replay, so that a function which subscribes and is called by its own sink ends. The
    /// properties of a session are declared so; those of an app behave as Apple's, where the
    /// newcomer gets the version at hand.
    package init(wrappedValue: Value, sparesSubscribers: Bool) {
        storage = PublishedStorage(wrappedValue, spares: sparesSubscribers)
    }

    /// Not available: only the properties of classes can be published.
    @available(*, unavailable, message: "@Published is only available on properties of classes")
    public var wrappedValue: Value {
        get { storage.value }
        // The compiler lets nobody come here.
        set { storage.value = newValue }
    }

    /// Reads and publishes the property of `object`.
    public static subscript<EnclosingSelf: AnyObject>(
        _enclosingInstance object: EnclosingSelf,
        wrapped wrappedKeyPath: ReferenceWritableKeyPath<EnclosingSelf, Value>,
        storage storageKeyPath: ReferenceWritableKeyPath<EnclosingSelf, Published<Value>>
    ) -> Value {
        get { object[keyPath: storageKeyPath].storage.value }
        set {
            // A sink may read the property: the access to it ends before the emission.
            let storage = object[keyPath: storageKeyPath].storage
            storage.value = newValue
        }
    }

    /// The publisher of the property, `$name`.
    ///
    /// Setting it lets the property share the value of another one.
    public var projectedValue: Publisher {
        mutating get { Publisher(storage: storage) }
        set { storage = newValue.storage }
    }

    /// The publisher of a published property; it never ends.
    public struct Publisher: Combine.Publisher {
        /// What is published.
        public typealias Output = Value
        /// It cannot fail.
        public typealias Failure = Never

        fileprivate let storage: PublishedStorage<Value>

        /// Hands `subscriber` the current value and all new ones.
        public func receive<S: Subscriber>(subscriber: S)
        where S.Input == Value, S.Failure == Never {
            Outlet.open(for: subscriber, connect: storage.add)
        }
    }
}

// Sendable as its storage is: see there.
extension Published: @unchecked Sendable where Value: Sendable {}

extension Published: PublishedProperty {
    func announce(to publisher: ObservableObjectPublisher) {
        storage.objectWillChange = publisher
    }
}

extension Publisher where Failure == Never {
    /// Assigns each value to a published property, until that or the publisher is gone.
    public func assign(to published: inout Published<Output>.Publisher) {
        let storage = published.storage
        storage.feed { [weak storage] completion in
            sink(receiveCompletion: { _ in completion() }, receiveValue: { storage?.value = $0 })
        }
    }
}
