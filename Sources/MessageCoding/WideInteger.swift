// Integers of 128 bits: one item where CBOR's integers reach, else the array of their halves.

/// An integer of two words, the upper one signed as the whole.
protocol WideInteger: Scalar, FixedWidthInteger {
    associatedtype High: FixedWidthInteger & Scalar

    init(high: High, low: UInt64)
}

extension WideInteger {
    static func read(_ head: Head, in message: ParsedMessage) -> Self? {
        switch head.major {
        case Head.Major.unsigned: return Self(exactly: head.argument)
        case Head.Major.negative: return Self(exactly: ~Int128(head.argument))
        case Head.Major.simple: return Double.read(float: head).flatMap { Self(exactly: $0) }
        case Head.Major.array where head.argument == 2:
            let first = message.head(at: head.end)
            guard let high = High.read(first, in: message),
                let end = message.end(ofItemAt: head.end),
                let low = UInt64.read(message.head(at: end), in: message)
            else { return nil }
            return Self(high: high, low: low)
        default: return nil
        }
    }

    func append(to bytes: inout [UInt8]) {
        if let argument = UInt64(exactly: self) {
            bytes.append(head: Head.Major.unsigned, argument)
        } else if let argument = UInt64(exactly: ~self), self < 0 {
            bytes.append(head: Head.Major.negative, argument)
        } else {
            bytes.append(head: Head.Major.array, 2)
            High(truncatingIfNeeded: self >> 64).append(to: &bytes)
            UInt64(truncatingIfNeeded: self).append(to: &bytes)
        }
    }
}

extension Int128: WideInteger {
    init(high: Int64, low: UInt64) { self = Int128(high) << 64 | Int128(low) }
}

extension UInt128: WideInteger {
    init(high: UInt64, low: UInt64) { self = UInt128(high) << 64 | UInt128(low) }
}

// The library has methods of its own for these two, which throw; a generic one does not hide them.

extension KeyedEncoding {
    func encode(_ value: Int128, forKey key: Key) throws { try write(value, forKey: key) }
    func encode(_ value: UInt128, forKey key: Key) throws { try write(value, forKey: key) }
}

extension UnkeyedEncoding {
    func encode(_ value: Int128) throws { try write(value) }
    func encode(_ value: UInt128) throws { try write(value) }
}

extension ValueEncoder {
    func encode(_ value: Int128) throws { try write(value) }
    func encode(_ value: UInt128) throws { try write(value) }
}

extension KeyedDecoding {
    func decode(_: Int128.Type, forKey key: Key) throws -> Int128 { try read(forKey: key) }
    func decode(_: UInt128.Type, forKey key: Key) throws -> UInt128 { try read(forKey: key) }
}

extension UnkeyedDecoding {
    mutating func decode(_: Int128.Type) throws -> Int128 { try read() }
    mutating func decode(_: UInt128.Type) throws -> UInt128 { try read() }
}

extension ValueDecoder {
    func decode(_: Int128.Type) throws -> Int128 { try read() }
    func decode(_: UInt128.Type) throws -> UInt128 { try read() }
}
