/// The decoder of one value: where in the message it stands.
struct ValueDecoder: Decoder {
    let message: ParsedMessage
    let offset: Int

    var codingPath: [any CodingKey] { message.path(to: offset) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy _: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try KeyedDecodingContainer(KeyedDecoding(self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try UnkeyedDecoding(self)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }
}

extension ValueDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { message.bytes[offset] == Head.Byte.null }

    func decode<T: Scalar>(_: T.Type) throws -> T { try read() }

    func read<T: Scalar>() throws -> T {
        let head = message.head(at: offset)
        guard let value = T.read(head, in: message) else { throw mismatch(T.self) }
        return value
    }

    func decode<T: Decodable>(_: T.Type) throws -> T {
        if let value: T = try leaf() { return value }
        return try T(from: self)
    }

    /// Why the item is no `T`.
    func mismatch(_ type: any Scalar.Type) -> DecodingError {
        let item = message.head(at: offset).name
        let context = DecodingError.Context(
            codingPath: codingPath,
            debugDescription: "\(item) is no \(type) that is exact"
        )
        return type.isNumber && message.head(at: offset).isNumber
            ? .dataCorrupted(context) : .typeMismatch(type, context)
    }

    /// Why a container cannot be opened.
    func mismatch(_ wanted: String, _ type: Any.Type) -> DecodingError {
        let context = DecodingError.Context(
            codingPath: codingPath,
            debugDescription: "\(message.head(at: offset).name) where \(wanted) is expected"
        )
        return decodeNil() ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }
}

extension Head {
    /// Whether the item is an integer or a float.
    var isNumber: Bool {
        switch major {
        case Major.unsigned, Major.negative: true
        default: first == Byte.float32 || first == Byte.float64
        }
    }

    /// What the item is, for people.
    var name: String {
        switch major {
        case Major.unsigned, Major.negative: "an integer"
        case Major.bytes: "a byte string"
        case Major.text: "a text"
        case Major.array: "an array"
        case Major.map: "a map"
        case Major.tag: argument == Tag.url ? "a URL" : "a UUID"
        default: first == Byte.null ? "null" : isNumber ? "a float" : "a boolean"
        }
    }
}
