/// Why a text is no JSON.
package enum JSONError: Error, Hashable, Sendable {
    /// Something else was expected at this byte.
    case unexpected(at: Int)
    /// Arrays and objects nest deeper than ``JSONReader/depthMaximum``.
    case tooDeep(at: Int)
}

/// Reads one JSON value from UTF-8; iterative bounds on depth, no trap on any input.
package struct JSONReader {
    /// Levels of arrays and objects; the protocol's own messages need four.
    package static let depthMaximum = 16

    private let bytes: [UInt8]
    private var offset = 0

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The one value that `bytes` hold; spaces around it are fine, anything else is an error.
    package static func read(_ bytes: [UInt8]) throws(JSONError) -> JSON {
        var reader = JSONReader(bytes)
        let value = try reader.value(depth: 0)
        reader.skipSpaces()
        guard reader.offset == bytes.count else { throw .unexpected(at: reader.offset) }
        return value
    }

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func skipSpaces() {
        while let byte = next, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 {
            offset += 1
        }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        offset += 1
        return true
    }

    private mutating func value(depth: Int) throws(JSONError) -> JSON {
        guard depth < Self.depthMaximum else { throw .tooDeep(at: offset) }
        skipSpaces()
        switch next {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func word(_ word: String, _ value: JSON) throws(JSONError) -> JSON {
        for byte in word.utf8 where !take(byte) { throw .unexpected(at: offset) }
        return value
    }

    private mutating func array(depth: Int) throws(JSONError) -> JSON {
        offset += 1
        var elements: [JSON] = []
        skipSpaces()
        if take(UInt8(ascii: "]")) { return .array([]) }
        while true {
            elements.append(try value(depth: depth + 1))
            skipSpaces()
            if take(UInt8(ascii: "]")) { return .array(elements) }
            guard take(UInt8(ascii: ",")) else { throw .unexpected(at: offset) }
        }
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSON {
        offset += 1
        var members: [JSON.Member] = []
        skipSpaces()
        if take(UInt8(ascii: "}")) { return .object([]) }
        while true {
            skipSpaces()
            guard next == UInt8(ascii: "\"") else { throw .unexpected(at: offset) }
            let key = try string()
            skipSpaces()
            guard take(UInt8(ascii: ":")) else { throw .unexpected(at: offset) }
            members.append(JSON.Member(key, try value(depth: depth + 1)))
            skipSpaces()
            if take(UInt8(ascii: "}")) { return .object(members) }
            guard take(UInt8(ascii: ",")) else { throw .unexpected(at: offset) }
        }
    }

    private mutating func number() throws(JSONError) -> JSON {
        let start = offset
        let allowed: Set<UInt8> = Set("+-.eE0123456789".utf8)
        while let byte = next, allowed.contains(byte) { offset += 1 }
        let text = String(decoding: bytes[start..<offset], as: UTF8.self)
        guard let first = text.utf8.first, first != UInt8(ascii: "+") else {
            throw .unexpected(at: start)
        }
        if let value = Int64(text) { return .integer(value) }
        guard let value = Double(text), value.isFinite else { throw .unexpected(at: start) }
        return .number(value)
    }

    private mutating func string() throws(JSONError) -> String {
        offset += 1
        var text: [UInt8] = []
        while let byte = next {
            offset += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let string = String(validating: text, as: UTF8.self) else {
                    throw .unexpected(at: offset)
                }
                return string
            case UInt8(ascii: "\\"): try escape(into: &text)
            case 0..<0x20: throw .unexpected(at: offset - 1)
            default: text.append(byte)
            }
        }
        throw .unexpected(at: offset)
    }

    private mutating func escape(into text: inout [UInt8]) throws(JSONError) {
        guard let byte = next else { throw .unexpected(at: offset) }
        offset += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0c)
        case UInt8(ascii: "n"): text.append(0x0a)
        case UInt8(ascii: "r"): text.append(0x0d)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text.append(contentsOf: String(try scalar()).utf8)
        default: throw .unexpected(at: offset - 1)
        }
    }

    private mutating func scalar() throws(JSONError) -> Character {
        let start = offset
        var value = try unit()
        if 0xd800..<0xdc00 ~= value {
            guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else {
                throw .unexpected(at: start)
            }
            let low = try unit()
            guard 0xdc00..<0xe000 ~= low else { throw .unexpected(at: start) }
            value = 0x10000 + (value - 0xd800) << 10 + (low - 0xdc00)
        }
        guard let scalar = Unicode.Scalar(value) else { throw .unexpected(at: start) }
        return Character(scalar)
    }

    private mutating func unit() throws(JSONError) -> UInt32 {
        guard bytes.count - offset >= 4 else { throw .unexpected(at: offset) }
        let text = String(decoding: bytes[offset..<offset + 4], as: UTF8.self)
        guard text.utf8.count == 4, let value = UInt32(text, radix: 16), !text.hasPrefix("+") else {
            throw .unexpected(at: offset)
        }
        offset += 4
        return value
    }
}
