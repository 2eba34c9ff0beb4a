import Huddle
import MeshWire

/// The newest notices of the room, as the node of `huddle up` keeps and shows them.
struct NoticeLog {
    struct Entry {
        var number: Int
        var notice: Notice
        var isAnswered = false
    }

    /// Notices kept for those who look later.
    static let kept = 64
    /// Notices that a node in the background writes into its log, where nobody makes place.
    static let logged = 1000

    private(set) var entries: [Entry] = []
    private var last = 0

    /// Keeps a notice and says what is told of it.
    mutating func keep(_ notice: Notice) -> JSON {
        last += 1
        let entry = Entry(number: last, notice: notice)
        entries.append(entry)
        if entries.count > Self.kept { entries.removeFirst(entries.count - Self.kept) }
        return .object(Self.members(entry))
    }

    /// The invitation of this number, or the newest that was not answered.
    func invitation(_ number: Int?) -> Entry? {
        entries.last { entry in
            guard case .invitation = entry.notice.subject else { return false }
            return number.map { entry.number == $0 } ?? !entry.isAnswered
        }
    }

    mutating func noteAnswer(_ number: Int) {
        guard let index = entries.firstIndex(where: { $0.number == number }) else { return }
        entries[index].isAnswered = true
    }

    static func members(_ entry: Entry) -> [JSON.Member] {
        var members = [
            JSON.Member("number", .count(entry.number)),
            JSON.Member("who", .string(entry.notice.who)),
            JSON.Member("text", .string(entry.notice.text)),
        ]
        switch entry.notice.subject {
        case .event(let session, _):
            members.append(JSON.Member("session", .string(hexadecimal(session.bytes))))
        case .invitation(_, let activity):
            members.append(JSON.Member("invitesTo", .string(activity)))
            members.append(JSON.Member("isAnswered", .bool(entry.isAnswered)))
        case .answer: break
        }
        return members
    }

    /// A notice as a person reads it: who did what.
    static func words(_ notice: JSON) -> String {
        guard notice["invitesTo"] != nil else {
            return "\(notice.shown("who")) \(notice.shown("text"))"
        }
        let number = notice["number"]?.whole ?? 0
        let hint =
            notice["isAnswered"]?.flag == true
            ? "answered" : "'huddle notices accept \(number)' starts it"
        return "\(notice.shown("who")) invites to '\(notice.shown("text"))' (\(hint))"
    }
}

extension ControlServer {
    /// Shows what members of the room tell all others, as long as the node runs.
    func followNotices() async {
        for await notice in await node.notices(of: nil) {
            if case .answer = notice.subject { continue }
            let shown = notices.keep(notice)
            log(shown)
            publish("notices", ControlMessage.event("notice", shown.members ?? []))
        }
    }

    /// Shows a notice on the terminal; members must not fill the log of a node in the background.
    private func log(_ notice: JSON) {
        let number = notice["number"]?.whole ?? 0
        guard Terminal.isLog, number >= NoticeLog.logged else {
            return Terminal.log(NoticeLog.words(notice))
        }
        guard number == NoticeLog.logged else { return }
        Terminal.log("no more notices are written here; 'huddle notices' lists the newest")
    }

    func listNotices() -> [JSON.Member] {
        let all = notices.entries.map { JSON.object(NoticeLog.members($0)) }
        return [JSON.Member("notices", .array(all))]
    }

    func answerNotice(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member] {
        let room = try await requireRoom()
        let number = request.json["number"]?.whole.map { Int(clamping: $0) }
        guard let entry = notices.invitation(number) else {
            throw ControlFailure(
                "noInvitation",
                number.map { "there is no invitation \($0)" }
                    ?? "nobody has invited to anything",
                hint: "'huddle notices' lists what came"
            )
        }
        do {
            try await room.answer(entry.notice, accepting: try request.flag("isAccepted"))
        } catch MessengerError.notDelivered(let failures) where failures.isEmpty {
            throw ControlFailure("gone", "'\(entry.notice.who)' is not in the room any more")
        } catch let error as MessengerError {
            throw ControlFailure(error)
        } catch let error as ControlFailure {
            throw error
        } catch {
            preconditionFailure("no other error is thrown: \(error)")
        }
        notices.noteAnswer(entry.number)
        return [
            JSON.Member("who", .string(entry.notice.who)),
            JSON.Member("text", .string(entry.notice.text)),
        ]
    }
}
