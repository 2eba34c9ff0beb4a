/// The varint of RFC 9000 §16, in its shortest form only.
@usableFromInline
package enum VariableInteger {
    /// The greatest value a varint holds, 2^62 − 1.
    package static let maximum: UInt64 = 1 << 62 - 1

    /// The number of bytes of `value`: 1, 2, 4 or 8.
    @inlinable
    package static func byteCount(_ value: UInt64) -> Int {
        precondition(value < 1 << 62, "a varint is below 2^62: \(value)")
        return value < 1 << 6 ? 1 : value < 1 << 14 ? 2 : value < 1 << 30 ? 4 : 8
    }
}
