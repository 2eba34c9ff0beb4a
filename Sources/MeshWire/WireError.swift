/// Why received bytes are not what they should be.
///
/// Every case is trivial, so that throwing one allocates nothing.
public enum WireError: Error, Hashable, Sendable {
    /// More bytes were needed at this offset.
    case truncated(at: Int)
    /// Bytes were left over after the last field, from this offset.
    case trailing(at: Int)
    /// A varint in a longer form than needed (RFC 9000 §16, shortest form only).
    case overlongInteger(at: Int)
    /// A frame, message or entry of a type this version does not know.
    case unknownType(UInt8, at: Int)
    /// A reserved bit or byte was not zero.
    case reserved(at: Int)
    /// A value above its limit.
    case overLimit(UInt64, at: Int)
    /// A value that has the right form and no meaning: unsorted, doubled, not UTF-8.
    case invalid(at: Int)
}
