import MeshWire

/// A message whose every byte was proved to be of the subset, and where its containers end.
///
/// One pass over the bytes, without recursion, checks all that can be checked without the type. It
/// leaves beside each byte a word of 16 bits, which at the head of an array or a map is its extent:
/// so any item is stepped over at once, in whatever order the type asks for its keys, and no
/// allocation exceeds twice the input.
final class ParsedMessage {
    /// The message.
    let bytes: [UInt8]
    /// Beside the head of a container the number of its bytes; 0 while it is open.
    private var extents: [UInt16] = []
    /// The extents that 16 bits are too few for, by start: at most one in 255 bytes, since at most
    /// 256 containers stand around a byte.
    private var wideExtents: [Int: Int] = [:]
    /// The hash of keys, keyed by the whole message.
    private(set) lazy var keyHash: SipHash = {
        let key = SipHash.hash(bytes)
        return SipHash(key0: key, key1: key.byteSwapped)
    }()
    /// The way that was walked last for a coding path.
    var trail: [PathStep] = []
    /// Items seen and keys compared, by which tests judge that time is linear.
    var work = 0

    /// A container that is still open.
    private struct Frame {
        var start: Int
        var isMap: Bool
        var count: Int
        var remaining: Int
    }

    /// Checks `bytes`; throws `DecodingError` with the path to what is wrong.
    ///
    /// A test is handed the message before it is checked, and sees also the work of a refusal.
    init(_ bytes: [UInt8], watch: (ParsedMessage) -> Void = { _ in }) throws {
        self.bytes = bytes
        watch(self)
        do throws(Flaw) {
            try check()
        } catch {
            throw error.error(at: path(to: error.offset))
        }
    }

    private func check() throws(Flaw) {
        var open: [Frame] = []
        var offset = 0
        repeat {
            offset = try checkItem(at: offset, &open)
            while let frame = open.last, frame.remaining == 0 {
                open.removeLast()
                try close(frame, at: offset)
            }
            guard let last = open.indices.last else { break }
            open[last].remaining -= 1
            if open[last].isMap { offset = try checkKey(at: offset) }
        } while true
        guard offset == bytes.count else { throw Flaw(.trailing, at: offset) }
    }

    /// Checks the item at `offset`, of a container only its head; answers where the next one is.
    private func checkItem(at offset: Int, _ open: inout [Frame]) throws(Flaw) -> Int {
        work += 1
        let head = try Head(at: offset, in: bytes)
        switch head.major {
        case Head.Major.bytes:
            return try end(of: head, at: offset)
        case Head.Major.text:
            return try checkText(head, at: offset)
        case Head.Major.array, Head.Major.map:
            let isMap = head.major == Head.Major.map
            let left = UInt64(bytes.count - head.end) / (isMap ? 2 : 1)
            guard head.argument <= left else { throw Flaw(.count, at: offset) }
            guard open.count < MessageLimits.depth else { throw Flaw(.depth, at: offset) }
            let count = Int(head.argument)
            open.append(Frame(start: offset, isMap: isMap, count: count, remaining: count))
            if extents.isEmpty { extents = Array(repeating: 0, count: bytes.count) }
            return head.end
        case Head.Major.tag:
            return try checkTagged(head, at: offset)
        default:
            return head.end
        }
    }

    private func checkTagged(_ tag: Head, at offset: Int) throws(Flaw) -> Int {
        let head: Head
        do throws(Flaw) {
            head = try Head(at: tag.end, in: bytes)
        } catch {
            // The tag and what it stands before are one item.
            throw Flaw(error.kind, at: offset)
        }
        switch tag.argument {
        case Head.Tag.uuid where head.first == Head.Byte.sixteenBytes:
            return try end(of: head, at: offset)
        case Head.Tag.url where head.major == Head.Major.text:
            return try checkText(head, at: offset)
        default:
            throw Flaw(.tag, at: offset)
        }
    }

    private func checkKey(at offset: Int) throws(Flaw) -> Int {
        let head = try Head(at: offset, in: bytes)
        guard head.major == Head.Major.text else { throw Flaw(.key, at: offset) }
        return try checkText(head, at: offset)
    }

    private func checkText(_ head: Head, at offset: Int) throws(Flaw) -> Int {
        let end = try end(of: head, at: offset)
        var bits: UInt8 = 0
        for index in head.end..<end { bits |= bytes[index] }
        if bits >= 0x80 {
            do {
                let bytes = bytes
                _ = try UTF8Span(validating: bytes.span.extracting(head.end..<end))
            } catch {
                throw Flaw(.text, at: offset)
            }
        }
        return end
    }

    private func end(of head: Head, at offset: Int) throws(Flaw) -> Int {
        guard head.argument <= UInt64(bytes.count - head.end) else {
            throw Flaw(.count, at: offset)
        }
        return head.end + Int(head.argument)
    }

    private func close(_ frame: Frame, at end: Int) throws(Flaw) {
        let extent = end - frame.start
        if let short = UInt16(exactly: extent), short < .max {
            extents[frame.start] = short
        } else {
            extents[frame.start] = .max
            wideExtents[frame.start] = extent
        }
        guard frame.isMap, frame.count > 1, let key = doubledKey(inMapAt: frame.start) else {
            return
        }
        // The value, so that the path ends with the key.
        throw Flaw(.doubledKey, at: content(of: head(at: key)).upperBound)
    }

    // MARK: Reading what was checked

    /// The head of a checked item.
    func head(at offset: Int) -> Head { Head(trusting: bytes, at: offset) }

    /// Where the bytes of a checked text or byte string are.
    func content(of head: Head) -> Range<Int> {
        head.end..<head.end + Int(head.argument)
    }

    /// A checked text.
    func text(of head: Head) -> String {
        String(decoding: bytes[content(of: head)], as: UTF8.self)
    }

    /// Where a checked item ends; `nil` for a container whose end was not reached.
    func end(ofItemAt offset: Int) -> Int? {
        let head = head(at: offset)
        switch head.major {
        case Head.Major.bytes, Head.Major.text:
            return head.end + Int(head.argument)
        case Head.Major.array, Head.Major.map:
            let extent = Int(extents[offset])
            guard extent != 0 else { return nil }
            return offset + (extent == UInt16.max ? wideExtents[offset] ?? 0 : extent)
        case Head.Major.tag:
            let tagged = self.head(at: head.end)
            return tagged.end + Int(tagged.argument)
        default:
            return head.end
        }
    }
}
