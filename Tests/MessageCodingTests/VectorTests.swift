import FoundationEssentials
import MessageCoding
import Testing

@Suite("Golden vectors — RFC 8949, appendix A") struct VectorTests {
    /// A value and its bytes, both ways.
    struct Vector: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var check: @Sendable () throws -> Void

        init<T: Codable & Equatable & Sendable>(_ value: T, _ hex: String) {
            testDescription = hex
            check = { () throws in
                #expect(try encoded(value).hex == hex)
                #expect(try decoded(T.self, [UInt8](hex: hex)) == value)
            }
        }
    }

    static let vectors = [
        Vector(0, "00"), Vector(1, "01"), Vector(10, "0a"), Vector(23, "17"), Vector(24, "1818"),
        Vector(25, "1819"), Vector(100, "1864"), Vector(1000, "1903e8"),
        Vector(1_000_000, "1a000f4240"), Vector(1_000_000_000_000, "1b000000e8d4a51000"),
        Vector(UInt64.max, "1bffffffffffffffff"),
        Vector(-Int128(UInt64.max) - 1, "3bffffffffffffffff"),
        Vector(-1, "20"), Vector(-10, "29"), Vector(-100, "3863"), Vector(-1000, "3903e7"),
        Vector(1.1, "fb3ff199999999999a"), Vector(1.0e+300, "fb7e37e43c8800759c"),
        Vector(-4.1, "fbc010666666666666"), Vector(Float(100_000), "fa47c35000"),
        Vector(Float.greatestFiniteMagnitude, "fa7f7fffff"),
        Vector(Double.infinity, "fb7ff0000000000000"),
        Vector(-Double.infinity, "fbfff0000000000000"),
        Vector(Float.infinity, "fa7f800000"), Vector(-Float.infinity, "faff800000"),
        Vector(false, "f4"), Vector(true, "f5"), Vector(Int?.none, "f6"),
        Vector(Data(), "40"), Vector(Data([1, 2, 3, 4]), "4401020304"),
        Vector("", "60"), Vector("a", "6161"), Vector("IETF", "6449455446"),
        Vector("\"\\", "62225c"), Vector("\u{fc}", "62c3bc"), Vector("\u{6c34}", "63e6b0b4"),
        Vector("\u{10151}", "64f0908591"),
        Vector([Int](), "80"), Vector([1, 2, 3], "83010203"),
        Vector(Array(1...25), "98190102030405060708090a0b0c0d0e0f101112131415161718181819"),
        Vector([String: Int](), "a0"), Vector(["a": 1], "a1616101"),
        Vector(
            URL(string: "http://www.example.com")!,
            "d82076687474703a2f2f7777772e6578616d706c652e636f6d"
        ),
    ]

    @Test("each value has its bytes, both ways", arguments: vectors) func vector(
        vector: Vector
    ) throws { try vector.check() }

    @Test("nested arrays and maps of the appendix are read") func nested() throws {
        struct Both: Codable, Equatable {
            var a: Int
            var b: [Int]
        }
        #expect(try encoded(Both(a: 1, b: [2, 3])).hex == "a26161016162820203")
        #expect(
            try decoded(Both.self, [UInt8](hex: "a26161016162820203")) == Both(a: 1, b: [2, 3])
        )
        let letters = [UInt8](hex: "a56161614161626142616361436164614461656145")
        let wanted = ["a": "A", "b": "B", "c": "C", "d": "D", "e": "E"]
        #expect(try decoded([String: String].self, letters) == wanted)
    }

    @Test("a UUID is tag 37 and sixteen bytes") func uuid() throws {
        let uuid = try #require(UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF"))
        #expect(try encoded(uuid).hex == "d82550" + "00112233445566778899aabbccddeeff")
        #expect(try throughMessage(uuid) == uuid)
    }

    @Test(
        "what the appendix has and the subset has not is refused",
        arguments: [
            "f7", "f0", "f818", "f8ff", "f93c00", "f90000",
            "c074323031332d30332d32315432303a30343a30305a",
            "c11a514b67b0", "c249010000000000000000", "c349010000000000000000", "d74401020304",
            "d818456449455446", "5f42010243030405ff", "7f657374726561646d696e67ff", "9fff",
            "9f018202039f0405ffff", "bf61610161629f0203ffff", "a201020304", "1c", "1f", "ff",
            "1800", "1817", "190000", "1900ff", "1a0000ffff", "1b00000000ffffffff", "5800", "7817",
            "9800", "b800", "d820" + "4161", "d825" + "4161", "d825" + "51" + "00", "d81825", "",
        ]
    )
    func refused(hex: String) { expectRefusal(Anything.self, [UInt8](hex: hex)) }
}

/// Reads whatever stands there.
struct Anything: Decodable {
    struct Key: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue _: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        if let map = try? decoder.container(keyedBy: Key.self) {
            for key in map.allKeys { _ = try map.decode(Anything.self, forKey: key) }
        } else if var array = try? decoder.unkeyedContainer() {
            while !array.isAtEnd { _ = try array.decode(Anything.self) }
        } else {
            let value = try decoder.singleValueContainer()
            guard !value.decodeNil() else { return }
            if (try? value.decode(Double.self)) != nil { return }
            if (try? value.decode(Int128.self)) != nil { return }
            if (try? value.decode(Bool.self)) != nil { return }
            if (try? value.decode(Data.self)) != nil { return }
            if (try? value.decode(UUID.self)) != nil { return }
            if (try? value.decode(URL.self)) != nil { return }
            _ = try value.decode(String.self)
        }
    }
}
