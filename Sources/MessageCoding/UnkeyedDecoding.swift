/// Reads the elements of an array.
struct UnkeyedDecoding: UnkeyedDecodingContainer {
    private let message: ParsedMessage
    private let start: Int
    /// Where the next element is.
    private var next: Int
    private(set) var currentIndex = 0
    private let total: Int

    init(_ value: ValueDecoder) throws {
        message = value.message
        start = value.offset
        let head = message.head(at: start)
        guard head.major == Head.Major.array else {
            throw value.mismatch("an array", [Any].self)
        }
        next = head.end
        total = Int(head.argument)
    }

    var codingPath: [any CodingKey] { message.path(to: start) }
    var count: Int? { total }
    var isAtEnd: Bool { currentIndex == total }

    mutating func decodeNil() throws -> Bool {
        let element = try element(Never.self)
        guard element.decodeNil() else { return false }
        pass(element)
        return true
    }

    mutating func decode<T: Scalar>(_: T.Type) throws -> T { try read() }

    mutating func read<T: Scalar>() throws -> T {
        let element = try element(T.self)
        let value: T = try element.read()
        pass(element)
        return value
    }

    mutating func decode<T: Decodable>(_: T.Type) throws -> T {
        let element = try element(T.self)
        let value = try element.decode(T.self)
        pass(element)
        return value
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy _: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        let element = try element(KeyedDecodingContainer<Nested>.self)
        let container = try element.container(keyedBy: Nested.self)
        pass(element)
        return container
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let element = try element((any UnkeyedDecodingContainer).self)
        let container = try element.unkeyedContainer()
        pass(element)
        return container
    }

    mutating func superDecoder() throws -> any Decoder {
        let element = try element((any Decoder).self)
        pass(element)
        return element
    }

    /// The next element; it stays the next until it is passed, so that a failed try can be repeated.
    private func element(_ type: Any.Type) throws -> ValueDecoder {
        guard !isAtEnd else {
            let context = DecodingError.Context(
                codingPath: codingPath + [MessageKey(intValue: currentIndex)],
                debugDescription: "the array has no more elements"
            )
            throw DecodingError.valueNotFound(type, context)
        }
        return ValueDecoder(message: message, offset: next)
    }

    private mutating func pass(_ element: ValueDecoder) {
        next = message.end(ofItemAt: element.offset) ?? message.bytes.count
        currentIndex += 1
    }
}
