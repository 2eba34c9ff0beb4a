/// The encoder of one value: where in the buffer it stands.
struct ValueEncoder: Encoder {
    let buffer: EncodingBuffer
    let slot: MessageBuilder.Slot

    var codingPath: [any CodingKey] { buffer.builder.path(of: slot, isInside: false) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy _: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(KeyedEncoding(opening: slot, in: buffer))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        UnkeyedEncoding(opening: slot, in: buffer)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }
}

extension ValueEncoder: SingleValueEncodingContainer {
    func encodeNil() throws {
        try buffer.builder.encode(in: slot) { $0.append(Head.Byte.null) }
    }

    func encode<T: Scalar>(_ value: T) throws { try write(value) }

    func write(_ value: some Scalar) throws {
        try buffer.builder.encode(in: slot) { value.append(to: &$0) }
    }

    func encode<T: Encodable>(_ value: T) throws {
        if let leaf = leaf(value) { return try write(leaf) }
        try value.encode(to: self)
    }
}
