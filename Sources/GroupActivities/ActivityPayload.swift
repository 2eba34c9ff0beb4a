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

extension Node {
    /// Starts an activity whose value is encoded already.
    ///
    /// Throws ``ActivationError`` if what is shown of it is above a limit, and `HuddleError`.
    func start(
        _ identifier: String,
        payload: [UInt8],
        shown: GroupActivityMetadata
    ) async throws -> (session: Session, isNew: Bool) {
        var options = Session.Options()
        options.endsWhenInitiatorLeaves = shown.lifetimePolicy == .endsWhenInitiatorLeaves
        return try await activate(
            identifier: identifier,
            payload: payload,
            metadata: try ActivityPayload.encode(shown.checked()),
            options: options
        )
    }

    /// Starts an activity of a program that this one does not know, whose value has these fields.
    ///
    /// Throws ``ActivationError`` for what cannot be encoded or is above a limit, and `HuddleError`.
    package func startActivity(
        _ identifier: String,
        fields: some Encodable,
        shown: GroupActivityMetadata
    ) async throws -> (session: Session, isNew: Bool) {
        try await start(identifier, payload: try ActivityPayload.encode(fields), shown: shown)
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
