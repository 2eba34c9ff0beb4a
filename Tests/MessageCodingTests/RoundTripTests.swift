import Foundation
import MessageCoding
import MeshWire
import Testing

@Suite("Values go there and back — 40-groupactivities §6, G9") struct RoundTripTests {
    enum Shape: Codable, Hashable {
        case nothing
        case circle(radius: Double)
        case named(String, Int)
    }

    enum Plain: String, Codable { case red, green }

    @Test("the values of G9 arrive equal") func g9() throws {
        #expect(try throughMessage("text") == "text")
        #expect(try throughMessage(Int?.none) == nil)
        #expect(try throughMessage(Int?.some(3)) == 3)
        #expect(try throughMessage(Plain.green) == .green)
        #expect(
            try throughMessage([Shape.nothing, .circle(radius: 2), .named("a", -1)])
                == [.nothing, .circle(radius: 2), .named("a", -1)]
        )
        #expect(try throughMessage([Double.nan]).first?.isNaN == true)
        #expect(try throughMessage(CGPoint(x: 0.5, y: -0.0)) == CGPoint(x: 0.5, y: -0.0))
        #expect(try throughMessage(CGFloat(1.5)) == 1.5)
        #expect(try throughMessage(Data([0, 255])) == Data([0, 255]))
        let dates = ["a": Date(timeIntervalSinceReferenceDate: 0.1), "b": .distantPast]
        #expect(try throughMessage(dates) == dates)
        #expect(try throughMessage(Decimal(string: "12.345")) == Decimal(string: "12.345"))
        #expect(try throughMessage(Set([1, 2, 3])) == [1, 2, 3])
        #expect(try throughMessage([1: "one", -2: "two"]) == [1: "one", -2: "two"])
        #expect(try throughMessage([Shape.nothing: 1]) == [Shape.nothing: 1])
    }

    @Test(
        "floats keep every bit",
        arguments: [
            UInt64(0x8000_0000_0000_0000), 0x7ff8_0000_0000_0000, 0x7ff8_dead_beef_0001,
            0xfff8_0000_0000_0007, 0x7ff0_0000_0000_0000, 1,
        ]
    )
    func bits(pattern: UInt64) throws {
        #expect(try throughMessage(Double(bitPattern: pattern)).bitPattern == pattern)
        #expect(try throughMessage([Double(bitPattern: pattern)])[0].bitPattern == pattern)
        let short = UInt32(pattern >> 32)
        #expect(try throughMessage([Float(bitPattern: short)])[0].bitPattern == short)
    }

    @Test("URLs with a base stay a pair") func urls() throws {
        let url = try #require(URL(string: "https://example.org/a?b#c"))
        #expect(try throughMessage(url) == url)
        let relative = try #require(URL(string: "d/e", relativeTo: url))
        let back = try throughMessage(["url": relative])["url"]
        #expect(back?.relativeString == "d/e")
        #expect(back?.baseURL == url)
    }

    @Test(
        "integers of 128 bits",
        arguments: [
            Int128.min, .max, 0, -1, Int128(UInt64.max), Int128(UInt64.max) + 1,
            -Int128(UInt64.max) - 2,
        ]
    )
    func wide(number: Int128) throws {
        #expect(try throughMessage([number]) == [number])
        let unsigned = UInt128(truncatingIfNeeded: number)
        #expect(try throughMessage(["n": unsigned]) == ["n": unsigned])
    }

    @Test("numbers of another type are read where they are exact") func lenientNumbers() throws {
        #expect(try decoded(Double.self, encoded(3)) == 3)
        #expect(try decoded(Int.self, encoded(3.0)) == 3)
        #expect(try decoded(Int8.self, encoded(Float(-128))) == -128)
        #expect(try decoded(Float.self, encoded(0.5)) == 0.5)
        #expect(try decoded(Double.self, encoded(Int.min)) == Double(Int.min))
        #expect(try decoded(Double.self, encoded(Float.nan)).isNaN)
        expectRefusal(Int.self, try encoded(3.5), reason: "exact")
        expectRefusal(UInt.self, try encoded(-1), reason: "exact")
        expectRefusal(Int8.self, try encoded(128), reason: "exact")
        expectRefusal(Float.self, try encoded(0.1), reason: "exact")
        expectRefusal(Double.self, try encoded(1 << 53 + 1), reason: "exact")
        expectRefusal(Int.self, [UInt8](hex: "3bffffffffffffffff"), reason: "exact")
        expectRefusal(Bool.self, try encoded(1), reason: "an integer is no Bool")
    }

    struct Old: Codable { var name: String }

    struct New: Codable, Equatable {
        var name: String
        var color: String?
        var tags: [String]?
    }

    @Test("an app of another age is understood") func ages() throws {
        #expect(try decoded(New.self, encoded(Old(name: "a"))) == New(name: "a"))
        let new = New(name: "b", color: "c", tags: ["d"])
        #expect(try decoded(Old.self, encoded(new)).name == "b")
        let null = [UInt8](hex: "a2646e616d6561626563" + "6f6c6f72f6")
        #expect(try decoded(New.self, null) == New(name: "b"))
        expectRefusal(New.self, try encoded(["color": "c"]), reason: "'name'")
    }

    @Test("keys are found in any order, in small and in large maps", arguments: [3, 16, 17, 400])
    func anyOrder(count: Int) throws {
        struct Backwards: Decodable {
            var values: [Int] = []

            init(from decoder: any Decoder) throws {
                let map = try decoder.container(keyedBy: Anything.Key.self)
                for key in map.allKeys.reversed() {
                    values.append(try map.decode(Int.self, forKey: key))
                }
                #expect(!map.contains(Anything.Key(stringValue: "none")))
            }
        }
        let map = Dictionary(uniqueKeysWithValues: (0..<count).map { ("key \($0)", $0) })
        #expect(try throughMessage(map) == map)
        #expect(try decoded(Backwards.self, encoded(map)).values.sorted() == Array(0..<count))
    }

    @Test("random values go there and back, and give the same bytes again") func property() throws {
        var generator = SeededGenerator(seed: 8949)
        for _ in 0..<2000 {
            let value = Sample(using: &generator, depth: 4)
            let bytes = try encoded(value)
            let back = try decoded(Sample.self, bytes)
            #expect(back == value)
            #expect(try encoded(back) == bytes)
        }
    }
}

