/// Reads the entries of a map under keys of the app's type.
struct KeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
    private let map: MapReader

    init(_ value: ValueDecoder) throws {
        map = try MapReader(value)
    }

    var codingPath: [any CodingKey] { map.codingPath }
    var allKeys: [Key] { map.names.compactMap { Key(name: $0) } }
    func contains(_ key: Key) -> Bool { map.value(of: key.stringValue) != nil }

    func decodeNil(forKey key: Key) throws -> Bool {
        try value(forKey: key).decodeNil()
    }

    func decode<T: Scalar>(_: T.Type, forKey key: Key) throws -> T { try read(forKey: key) }

    func read<T: Scalar>(forKey key: Key) throws -> T {
        try value(forKey: key).read()
    }

    func decode<T: Decodable>(_: T.Type, forKey key: Key) throws -> T {
        try value(forKey: key).decode(T.self)
    }

    func decodeIfPresent<T: Decodable>(_: T.Type, forKey key: Key) throws -> T? {
        try valueIfPresent(forKey: key)?.decode(T.self)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy _: Nested.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try value(forKey: key).container(keyedBy: Nested.self)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try value(forKey: key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { try value(forKey: MessageKey.super) }

    func superDecoder(forKey key: Key) throws -> any Decoder { try value(forKey: key) }

    private func value(forKey key: some CodingKey) throws -> ValueDecoder {
        guard let value = map.value(of: key.stringValue) else {
            let context = DecodingError.Context(
                codingPath: codingPath,
                debugDescription: "no entry has the key '\(key.stringValue)'"
            )
            throw DecodingError.keyNotFound(key, context)
        }
        return value
    }

    private func valueIfPresent(forKey key: Key) -> ValueDecoder? {
        guard let value = map.value(of: key.stringValue), !value.decodeNil() else { return nil }
        return value
    }
}
