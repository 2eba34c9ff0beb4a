/// A class whose changes can be observed as a whole.
///
/// ``objectWillChange`` is given to a class that does not declare it, and fires before each change
/// of its ``Published`` properties. A class that declares its own fires it itself.
public protocol ObservableObject: AnyObject {
    /// The publisher of ``objectWillChange``.
    associatedtype ObjectWillChangePublisher: Publisher = ObservableObjectPublisher
    where ObjectWillChangePublisher.Failure == Never

    /// Fires before the object changes.
    var objectWillChange: ObjectWillChangePublisher { get }
}

extension ObservableObject where ObjectWillChangePublisher == ObservableObjectPublisher {
    /// Fires before each change of a ``Published`` property; one publisher for each object.
    ///
    /// The first access looks through the stored properties of the object, later ones find the
    /// publisher by the object's identity; a change of a property looks up nothing.
    public var objectWillChange: ObservableObjectPublisher {
        ObservedObjects.shared.publisher(of: self)
    }
}

/// The publisher of an object that will change.
public final class ObservableObjectPublisher: Publisher {
    /// It has no content.
    public typealias Output = Void
    /// It cannot fail.
    public typealias Failure = Never

    private let audience = Audience<Void, Never>()

    /// Makes a publisher that nobody hears yet.
    public init() {}

    /// Hands `subscriber` each coming announcement.
    public func receive<S: Subscriber>(subscriber: S) where S.Input == Void, S.Failure == Never {
        Outlet.open(for: subscriber) { [audience] in _ = audience.add($0) }
    }

    /// Announces a change.
    public func send() {
        audience.send(())
    }
}

/// A stored property that announces its changes: `Published` of any value.
protocol PublishedProperty {
    func announce(to publisher: ObservableObjectPublisher)
}

/// The publishers of the objects whose `objectWillChange` was asked for.
///
/// An object cannot be given a property from outside, and a class without a published property
/// has no other place to keep its publisher; so a table holds it, weak in the object. Entries of
/// dead objects go when the table has doubled, which keeps it within twice the living ones.
private final class ObservedObjects: Sendable {
    private struct Entry {
        weak var object: AnyObject?
        let publisher: ObservableObjectPublisher
    }

    private struct Table {
        var entries: [ObjectIdentifier: Entry] = [:]
        var sweepCount = 64
    }

    static let shared = ObservedObjects()
    private let table = Locked(Table())

    func publisher(of object: AnyObject) -> ObservableObjectPublisher {
        let key = ObjectIdentifier(object)
        let (publisher, isNew, dead) = table.withLock { table in
            // The address may be that of an object which is gone.
            if let entry = table.entries[key], entry.object === object {
                return (entry.publisher, false, [Entry]())
            }
            let publisher = ObservableObjectPublisher()
            let dead = Self.sweep(&table)
            table.entries[key] = Entry(object: object, publisher: publisher)
            return (publisher, true, dead)
        }
        // Their subscribers' closures are released here, outside of the lock.
        _ = consume dead
        if isNew { connect(object, to: publisher) }
        return publisher
    }

    private static func sweep(_ table: inout Table) -> [Entry] {
        guard table.entries.count >= table.sweepCount else { return [] }
        let dead = table.entries.filter { $0.value.object == nil }
        for key in dead.keys { table.entries[key] = nil }
        table.sweepCount = max(64, 2 * table.entries.count)
        return Array(dead.values)
    }

    /// Tells each published property, of the class and of its superclasses.
    private func connect(_ object: AnyObject, to publisher: ObservableObjectPublisher) {
        var mirror = Optional(Mirror(reflecting: object))
        while let level = mirror {
            for child in level.children {
                (child.value as? any PublishedProperty)?.announce(to: publisher)
            }
            mirror = level.superclassMirror
        }
    }
}
