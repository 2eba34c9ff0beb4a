/// What went wrong with a value that was encoded or decoded, in the words of the public errors.
///
/// It names types and places, never the app's values.
package struct CodingProblem: Error, Hashable, Sendable {
    /// What is wrong, one sentence without a stop.
    package let reason: String
    /// Where, as `points[3].x`; empty for the whole value.
    package let path: String

    /// The problem that an encoder, a decoder or the app's own conformance threw.
    package init(_ error: any Error) {
        switch error {
        case EncodingError.invalidValue(_, let context): self.init(context)
        case DecodingError.typeMismatch(_, let context): self.init(context)
        case DecodingError.valueNotFound(_, let context): self.init(context)
        case DecodingError.keyNotFound(_, let context): self.init(context)
        case DecodingError.dataCorrupted(let context): self.init(context)
        default: self.init(reason: "\(type(of: error)) was thrown by the type itself", at: [])
        }
    }

    private init(_ context: EncodingError.Context) {
        self.init(reason: context.debugDescription, at: context.codingPath)
    }

    private init(_ context: DecodingError.Context) {
        self.init(reason: context.debugDescription, at: context.codingPath)
    }

    private init(reason: String, at path: [any CodingKey]) {
        self.reason = reason
        self.path = path.reduce(into: "") { text, key in
            if let index = key.intValue {
                text += "[\(index)]"
            } else {
                text += text.isEmpty ? key.stringValue : "." + key.stringValue
            }
        }
    }
}

extension MessageEncoder {
    /// The message of a value, or what is wrong with it.
    package func encoded(_ value: some Encodable) throws(CodingProblem) -> [UInt8] {
        do {
            return try encode(value)
        } catch {
            throw CodingProblem(error)
        }
    }
}

extension MessageDecoder {
    /// The value of a message, or what is wrong with it.
    package func decoded<T: Decodable>(
        _: T.Type = T.self,
        from bytes: [UInt8]
    ) throws(CodingProblem) -> T {
        do {
            return try decode(T.self, from: bytes)
        } catch {
            throw CodingProblem(error)
        }
    }
}
