// Borrowed bytes as values: every access of the wire to memory by offset stands here, behind its check.

extension RawSpan {
    /// The little-endian integer at `offset`; `nil` if not all of it lies in the span.
    @inlinable
    package func integer<T: FixedWidthInteger & BitwiseCopyable>(
        at offset: Int,
        _: T.Type = T.self
    ) -> T? {
        guard offset >= 0, offset <= byteCount, byteCount - offset >= MemoryLayout<T>.size else {
            return nil
        }
        // The guard proves that the integer's bytes lie behind `offset`.
        let value = unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: T.self)
        return T(littleEndian: value)
    }

    /// The first byte, if there is one.
    @inlinable
    package var first: UInt8? { integer(at: 0) }

    /// A copy of the bytes.
    package var copied: [UInt8] {
        unsafe withUnsafeBytes { unsafe Array($0) }
    }
}

extension Array<UInt8> {
    /// The array's bytes, borrowed.
    @inlinable
    package var raw: RawSpan {
        @_lifetime(borrow self) get { unsafe span.bytes }
    }

    /// Appends borrowed bytes.
    package mutating func append(contentsOf span: RawSpan) {
        unsafe span.withUnsafeBytes { unsafe append(contentsOf: $0) }
    }

    /// Appends an integer as its little-endian bytes.
    @inlinable
    package mutating func append<T: FixedWidthInteger & BitwiseCopyable>(littleEndian value: T) {
        unsafe Swift.withUnsafeBytes(of: value.littleEndian) { unsafe append(contentsOf: $0) }
    }
}
