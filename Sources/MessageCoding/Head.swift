import MeshWire

/// The head of a CBOR item (RFC 8949 §3): what it is and its number.
///
/// ```
/// 0        major type (3 bits) and additional information (5 bits)
/// 1        for 24: one byte, for 25: two, for 26: four, for 27: eight bytes, big-endian
/// ```
struct Head {
    /// The kinds of items of the subset, as the three high bits of the first byte.
    enum Major {
        static let unsigned: UInt8 = 0 << 5
        static let negative: UInt8 = 1 << 5
        static let bytes: UInt8 = 2 << 5
        static let text: UInt8 = 3 << 5
        static let array: UInt8 = 4 << 5
        static let map: UInt8 = 5 << 5
        static let tag: UInt8 = 6 << 5
        static let simple: UInt8 = 7 << 5
    }

    /// First bytes that are a whole item, or say all about one.
    enum Byte {
        static let `false`: UInt8 = 0xf4
        static let `true`: UInt8 = 0xf5
        static let null: UInt8 = 0xf6
        static let float32: UInt8 = 0xfa
        static let float64: UInt8 = 0xfb
        /// A byte string of 16, as a UUID is.
        static let sixteenBytes: UInt8 = 0x50
    }

    /// The tags of the subset (IANA, "CBOR Tags").
    enum Tag {
        static let url: UInt64 = 32
        static let uuid: UInt64 = 37
    }

    /// The item's first byte.
    var first: UInt8
    /// The number: a value, a count of bytes, elements or entries, a tag, or the bits of a float.
    var argument: UInt64
    /// Where the head ends.
    var end: Int

    /// The kind of the item, one of ``Major``.
    var major: UInt8 { first & 0xe0 }

    /// Reads the head of an item that was checked before.
    init(trusting bytes: [UInt8], at offset: Int) {
        first = offset < bytes.count ? bytes[offset] : 0
        guard first & 0x1f >= 24 else {
            argument = UInt64(first & 0x1f)
            end = offset + 1
            return
        }
        end = offset + 1 + Self.argumentBytes(first)
        argument =
            switch first & 0x1f {
            case 24: UInt64(bytes.raw.integer(at: offset + 1, UInt8.self) ?? 0)
            case 25: UInt64((bytes.raw.integer(at: offset + 1, UInt16.self) ?? 0).byteSwapped)
            case 26: UInt64((bytes.raw.integer(at: offset + 1, UInt32.self) ?? 0).byteSwapped)
            case 27: (bytes.raw.integer(at: offset + 1, UInt64.self) ?? 0).byteSwapped
            default: 0
            }
    }

    /// Reads a head; throws unless all of it is there, is of the subset, and is the shortest.
    init(at offset: Int, in bytes: [UInt8]) throws(Flaw) {
        guard offset < bytes.count else { throw Flaw(.truncated, at: offset) }
        let first = bytes[offset]
        guard first & 0x1f < 28 else { throw Flaw(.indefinite, at: offset) }
        guard offset + 1 + Self.argumentBytes(first) <= bytes.count else {
            throw Flaw(.truncated, at: offset)
        }
        self.init(trusting: bytes, at: offset)
        guard isOfSubset else {
            throw Flaw(major == Major.simple ? .simple : .notShortest, at: offset)
        }
    }

    private var isOfSubset: Bool {
        guard major != Major.simple else {
            return (Byte.false...Byte.null).contains(first) || first == Byte.float32
                || first == Byte.float64
        }
        return switch first & 0x1f {
        case 24: argument >= 24
        case 25: argument > UInt8.max
        case 26: argument > UInt16.max
        case 27: argument > UInt32.max
        default: true
        }
    }

    private static func argumentBytes(_ first: UInt8) -> Int {
        let information = first & 0x1f
        return information < 24 ? 0 : 1 << Int(information & 3)
    }
}

extension [UInt8] {
    /// Appends a head in its shortest form.
    mutating func append(head major: UInt8, _ argument: UInt64) {
        if argument < 24 {
            append(major | UInt8(argument))
        } else if let byte = UInt8(exactly: argument) {
            append(major | 24)
            append(byte)
        } else if let word = UInt16(exactly: argument) {
            append(major | 25, bigEndian: word)
        } else if let word = UInt32(exactly: argument) {
            append(major | 26, bigEndian: word)
        } else {
            append(major | 27, bigEndian: argument)
        }
    }

    /// Appends a first byte and the bytes of a number.
    mutating func append<T: FixedWidthInteger & BitwiseCopyable>(_ first: UInt8, bigEndian word: T)
    {
        append(first)
        append(littleEndian: word.byteSwapped)
    }

    /// Appends a text.
    mutating func append(text: String) {
        append(head: Head.Major.text, UInt64(text.utf8.count))
        append(contentsOf: text.utf8)
    }
}
