import MeshWire

/// The bytes of a message that grows, and the containers that are still open in it.
///
/// A container's head is one byte as long as it has fewer than 24 entries, so one byte is reserved
/// and filled in when the container closes. Where one byte is too short, the head is noted as a
/// ``Replacement`` and put in when the whole is copied, once, at the end. A nested container and a
/// superclass's encoder may be written while their parent goes on; they have a buffer of their own,
/// which replaces a reserved byte too.
struct MessageBuilder {
    /// What an encoder has been asked for.
    enum Kind {
        /// Nothing yet.
        case empty
        /// One value that is no container, or the value of another encoder at the same place.
        case single
        case array
        case map
    }

    /// One value that is being written.
    struct Level {
        /// Where it begins; a container's head is there.
        var start: Int
        var kind = Kind.empty
        /// Elements or entries so far.
        var count = 0
        /// Where the entry begins that is being written; in a map its key is there.
        var entry = 0
        /// The length and first bytes of keys so far, in bits: what may be doubled is in it.
        var keyBits: UInt64 = 0
    }

    /// Names a level; one that was closed is not taken for another.
    struct Slot {
        var index: Int
        var start: Int
    }

    /// What stands in the place of one byte of the buffer.
    enum Replacement {
        case head(UInt8, count: Int)
        case child(EncodingBuffer)
    }

    private var bytes: [UInt8] = []
    private var levels: [Level] = []
    private var replacements: [(offset: Int, content: Replacement)] = []
    /// What a call that cannot throw did wrong; the whole fails with it.
    private var failure: (any Error)?
    /// Whether two keys of one map may be equal.
    private(set) var mayRepeatKeys = false
    private let parentPath: [MessageKey]
    private let parentDepth: Int

    init(parentPath: [MessageKey] = [], parentDepth: Int = 0, capacity: Int = 0) {
        self.parentPath = parentPath
        self.parentDepth = parentDepth
        if capacity > 0 {
            bytes.reserveCapacity(capacity)
            levels.reserveCapacity(8)
        }
        levels.append(Level(start: 0))
    }

    // MARK: Levels

    private func isCurrent(_ slot: Slot) -> Bool {
        levels.count == slot.index + 1 && levels[slot.index].start == slot.start
    }

    /// Makes a level a container; asked twice for the same kind, as a subclass and its superclass do, it is one.
    mutating func open(_ slot: Slot, _ kind: Kind) {
        guard isCurrent(slot) else { return fail(at: slot, .outOfTurn) }
        if levels[slot.index].kind == kind { return }
        guard levels[slot.index].kind == .empty else { return fail(at: slot, .twoValues) }
        levels[slot.index].kind = kind
        bytes.append(kind == .map ? Head.Major.map : Head.Major.array)
        if parentDepth + slot.index >= MessageLimits.depth { fail(at: slot, .tooDeep) }
    }

    /// Makes a level a value that is no container.
    // MARK: Values

    /// Writes the value of a level that is no container; `value` appends its bytes.
    mutating func encode(in slot: Slot, _ value: (inout [UInt8]) -> Void) throws {
        guard isCurrent(slot), levels[slot.index].kind == .empty else {
            throw Misuse.twoValues.error(at: path(of: slot))
        }
        levels[slot.index].kind = .single
        value(&bytes)
    }

    /// Writes an element of an array that is one item.
    mutating func encodeElement(of slot: Slot, _ value: (inout [UInt8]) -> Void) throws {
        try beginElement(of: slot)
        value(&bytes)
    }

    /// Writes an entry of a map whose value is one item.
    mutating func encodeEntry(
        of slot: Slot,
        _ key: String,
        _ value: (inout [UInt8]) -> Void
    ) throws {
        try beginEntry(of: slot, key)
        value(&bytes)
    }

    /// Begins an element of an array.
    mutating func beginElement(of slot: Slot) throws {
        try begin(slot, .array)
    }

    /// Begins an entry of a map by its key.
    mutating func beginEntry(of slot: Slot, _ key: String) throws {
        try begin(slot, .map)
        let start = bytes.count
        bytes.append(text: key)
        // Equal keys set the same bit; a bit that is set twice proves nothing yet.
        let bit = UInt64(1) << UInt64(fingerprint(from: start) & 63)
        if levels[slot.index].keyBits & bit != 0 { mayRepeatKeys = true }
        levels[slot.index].keyBits |= bit
    }

    private func fingerprint(from start: Int) -> UInt8 {
        let end = bytes.count
        let middle = start + (end - start) / 2
        return bytes[start] &* 3 &+ bytes[middle] &* 5 &+ bytes[end - 1] &* 11
    }

    private mutating func begin(_ slot: Slot, _ kind: Kind) throws {
        guard isCurrent(slot), levels[slot.index].kind == kind else {
            throw Misuse.outOfTurn.error(at: path(of: slot))
        }
        levels[slot.index].entry = bytes.count
        levels[slot.index].count += 1
    }

