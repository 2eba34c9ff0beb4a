import MeshWire

/// What an entry of the log says.
enum EntryBody: Hashable, Sendable {
    /// The first entry of a view.
    case view(View)
    /// A command of a member.
    case command(Command)
    /// What became of a branch that the view before it took in; stands right behind its view entry.
    case merge(MergeRecord)
    /// In a primary view, the leader's word that the oldest unconfirmed command takes effect here;
    /// nothing otherwise.
    case noop
}

/// One entry of the log.
///
/// The bytes, little-endian: kind u8 (1 view, 2 command, 3 merge, 5 noop; 4 trim is reserved) ·
/// epoch 16 · index u64 · body. The chain: `hash[i] = H(hash[i-1] ‖ bytes[i])`.
struct Entry: Hashable, Sendable {
    var position: Position
    var body: EntryBody
    var bytes: [UInt8]
    /// The hash of the chain up to here; set when a log takes the entry.
    var hash: Digest = .zero
    /// Whether this process has verified the command's signature.
    var isVerified = false
    /// The command that took effect here, if a `noop` confirmed one; set when it is applied.
    var confirmed: Command?

    init(position: Position, body: EntryBody) {
        self.position = position
        self.body = body
        var writer = ByteWriter(capacity: 256)
        switch body {
        case .view: writer.write(UInt8(1))
        case .command: writer.write(UInt8(2))
        case .merge: writer.write(UInt8(3))
        case .noop: writer.write(UInt8(5))
        }
        writer.write(position)
        switch body {
        case .view(let view): writer.write(view)
        case .command(let command): command.encode(into: &writer)
        case .merge(let record): record.encode(into: &writer)
        case .noop: break
        }
        bytes = writer.bytes
    }

    /// Decodes an entry that fills `bytes` exactly.
    init(decoding bytes: [UInt8]) throws(WireError) {
        var reader = ByteReader(bytes.raw)
        let kind: UInt8 = try reader.read()
        position = try reader.readPosition()
        switch kind {
        case 1:
            let view = try reader.readView()
            guard view.start == position else { throw .invalid(at: 1) }
            body = .view(view)
        case 2: body = .command(try Command(reading: &reader))
        case 3: body = .merge(try MergeRecord(reading: &reader))
        case 5: body = .noop
        default: throw .unknownType(kind, at: 0)
        }
        try reader.finish()
        self.bytes = bytes
    }

    /// The command, if it is one.
    var command: Command? {
        if case .command(let command) = body { command } else { nil }
    }
}

/// The hash-chained log from a base on; entries before the base are compacted away.
struct Log: Sendable {
    private(set) var base: Position
    private(set) var baseHash: Digest
    private(set) var entries: [Entry] = []
    private(set) var byteCount = 0

    /// An empty log that continues `base`.
    init(base: Position, hash: Digest) {
        self.base = base
        baseHash = hash
    }

    /// The last entry's index.
    var head: UInt64 { base.index &+ UInt64(entries.count) }
    // Each of these projects a field, so that no entry with its arrays is copied.
    var headPosition: Position {
        entries.isEmpty ? base : entries[entries.count - 1].position
    }
    var headHash: Digest { entries.isEmpty ? baseHash : entries[entries.count - 1].hash }

    /// The entry at `index`, unless it is compacted or not there yet.
    subscript(index: UInt64) -> Entry? {
        guard index > base.index, index <= head else { return nil }
        return entries[Int(index - base.index) - 1]
    }

    /// The chain's hash at `index`, known from the base to the head.
    func hash(at index: UInt64) -> Digest? {
        guard index > base.index, index <= head else {
            return index == base.index ? baseHash : nil
        }
        return entries[Int(index - base.index) - 1].hash
    }

    func position(at index: UInt64) -> Position? {
        guard index > base.index, index <= head else { return index == base.index ? base : nil }
        return entries[Int(index - base.index) - 1].position
    }

    /// Whether the log holds this point of a chain.
    func holds(_ index: UInt64, _ hash: Digest) -> Bool {
        self.hash(at: index) == hash
    }

    /// Appends an entry whose index is the next one.
    mutating func append(_ entry: Entry, digest: (_ bytes: [UInt8]) -> Digest) {
        precondition(entry.position.index == head + 1, "entries are appended in order")
        var entry = entry
        var link = ByteWriter(capacity: 32 + entry.bytes.count)
        link.write(headHash)
        link.write(entry.bytes)
        entry.hash = digest(link.bytes)
        byteCount += entry.bytes.count
        entries.append(entry)
    }

    /// Cuts everything after `index`.
    mutating func truncate(after index: UInt64) {
        precondition(index >= base.index, "the base is never cut")
        while head > index {
            byteCount -= entries.removeLast().bytes.count
        }
    }

    /// Forgets every entry up to `index`, which becomes the base.
    mutating func compact(through index: UInt64) {
        guard let entry = self[index] else { return }
        let count = Int(index - base.index)
        for dropped in entries.prefix(count) { byteCount -= dropped.bytes.count }
        entries.removeFirst(count)
        base = entry.position
        baseHash = entry.hash
    }

    mutating func markVerified(_ index: UInt64) {
        guard index > base.index, index <= head else { return }
        entries[Int(index - base.index) - 1].isVerified = true
    }

    mutating func markConfirming(_ index: UInt64, _ command: Command) {
        guard index > base.index, index <= head else { return }
        entries[Int(index - base.index) - 1].confirmed = command
    }

    /// Whether the chain fits: the next index, and an epoch that does not fall.
    func accepts(_ entry: Entry) -> Bool {
        entry.position.index == head &+ 1 && entry.position.epoch >= headPosition.epoch
    }
}