/// A value of many parts.
struct Sample: Codable, Equatable {
    var flag: Bool
    var small: Int8
    var number: Int
    var wide: UInt64
    var real: Double
    var short: Float?
    var text: String
    var data: Data
    var id: UUID
    var list: [UInt16]
    var shape: RoundTripTests.Shape
    var children: [Sample]
    var named: [String: [Double]]

    init(using generator: inout SeededGenerator, depth: Int) {
        func below(_ bound: UInt64) -> Int { Int(generator.next() % bound) }
        flag = generator.happens(0.5)
        small = Int8(truncatingIfNeeded: generator.next())
        number = Int(truncatingIfNeeded: generator.next()) >> below(64)
        wide = generator.next() >> UInt64(below(64))
        real = (generator.unit() - 0.5) * 1e6
        short = generator.happens(0.5) ? Float(generator.unit()) : nil
        text = String(
            (0..<below(30)).map { _ in "aé水🙂 \n".randomElement(using: &generator) ?? "x" }
        )
        data = Data((0..<below(40)).map { UInt8(truncatingIfNeeded: $0) })
        let word = UInt8(truncatingIfNeeded: generator.next())
        id = UUID(uuid: (word, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, word))
        list = (0..<below(60)).map { UInt16($0 * 300) }
        shape = [.nothing, .circle(radius: real), .named(text, number)][below(3)]
        children = []
        if depth > 0 {
            for _ in 0..<below(4) { children.append(Sample(using: &generator, depth: depth - 1)) }
        }
        named = ["one": [real]]
    }
}
