/// A JSON value as a program's own type encodes itself that has these fields.
///
/// A whole number is an integer, any other one a `Double`; `null` is nil.
extension JSON: Encodable {
    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .null: try single(encoder) { try $0.encodeNil() }
        case .bool(let value): try single(encoder) { try $0.encode(value) }
        case .integer(let value): try single(encoder) { try $0.encode(value) }
        case .number(let value): try single(encoder) { try $0.encode(value) }
        case .string(let value): try single(encoder) { try $0.encode(value) }
        case .array(let elements):
            var list = encoder.unkeyedContainer()
            for element in elements { try list.encode(element) }
        case .object(let members):
            var fields = encoder.container(keyedBy: Field.self)
            for member in members {
                try fields.encode(member.value, forKey: Field(stringValue: member.key))
            }
        }
    }

    private func single(
        _ encoder: any Encoder,
        _ body: (inout any SingleValueEncodingContainer) throws -> Void
    ) throws {
        var value = encoder.singleValueContainer()
        try body(&value)
    }

    /// The name of a field, whatever it is.
    private struct Field: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) {
            self.stringValue = stringValue
        }

        init?(intValue: Int) { nil }
    }
}
