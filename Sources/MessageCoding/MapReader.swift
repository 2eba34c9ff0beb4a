/// Finds the entries of one map by their keys.
///
/// The next key that is asked for is mostly the last one again (the library asks whether it is there,
/// whether it is null, and for its value) or the one that stands next, so that no table is needed;
/// where it is neither, the others are looked through, or in a map of many entries a table is made.
final class MapReader {
    private let message: ParsedMessage
    private let start: Int
    private let first: Int
    private let count: Int
    /// The entry that was found last, and its place among the others.
    private var current: Int
    private var index = 0
    private var table: KeyTable?

    init(_ value: ValueDecoder) throws {
        message = value.message
        start = value.offset
        let head = message.head(at: start)
        guard head.major == Head.Major.map else {
            throw value.mismatch("a map", [String: Any].self)
        }
        first = head.end
        current = first
        count = Int(head.argument)
    }

    var codingPath: [MessageKey] { message.path(to: start) }

    /// The keys in their order.
    var names: [String] {
        var names: [String] = []
        var offset = first
        for _ in 0..<count {
            let key = message.head(at: offset)
            names.append(message.text(of: key))
            offset = message.entryEnd(keyAt: offset)
        }
        return names
    }

    /// The value under a key.
    func value(of name: String) -> ValueDecoder? {
        guard let key = table == nil ? keyByWalk(name) : keyByTable(name) else { return nil }
        return ValueDecoder(
            message: message,
            offset: message.content(of: message.head(at: key)).upperBound
        )
    }

    private func keyByWalk(_ name: String) -> Int? {
        for misses in 0..<count {
            if misses == MessageLimits.fewKeys { return keyByTable(name) }
            if message.isKey(name, at: current) { return current }
            index += 1
            if index == count {
                (current, index) = (first, 0)
            } else {
                current = message.entryEnd(keyAt: current)
            }
        }
        return nil
    }

    private func keyByTable(_ name: String) -> Int? {
        let table = table ?? makeTable()
        self.table = table
        return table.offset(of: name, in: message)
    }

    private func makeTable() -> KeyTable {
        var table = KeyTable(forMapAt: start, of: message)
        var offset = first
        for _ in 0..<count {
            _ = table.insert(offset, of: message)
            offset = message.entryEnd(keyAt: offset)
        }
        return table
    }
}
