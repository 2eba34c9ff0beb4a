/// The message that the encoders and containers of one value write together.
///
/// Each call is one access to the builder, since every access is checked for exclusivity; while a
/// value's own conformance runs there is none, because it comes back here.
final class EncodingBuffer {
    var builder: MessageBuilder

    init(_ builder: MessageBuilder) {
        self.builder = builder
    }

    /// The encoder of the whole value.
    var root: ValueEncoder { ValueEncoder(buffer: self, slot: .init(index: 0, start: 0)) }

    /// Writes the value of the entry of `slot` that was begun.
    ///
    /// If it throws, the entry is as if it had not been begun.
    func write(_ value: some Encodable, in slot: MessageBuilder.Slot) throws {
        if let leaf = leaf(value) { return builder.append(leaf) }
        let mark = builder.mark
        do {
            try value.encode(to: ValueEncoder(buffer: self, slot: builder.push(in: slot)))
            builder.close()
        } catch {
            builder.undoEntry(of: slot, mark: mark)
            throw error
        }
    }

    /// The encoder of a new entry of `slot` that can be written at any time, also later than the next entry.
    func nestedEncoder(
        in slot: MessageBuilder.Slot,
        _ begin: (inout MessageBuilder) throws -> Void
    ) -> ValueEncoder {
        do {
            try begin(&builder)
        } catch {
            // What is written into this one goes nowhere.
            builder.fail(error)
        }
        return builder.insertChild(in: slot).root
    }
}
