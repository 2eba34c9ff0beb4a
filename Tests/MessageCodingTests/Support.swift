import MessageCoding
import Testing

func encoded(_ value: some Encodable) throws -> [UInt8] { try MessageEncoder().encode(value) }

func decoded<T: Decodable>(_: T.Type = T.self, _ bytes: [UInt8]) throws -> T {
    try MessageDecoder().decode(T.self, from: bytes)
}

/// What a value is after it was a message.
func throughMessage<T: Codable>(_ value: T) throws -> T { try decoded(T.self, encoded(value)) }

extension [UInt8] {
    /// The bytes of hexadecimal digits; spaces are left out.
    init(hex: String) {
        let digits = hex.filter { $0 != " " }.compactMap(\.hexDigitValue)
        self = stride(from: 0, to: digits.count - 1, by: 2).map {
            UInt8(digits[$0] << 4 | digits[$0 + 1])
        }
    }

    var hex: String {
        map { (($0 < 16 ? "0" : "") + String($0, radix: 16)) }.joined()
    }
}

/// Expects that the bytes are refused as data, at this path.
func expectRefusal<T: Decodable>(
    _ type: T.Type,
    _ bytes: [UInt8],
    path: String? = nil,
    reason: String? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    do throws(CodingProblem) {
        _ = try MessageDecoder().decoded(type, from: bytes)
        Issue.record("\(bytes.hex) was decoded", sourceLocation: sourceLocation)
    } catch {
        if let path { #expect(error.path == path, sourceLocation: sourceLocation) }
        if let reason {
            #expect(
                error.reason.contains(reason),
                "\(error.reason)",
                sourceLocation: sourceLocation
            )
        }
    }
}
