import MeshWire

/// The name by which messages find their readers (`40-groupactivities.md` §6).
///
/// Two binaries of one source agree on it, whatever their modules are called: the leading module of
/// the type and of each generic argument is left out, except that what Swift and Foundation declare
/// is told by `Swift` and `Foundation`. Private and local types print an address as their context,
/// another in each process, which is left out too.
package struct TypeName: Hashable, Sendable, CustomStringConvertible {
    /// The name, at most ``MessageLimits/nameBytes`` of UTF-8.
    package let text: String

    /// Why there is no name.
    package enum Refusal: Error, Hashable, Sendable {
        case tooLong(bytes: Int)
        case empty
    }

    /// The name of a type; throws `tooLong`, which an identifier of its own mends.
    package init(of type: Any.Type) throws(Refusal) {
        try self.init(checking: Self.normalized(_typeName(type, qualified: true)))
    }

    /// The name of a type that says its identifier itself; no other type's name equals it.
    package init(custom identifier: String) throws(Refusal) {
        guard !identifier.isEmpty else { throw .empty }
        try self.init(checking: Self.customPrefix + identifier)
    }

    /// The name that a peer has bound; `nil` if no peer of this version would.
    package init?(received bytes: [UInt8]) {
        guard (1...MessageLimits.nameBytes).contains(bytes.count),
            let text = String(validating: bytes, as: UTF8.self), text != Self.customPrefix
        else { return nil }
        self.text = text
    }

    private init(checking text: String) throws(Refusal) {
        let count = text.utf8.count
        guard count <= MessageLimits.nameBytes else { throw .tooLong(bytes: count) }
        self.text = text
    }

    package var description: String { text }

    /// The name in short, as envelopes carry it.
    ///
    /// The first 8 bytes, little-endian, of `blake2b256` over `"huddle.type.1" ‖ 0 ‖ name`.
    package func hash(by blake2b256: (RawSpan) -> [UInt8]) -> UInt64 {
        let input = Array("huddle.type.1".utf8) + [0] + Array(text.utf8)
        return blake2b256(input.raw).raw.integer(at: 0) ?? 0
    }

    /// Stands before identifiers of types' own; no name of a type begins with it.
    private static let customPrefix = "="

    // MARK: Normalizing

    /// Removes from a qualified name what differs between processes or between modules.
    static func normalized(_ qualified: String) -> String {
        var result = ""
        var rest = withoutContexts(qualified)[...]
        // Whether a word would be the first of its dotted path.
        var isFirst = true
        while let character = rest.first {
            if punctuation.contains(character) {
                result.append(character)
                isFirst = character != "."
                rest.removeFirst()
                continue
            }
            let word = rest.prefix { !punctuation.contains($0) }
            rest.removeFirst(word.count)
            guard isFirst, rest.first == "." else {
                result += word
                continue
            }
            if let kept = keptModule(word) { result += kept + "." }
            rest.removeFirst()
            isFirst = false
        }
        return result
    }

    private static let punctuation: Set<Character> = [
        ".", ",", "<", ">", "(", ")", "[", "]", ":", "&", " ", "?", "-",
    ]

    /// Removes `(unknown context at $…).` and `(extension in …):`.
    private static func withoutContexts(_ name: String) -> String {
        var name = name
        for (opening, closing) in [("(unknown context at $", ")."), ("(extension in ", "):")] {
            while let start = name.firstRange(of: opening),
                let end = name[start.upperBound...].firstRange(of: closing)
            {
                name.removeSubrange(start.lowerBound..<end.upperBound)
            }
        }
        return name
    }

    /// The name under which a module's types are told, if it is not the app's.
    private static func keptModule(_ module: Substring) -> String? {
        switch module {
        case "Swift", "_Concurrency", "_StringProcessing", "Synchronization", "Observation": "Swift"
        case "Foundation", "FoundationEssentials", "FoundationInternationalization",
            "FoundationNetworking":
            "Foundation"
        default: nil
        }
    }
}
