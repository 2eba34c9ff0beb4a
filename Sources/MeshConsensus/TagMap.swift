/// A small map from process tags to values, kept sorted, so that iteration has one order everywhere.
struct TagMap<Value: Sendable>: Sendable {
    private(set) var tags: [UInt64] = []
    private(set) var values: [Value] = []

    var count: Int { tags.count }
    var isEmpty: Bool { tags.isEmpty }

    /// The value of `tag`; setting `nil` removes it.
    ///
    /// O(n), n at most a few hundred.
    subscript(tag: UInt64) -> Value? {
        get { index(of: tag).map { values[$0] } }
        set {
            let place = lowerBound(tag)
            let isPresent = place < tags.count && tags[place] == tag
            switch (newValue, isPresent) {
            case (let value?, true): values[place] = value
            case (let value?, false):
                tags.insert(tag, at: place)
                values.insert(value, at: place)
            case (nil, true):
                tags.remove(at: place)
                values.remove(at: place)
            case (nil, false): break
            }
        }
    }

    /// Changes the value of `tag` in place, if there is one.
    mutating func update(_ tag: UInt64, _ change: (inout Value) -> Void) {
        guard let place = index(of: tag) else { return }
        change(&values[place])
    }

    /// Changes every value in place, in order of tags.
    mutating func updateAll(_ change: (UInt64, inout Value) -> Void) {
        for place in values.indices { change(tags[place], &values[place]) }
    }

    func index(of tag: UInt64) -> Int? {
        let place = lowerBound(tag)
        return place < tags.count && tags[place] == tag ? place : nil
    }

    private func lowerBound(_ tag: UInt64) -> Int {
        var low = 0
        var high = tags.count
        while low < high {
            let middle = (low + high) / 2
            if tags[middle] < tag { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
