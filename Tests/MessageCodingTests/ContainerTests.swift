import MessageCoding
import Testing

@Suite("Containers of every kind") struct ContainerTests {
    class Animal: Codable {
        var name = "cat"
        init() {}
    }

    final class Cat: Animal {
        var lives = 9
        override init() { super.init() }

        enum CodingKeys: CodingKey { case lives }

        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            lives = try container.decode(Int.self, forKey: .lives)
            try super.init(from: container.superDecoder())
        }

        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            // Before the own key, so that both are written at a time.
            try super.encode(to: container.superEncoder())
            try container.encode(lives, forKey: .lives)
        }
    }

    @Test("a superclass stands under its own key") func inheritance() throws {
        let cat = Cat()
        cat.name = "tom"
        cat.lives = 7
        let bytes = try encoded(cat)
        #expect(bytes.hex == "a2657375706572a1646e616d6563746f6d656c6976657307")
        let back = try decoded(Cat.self, bytes)
        #expect(back.name == "tom" && back.lives == 7)
    }

    final class Dog: Animal {
        var age = 3
        override init() { super.init() }

        enum CodingKeys: CodingKey { case age }

        required init(from decoder: any Decoder) throws {
            age = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .age)
            try super.init(from: decoder)
        }

        override func encode(to encoder: any Encoder) throws {
            try super.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(age, forKey: .age)
        }
    }

    @Test("a superclass that shares the encoder shares the map") func sharedEncoder() throws {
        let bytes = try encoded(Dog())
        #expect(bytes.hex == "a2646e616d65636361746361676503")
        #expect(try decoded(Dog.self, bytes).age == 3)
    }

    /// Writes nested containers alternately, each with as many elements as asked for.
    struct Woven: Codable, Equatable {
        var odd: [Int]
        var even: [Int]
        var pair: [String: Int]

        enum CodingKeys: CodingKey { case odd, even, pair }
        enum Pair: CodingKey { case x, y }

        init(count: Int) {
            odd = (0..<count).map { 2 * $0 + 1 }
            even = (0..<count).map { 2 * $0 }
            pair = ["x": 1, "y": 2]
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            var evens = try container.nestedUnkeyedContainer(forKey: .even)
            var odds = try container.nestedUnkeyedContainer(forKey: .odd)
            (odd, even) = ([], [])
            while !odds.isAtEnd {
                odd.append(try odds.decode(Int.self))
                even.append(try evens.decode(Int.self))
            }
            let nested = try container.nestedContainer(keyedBy: Pair.self, forKey: .pair)
            pair = [
                "y": try nested.decode(Int.self, forKey: .y),
                "x": try nested.decode(Int.self, forKey: .x),
            ]
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            var odds = container.nestedUnkeyedContainer(forKey: .odd)
            var evens = container.nestedUnkeyedContainer(forKey: .even)
            var nested = container.nestedContainer(keyedBy: Pair.self, forKey: .pair)
            try nested.encode(1, forKey: .x)
            for index in odd.indices {
                try evens.encode(even[index])
                #expect(evens.count == index + 1)
                try odds.encode(odd[index])
            }
            try nested.encode(2, forKey: .y)
        }
    }

    @Test(
        "nested containers are written while others go on",
        arguments: [0, 1, 23, 24, 255, 256, 9000]
    )
    func woven(count: Int) throws {
        #expect(try throughMessage([Woven(count: count)]) == [Woven(count: count)])
    }

    struct Empty: Codable, Equatable {}

    struct Silent: Codable, Equatable {
        init() {}
        init(from _: any Decoder) throws {}
        func encode(to _: any Encoder) throws {}
    }

    @Test("what encodes nothing is an empty map") func empty() throws {
        #expect(try encoded(Empty()) == [0xa0])
        #expect(try encoded([Silent(), Silent()]) == [0x82, 0xa0, 0xa0])
        #expect(try throughMessage([Silent()]) == [Silent()])
    }

    struct Faulty: Encodable {
        enum Fault: String, CaseIterable { case twoSingles, twoKinds, sameKey, escaped }
        enum CodingKeys: CodingKey { case key }

        var fault: Fault

        func encode(to encoder: any Encoder) throws {
            switch fault {
            case .twoSingles:
                var single = encoder.singleValueContainer()
                try single.encode(1)
                try single.encode(2)
            case .twoKinds:
                var map = encoder.container(keyedBy: CodingKeys.self)
                try map.encode(1, forKey: .key)
                _ = encoder.unkeyedContainer()
            case .sameKey:
                var map = encoder.container(keyedBy: CodingKeys.self)
                try map.encode(1, forKey: .key)
                try map.encode(2, forKey: .key)
            case .escaped:
                try Escaping().encode(to: encoder)
            }
        }
    }

    /// Lends its container to its element, which writes into it while it is itself open.
    struct Escaping: Encodable {
        struct Element: Encodable {
            var lent: any UnkeyedEncodingContainer

            func encode(to encoder: any Encoder) throws {
                var own = encoder.unkeyedContainer()
                try own.encode(1)
                var lent = lent
                try lent.encode(2)
            }
        }

        func encode(to encoder: any Encoder) throws {
            var list = encoder.unkeyedContainer()
            try list.encode(Element(lent: list))
        }
    }

    @Test("what no message can show is an error of the whole", arguments: Faulty.Fault.allCases)
    func faults(fault: Faulty.Fault) throws {
        do throws(CodingProblem) {
            _ = try MessageEncoder().encoded(["in": [Faulty(fault: fault)]])
            Issue.record("\(fault) was encoded")
        } catch {
            #expect(error.path.hasPrefix("in[0]"), "\(error.path)")
        }
    }

    struct Careful: Encodable {
        struct Failure: Error {}
        struct Failing: Encodable {
            func encode(to encoder: any Encoder) throws {
                var list = encoder.unkeyedContainer()
                for index in 0..<30 { try list.encode([index]) }
                _ = list.nestedUnkeyedContainer()
                throw Failure()
            }
        }

        func encode(to encoder: any Encoder) throws {
            var list = encoder.unkeyedContainer()
            try list.encode(1)
            try? list.encode([[Failing()]])
            try list.encode(2)
        }
    }

    @Test("an element that throws is as if it had not been there") func undone() throws {
        #expect(try encoded(Careful()) == [0x82, 1, 2])
    }

    struct Nest: Codable {
        var next: [Nest]
        static func deep(_ depth: Int) -> Nest {
            (1..<depth).reduce(Nest(next: [])) { nest, _ in Nest(next: [nest]) }
        }
    }

    @Test("256 containers in each other are written and read, 257 neither") func depth() throws {
        // Each nest is a map and an array.
        #expect(try decoded(Nest.self, encoded(Nest.deep(128))).next.count == 1)
        do throws(CodingProblem) {
            _ = try MessageEncoder().encoded([Nest.deep(128)])
            Issue.record("257 were encoded")
        } catch {
            #expect(error.reason.contains("256"))
            #expect(error.path.hasPrefix("[0].next[0].next"))
        }
        let deep = { [UInt8](repeating: 0x81, count: $0 - 1) + [0x80] }
        _ = try decoded(Anything.self, deep(256))
        expectRefusal(
            Anything.self,
            deep(257),
            path: String(repeating: "[0]", count: 256),
            reason: "256"
        )
    }

    @Test("errors say where they are") func paths() throws {
        struct Point: Codable { var x: Double }
        struct Stroke: Codable { var points: [Point] }
        struct Wrong: Codable { var points: [[String: String]] }
        let wrong = Wrong(points: [["x": "1"]])
        expectRefusal(
            Stroke.self,
            try encoded(wrong),
            path: "points[0].x",
            reason: "a text is no Double"
        )
        let short = Wrong(points: [[:]])
        expectRefusal(Stroke.self, try encoded(short), path: "points[0]", reason: "'x'")
        expectRefusal(Point.self, try encoded([1]), reason: "an array where a map is expected")
        expectRefusal([Int].self, [0x83, 1, 2, 0xf6], path: "[2]", reason: "null")
        let cut = Array(try encoded(wrong).dropLast())
        expectRefusal(Stroke.self, cut, path: "points[0].x", reason: "bytes left")
    }
}
