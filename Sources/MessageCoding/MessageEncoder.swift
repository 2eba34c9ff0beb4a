/// Writes values as messages of a strict subset of CBOR (RFC 8949, `40-groupactivities.md` §6).
///
/// ```
/// Bool, nil, integers, String    simple values, null, major types 0 and 1, major type 3
/// Double, Float                  float64, float32, to the bit
/// Data                           major type 2
/// UUID                           tag 37 and 16 bytes
/// URL                            tag 32 and text; with a base, a map of both
/// Int128, UInt128                an integer, or beyond 2^64 the array of high and low half
/// all else                       by its own conformance, as maps with text keys and as arrays
/// ```
///
/// Lengths are definite and shortest, and entries stand in the order of their encoding, so equal
/// values give equal bytes on every run.
package struct MessageEncoder: Sendable {
    package init() {}

    /// The message of a value.
    ///
    /// Throws `EncodingError` for what has no form that decodes again: containers more than 256
    /// deep, equal keys in one map, two values in one place; and what an `encode(to:)` throws.
    package func encode(_ value: some Encodable) throws -> [UInt8] {
        let buffer = EncodingBuffer(MessageBuilder(capacity: 256))
        try buffer.root.encode(value)
        return try buffer.builder.finish()
    }
}
