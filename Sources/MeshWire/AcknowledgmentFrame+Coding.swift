extension AcknowledgmentFrame {
    /// Appends the frame: largest, delay, count, first length, then gaps and lengths.
    package func encode(into buffer: inout [UInt8]) {
        precondition(!ranges.isEmpty, "an acknowledgment names a packet")
        precondition(ranges.count <= Frame.acknowledgmentRanges + 1, "too many ranges")
        buffer.append(
            congestion == nil ? Frame.Kind.acknowledgment : Frame.Kind.acknowledgmentECN
        )
        buffer.append(variable: ranges[0].upperBound)
        buffer.append(variable: delay)
        buffer.append(variable: UInt64(ranges.count - 1))
        buffer.append(variable: ranges[0].upperBound - ranges[0].lowerBound)
        for index in ranges.indices.dropFirst() {
            // RFC 9000 §19.3.1: the gap is one less than the numbers missing between two ranges.
            buffer.append(variable: ranges[index - 1].lowerBound - ranges[index].upperBound - 2)
            buffer.append(variable: ranges[index].upperBound - ranges[index].lowerBound)
        }
        if let congestion {
            buffer.append(variable: congestion.ect0)
            buffer.append(variable: congestion.ect1)
            buffer.append(variable: congestion.experienced)
        }
    }
}

extension AcknowledgmentFrame {
    /// Reads the fields behind the type byte; ranges below zero are `invalid` (RFC 9000 §19.3.1).
    init(
        _ reader: inout ByteReader,
        hasCongestion: Bool
    ) throws(WireError) {
        let start = reader.offset
        let largest = try reader.readVariable()
        delay = try reader.readVariable()
        let count = try reader.readCount(limit: Frame.acknowledgmentRanges)
        let first = try reader.readVariable()
        guard first <= largest else { throw .invalid(at: start) }
        ranges = [largest - first...largest]
        ranges.reserveCapacity(count + 1)
        var lowest = largest - first
        for _ in 0..<count {
            let place = reader.offset
            // Both are below 2^62, so that their sums cannot overflow.
            let gap = try reader.readVariable()
            let length = try reader.readVariable()
            guard gap + 2 + length <= lowest else { throw .invalid(at: place) }
            let upper = lowest - gap - 2
            lowest = upper - length
            ranges.append(lowest...upper)
        }
        guard hasCongestion else {
            congestion = nil
            return
        }
        congestion = Congestion(
            ect0: try reader.readVariable(),
            ect1: try reader.readVariable(),
            experienced: try reader.readVariable()
        )
    }
}
