/// A cursor over received bytes; every read checks its bounds once and throws, never traps.
///
/// `@usableFromInline` on the type is what lets other modules inline its methods: an `@inlinable`
/// method of a merely `package` type stays a call, and a generic one runs unspecialised.
@usableFromInline
package struct ByteReader: ~Escapable {
    @usableFromInline package let bytes: RawSpan
    /// The number of bytes read so far.
    @usableFromInline package internal(set) var offset = 0

    @inlinable
    @_lifetime(copy bytes)
    package init(_ bytes: RawSpan) {
        self.bytes = bytes
    }

    /// The number of bytes not read yet.
    @inlinable
    package var remaining: Int { bytes.byteCount - offset }

    /// Reads a little-endian integer, the order of every fixed-width field.
    @inlinable
    @_lifetime(self: copy self)
    package mutating func read<T: FixedWidthInteger & BitwiseCopyable>(
        _: T.Type = T.self
    ) throws(WireError) -> T {
        guard let value: T = bytes.integer(at: offset) else { throw .truncated(at: offset) }
        advance(MemoryLayout<T>.size)
        return value
    }

    /// Reads a varint (RFC 9000 §16); the shortest form only.
    @inlinable
    @_lifetime(self: copy self)
    package mutating func readVariable() throws(WireError) -> UInt64 {
        let start = offset
        let first: UInt8 = try read()
        var value = UInt64(first & 0x3f)
        let size = 1 << Int(first >> 6)
        for _ in 1..<max(size, 1) {
            let next: UInt8 = try read()
            value = value << 8 | UInt64(next)
        }
        guard VariableInteger.byteCount(value) == size else {
            throw .overlongInteger(at: start)
        }
        return value
    }

    /// Reads a varint that counts bytes or elements and must not be above `limit`.
    @inlinable
    @_lifetime(self: copy self)
    package mutating func readCount(limit: Int) throws(WireError) -> Int {
        let start = offset
        let value = try readVariable()
        guard value <= UInt64(limit) else { throw .overLimit(value, at: start) }
        return Int(value)
    }

    /// Borrows the next `count` bytes.
    @inlinable
    @_lifetime(copy self)
    package mutating func readSpan(_ count: Int) throws(WireError) -> RawSpan {
        try require(count)
        let span = bytes.extracting(offset..<offset + count)
        advance(count)
        return span
    }

    /// Copies the next `count` bytes.
    @_lifetime(self: copy self)
    package mutating func readBytes(_ count: Int) throws(WireError) -> [UInt8] {
        try require(count)
        let start = offset
        advance(count)
        let span = bytes
        return span.extracting(start..<start + count).copied
    }

    /// Reads an identifier of 32 bytes.
    @inlinable
    @_lifetime(self: copy self)
    package mutating func read<Kind>(
        _: WideIdentifier<Kind>.Type = WideIdentifier<Kind>.self
    ) throws(WireError) -> WideIdentifier<Kind> {
        try require(32)
        return WideIdentifier(
            words: (
                try read(UInt64.self).byteSwapped, try read(UInt64.self).byteSwapped,
                try read(UInt64.self).byteSwapped, try read(UInt64.self).byteSwapped
            )
        )
    }

    /// Reads an identifier of 16 bytes.
    @inlinable
    @_lifetime(self: copy self)
    package mutating func read<Kind>(
        _: ShortIdentifier<Kind>.Type = ShortIdentifier<Kind>.self
    ) throws(WireError) -> ShortIdentifier<Kind> {
        try require(16)
        return ShortIdentifier(
            words: (try read(UInt64.self).byteSwapped, try read(UInt64.self).byteSwapped)
        )
    }

    /// Reads an epoch: counter, then proposer.
    @inlinable
    @_lifetime(self: copy self)
    package mutating func readEpoch() throws(WireError) -> Epoch {
        Epoch(counter: try read(), proposer: try read())
    }

    /// Reads a position: epoch, then index.
    @inlinable
    @_lifetime(self: copy self)
    package mutating func readPosition() throws(WireError) -> Position {
        Position(epoch: try readEpoch(), index: try read())
    }

    /// Reads UTF-8 of a varint length up to `limit` bytes.
    @_lifetime(self: copy self)
    package mutating func readString(limit: Int) throws(WireError) -> String {
        let start = offset
        let bytes = try readBytes(try readCount(limit: limit))
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .invalid(at: start)
        }
        return text
    }

    /// Reads bytes of a varint length up to `limit`.
    @_lifetime(self: copy self)
    package mutating func readBlob(limit: Int) throws(WireError) -> [UInt8] {
        try readBytes(try readCount(limit: limit))
    }

    /// Throws unless every byte was read.
    package func finish() throws(WireError) {
        guard remaining == 0 else { throw .trailing(at: offset) }
    }

    @inlinable
    package func require(_ count: Int) throws(WireError) {
        guard count >= 0, count <= remaining else { throw .truncated(at: offset) }
    }

    @inlinable
    @_lifetime(self: copy self)
    package mutating func advance(_ count: Int) {
        offset += count
    }
}
