import GroupActivities
import Huddle

/// The part of the peer that shares attachments.
@MainActor
final class JournalPeer {
    /// What is said about an attachment.
    struct Label: Codable {
        var text: String
    }

    private let session: GroupSession<Canvas>
    private let journal: GroupSessionJournal
    private var known: [String: GroupSessionJournal.Attachment] = [:]

    init(session: GroupSession<Canvas>) {
        self.session = session
        journal = GroupSessionJournal(session: session)
        Task {
            for await attachments in journal.attachments {
                for attachment in attachments { known[attachment.id.uuidString] = attachment }
                let ids = attachments.map(\.id.uuidString).joined(separator: ",")
                say("attachments \(attachments.count) \(ids)")
            }
            say("attachments end")
        }
    }

    /// Blocks of 64 KiB, each of another byte, so that one in a wrong place shows.
    nonisolated static func content(_ size: Int) -> Data {
        var data = Data(capacity: size)
        var number = 0
        while data.count < size {
            let count = min(65_536, size - data.count)
            data.append(Data(repeating: UInt8(truncatingIfNeeded: number % 251), count: count))
            number += 1
        }
        return data
    }

    func obey(_ words: [String]) async {
        do {
            switch words[0] {
            case "attach":
                let data = Self.content(Int(words[1])!)
                let attachment =
                    words.count > 2
                    ? try await journal.add(data, metadata: Label(text: words[2]))
                    : try await journal.add(data)
                say("attached \(attachment.id)")
            case "attachfile":
                let attachment = try await journal.add(Letter(file: words[1]))
                say("attached \(attachment.id)")
            case "load":
                let data = try await attachment(words[1]).load(Data.self)
                say("loaded \(data.count) \(data == Self.content(data.count) ? "right" : "wrong")")
            case "metadata":
                let label = try await attachment(words[1]).loadMetadata(of: Label.self)
                say("metadata \(label.text.count) \(label.text.prefix(8))")
            case "remove":
                try await journal.remove(attachment: attachment(words[1]))
                say("removed \(words[1])")
            case "spread":
                // The attachment is in so many other places that this program may go.
                let meant = UUID(uuidString: words[1])
                for await all in await session.session.journal.attachments {
                    guard let one = all.first(where: { $0.id.uuid == meant }) else { continue }
                    let load = session.session.journal.load(one)
                    try await load.heldElsewhere(by: Int(words[2])!)
                    say("spread \(words[2])")
                    break
                }
            default: break
            }
        } catch {
            say("error \(error)")
        }
    }

    private func attachment(_ id: String) throws -> GroupSessionJournal.Attachment {
        guard let attachment = known[id] else { throw Unknown(id: id) }
        return attachment
    }

    private struct Unknown: Error { let id: String }
}

/// A text in a file.
struct Letter: Transferable {
    var file: String

    static var transferRepresentation: some TransferRepresentation {
        FileRepresentation(contentType: .plainText) {
            SentTransferredFile(URL(fileURLWithPath: $0.file))
        } importing: {
            Letter(file: $0.file.path)
        }
    }
}
