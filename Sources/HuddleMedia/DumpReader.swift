import Foundation

/// Takes the output of `pw-dump --monitor` apart: arrays of JSON, one after the other.
///
/// The first has every object, each later one what has changed since; an object that is gone is its
/// number and `"info": null`.
package struct DumpReader {
    /// An object of PipeWire's, in so far as it matters here.
    package struct Object: Decodable, Sendable {
        var id: UInt32
        var type: String?
        var info: Info?

        struct Info: Decodable, Sendable {
            var outputNode: UInt32?
            var inputNode: UInt32?
            var state: String?
            var props: [String: Text]?

            enum CodingKeys: String, CodingKey {
                case outputNode = "output-node-id"
                case inputNode = "input-node-id"
                case state, props
            }
        }

        /// A property that may be text; numbers and the like are written as such, and say nothing here.
        struct Text: Decodable, Sendable {
            var value: String?

            init(from decoder: any Decoder) throws {
                // Whatever else it is, it is no name.
                value = try? decoder.singleValueContainer().decode(String.self)
            }
        }
    }

    /// The output is none of `pw-dump`'s.
    package struct Malformed: Error {}

    private var array: [UInt8] = []
    private var depth = 0
    private var isInText = false
    private var isEscaped = false

    /// Bytes of one array; a desktop's first has some 500 KB.
    private static let arrayBytes = 16 << 20
    private static let depthLimit = 64

    package init() {}

    /// The objects of every array that is whole now, array by array.
    package mutating func read(_ bytes: some Sequence<UInt8>) throws(Malformed) -> [[Object]] {
        var whole: [[Object]] = []
        for byte in bytes where try take(byte) {
            guard let objects = try? JSONDecoder().decode([Object].self, from: Data(array)) else {
                throw Malformed()
            }
            whole.append(objects)
            array = []
        }
        return whole
    }

    /// Whether an array ends with this byte.
    private mutating func take(_ byte: UInt8) throws(Malformed) -> Bool {
        if depth == 0 {
            if [9, 10, 13, 32].contains(byte) { return false }
            guard byte == UInt8(ascii: "[") else { throw Malformed() }
        }
        array.append(byte)
        guard array.count <= Self.arrayBytes else { throw Malformed() }
        if isInText {
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isInText = false
            }
            return false
        }
        switch byte {
        case UInt8(ascii: "\""): isInText = true
        case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
        case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
        default: break
        }
        guard depth <= Self.depthLimit else { throw Malformed() }
        return depth == 0
    }
}
