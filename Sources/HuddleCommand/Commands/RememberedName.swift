import Foundation
import Glibc
import Huddle

/// The name that the last `huddle up --name NAME` gave this node, kept in `$XDG_STATE_HOME/huddle/name`.
enum RememberedName {
    /// The bytes a node's name may have.
    static let byteCounts = 1...64

    /// The name that was given last; `nil` if none was, or if the file holds none that could be used.
    static func load(_ places: Places) -> String? {
        guard let descriptor = openForReading(path(places)) else { return nil }
        defer { close(descriptor) }
        // One byte more than a name and its newline have, so that a longer one is noticed.
        guard let bytes = readSome(descriptor, limit: byteCounts.upperBound + 2),
            let text = String(validating: bytes, as: UTF8.self)?.trimmed, isName(text)
        else { return nil }
        return text
    }

    /// Keeps a name for the next `huddle up`; it is a convenience, so a failure costs a line of the log.
    static func save(_ name: String, _ places: Places) {
        makeDirectories(places.state)
        do {
            try Data("\(name)\n".utf8).write(
                to: URL(fileURLWithPath: path(places)),
                options: .atomic
            )
        } catch {
            Terminal.log("the name is not remembered: \(path(places)): \(error)")
        }
    }

    /// Whether others can be shown this as a node's name.
    static func isName(_ text: String) -> Bool {
        text == text.printable && byteCounts.contains(text.utf8.count)
    }

    private static func path(_ places: Places) -> String { places.state + "/name" }
}
