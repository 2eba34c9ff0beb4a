import Foundation
import Huddle
import Testing

@Suite("JSON as a value of a program's") struct JSONEncodingTests {
    private struct Film: Decodable, Equatable {
        struct Part: Decodable, Equatable {
            var number: Int
            var length: Double
            var note: String?
        }

        var title: String
        var isLong: Bool
        var parts: [Part]
        var tags: [String: [Int]]
    }

    @Test("nested fields are what a Codable type of them reads")
    func nested() throws {
        let text = """
            {"title": "Ä", "isLong": true, "parts": [{"number": -7, "length": 1.5, "note": null}],
             "tags": {"a": [1, 2], "b": []}}
            """
        let json = try JSONReader.read(Array(text.utf8))
        let bytes = try JSONEncoder().encode(json)
        let film = try JSONDecoder().decode(Film.self, from: bytes)
        let part = Film.Part(number: -7, length: 1.5, note: nil)
        let tags = ["a": [1, 2], "b": []]
        #expect(film == Film(title: "Ä", isLong: true, parts: [part], tags: tags))
    }

    @Test("a value need not be an object")
    func fragments() throws {
        for text in ["7", "\"a\"", "[1,[true]]", "null"] {
            let json = try JSONReader.read(Array(text.utf8))
            #expect(String(decoding: try JSONEncoder().encode(json), as: UTF8.self) == text)
        }
    }
}
