/// What is wrong with the bytes of a message, and where.
///
/// Trivial, so that throwing one allocates nothing.
struct Flaw: Error {
    /// What is wrong.
    enum Kind: String {
        case truncated = "the message ends inside an item"
        case trailing = "bytes follow the message"
        case indefinite = "an indefinite length or a reserved head"
        case notShortest = "a number that is not in its shortest form"
        case simple = "a simple value or a float outside the subset"
        case tag = "a tag that is unknown or stands before another item than it should"
        case count = "a count greater than the bytes left"
        case depth = "containers in each other more than 256 deep"
        case key = "a key that is not text"
        case text = "a text that is not UTF-8"
        case doubledKey = "two equal keys in one map"
    }

    var kind: Kind
    var offset: Int

    init(_ kind: Kind, at offset: Int) {
        self.kind = kind
        self.offset = offset
    }

    func error(at path: [MessageKey]) -> DecodingError {
        .dataCorrupted(
            .init(codingPath: path, debugDescription: "\(kind.rawValue), at byte \(offset)")
        )
    }
}
