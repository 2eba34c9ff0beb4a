/// Reads messages of the CBOR subset (`40-groupactivities.md` §6).
///
/// Lenient where apps evolve: unknown keys are ignored, absent optional ones are nil, an integer is
/// read as a float and back where it is exact. Strict elsewhere: all else that is not as
/// ``MessageEncoder`` writes it gives a `DecodingError` with its coding path.
package struct MessageDecoder: Sendable {
    package init() {}

    /// The value of a message.
    ///
    /// Time is linear in `bytes`; but for what the type itself allocates, no allocation is larger
    /// than twice `bytes`, or 16 KiB. Throws `DecodingError`, or what an `init(from:)` throws.
    package func decode<T: Decodable>(_: T.Type = T.self, from bytes: [UInt8]) throws -> T {
        try ValueDecoder(message: ParsedMessage(bytes), offset: 0).decode(T.self)
    }
}
