extension Publisher {
    /// Publishes `transform` of each value.
    public func map<T>(_ transform: @escaping (Output) -> T) -> Publishers.Map<Self, T> {
        handlingValues { outlet in { outlet.send(transform($0)) } }
    }

    /// Publishes the property at `keyPath` of each value.
    public func map<T>(_ keyPath: KeyPath<Output, T>) -> Publishers.MapKeyPath<Self, T> {
        map { $0[keyPath: keyPath] }
    }

    /// Publishes `transform` of each value, where that is not nil.
    public func compactMap<T>(
        _ transform: @escaping (Output) -> T?
    ) -> Publishers.CompactMap<Self, T> {
        handlingValues { outlet in { transform($0).map(outlet.send(_:)) } }
    }

    /// Publishes for each value what `nextPartialResult` makes of the last result and the value.
    public func scan<T>(
        _ initialResult: T,
        _ nextPartialResult: @escaping (T, Output) -> T
    ) -> Publishers.Scan<Self, T> {
        handlingValues { outlet in
            var result = initialResult
            return { value in
                result = nextPartialResult(result, value)
                outlet.send(result)
            }
        }
    }

    /// Publishes `replacement` in place of each nil.
    public func replaceNil<T>(with replacement: T) -> Publishers.Map<Self, T> where Output == T? {
        map { $0 ?? replacement }
    }
}
