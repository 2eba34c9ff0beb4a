// The messages of channel 1 (`50-journal-and-playback.md` A4). `content` is the root, 32 bytes; the
// rest as everywhere: varints, little-endian, `blob` a varint length and bytes.
//
//   1 inventory  n · n × (content · state u8: 0 none, 1 part, 2 all)     n ≤ 4,096
//   2 have       content · n · n × (start · count)                      n ≤ 512
//   3 wantTree   content · page u32, all ones for the root record
//   4 tree       content · page u32 · blob ≤ 32,780
//   5 want       content · urgency u8 · n · n × chunk                   n ≤ 32
//   6 cancel     content · n · n × chunk                                n ≤ 64
//   7 chunk      content · chunk · blob ≤ 65,536
//   9 refuse     content · chunk or page + 2^32 · reason u8
//   8 elsewhere, 10 progress: of a later version; unknown types are dropped and counted

package import MeshWire

/// One message about contents, between two nodes.
package enum ContentMessage: Hashable, Sendable {
    /// What the sender holds of contents; those it does not name stay as they were.
    case inventory([Item])
    /// Chunks of a content that the sender holds besides those it told.
    case have(ContentID, [Range<Int>])
    /// Asks for the root record, or for a page.
    case wantTree(ContentID, TreePart)
    /// The root record, or a page.
    case tree(ContentID, TreePart, [UInt8])
    /// Asks for chunks; one that is asked for already counts once.
    case want(ContentID, isUrgent: Bool, [Int])
    /// Takes chunks back that were asked for; best effort.
    case cancel(ContentID, [Int])
    /// A whole chunk.
    case chunk(ContentID, Int, [UInt8])
    /// What was asked for does not come, at least not now.
    case refuse(ContentID, Wanted, ContentRefusal)

    /// One line of an inventory.
    package struct Item: Hashable, Sendable {
        package var content: ContentID
        package var state: Holding

        package init(_ content: ContentID, _ state: Holding) {
            self.content = content
            self.state = state
        }
    }
}

/// How much of a content a node holds.
package enum Holding: UInt8, CaseIterable, Sendable {
    case none = 0
    case part = 1
    case all = 2
}

/// A part of a content's tree.
package enum TreePart: Hashable, Sendable {
    /// The root record.
    case record
    /// The leaves of a page.
    case page(Int)
}

/// What a refusal is about.
package enum Wanted: Hashable, Sendable {
    case chunk(Int)
    case tree(TreePart)
}

/// Why something does not come.
package enum ContentRefusal: UInt8, CaseIterable, Sendable {
    /// The node does not hold it.
    case notHeld = 1
    /// Too much is asked of the node just now.
    case busy = 2
    /// The file that the bytes were in has changed.
    case sourceChanged = 3
    /// The attachment was removed.
    case removed = 4
    /// The node gives no more.
    case quota = 5
}

/// Why bytes are no message of this version.
package enum ContentMessageError: Error, Hashable, Sendable {
    /// A type that this version does not know.
    case unknownType(UInt8)
    /// The bytes are not what the type demands.
    case malformed(WireError)
}

extension ContentMessage {
    /// The chunks that a content can have at most; an index at or above it is malformed.
    private static let chunkMaximum =
        Int(ContentLimits.sizeMaximum) / ContentLimits.chunkBytes
    private static let recordNumber = UInt32.max
    /// What a refusal adds to the number of a page.
    private static let treeOffset: UInt64 = 1 << 32

    /// Reads a message; nothing is allocated before its limit is checked.
    package init(decoding bytes: [UInt8]) throws(ContentMessageError) {
        let message: ContentMessage?
        do throws(WireError) {
            var reader = ByteReader(bytes.raw)
            let type: UInt8 = try reader.read()
            message = try Self.read(type, &reader)
            if message != nil { try reader.finish() }
        } catch {
            throw .malformed(error)
        }
        guard let message else { throw .unknownType(bytes.first ?? 0) }
        self = message
    }

