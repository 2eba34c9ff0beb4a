package import MeshWire

/// How many chunks and pages a content of some size has, and which bytes are whose.
///
/// ```
/// leaf[i] = H(leaf, chunk i)                        chunk i = bytes i·65,536 ..< min(size, (i+1)·65,536)
/// page[p] = H(page, leaf[1024p] ‖ …)                up to 1,024 leaves = 64 MiB of content
/// root    = H(root, size u64 ‖ pages u32 ‖ page[0] ‖ …)
/// ```
///
/// A pure calculation (`50-journal-and-playback.md` A2): the hashes come from outside, since this
/// module may not know how they are made, and hashing does not belong on the thread that plans.
package struct ContentShape: Hashable, Sendable {
    /// Bytes of the content.
    package let size: UInt64

    /// The shape of a content of `size` bytes; `nil` above 64 GiB.
    package init?(size: UInt64) {
        guard size <= ContentLimits.sizeMaximum else { return nil }
        self.size = size
    }

    /// The number of chunks; none of an empty content.
    package var chunks: Int {
        Int(size / UInt64(ContentLimits.chunkBytes))
            + (size % UInt64(ContentLimits.chunkBytes) == 0 ? 0 : 1)
    }

    /// The number of pages; none of an empty content.
    package var pages: Int {
        (chunks + ContentLimits.pageLeaves - 1) / ContentLimits.pageLeaves
    }

    /// The bytes of chunk `index`, of which only the last may be short.
    package func byteCount(ofChunk index: Int) -> Int {
        precondition((0..<chunks).contains(index), "a chunk of the content: \(index)")
        let start = UInt64(index) * UInt64(ContentLimits.chunkBytes)
        return Int(min(UInt64(ContentLimits.chunkBytes), size - start))
    }

    /// The chunks whose leaves stand in `page`.
    package func chunks(ofPage page: Int) -> Range<Int> {
        precondition((0..<pages).contains(page), "a page of the content: \(page)")
        let start = page * ContentLimits.pageLeaves
        return start..<min(start + ContentLimits.pageLeaves, chunks)
    }
}

/// What a hash is made of; the personalisation keeps the three apart.
package enum ContentHash: String, CaseIterable, Sendable {
    /// A chunk.
    case leaf
    /// The leaves of up to 1,024 chunks.
    case page
    /// The root record.
    case root

    /// The personalisation of the hash, which is padded with zeros to 16 bytes.
    package var personal: String { "huddle/\(rawValue)/1" }
}

/// The hashes above the chunks of one content: its root record and its pages.
package struct ContentTree: Hashable, Sendable {
    /// Chunks, pages and their sizes.
    package let shape: ContentShape
    /// `size u64 · pages u32 · page hashes`, what the root is the hash of.
    package let record: [UInt8]
    /// The leaves of each page, 32 bytes each.
    package let pages: [[UInt8]]

    /// The tree over these leaves, by a hash of 32 bytes; `nil` unless they are as many as the chunks.
    package init?(
        shape: ContentShape,
        leaves: [Digest],
        hash: (ContentHash, [UInt8]) -> Digest
    ) {
        guard leaves.count == shape.chunks else { return nil }
        let pages = (0..<shape.pages).map { page in
            leaves[shape.chunks(ofPage: page)].flatMap(\.bytes)
        }
        self.init(
            shape: shape,
            record: ContentRecord(shape: shape, pages: pages.map { hash(.page, $0) }).encoded,
            pages: pages
        )
    }

    /// A tree whose parts were verified one by one.
    init(shape: ContentShape, record: [UInt8], pages: [[UInt8]]) {
        self.shape = shape
        self.record = record
        self.pages = pages
    }

    /// The leaf of a chunk.
    package func leaf(_ chunk: Int) -> Digest? {
        let (page, place) = chunk.quotientAndRemainder(dividingBy: ContentLimits.pageLeaves)
        guard chunk >= 0, page < pages.count, pages[page].count >= (place + 1) * 32 else {
            return nil
        }
        return Digest(pages[page][place * 32..<(place + 1) * 32])
    }
}

/// A root record as it is read from somebody else: the size, and the hashes of the pages.
package struct ContentRecord: Hashable, Sendable {
    /// Chunks, pages and their sizes.
    package let shape: ContentShape
    /// The hashes of the pages.
    package let pages: [Digest]

    init(shape: ContentShape, pages: [Digest]) {
        self.shape = shape
        self.pages = pages
    }

    /// Reads a record; the number of pages must be the one that the size demands.
    package init(decoding bytes: [UInt8]) throws(WireError) {
        var reader = ByteReader(bytes.raw)
        let size: UInt64 = try reader.read()
        guard let shape = ContentShape(size: size) else { throw .overLimit(size, at: 0) }
        let count: UInt32 = try reader.read()
        guard count == UInt32(shape.pages) else { throw .invalid(at: 8) }
        try reader.require(32 * shape.pages)
        var pages: [Digest] = []
        for _ in 0..<shape.pages { pages.append(try reader.read()) }
        try reader.finish()
        self.init(shape: shape, pages: pages)
    }

    /// The bytes that the root is the hash of.
    package var encoded: [UInt8] {
        var writer = ByteWriter(capacity: 12 + 32 * pages.count)
        writer.write(shape.size)
        writer.write(UInt32(pages.count))
        for page in pages { writer.write(page) }
        return writer.bytes
    }
}

/// The limits of contents and of the messages about them (`50-journal-and-playback.md` A2, A4, A5).
package enum ContentLimits {
    /// Bytes of a chunk.
    package static let chunkBytes = 65_536
    /// Leaves of a page.
    package static let pageLeaves = 1024
    /// Bytes of the largest content, 64 GiB: 1,024 pages.
    package static let sizeMaximum: UInt64 = 64 << 30
    /// Bytes of the largest root record, which is larger than a page.
    package static let recordBytes = 12 + 32 * 1024
    /// Contents that one INVENTORY names.
    package static let inventoryItems = 4096
    /// Contents of one peer that are remembered, known here or not.
    package static let inventoryMemory = 8192
    /// Ranges of one HAVE.
    package static let haveRanges = 512
    /// Chunks of one WANT.
    package static let wantChunks = 32
    /// Chunks of one CANCEL.
    package static let cancelChunks = 64
    /// Bytes of the largest message: a chunk and what stands before it.
    package static let messageBytes = chunkBytes + 64
}
