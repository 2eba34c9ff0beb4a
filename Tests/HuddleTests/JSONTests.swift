import Testing

@testable import Huddle

@Suite("JSON — RFC 8259") struct JSONTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var text: String, value: JSON?, because: String
        var testDescription: String { "\(text.prefix(30)): \(because)" }
    }

    static let rows = [
        Row(text: "null", value: .null, because: "a word"),
        Row(text: " true ", value: true, because: "spaces around"),
        Row(text: "-12", value: -12, because: "a whole number"),
        Row(text: "1.5e3", value: .number(1500), because: "a number"),
        Row(text: #""a\n\u00e9\ud83d\ude00""#, value: "a\né😀", because: "escapes, a pair"),
        Row(text: #"{"a":[1,{"b":null}]}"#, value: ["a": [1, ["b": nil]]], because: "nested"),
        Row(text: "[]", value: [], because: "empty"),
        Row(text: "", value: nil, because: "nothing"),
        Row(text: "[1,]", value: nil, because: "a comma too many"),
        Row(text: "{\"a\"}", value: nil, because: "no value"),
        Row(text: "{a:1}", value: nil, because: "a key without quotes"),
        Row(text: "tru", value: nil, because: "half a word"),
        Row(text: "1 2", value: nil, because: "two values"),
        Row(text: #""\ud83d""#, value: nil, because: "half a pair"),
        Row(text: #""\x""#, value: nil, because: "no such escape"),
        Row(text: "\"\u{1}\"", value: nil, because: "a control character"),
        Row(text: "1e999", value: nil, because: "not finite"),
        Row(text: "+1", value: nil, because: "a plus"),
        Row(text: String(repeating: "[", count: 20), value: nil, because: "too deep"),
    ]

    @Test("each text is the value it writes, or none")
    func texts() {
        for row in Self.rows {
            let value = try? JSONReader.read(Array(row.text.utf8))
            #expect(value == row.value, "\(row.testDescription)")
        }
    }

    @Test("what is written is read back")
    func roundTrip() throws {
        for row in Self.rows {
            guard let value = row.value else { continue }
            #expect(try JSONReader.read(Array(value.description.utf8)) == value)
        }
        #expect(JSON.number(.infinity).description == "null")
        #expect(JSON.string("a\"\\\u{7f}").description == #""a\"\\\u007f""#)
    }

    @Test("no bytes make the reader trap")
    func noise() {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array(#"{}[]",:\ud8 tfn1.-e"#.utf8)
        for _ in 0..<20_000 {
            let count = Int.random(in: 0..<24, using: &generator)
            let bytes = (0..<count).map { _ in alphabet.randomElement(using: &generator) ?? 0 }
            _ = try? JSONReader.read(bytes)
        }
    }
}
