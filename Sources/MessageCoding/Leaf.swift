import FoundationEssentials

// The values that are one item though their own conformances would write more.

extension Data: Scalar {
    static func read(_ head: Head, in message: ParsedMessage) -> Data? {
        guard head.major == Head.Major.bytes else { return nil }
        return Data(message.bytes[message.content(of: head)])
    }

    func append(to bytes: inout [UInt8]) {
        bytes.append(head: Head.Major.bytes, UInt64(count))
        bytes.append(contentsOf: self)
    }
}

extension UUID: Scalar {
    static func read(_ head: Head, in message: ParsedMessage) -> UUID? {
        guard head.major == Head.Major.tag, head.argument == Head.Tag.uuid else { return nil }
        let b = message.bytes
        let at = head.end + 1
        return UUID(
            uuid: (
                b[at], b[at + 1], b[at + 2], b[at + 3], b[at + 4], b[at + 5], b[at + 6], b[at + 7],
                b[at + 8], b[at + 9], b[at + 10], b[at + 11], b[at + 12], b[at + 13], b[at + 14],
                b[at + 15]
            )
        )
    }

    func append(to bytes: inout [UInt8]) {
        bytes.append(head: Head.Major.tag, Head.Tag.uuid)
        bytes.append(Head.Byte.sixteenBytes)
        let u = uuid
        bytes += [
            u.0, u.1, u.2, u.3, u.4, u.5, u.6, u.7, u.8, u.9, u.10, u.11, u.12, u.13, u.14, u.15,
        ]
    }
}

extension URL: Scalar {
    static func read(_ head: Head, in message: ParsedMessage) -> URL? {
        guard head.major == Head.Major.tag, head.argument == Head.Tag.url,
            let text = String.read(message.head(at: head.end), in: message)
        else { return nil }
        return URL(string: text)
    }

    /// Appends a URL that has no base; one that has is written by its own conformance, as a map.
    func append(to bytes: inout [UInt8]) {
        bytes.append(head: Head.Major.tag, Head.Tag.url)
        bytes.append(text: relativeString)
    }
}

/// A value as the scalar that it is; `nil` if its own conformance must write it.
///
/// The containers' generic inlet cannot be specialised for the app's types, so that the types are
/// compared, which is one instruction each.
func leaf<T>(_ value: T) -> (any Scalar)? {
    if T.self == Double.self { return value as? Double }
    if T.self == Int.self { return value as? Int }
    if T.self == String.self { return value as? String }
    if T.self == UUID.self { return value as? UUID }
    if T.self == Data.self { return value as? Data }
    guard T.self == URL.self, let url = value as? URL, url.baseURL == nil else { return nil }
    return url
}

extension ValueDecoder {
    /// The value, if `T` is one of the types above; `nil` if its own conformance must read it.
    func leaf<T: Decodable>() throws -> T? {
        if T.self == Double.self { return try decode(Double.self) as? T }
        if T.self == Int.self { return try decode(Int.self) as? T }
        if T.self == String.self { return try decode(String.self) as? T }
        if T.self == UUID.self { return try decode(UUID.self) as? T }
        if T.self == Data.self { return try decode(Data.self) as? T }
        guard T.self == URL.self, message.head(at: offset).major != Head.Major.map else {
            return nil
        }
        return try decode(URL.self) as? T
    }
}
