extension Publisher {
    /// Publishes the values that `isIncluded` accepts.
    public func filter(_ isIncluded: @escaping (Output) -> Bool) -> Publishers.Filter<Self> {
        handlingValues { outlet in { if isIncluded($0) { outlet.send($0) } } }
    }

    /// Publishes the values that differ from the one published before.
    public func removeDuplicates() -> Publishers.RemoveDuplicates<Self> where Output: Equatable {
        removeDuplicates(by: ==)
    }

    /// Publishes the values that `areDuplicates` tells from the one published before.
    public func removeDuplicates(
        by areDuplicates: @escaping (_ previous: Output, _ next: Output) -> Bool
    ) -> Publishers.RemoveDuplicates<Self> {
        handlingValues { outlet in
            var previous: Output?
            return { next in
                if let previous, areDuplicates(previous, next) { return }
                previous = next
                outlet.send(next)
            }
        }
    }

    /// Leaves out the first `count` values; a negative count leaves out none.
    public func dropFirst(_ count: Int = 1) -> Publishers.Drop<Self> {
        handlingValues { outlet in
            var left = count
            return { value in
                if left > 0 { left -= 1 } else { outlet.send(value) }
            }
        }
    }

    /// Publishes the first `maxLength` values, then finishes; none if that is not above 0.
    public func prefix(_ maxLength: Int) -> Publishers.Output<Self> {
        .init(upstream: self) { upstream, outlet in
            var left = maxLength
            guard left > 0 else { return outlet.send(completion: .finished) }
            outlet.listen(to: upstream, completion: outlet.send(completion:)) { value in
                // What is published from inside of the last value comes too late.
                guard left > 0 else { return }
                left -= 1
                outlet.send(value)
                if left == 0 { outlet.send(completion: .finished) }
            }
        }
    }

    /// Publishes the first value, then finishes.
    public func first() -> Publishers.First<Self> {
        prefix(1)
    }

    /// Publishes the first value that `predicate` accepts, then finishes.
    public func first(
        where predicate: @escaping (Output) -> Bool
    ) -> Publishers.FirstWhere<Publishers.Filter<Self>> {
        filter(predicate).first()
    }
}
