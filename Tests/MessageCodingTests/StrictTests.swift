import MeshWire
import TestSupport
import Testing

@testable import MessageCoding

@Suite("Messages from outside — 40-groupactivities §6, G18") struct StrictTests {
    @Test("equal keys are found in small and in large maps", arguments: [2, 16, 17, 18, 1000])
    func doubledKeys(count: Int) throws {
        func map(_ last: Int) -> [UInt8] {
            var bytes: [UInt8] = []
            bytes.append(head: Head.Major.map, UInt64(count))
            for index in Array(0..<count - 1) + [last] {
                bytes.append(text: "a long key \(index)")
                bytes.append(head: Head.Major.unsigned, UInt64(index))
            }
            return bytes
        }
        #expect(try decoded([String: Int].self, map(count)).count == count)
        for last in [0, count / 2, count - 2] where last < count - 1 {
            expectRefusal(
                Anything.self,
                map(last),
                path: "a long key \(last)",
                reason: "equal keys"
            )
        }
    }

    @Test("keys that begin alike are no equal keys") func similarKeys() throws {
        let map = ["abcdefg": 1, "abcdefgh": 2, "abcdefgi": 3, "abc": 4, "": 5]
        #expect(try throughMessage(map) == map)
        expectRefusal(Anything.self, [UInt8](hex: "a2" + "60" + "01" + "60" + "02"), path: "")
    }

    @Test("text that is not UTF-8 is refused, also where nobody reads it") func utf8() throws {
        struct Nothing: Decodable {}
        for text in ["61ff", "62c328", "63eda080", "64f4908080", "61c3", "62c080"] {
            expectRefusal(Nothing.self, [UInt8](hex: "a16161" + text), path: "a", reason: "UTF-8")
            expectRefusal(Nothing.self, [UInt8](hex: "a1" + text + "00"), reason: "UTF-8")
        }
    }

    @Test(
        "a count greater than the bytes left is refused before anything is allocated",
        arguments: [
            "9bffffffffffffffff", "bbffffffffffffffff", "7bffffffffffffffff", "5bffffffffffffffff",
            "9a7fffffff00", "ba00ffffff6000", "8200", "a16161", "a26161006162",
        ]
    )
    func counts(hex: String) { expectRefusal(Anything.self, [UInt8](hex: hex)) }

    @Test("each cut of a message is refused, and each byte behind it") func cuts() throws {
        var generator = SeededGenerator(seed: 1)
        let bytes = try encoded(Sample(using: &generator, depth: 2))
        for count in 0..<bytes.count {
            #expect(throws: DecodingError.self) {
                try decoded(Anything.self, Array(bytes[..<count]))
            }
        }
        expectRefusal(Anything.self, bytes + [0], reason: "follow")
    }

    /// A message and the steps that reading it may take for each byte.
    struct Load: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var bytes: @Sendable (Int) -> [UInt8]
    }

    static let loads = [
        Load(testDescription: "small integers") { many($0, 0x80, [0]) },
        Load(testDescription: "empty arrays") { many($0, 0x80, [0x80]) },
        Load(testDescription: "chains 250 deep") {
            many($0 / 251, 0x80, Array(repeating: 0x81, count: 250) + [0])
        },
        Load(testDescription: "empty keys") { many($0 / 2, 0xa0, [0x60, 0]) },
        Load(testDescription: "many keys") { map($0 / 8) { "\($0)" } },
        Load(testDescription: "keys with a long beginning") {
            map($0 / 60) { String(repeating: "k", count: 50) + "\($0)" }
        },
        Load(testDescription: "maps of sixteen keys") {
            many($0 / 70, 0x80, map(16) { "k\($0)" })
        },
        Load(testDescription: "a map in each map, 200 deep") {
            let chain = (0..<200).reduce([UInt8]([0xa0])) { inner, _ in
                [0xa2, 0x61, 0x61] + inner + [0x61, 0x62, 0]
            }
            return many(max(1, $0 / chain.count), 0x80, chain)
        },
    ]

    static func many(_ count: Int, _ major: UInt8, _ item: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(head: major, UInt64(count))
        for _ in 0..<count { bytes += item }
        return bytes
    }

    static func map(_ count: Int, key: (Int) -> String) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(head: Head.Major.map, UInt64(count))
        for index in 0..<count {
            bytes.append(text: key(index))
            bytes.append(0)
        }
        return bytes
    }

    @Test("the steps grow with the bytes and no faster", arguments: loads) func linear(
        load: Load
    ) throws {
        for size in [1000, 30_000] {
            let bytes = load.bytes(size)
            let work = Work()
            do {
                let message = try ParsedMessage(bytes) { work.message = $0 }
                // Every key asked for in the worst order, and failed tries with their paths.
                _ = try ValueDecoder(message: message, offset: 0).decode(Backwards.self)
            } catch is DecodingError {
                #expect(load.testDescription == "empty keys")
            }
            let steps = try #require(work.message).work
            #expect(steps <= 24 * bytes.count + 100, "\(steps) steps for \(bytes.count) bytes")
        }
    }

    final class Work {
        var message: ParsedMessage?
    }

    /// Reads what stands there, maps from behind; elements of arrays are tried as another type first.
    struct Backwards: Decodable {
        init(from decoder: any Decoder) throws {
            let value = try #require(decoder as? ValueDecoder)
            switch value.message.head(at: value.offset).major {
            case Head.Major.map:
                let map = try decoder.container(keyedBy: Anything.Key.self)
                for key in map.allKeys.reversed() { _ = try map.decode(Self.self, forKey: key) }
            case Head.Major.array:
                var list = try decoder.unkeyedContainer()
                while !list.isAtEnd {
                    if value.offset == 0 { _ = try? list.decode(String.self) }
                    _ = try list.decode(Self.self)
                }
            default: break
            }
        }
    }
}
