import MeshWire

/// A message whose fragments come in any order; its memory grows with the bytes that came.
struct Reassembly: Sendable {
    /// More pieces out of order than any sender of ours makes of 16 MiB.
    static let pieceMaximum = 16_384

    /// Bytes of the whole message.
    let total: Int
    /// Everything up to the first gap.
    private(set) var bytes: [UInt8] = []
    /// What came behind the gap, sorted, without overlaps.
    private var pieces: [(offset: Int, bytes: [UInt8])] = []
    /// The highest offset that came, which is what the limits count.
    private(set) var highest = 0

    init(total: Int) { self.total = total }

    var isWhole: Bool { bytes.count == total }

    /// How many bytes `end` raises the highest offset by.
    func growth(to end: Int) -> Int { max(0, end - highest) }

    /// Takes a fragment; `false` if there are too many pieces.
    ///
    /// Bytes that came before are dropped.
    mutating func insert(_ span: RawSpan, at offset: Int) -> Bool {
        let end = offset + span.byteCount
        highest = max(highest, end)
        guard end > bytes.count else { return true }
        guard offset <= bytes.count else { return insertPiece(span, at: offset) }
        append(span.extracting(bytes.count - offset..<span.byteCount))
        var used = 0
        while used < pieces.count, pieces[used].offset <= bytes.count {
            let piece = pieces[used]
            let known = bytes.count - piece.offset
            if known < piece.bytes.count { bytes.append(contentsOf: piece.bytes[known...]) }
            used += 1
        }
        if used > 0 { pieces.removeFirst(used) }
        return true
    }

    private mutating func append(_ span: RawSpan) {
        let count = bytes.count + span.byteCount
        if bytes.capacity < count {
            // Room for the whole once a quarter came: a claim costs at most four times its bytes.
            bytes.reserveCapacity(count * 4 >= total ? total : count * 2)
        }
        bytes.append(contentsOf: span)
    }

    private mutating func insertPiece(_ span: RawSpan, at offset: Int) -> Bool {
        let end = offset + span.byteCount
        var index = pieces.count
        while index > 0, pieces[index - 1].offset > offset { index -= 1 }
        var position = offset
        if index > 0 {
            position = max(position, pieces[index - 1].offset + pieces[index - 1].bytes.count)
        }
        while position < end {
            let gapEnd = index < pieces.count ? min(end, pieces[index].offset) : end
            if position < gapEnd {
                guard pieces.count < Self.pieceMaximum else { return false }
                let part = span.extracting(position - offset..<gapEnd - offset)
                pieces.insert((position, part.copied), at: index)
                index += 1
            }
            guard index < pieces.count else { break }
            position = max(position, pieces[index].offset + pieces[index].bytes.count)
            index += 1
        }
        return true
    }
}
