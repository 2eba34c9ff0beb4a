/// An identifier of 32 bytes, compared byte by byte; `Kind` keeps the kinds of identifier apart.
public struct WideIdentifier<Kind>: Hashable, Comparable, Sendable, BitwiseCopyable {
    /// The number of bytes on the wire.
    public static var byteCount: Int { 32 }

    /// The bytes as big-endian words, so that comparing words compares bytes.
    @usableFromInline package let words: (UInt64, UInt64, UInt64, UInt64)

    /// The identifier with these bytes, or `nil` unless there are exactly 32.
    public init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        let words = bigEndianWords(bytes)
        self.words = (words.0, words.1, words.2, words.3)
    }

    /// The identifier with these big-endian words.
    @inlinable
    package init(words: (UInt64, UInt64, UInt64, UInt64)) {
        self.words = words
    }

    /// The identifier of 32 zero bytes.
    @inlinable
    public static var zero: Self { Self(words: (0, 0, 0, 0)) }

    /// The 32 bytes.
    public var bytes: [UInt8] {
        bigEndianBytes([words.0, words.1, words.2, words.3])
    }

    /// Whether `left` and `right` have the same bytes.
    @inlinable
    public static func == (left: Self, right: Self) -> Bool { left.words == right.words }

    /// Whether `left` comes before `right`, byte by byte.
    @inlinable
    public static func < (left: Self, right: Self) -> Bool { left.words < right.words }

    /// Feeds the bytes to `hasher`.
    @inlinable
    public func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
        hasher.combine(words.2)
        hasher.combine(words.3)
    }
}

/// An identifier of 16 bytes, compared byte by byte; `Kind` keeps the kinds of identifier apart.
public struct ShortIdentifier<Kind>: Hashable, Comparable, Sendable, BitwiseCopyable {
    /// The number of bytes on the wire.
    public static var byteCount: Int { 16 }

    /// The bytes as big-endian words.
    @usableFromInline package let words: (UInt64, UInt64)

    /// The identifier with these bytes, or `nil` unless there are exactly 16.
    public init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        let words = bigEndianWords(bytes)
        self.words = (words.0, words.1)
    }

    /// The identifier with these big-endian words.
    @inlinable
    package init(words: (UInt64, UInt64)) {
        self.words = words
    }

    /// The identifier of 16 zero bytes; on the wire it stands for "none".
    @inlinable
    public static var zero: Self { Self(words: (0, 0)) }

    /// The 16 bytes.
    public var bytes: [UInt8] { bigEndianBytes([words.0, words.1]) }

    /// Whether `left` and `right` have the same bytes.
    @inlinable
    public static func == (left: Self, right: Self) -> Bool { left.words == right.words }

    /// Whether `left` comes before `right`, byte by byte.
    @inlinable
    public static func < (left: Self, right: Self) -> Bool { left.words < right.words }

    /// Feeds the bytes to `hasher`.
    @inlinable
    public func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
    }
}

/// The kinds of identifier; none has a value.
public enum IdentifierKind {
    /// An identity: its Ed25519 public key.
    public enum Node {}
    /// A room.
    public enum Room {}
    /// A digest of 32 bytes.
    public enum Digest {}
    /// A session of a room.
    public enum Session {}
    /// One node's membership in one session.
    public enum Participant {}
    /// An attachment of a session's journal.
    public enum Attachment {}
    /// Bytes by what they are.
    public enum Content {}
}

/// An identity: the 32-byte Ed25519 public key (`10-security.md` §1).
public typealias NodeID = WideIdentifier<IdentifierKind.Node>
/// A room: 32 random bytes, never sent in clear.
public typealias RoomID = WideIdentifier<IdentifierKind.Room>
/// A 32-byte digest.
public typealias Digest = WideIdentifier<IdentifierKind.Digest>
/// A session: 16 random bytes.
public typealias SessionID = ShortIdentifier<IdentifierKind.Session>
/// A participant: the first 16 bytes of a hash over session, process and join command.
public typealias ParticipantID = ShortIdentifier<IdentifierKind.Participant>
/// An attachment of a session's journal: 16 random bytes.
public typealias AttachmentID = ShortIdentifier<IdentifierKind.Attachment>
/// Bytes by what they are: the root of their hash tree.
public typealias ContentID = WideIdentifier<IdentifierKind.Content>

/// One life of a node: its identity, a random incarnation and the short tag made of both.
///
/// A restart is a new process: it inherits no promise of its predecessor (`30-consensus.md` D9).
public struct ProcessID: Hashable, Sendable, BitwiseCopyable {
    /// The node this process is a life of.
    public let nodeID: NodeID
    /// Random, new at each start.
    public let incarnation: UInt64
    /// The first 8 bytes, little-endian, of H(nodeID ‖ incarnation); made by the engine.
    public let tag: UInt64

    /// The process `incarnation` of `nodeID`, known in messages by `tag`.
    public init(nodeID: NodeID, incarnation: UInt64, tag: UInt64) {
        self.nodeID = nodeID
        self.incarnation = incarnation
        self.tag = tag
    }
}

extension ProcessID: Comparable {
    /// Orders processes by tag, then by the rest; any total order that all share would do.
    public static func < (left: ProcessID, right: ProcessID) -> Bool {
        (left.tag, left.incarnation, left.nodeID) < (right.tag, right.incarnation, right.nodeID)
    }
}

extension WideIdentifier: CustomStringConvertible {
    /// The first four bytes in hex: enough to tell identifiers apart in a log, never all of them.
    public var description: String { hexadecimal(bytes.prefix(4)) }
}

extension ShortIdentifier: CustomStringConvertible {
    /// The first four bytes in hex: enough to tell identifiers apart in a log.
    public var description: String { hexadecimal(bytes.prefix(4)) }
}

/// The bytes in lower-case hex, two digits each.
package func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef")
    return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
}

/// The bytes that `text` names in hex, or `nil` if it does not.
package func bytes(hexadecimal text: some StringProtocol) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count / 2)
    for start in stride(from: 0, to: digits.count, by: 2) {
        guard let high = hexadecimalValue(digits[start]),
            let low = hexadecimalValue(digits[start + 1])
        else { return nil }
        bytes.append(high << 4 | low)
    }
    return bytes
}

private func hexadecimalValue(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
}

/// The first 32 bytes as words; what is missing counts as zeros.
private func bigEndianWords(
    _ bytes: some Collection<UInt8>
) -> (UInt64, UInt64, UInt64, UInt64) {
    let bytes = Array(bytes)
    func word(_ index: Int) -> UInt64 {
        bytes.dropFirst(8 * index).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
    return (word(0), word(1), word(2), word(3))
}

private func bigEndianBytes(_ words: [UInt64]) -> [UInt8] {
    var writer = ByteWriter(capacity: 8 * words.count)
    for word in words { writer.write(word.byteSwapped) }
    return writer.bytes
}
