/// Writes the entries of a map.
struct KeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
    private let buffer: EncodingBuffer
    private let slot: MessageBuilder.Slot

    init(opening slot: MessageBuilder.Slot, in buffer: EncodingBuffer) {
        buffer.builder.open(slot, .map)
        self.buffer = buffer
        self.slot = slot
    }

    var codingPath: [any CodingKey] { buffer.builder.path(of: slot, isInside: false) }

    func encodeNil(forKey key: Key) throws {
        try buffer.builder.encodeEntry(of: slot, key.stringValue) { $0.append(Head.Byte.null) }
    }

    func encode<T: Scalar>(_ value: T, forKey key: Key) throws { try write(value, forKey: key) }

    func write(_ value: some Scalar, forKey key: Key) throws {
        try buffer.builder.encodeEntry(of: slot, key.stringValue) { value.append(to: &$0) }
    }

    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        try buffer.builder.beginEntry(of: slot, key.stringValue)
        try buffer.write(value, in: slot)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy _: Nested.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        encoder(forKey: key).container(keyedBy: Nested.self)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder(forKey: key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { encoder(forKey: MessageKey.super) }

    func superEncoder(forKey key: Key) -> any Encoder { encoder(forKey: key) }

    private func encoder(forKey key: some CodingKey) -> ValueEncoder {
        buffer.nestedEncoder(in: slot) { try $0.beginEntry(of: slot, key.stringValue) }
    }
}
