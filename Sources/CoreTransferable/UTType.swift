/// The type of some content, named by a reverse domain name as "public.png".
///
/// There is no registry on Linux: a type knows what the table of this module says, and a name that
/// the table lacks is a type of its own that conforms to nothing else.
public struct UTType: Hashable, Codable, Sendable {
    /// The name, in lower case; it alone counts for equality.
    public let identifier: String

    /// What the type is a case of, by the word of who made this value; not encoded.
    private var declaredParent: String?

    /// The type called `identifier`, or nil if that has other characters than the letters, digits,
    /// dots and hyphens of a domain name, or more than 255 of them.
    public init?(_ identifier: String) {
        guard Self.isName(identifier) else { return nil }
        self.identifier = identifier.lowercased()
    }

    /// A type that the app defines.
    ///
    /// - Precondition: `identifier` is a name as in ``init(_:)``.
    public init(exportedAs identifier: String, conformingTo parent: UTType? = nil) {
        precondition(Self.isName(identifier), "'\(identifier)' is no name of a type")
        self.identifier = identifier.lowercased()
        declaredParent = parent?.identifier
    }

    /// A type that another app defines.
    ///
    /// - Precondition: `identifier` is a name as in ``init(_:)``.
    public init(importedAs identifier: String, conformingTo parent: UTType? = nil) {
        self.init(exportedAs: identifier, conformingTo: parent)
    }

    /// The type of files with the extension, or nil if the table has none.
    public init?(filenameExtension: String) {
        let wanted = filenameExtension.lowercased()
        guard let name = Self.table.first(where: { $0.value.extensions.contains(wanted) })?.key
        else { return nil }
        identifier = name
    }

    /// The type of a name from a decoder; a name as in ``init(_:)``.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let type = UTType(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "no name of a type"
            )
        }
        self = type
    }

    /// Encodes the name.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(identifier)
    }

    /// The usual extension of files of the type, if the table has one.
    public var preferredFilenameExtension: String? { Self.table[identifier]?.extensions.first }

    /// Whether this type is `type` or a special case of it, by the table and by what it was made
    /// with.
    public func conforms(to type: UTType) -> Bool {
        if self == type { return true }
        // A parent has none of its own but in the table, which has no circles: this ends.
        let parents = Self.table[identifier]?.parents ?? []
        return (parents + [declaredParent].compactMap(\.self)).contains { parent in
            UTType(known: parent).conforms(to: type)
        }
    }

    /// Whether both have one name.
    public static func == (left: UTType, right: UTType) -> Bool {
        left.identifier == right.identifier
    }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(identifier)
    }

    private init(known identifier: String) {
        self.identifier = identifier
    }

    private static func isName(_ text: String) -> Bool {
        (1...255).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}

extension UTType {
    /// Any content.
    public static let item = UTType(known: "public.item")
    /// Content that is for people.
    public static let content = UTType(known: "public.content")
    /// Bytes.
    public static let data = UTType(known: "public.data")
    /// Text of any kind.
    public static let text = UTType(known: "public.text")
    /// Text without marks.
    public static let plainText = UTType(known: "public.plain-text")
    /// Text in UTF-8.
    public static let utf8PlainText = UTType(known: "public.utf8-plain-text")
    /// JSON.
    public static let json = UTType(known: "public.json")
    /// A resource's address.
    public static let url = UTType(known: "public.url")
    /// A file's address.
    public static let fileURL = UTType(known: "public.file-url")
    /// An image of any format.
    public static let image = UTType(known: "public.image")
    /// A PNG image.
    public static let png = UTType(known: "public.png")
    /// A JPEG image.
    public static let jpeg = UTType(known: "public.jpeg")
    /// Sound or pictures that move.
    public static let audiovisualContent = UTType(known: "public.audiovisual-content")
    /// A film, with or without sound.
    public static let movie = UTType(known: "public.movie")
    /// A film in an MPEG-4 file.
    public static let mpeg4Movie = UTType(known: "public.mpeg-4")
    /// Sound.
    public static let audio = UTType(known: "public.audio")
    /// A PDF document.
    public static let pdf = UTType(known: "com.adobe.pdf")

    /// By name: what the type is a case of, and the extensions of its files, the usual one first.
    private static let table: [String: (parents: [String], extensions: [String])] = [
        "public.data": (["public.item"], []),
        "public.content": (["public.item"], []),
        "public.text": (["public.data", "public.content"], []),
        "public.plain-text": (["public.text"], ["txt"]),
        "public.utf8-plain-text": (["public.plain-text"], []),
        "public.json": (["public.text"], ["json"]),
        "public.url": (["public.data"], []),
        "public.file-url": (["public.url"], []),
        "public.image": (["public.data", "public.content"], []),
        "public.png": (["public.image"], ["png"]),
        "public.jpeg": (["public.image"], ["jpeg", "jpg"]),
        "public.audiovisual-content": (["public.data", "public.content"], []),
        "public.movie": (["public.audiovisual-content"], []),
        "public.mpeg-4": (["public.movie"], ["mp4"]),
        "public.audio": (["public.audiovisual-content"], []),
        "com.adobe.pdf": (["public.data", "public.content"], ["pdf"]),
    ]
}
