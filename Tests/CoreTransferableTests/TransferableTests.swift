import CoreTransferable
import Foundation
import Testing

@Suite("Transferable") struct TransferableTests {
    struct Todo: Codable, Hashable, Transferable {
        var text: String
        var isDone = false

        static var transferRepresentation: some TransferRepresentation {
            CodableRepresentation(contentType: .todo)
            DataRepresentation(exportedContentType: .png) { Data($0.text.utf8) }
            ProxyRepresentation(exporting: \.text)
        }
    }

    /// Explicit coders, an explicit item, and the type of the representation written out.
    struct Note: Codable, Hashable, Transferable {
        var title: String

        static var transferRepresentation:
            CodableRepresentation<Note, PropertyListEncoder, PropertyListDecoder>
        {
            CodableRepresentation(
                for: Note.self,
                contentType: UTType(exportedAs: "org.example.note"),
                encoder: PropertyListEncoder(),
                decoder: PropertyListDecoder()
            )
        }
    }

    struct Film: Hashable, Transferable {
        var text: String
        /// Where the file was that the film was made of.
        var place: URL?

        static var transferRepresentation: some TransferRepresentation {
            FileRepresentation(contentType: .movie) { film in
                let file = FileManager.default.temporaryDirectory
                    .appending(path: "film-\(UUID().uuidString)")
                try Data(film.text.utf8).write(to: file)
                return SentTransferredFile(file)
            } importing: { received in
                #expect(!received.isOriginalFile)
                let text = try String(contentsOf: received.file, encoding: .utf8)
                return Film(text: text, place: received.file)
            }
        }
    }

    /// A representation that is made of others.
    struct Twice: TransferRepresentation {
        typealias Item = Label

        var body: some TransferRepresentation {
            DataRepresentation<Label>(contentType: .json) {
                Data($0.text.utf8)
            } importing: {
                Label(text: "json " + String(decoding: $0, as: UTF8.self))
            }
            DataRepresentation<Label>(importedContentType: .image) { _ in Label(text: "image") }
        }
    }

    struct Label: Hashable, Transferable {
        var text: String
        static var transferRepresentation: some TransferRepresentation { Twice() }
    }

    /// Exports `value` and makes one of the result.
    func roundTrip<T: Transferable>(_ value: T) async throws -> (T, UTType) {
        let (type, content) = try await value.exported()
        return (try await T.imported(from: content, as: type), type)
    }

    @Test("values come back equal, by their first representation") func roundTrips() async throws {
        let todo = try await roundTrip(Todo(text: "tea", isDone: true))
        #expect(todo == (Todo(text: "tea", isDone: true), .todo))
        #expect(try await roundTrip(Note(title: "n")).0 == Note(title: "n"))
        #expect(try await roundTrip(Data([1, 2])) == (Data([1, 2]), .data))
        #expect(try await roundTrip("grüße") == ("grüße", .utf8PlainText))
        let url = try #require(URL(string: "https://example.org/a?b=c"))
        #expect(try await roundTrip(url) == (url, .url))
        #expect(
            try await roundTrip(AttributedString("a")) == (AttributedString("a"), .utf8PlainText)
        )
        #expect(try await roundTrip(Label(text: "x")) == (Label(text: "json x"), .json))
    }

    @Test("Codable is JSON if nothing else is said") func json() async throws {
        let (_, content) = try await Todo(text: "tea").exported()
        let object = try JSONSerialization.jsonObject(with: try content.bytes())
        #expect((object as? [String: Any])?["text"] as? String == "tea")
    }

    @Test("the first representation that fits is taken, and data fits all") func fitting()
        async throws
    {
        let bytes = TransferContent.data(Data("hello".utf8))
        #expect(try await Data.imported(from: bytes, as: .todo) == Data("hello".utf8))
        #expect(try await Data.imported(from: bytes, as: .png) == Data("hello".utf8))
        #expect(try await String.imported(from: bytes, as: .json) == "hello")
        #expect(try await Label.imported(from: bytes, as: .jpeg) == Label(text: "image"))
        await #expect(throws: TransferError.noImport(from: .png)) {
            try await String.imported(from: bytes, as: .png)
        }
        await #expect(throws: TransferError.notUTF8) {
            try await String.imported(from: .data(Data([0xFF])), as: .plainText)
        }
        // Without a type each is tried in order.
        #expect(try await Label.imported(from: bytes, as: nil) == Label(text: "json hello"))
        await #expect(throws: DecodingError.self) {
            try await Todo.imported(from: bytes, as: nil)
        }
    }

    @Test("a value is exported as the type that is asked for") func exporting() async throws {
        let todo = Todo(text: "tea")
        #expect(Todo.exportedContentTypes == [.todo, .png, .utf8PlainText])
        #expect(try await todo.exported(as: .png).content.bytes() == Data("tea".utf8))
        #expect(try await todo.exported(as: .utf8PlainText).content.bytes() == Data("tea".utf8))
        await #expect(throws: TransferError.noExport(as: .pdf)) {
            try await todo.exported(as: .pdf)
        }
    }

    @Test("a file is copied for the import, and the copy goes with it") func files() async throws {
        let (type, content) = try await Film(text: "reel").exported()
        guard case .file(let original) = content else {
            Issue.record("a file representation exports a file")
            return
        }
        #expect(type == .movie)
        let film = try await Film.imported(from: content, as: .mpeg4Movie)
        #expect(film.text == "reel")
        let folder = try #require(film.place).deletingLastPathComponent()
        #expect(!FileManager.default.fileExists(atPath: folder.path))
        #expect(FileManager.default.fileExists(atPath: original.path))
        #expect(try await Data.imported(from: content, as: type) == Data("reel".utf8))
        let fromBytes = TransferContent.data(Data("cut".utf8))
        #expect(try await Film.imported(from: fromBytes, as: .movie).text == "cut")
        try FileManager.default.removeItem(at: original)
        await #expect(throws: (any Error).self) {
            try await Film.imported(from: content, as: .movie)
        }
    }

    @Test("types are names; the table knows the common ones") func types() throws {
        #expect(UTType("public.png") == .png)
        #expect(UTType("Public.PNG") == .png)
        #expect(UTType("no type/at all") == nil)
        #expect(UTType("") == nil)
        #expect(UTType(String(repeating: "a", count: 256)) == nil)
        #expect(UTType.png.conforms(to: .image))
        #expect(UTType.png.conforms(to: .item))
        #expect(!UTType.png.conforms(to: .text))
        let own = UTType(exportedAs: "org.example.own", conformingTo: .png)
        #expect(own.conforms(to: .image))
        #expect(own == UTType("org.example.own"))
        #expect(UTType(filenameExtension: "JPG") == .jpeg)
        #expect(UTType.jpeg.preferredFilenameExtension == "jpeg")
        let coded = try JSONDecoder().decode(
            [UTType].self,
            from: JSONEncoder().encode([UTType.pdf])
        )
        #expect(coded == [.pdf])
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([UTType].self, from: Data(#"["a b"]"#.utf8))
        }
    }
}

@Suite("Names of types") struct TypeNameTests {
    @Test("a constant that is no name traps") func precondition() async {
        await #expect(processExitsWith: .failure) { _ = UTType(exportedAs: "no name") }
    }
}

extension UTType {
    static let todo = UTType(exportedAs: "org.example.todo")
}
