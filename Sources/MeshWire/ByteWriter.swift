/// Appends fields to a growing array of bytes; the mirror of ``ByteReader``.
@usableFromInline
package struct ByteWriter: Sendable {
    /// The bytes written so far.
    @usableFromInline package private(set) var bytes: [UInt8]

    /// An empty writer with room for `capacity` bytes.
    package init(capacity: Int = 64) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    /// The number of bytes written so far.
    package var count: Int { bytes.count }

    /// Appends a little-endian integer.
    @inlinable
    package mutating func write<T: FixedWidthInteger & BitwiseCopyable>(_ value: T) {
        bytes.append(littleEndian: value)
    }

    /// Appends a varint in its shortest form (RFC 9000 §16); `value` must be below 2^62.
    package mutating func writeVariable(_ value: UInt64) {
        let size = VariableInteger.byteCount(value)
        // The first two bits are the binary logarithm of the size.
        let prefixed = value | UInt64(size.trailingZeroBitCount) << UInt64(8 * size - 2)
        for index in (0..<size).reversed() {
            bytes.append(UInt8(truncatingIfNeeded: prefixed >> UInt64(8 * index)))
        }
    }

    /// Appends a count as a varint.
    package mutating func writeCount(_ count: Int) {
        precondition(count >= 0, "a count is not negative: \(count)")
        writeVariable(UInt64(count))
    }

    /// Appends bytes as they are.
    package mutating func write(_ other: [UInt8]) {
        bytes.append(contentsOf: other)
    }

    /// Appends bytes as they are.
    package mutating func write(_ other: some Sequence<UInt8>) {
        bytes.append(contentsOf: other)
    }

    /// Appends borrowed bytes as they are.
    package mutating func write(_ span: RawSpan) {
        bytes.append(contentsOf: span)
    }

    /// Appends bytes behind their length as a varint.
    package mutating func writeBlob(_ blob: [UInt8]) {
        writeCount(blob.count)
        write(blob)
    }

    /// Appends a text as UTF-8 behind its length as a varint.
    package mutating func writeString(_ text: String) {
        writeBlob(Array(text.utf8))
    }

    /// Appends an identifier.
    @inlinable
    package mutating func write<Kind>(_ identifier: WideIdentifier<Kind>) {
        let words = identifier.words
        write(words.0.byteSwapped)
        write(words.1.byteSwapped)
        write(words.2.byteSwapped)
        write(words.3.byteSwapped)
    }

    /// Appends an identifier.
    @inlinable
    package mutating func write<Kind>(_ identifier: ShortIdentifier<Kind>) {
        let words = identifier.words
        write(words.0.byteSwapped)
        write(words.1.byteSwapped)
    }

    /// Appends an epoch: counter, then proposer.
    @inlinable
    package mutating func write(_ epoch: Epoch) {
        write(epoch.counter)
        write(epoch.proposer)
    }

    /// Appends a position: epoch, then index.
    @inlinable
    package mutating func write(_ position: Position) {
        write(position.epoch)
        write(position.index)
    }

    /// Forgets what was written and keeps the memory.
    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
    }
}
