/// Writes the elements of an array.
struct UnkeyedEncoding: UnkeyedEncodingContainer {
    private let buffer: EncodingBuffer
    private let slot: MessageBuilder.Slot

    init(opening slot: MessageBuilder.Slot, in buffer: EncodingBuffer) {
        buffer.builder.open(slot, .array)
        self.buffer = buffer
        self.slot = slot
    }

    var codingPath: [any CodingKey] { buffer.builder.path(of: slot, isInside: false) }
    var count: Int { buffer.builder.count(of: slot) }

    func encodeNil() throws {
        try buffer.builder.encodeElement(of: slot) { $0.append(Head.Byte.null) }
    }

    func encode<T: Scalar>(_ value: T) throws { try write(value) }

    func write(_ value: some Scalar) throws {
        try buffer.builder.encodeElement(of: slot) { value.append(to: &$0) }
    }

    func encode<T: Encodable>(_ value: T) throws {
        try buffer.builder.beginElement(of: slot)
        try buffer.write(value, in: slot)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy _: Nested.Type
    ) -> KeyedEncodingContainer<Nested> {
        encoder().container(keyedBy: Nested.self)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        encoder().unkeyedContainer()
    }

    func superEncoder() -> any Encoder { encoder() }

    private func encoder() -> ValueEncoder {
        buffer.nestedEncoder(in: slot) { try $0.beginElement(of: slot) }
    }
}
