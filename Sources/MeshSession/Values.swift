package import MeshWire

/// A value under a key of a session.
package struct StoredValue: Hashable, Sendable {
    /// What it is.
    package var content: ValueContent
    /// The entry of the log that wrote it last.
    package var version: Position
    /// The participant that wrote it last; it may be gone.
    package var author: ParticipantID

    package init(content: ValueContent, version: Position, author: ParticipantID) {
        self.content = content
        self.version = version
        self.author = author
    }
}

/// What a value is.
package enum ValueContent: Hashable, Sendable {
    /// The application's bytes, at most 16 KiB.
    case bytes([UInt8])
    /// A counter.
    case counter(Int64)
    /// A set of byte strings, sorted.
    case set([[UInt8]])

    /// The bytes it costs.
    package var byteCount: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .counter: 8
        case .set(let elements): elements.reduce(0) { $0 + $1.count + 2 }
        }
    }
}

/// The values of a session, sorted by the bytes of their keys.
///
/// Keys are compared as bytes: Unicode's tables grow from version to version and may not decide
/// what is replicated.
package struct ValueTable: Hashable, Sendable {
    /// One key and its value.
    package struct Entry: Hashable, Sendable {
        package let key: String
        package internal(set) var value: StoredValue
    }

    /// Every key and its value, sorted.
    package private(set) var entries: [Entry] = []
    /// The bytes of all keys and values and what keeping them costs.
    package private(set) var byteCount = 0

    /// The value under a key.
    package subscript(key: String) -> StoredValue? {
        let index = lowerBound(key)
        return holds(key, at: index) ? entries[index].value : nil
    }

    mutating func set(_ key: String, to value: StoredValue) {
        let index = lowerBound(key)
        if holds(key, at: index) {
            byteCount -= Self.cost(key, entries[index].value.content)
            entries[index].value = value
        } else {
            entries.insert(Entry(key: key, value: value), at: index)
        }
        byteCount += Self.cost(key, value.content)
    }

    mutating func remove(_ key: String) {
        let index = lowerBound(key)
        guard holds(key, at: index) else { return }
        byteCount -= Self.cost(key, entries[index].value.content)
        entries.remove(at: index)
    }

    /// Appends in order, as a snapshot does; `false` unless `key` comes after every other.
    mutating func append(_ key: String, _ value: StoredValue) -> Bool {
        if let last = entries.last {
            guard last.key.utf8.lexicographicallyPrecedes(key.utf8) else { return false }
        }
        entries.append(Entry(key: key, value: value))
        byteCount += Self.cost(key, value.content)
        return true
    }

    /// What `content` costs under `key`, in bytes.
    static func cost(_ key: String, _ content: ValueContent) -> Int {
        key.utf8.count + content.byteCount + SessionLimits.valueOverheadBytes
    }

    private func holds(_ key: String, at index: Int) -> Bool {
        index < entries.count && entries[index].key.utf8.elementsEqual(key.utf8)
    }

    private func lowerBound(_ key: String) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].key.utf8.lexicographicallyPrecedes(key.utf8) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }
}
