/// Something under way that can be stopped.
public protocol Cancellable {
    /// Stops it; a second call does nothing.
    func cancel()
}

extension Cancellable {
    /// Keeps it in `collection`, and so alive.
    public func store<C: RangeReplaceableCollection>(in collection: inout C)
    where C.Element == AnyCancellable {
        collection.append(AnyCancellable(self))
    }

    /// Keeps it in `set`, and so alive.
    public func store(in set: inout Set<AnyCancellable>) {
        set.insert(AnyCancellable(self))
    }
}

/// A cancellable that cancels itself when it is released.
public final class AnyCancellable: Cancellable, Hashable {
    private let action: Locked<(() -> Void)?>

    /// Runs `cancel` at the first call of ``cancel()`` or at the release, whichever comes first.
    public init(_ cancel: @escaping () -> Void) {
        action = Locked(cancel)
    }

    /// Hides `canceller`.
    public convenience init<C: Cancellable>(_ canceller: C) {
        self.init(canceller.cancel)
    }

    deinit { cancel() }

    /// Stops it; a second call does nothing.
    public func cancel() {
        action.replace(with: nil)?()
    }

    /// Keeps this object in `collection`.
    public func store<C: RangeReplaceableCollection>(in collection: inout C)
    where C.Element == AnyCancellable {
        collection.append(self)
    }

    /// Keeps this object in `set`.
    public func store(in set: inout Set<AnyCancellable>) {
        set.insert(self)
    }

    /// Whether both are one object.
    public static func == (left: AnyCancellable, right: AnyCancellable) -> Bool {
        left === right
    }

    /// Hashes the identity of the object.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
