import Huddle
import MessageCoding

/// How activities and what is shown of them travel: in the codec of messages.
enum ActivityPayload {
    /// Bytes of an encoded activity.
    static let limit = 64 << 10

    /// Throws ``ActivationError`` of kind `encoding` or `tooLarge`.
    static func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] {
        let bytes: [UInt8]
        do {
            bytes = try MessageEncoder().encoded(value)
        } catch {
            throw ActivationError.encoding(error.reason, path: error.path)
        }
        guard bytes.count <= limit else {
            throw ActivationError.tooLarge(field: "payload", size: bytes.count, limit: limit)
        }
        return bytes
    }

    static func decode<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]) throws -> Value {
        try MessageDecoder().decode(type, from: bytes)
    }
}

/// The names by which types find each other.
enum RoutingName {
    /// The name of a type; an over-long one is cut, so that it is still a legal identifier.
    static func text(of type: Any.Type) -> String {
        if let name = try? TypeName(of: type) { return name.text }
        return String(_typeName(type, qualified: false).prefix(200))
    }
}