    /// The elements of an array so far.
    func count(of slot: Slot) -> Int {
        slot.index < levels.count ? levels[slot.index].count : 0
    }

    mutating func close() {
        let level = levels.removeLast()
        switch level.kind {
        case .single: return
        // Whoever encodes nothing has no fields.
        case .empty: bytes.append(Head.Major.map)
        case .array, .map:
            if level.count < 24 {
                bytes[level.start] |= UInt8(level.count)
            } else {
                replacements.append((level.start, .head(bytes[level.start], count: level.count)))
            }
        }
    }

    // MARK: Values by their own conformance

    /// Appends the value of the entry that was begun.
    mutating func append(_ value: any Scalar) {
        value.append(to: &bytes)
    }

    /// Opens a level for the value of the entry of `slot` that was begun.
    mutating func push(in slot: Slot) throws -> Slot {
        guard parentDepth + levels.count <= MessageLimits.depth else {
            throw Misuse.tooDeep.error(at: path(of: slot))
        }
        levels.append(Level(start: bytes.count))
        return Slot(index: levels.count - 1, start: bytes.count)
    }

    /// What is put back if a value throws.
    var mark: Int { replacements.count }

    /// Makes the entry of `slot` that was begun as if it had not been.
    mutating func undoEntry(of slot: Slot, mark: Int) {
        levels.removeLast(levels.count - slot.index - 1)
        bytes.removeLast(bytes.count - levels[slot.index].entry)
        replacements.removeLast(replacements.count - mark)
        levels[slot.index].count -= 1
    }

    /// Puts the builder of a value that is written at any time in the place of the entry that was begun.
    mutating func insertChild(in slot: Slot) -> EncodingBuffer {
        let child = EncodingBuffer(
            MessageBuilder(parentPath: path(of: slot), parentDepth: parentDepth + slot.index + 1)
        )
        replacements.append((bytes.count, .child(child)))
        bytes.append(0)
        return child
    }

    // MARK: The end

    /// The whole message; the builder is spent.
    mutating func finish() throws -> [UInt8] {
        var result: [UInt8] = []
        var repeats = false
        try flatten(into: &result, &repeats)
        if repeats { try checkKeys(of: result) }
        return result
    }

    private mutating func flatten(into result: inout [UInt8], _ repeats: inout Bool) throws {
        if let failure { throw failure }
        close()
        repeats = repeats || mayRepeatKeys
        if result.isEmpty, replacements.isEmpty {
            swap(&result, &bytes)
            return
        }
        replacements.sort { $0.offset < $1.offset }
        result.reserveCapacity(result.count + bytes.count + 8 * replacements.count)
        var copied = 0
        for (offset, content) in replacements {
            result.append(contentsOf: bytes[copied..<offset])
            copied = offset + 1
            switch content {
            case .head(let major, let count): result.append(head: major, UInt64(count))
            case .child(let child): try child.builder.flatten(into: &result, &repeats)
            }
        }
        result.append(contentsOf: bytes[copied...])
    }

    /// Refuses a message that the other side would refuse for its doubled keys.
    private func checkKeys(of result: [UInt8]) throws {
        do {
            _ = try ParsedMessage(result)
        } catch DecodingError.dataCorrupted(let context) {
            throw Misuse.twoValues.error(at: context.codingPath)
        }
    }

    // MARK: Errors

    private mutating func fail(at slot: Slot, _ misuse: Misuse) {
        fail(misuse.error(at: path(of: slot)))
    }

    /// Makes the whole fail in the end, since the caller cannot.
    mutating func fail(_ error: any Error) {
        failure = failure ?? error
    }

    /// The way to the entry that is being written in `slot`.
    func path(of slot: Slot, isInside: Bool = true) -> [MessageKey] {
        let open = levels.prefix(slot.index + (isInside ? 1 : 0))
        return parentPath
            + open.compactMap { level in
                switch level.kind {
                case .map where level.count > 0: key(at: level.entry)
                case .array where level.count > 0: MessageKey(intValue: level.count - 1)
                case .empty, .single, .array, .map: nil
                }
            }
    }

    private func key(at offset: Int) -> MessageKey? {
        guard offset < bytes.count, let head = try? Head(at: offset, in: bytes) else { return nil }
        return MessageKey(
            name: String(decoding: bytes[head.end...].prefix(Int(head.argument)), as: UTF8.self)
        )
    }
}

/// What an `encode(to:)` did that no message can show.
enum Misuse: String {
    case outOfTurn =
        "a container was written after its value had ended, or while another was open in it"
    case twoValues = "two values were encoded in one place"
    case tooDeep = "containers stand in each other more than 256 deep"

    func error(at path: [any CodingKey]) -> EncodingError {
        .invalidValue(rawValue, .init(codingPath: path, debugDescription: rawValue))
    }
}
