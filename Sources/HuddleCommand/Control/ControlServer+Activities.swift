import Foundation
import GroupActivities
import Huddle
import MeshWire
import MessageCoding

// Activities by Apple's names: what runs, and starting one.
extension ControlServer {
    func listSessions() async -> [JSON.Member] {
        [JSON.Member("sessions", .array(await sessions()))]
    }

    /// Starts an activity whose value has the fields given, as a program's `Codable` has them.
    func startActivity(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member] {
        let room = try await requireRoom()
        let identifier = try request.text("activity")
        let payload = request.json["payload"] ?? .object([])
        var shown = GroupActivityMetadata()
        do {
            // A campaign is checked before it is shown to anybody, and says itself what is shown.
            let campaign =
                identifier == CampaignActivity.activityIdentifier
                ? try CampaignActivity(extras: texts(payload)) : nil
            if let campaign { shown = campaign.metadata }
            shown.title = try request.optionalText("title") ?? shown.title
            let (session, isNew) =
                if let campaign {
                    try await room.node.startActivity(identifier, fields: campaign, shown: shown)
                } else {
                    try await room.node.startActivity(identifier, fields: payload, shown: shown)
                }
            return [
                JSON.Member("session", .string(hexadecimal(session.id.bytes))),
                JSON.Member("activity", .string(identifier)), JSON.Member("isNew", .bool(isNew)),
            ]
        } catch let error as HuddleError {
            throw ControlFailure(error)
        } catch let error as ControlFailure {
            throw error
        } catch {
            throw ControlFailure(error)
        }
    }

    /// The members of an object that are texts.
    private func texts(_ json: JSON) -> [String: String] {
        var texts: [String: String] = [:]
        for member in json.members ?? [] { texts[member.key] = member.value.text }
        return texts
    }

    /// The title and the address that people are shown of an activity, if its metadata are of Apple's form.
    nonisolated func shown(_ activity: SessionActivity?) -> (title: String?, address: String?) {
        guard let bytes = activity?.metadata, !bytes.isEmpty,
            let shown = try? MessageDecoder().decode(GroupActivityMetadata.self, from: bytes)
        else { return (nil, nil) }
        return (shown.title, shown.fallbackURL?.absoluteString)
    }
}

extension ControlFailure {
    /// Why an activity was not started, other than by the room.
    fileprivate init(_ error: any Error) {
        switch error {
        case ActivationError.tooLarge(let field, let size, let limit):
            self.init(
                "tooLarge",
                "the activity's \(field) has \(size) bytes, the limit is \(limit)",
                exit: 2
            )
        case ActivationError.encoding(let what, let path):
            self.init("encoding", "the activity cannot be encoded at '\(path)': \(what)", exit: 2)
        case let error as CampaignError:
            self.init("campaign", error.errorDescription ?? "\(error)", exit: 2)
        default: self.init("encoding", "\(error)", exit: 2)
        }
    }
}
