import MeshWire

/// A value that is one CBOR item without other items in it.
protocol Scalar: Codable {
    /// Whether numbers of other types are read where they are exact.
    static var isNumber: Bool { get }

    /// The value of the item, `nil` if it is of another type or does not fit.
    static func read(_ head: Head, in message: ParsedMessage) -> Self?

    /// Appends the item.
    func append(to bytes: inout [UInt8])
}

extension Scalar {
    static var isNumber: Bool { false }
}

extension Bool: Scalar {
    static func read(_ head: Head, in _: ParsedMessage) -> Bool? {
        switch head.first {
        case Head.Byte.true: true
        case Head.Byte.false: false
        default: nil
        }
    }

    func append(to bytes: inout [UInt8]) {
        bytes.append(self ? Head.Byte.true : Head.Byte.false)
    }
}

extension String: Scalar {
    static func read(_ head: Head, in message: ParsedMessage) -> String? {
        guard head.major == Head.Major.text else { return nil }
        return message.text(of: head)
    }

    func append(to bytes: inout [UInt8]) {
        bytes.append(text: self)
    }
}

// MARK: Integers

extension Scalar where Self: FixedWidthInteger {
    static var isNumber: Bool { true }

    static func read(_ head: Head, in message: ParsedMessage) -> Self? {
        switch head.major {
        case Head.Major.unsigned: Self(exactly: head.argument)
        // The item of argument n is −1 − n, which is the complement of n.
        case Head.Major.negative: Int64(exactly: head.argument).flatMap { Self(exactly: ~$0) }
        case Head.Major.simple: Double.read(float: head).flatMap { Self(exactly: $0) }
        default: nil
        }
    }

    func append(to bytes: inout [UInt8]) {
        if self < 0 {
            bytes.append(head: Head.Major.negative, UInt64(truncatingIfNeeded: ~self))
        } else {
            bytes.append(head: Head.Major.unsigned, UInt64(truncatingIfNeeded: self))
        }
    }
}

extension Int: Scalar {}
extension Int8: Scalar {}
extension Int16: Scalar {}
extension Int32: Scalar {}
extension Int64: Scalar {}
extension UInt: Scalar {}
extension UInt8: Scalar {}
extension UInt16: Scalar {}
extension UInt32: Scalar {}
extension UInt64: Scalar {}

// MARK: Floating point

extension BinaryFloatingPoint {
    /// The number of a float, exact or `nil`; any NaN is one.
    static func read(float head: Head) -> Self? {
        switch head.first {
        case Head.Byte.float64:
            let value = Double(bitPattern: head.argument)
            return value.isNaN ? Self(value) : Self(exactly: value)
        case Head.Byte.float32:
            return Self(Float(bitPattern: UInt32(truncatingIfNeeded: head.argument)))
        default: return nil
        }
    }

    /// The number of an integer, exact or `nil`.
    static func read(integer head: Head) -> Self? {
        switch head.major {
        case Head.Major.unsigned: Self(exactly: head.argument)
        case Head.Major.negative: Int64(exactly: head.argument).flatMap { Self(exactly: ~$0) }
        default: nil
        }
    }
}

extension Double: Scalar {
    static var isNumber: Bool { true }

    static func read(_ head: Head, in _: ParsedMessage) -> Double? {
        // Bits, so that a NaN keeps its payload.
        guard head.first != Head.Byte.float64 else { return Double(bitPattern: head.argument) }
        return read(float: head) ?? read(integer: head)
    }

    func append(to bytes: inout [UInt8]) {
        bytes.append(Head.Byte.float64, bigEndian: bitPattern)
    }
}

extension Float: Scalar {
    static var isNumber: Bool { true }

    static func read(_ head: Head, in _: ParsedMessage) -> Float? {
        guard head.first != Head.Byte.float32 else {
            return Float(bitPattern: UInt32(truncatingIfNeeded: head.argument))
        }
        return read(float: head) ?? read(integer: head)
    }

    func append(to bytes: inout [UInt8]) {
        bytes.append(Head.Byte.float32, bigEndian: bitPattern)
    }
}
