import MeshWire

/// The keys of one map by their bytes: an open table of their offsets.
///
/// For maps of many entries, where comparing each with each would not be linear. The hash is keyed
/// by the whole message, so nobody can choose keys that collide without changing where they do, and
/// the same message takes the same steps everywhere.
struct KeyTable {
    /// The offset of a key in each taken place; 0 is free, since a map's head stands before its keys.
    private var places: [UInt32]

    /// An empty table for the keys of the map at `start` of `message`.
    ///
    /// A quarter more places than keys, and never more than half the map's bytes: where that is
    /// fewer, most keys are empty, and the second of those ends the search.
    init(forMapAt start: Int, of message: ParsedMessage) {
        let count = Int(message.head(at: start).argument)
        let extent = (message.end(ofItemAt: start) ?? start) - start
        places = Array(repeating: 0, count: max(1, min(count + count / 4 + 1, extent / 2)))
    }

    /// Adds the key at `offset`; answers `false` if an equal one was there.
    mutating func insert(_ offset: Int, of message: ParsedMessage) -> Bool {
        let key = message.content(of: message.head(at: offset))
        let bytes = message.bytes
        let hash = message.hash(ofKey: bytes.raw.extracting(key))
        let (place, found) = place(of: hash, in: message) { message.isEqual(key, toKeyAt: $0) }
        guard let place, found == 0 else { return false }
        places[place] = UInt32(truncatingIfNeeded: offset)
        return true
    }

    /// The offset of the key of this name.
    func offset(of name: String, in message: ParsedMessage) -> Int? {
        let hash = message.hash(ofKey: Array(name.utf8).raw)
        let (_, found) = place(of: hash, in: message) { message.isKey(name, at: $0) }
        return found == 0 ? nil : found
    }

    /// The place of a key, or the free one where it belongs; none if the table is full of others.
    private func place(
        of hash: UInt64,
        in message: ParsedMessage,
        isEqual: (Int) -> Bool
    ) -> (place: Int?, offset: Int) {
        // Spread evenly over any number of places, by the high half of the product.
        var place = Int(hash.multipliedFullWidth(by: UInt64(places.count)).high)
        for _ in places.indices {
            let offset = Int(places[place])
            if offset == 0 || isEqual(offset) { return (place, offset) }
            place = place + 1 == places.count ? 0 : place + 1
        }
        return (nil, 0)
    }
}

extension ParsedMessage {
    /// The offset of a key that an earlier one of the same map equals.
    func doubledKey(inMapAt start: Int) -> Int? {
        let head = head(at: start)
        let count = Int(head.argument)
        return count <= MessageLimits.fewKeys
            ? doubledKey(amongFew: count, from: head.end) : doubledKey(amongMany: count, start)
    }

    private func doubledKey(amongMany count: Int, _ start: Int) -> Int? {
        var table = KeyTable(forMapAt: start, of: self)
        var offset = head(at: start).end
        for _ in 0..<count {
            guard table.insert(offset, of: self) else { return offset }
            offset = entryEnd(keyAt: offset)
        }
        return nil
    }

    private func doubledKey(amongFew count: Int, from first: Int) -> Int? {
        var marks = InlineArray<16, UInt64>(repeating: 0)
        var offsets = InlineArray<16, Int>(repeating: 0)
        var offset = first
        for index in 0..<count {
            marks[index] = mark(ofKeyAt: offset)
            offsets[index] = offset
            for other in 0..<index where marks[other] == marks[index] {
                let key = content(of: self.head(at: offset))
                if isEqual(key, toKeyAt: offsets[other]) { return offset }
            }
            offset = entryEnd(keyAt: offset)
        }
        return nil
    }

    /// The length and the first seven bytes of a key, which tell most keys apart.
    private func mark(ofKeyAt offset: Int) -> UInt64 {
        let count = min(Int(bytes[offset] & 0x1f), 7)
        let bytes = bytes
        if let word = bytes.raw.integer(at: offset, UInt64.self) {
            return count == 7 ? word : word & (1 << UInt64(8 * (count + 1)) - 1)
        }
        return (0...count).reversed().reduce(0) {
            $0 << 8 | UInt64(bytes[min(offset + $1, bytes.count - 1)])
        }
    }

    /// Whether the bytes of `key` are those of the key at `offset`.
    func isEqual(_ key: Range<Int>, toKeyAt offset: Int) -> Bool {
        work += 1
        let other = content(of: head(at: offset))
        guard key.count == other.count else { return false }
        for step in 0..<key.count
        where bytes[key.lowerBound + step] != bytes[other.lowerBound + step] {
            return false
        }
        return true
    }

    /// Whether the key at `offset` is this name, byte by byte.
    func isKey(_ name: String, at offset: Int) -> Bool {
        work += 1
        let key = content(of: head(at: offset))
        guard key.count == name.utf8.count else { return false }
        var place = key.lowerBound
        for byte in name.utf8 {
            guard bytes[place] == byte else { return false }
            place += 1
        }
        return true
    }

    /// The hash of a key, keyed by the whole message.
    func hash(ofKey key: RawSpan) -> UInt64 {
        var hash = keyHash
        hash.update(key)
        return hash.finish()
    }

    /// Where the entry ends whose key is at `offset`.
    func entryEnd(keyAt offset: Int) -> Int {
        let key = head(at: offset)
        return end(ofItemAt: key.end + Int(key.argument)) ?? bytes.count
    }
}