    /// Reads what stands behind the type; `nil` for a type that this version does not know.
    @_lifetime(reader: copy reader)
    private static func read(
        _ type: UInt8,
        _ reader: inout ByteReader
    ) throws(WireError) -> ContentMessage? {
        switch type {
        case 1:
            var items: [Item] = []
            let count = try reader.readCount(limit: ContentLimits.inventoryItems)
            try reader.require(33 * count)
            items.reserveCapacity(count)
            for _ in 0..<count {
                let content: ContentID = try reader.read()
                let start = reader.offset
                guard let state = Holding(rawValue: try reader.read()) else {
                    throw .invalid(at: start)
                }
                items.append(Item(content, state))
            }
            return .inventory(items)
        case 2:
            let content: ContentID = try reader.read()
            var ranges: [Range<Int>] = []
            for _ in 0..<(try reader.readCount(limit: ContentLimits.haveRanges)) {
                let start = try reader.readCount(limit: chunkMaximum - 1)
                let place = reader.offset
                let count = try reader.readCount(limit: chunkMaximum - start)
                guard count > 0 else { throw .invalid(at: place) }
                ranges.append(start..<start + count)
            }
            return .have(content, ranges)
        case 3:
            return .wantTree(try reader.read(), try readPart(&reader))
        case 4:
            return .tree(
                try reader.read(),
                try readPart(&reader),
                try reader.readBlob(limit: ContentLimits.recordBytes)
            )
        case 5:
            let content: ContentID = try reader.read()
            let start = reader.offset
            let urgency: UInt8 = try reader.read()
            guard urgency <= 1 else { throw .invalid(at: start) }
            let chunks = try readChunks(&reader, limit: ContentLimits.wantChunks)
            return .want(content, isUrgent: urgency == 1, chunks)
        case 6:
            return .cancel(
                try reader.read(),
                try readChunks(&reader, limit: ContentLimits.cancelChunks)
            )
        case 7:
            return .chunk(
                try reader.read(),
                try reader.readCount(limit: chunkMaximum - 1),
                try reader.readBlob(limit: ContentLimits.chunkBytes)
            )
        case 9:
            let content: ContentID = try reader.read()
            let start = reader.offset
            let number = try reader.readVariable()
            guard number < treeOffset << 1 else { throw .overLimit(number, at: start) }
            let wanted: Wanted
            if number >= treeOffset {
                wanted = .tree(try part(UInt32(number - treeOffset), at: start))
            } else if number < UInt64(chunkMaximum) {
                wanted = .chunk(Int(number))
            } else {
                throw .overLimit(number, at: start)
            }
            let place = reader.offset
            guard let reason = ContentRefusal(rawValue: try reader.read()) else {
                throw .invalid(at: place)
            }
            return .refuse(content, wanted, reason)
        default:
            return nil
        }
    }

    @_lifetime(reader: copy reader)
    private static func readPart(_ reader: inout ByteReader) throws(WireError) -> TreePart {
        let start = reader.offset
        return try part(try reader.read(), at: start)
    }

    private static func part(_ number: UInt32, at place: Int) throws(WireError) -> TreePart {
        if number == recordNumber { return .record }
        guard number < UInt32(chunkMaximum / ContentLimits.pageLeaves) else {
            throw .overLimit(UInt64(number), at: place)
        }
        return .page(Int(number))
    }

    @_lifetime(reader: copy reader)
    private static func readChunks(
        _ reader: inout ByteReader,
        limit: Int
    ) throws(WireError) -> [Int] {
        var chunks: [Int] = []
        for _ in 0..<(try reader.readCount(limit: limit)) {
            chunks.append(try reader.readCount(limit: chunkMaximum - 1))
        }
        return chunks
    }

    /// The bytes of the message.
    package var encoded: [UInt8] {
        var writer = ByteWriter(capacity: 64)
        switch self {
        case .inventory(let items):
            writer = ByteWriter(capacity: 8 + 33 * items.count)
            writer.write(UInt8(1))
            writer.writeCount(items.count)
            for item in items {
                writer.write(item.content)
                writer.write(item.state.rawValue)
            }
        case .have(let content, let ranges):
            writer.write(UInt8(2))
            writer.write(content)
            writer.writeCount(ranges.count)
            for range in ranges {
                writer.writeCount(range.lowerBound)
                writer.writeCount(range.count)
            }
        case .wantTree(let content, let part):
            writer.write(UInt8(3))
            writer.write(content)
            writer.write(Self.number(part))
        case .tree(let content, let part, let bytes):
            writer = ByteWriter(capacity: bytes.count + 64)
            writer.write(UInt8(4))
            writer.write(content)
            writer.write(Self.number(part))
            writer.writeBlob(bytes)
        case .want(let content, let isUrgent, let chunks):
            writer.write(UInt8(5))
            writer.write(content)
            writer.write(UInt8(isUrgent ? 1 : 0))
            writer.writeCount(chunks.count)
            for chunk in chunks { writer.writeCount(chunk) }
        case .cancel(let content, let chunks):
            writer.write(UInt8(6))
            writer.write(content)
            writer.writeCount(chunks.count)
            for chunk in chunks { writer.writeCount(chunk) }
        case .chunk(let content, let index, let bytes):
            writer = ByteWriter(capacity: bytes.count + 64)
            writer.write(UInt8(7))
            writer.write(content)
            writer.writeCount(index)
            writer.writeBlob(bytes)
        case .refuse(let content, let wanted, let reason):
            writer.write(UInt8(9))
            writer.write(content)
            switch wanted {
            case .chunk(let index): writer.writeCount(index)
            case .tree(let part): writer.writeVariable(Self.treeOffset + UInt64(Self.number(part)))
            }
            writer.write(reason.rawValue)
        }
        return writer.bytes
    }

    private static func number(_ part: TreePart) -> UInt32 {
        switch part {
        case .record: recordNumber
        case .page(let page): UInt32(page)
        }
    }
}
