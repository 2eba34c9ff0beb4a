import FoundationEssentials
import Testing

@testable import MessageCoding

private struct Hidden {
    struct Inner {}
}

private struct HiddenBox<Element> {}

extension String {
    struct Extra {}
}

@Suite("Routing names — 40-groupactivities §6, G10") struct TypeNameTests {
    struct Message {
        struct Part {}
    }

    struct Box<Element> {
        struct Lid<Other> {}
    }

    func name(_ type: Any.Type) throws -> String { try TypeName(of: type).text }

    @Test("modules of apps are left out, Swift and Foundation stay") func names() throws {
        #expect(try name(Message.self) == "TypeNameTests.Message")
        #expect(try name(Message.Part.self) == "TypeNameTests.Message.Part")
        #expect(try name(Int.self) == "Swift.Int")
        #expect(try name(Date.self) == "Foundation.Date")
        #expect(try name([Date].self) == "Swift.Array<Foundation.Date>")
        #expect(try name(Message?.self) == "Swift.Optional<TypeNameTests.Message>")
        #expect(
            try name([String: [Message]].self)
                == "Swift.Dictionary<Swift.String, Swift.Array<TypeNameTests.Message>>"
        )
        #expect(
            try name(Box<Message>.Lid<Date>.self)
                == "TypeNameTests.Box<TypeNameTests.Message>.Lid<Foundation.Date>"
        )
        #expect(try name((Int, Message).self) == "(Swift.Int, TypeNameTests.Message)")
        #expect(try name((a: Int, b: Message).self) == "(a: Swift.Int, b: TypeNameTests.Message)")
        #expect(try name((any Codable).self) == "Swift.Decodable & Swift.Encodable")
        #expect(try name(Void.self) == "()")
        #expect(try name(((Message) -> Int).self) == "(TypeNameTests.Message) -> Swift.Int")
    }

    @Test("private and local types have the name that every process gives them") func hidden()
        throws
    {
        struct Local {
            struct Inner {}
        }
        #expect(try name(Hidden.self) == "Hidden")
        #expect(try name(Hidden.Inner.self) == "Hidden.Inner")
        #expect(try name(HiddenBox<Hidden>.self) == "HiddenBox<Hidden>")
        #expect(try name(Local.self) == "TypeNameTests.Local")
        #expect(try name([Local.Inner].self) == "Swift.Array<TypeNameTests.Local.Inner>")
        #expect(_typeName(Hidden.self, qualified: true).contains("unknown context"))
    }

    @Test(
        "what the runtime prints of other modules",
        arguments: [
            ("Foo.Message", "Message"), ("Bar.Foo.Message", "Foo.Message"),
            ("A.Outer.(unknown context at $7f00).Inner", "Outer.Inner"),
            ("A.(unknown context at $1).(unknown context at $2).X", "X"),
            ("A.Box<B.(unknown context at $1).X, Swift.Int>", "Box<X, Swift.Int>"),
            ("(extension in A):Swift.String.Extra", "Swift.String.Extra"),
            ("FoundationEssentials.Date", "Foundation.Date"),
            ("Foundation.Date", "Foundation.Date"),
            ("any A.P & B.Q", "any P & Q"), ("Loose", "Loose"), ("", ""),
            ("A.(unknown context at $1", "(unknown context at $1"),
        ]
    )
    func normalized(qualified: String, wanted: String) {
        #expect(TypeName.normalized(qualified) == wanted)
    }

    @Test("names in extensions") func extensions() throws {
        #expect(try name(String.Extra.self) == "Swift.String.Extra")
    }

    @Test("an identifier of its own equals no derived name") func custom() throws {
        #expect(try TypeName(custom: "Swift.Int") != TypeName(of: Int.self))
        #expect(try TypeName(custom: "a").text == "=a")
        #expect(throws: TypeName.Refusal.empty) { try TypeName(custom: "") }
        #expect(throws: TypeName.Refusal.tooLong(bytes: 256)) {
            try TypeName(custom: String(repeating: "x", count: 255))
        }
        #expect(try TypeName(custom: String(repeating: "x", count: 254)).text.utf8.count == 255)
        #expect(TypeName(received: [0xff]) == nil)
        #expect(TypeName(received: Array("a.b".utf8))?.text == "a.b")
    }
}
