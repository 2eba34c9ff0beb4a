import GroupActivities
import Huddle
import MeshWire
import MessageCoding

// Activities by Apple's names: what runs, and starting one.
extension ControlServer {
    func listSessions() async -> [JSON.Member] {
        [JSON.Member("sessions", .array(await sessions()))]
    }

    /// Starts an activity whose value is an object of texts, as a program's `Codable` of text fields.
    func startActivity(_ request: ControlRequest) async throws(ControlFailure) -> [JSON.Member] {
        let room = try await requireRoom()
        let identifier = try request.text("activity")
        var fields: [String: String] = [:]
        for member in request.json["fields"]?.members ?? [] {
            fields[member.key] = member.value.text
        }
        var metadata = GroupActivityMetadata()
        metadata.title = try request.optionalText("title")
        let payload: [UInt8]
        let shown: [UInt8]
        do {
            payload = try MessageEncoder().encoded(fields)
            shown = try MessageEncoder().encoded(metadata)
        } catch {
            throw ControlFailure("encoding", error.reason)
        }
        do {
            let (session, isNew) = try await room.node.activate(
                identifier: identifier,
                payload: payload,
                metadata: shown
            )
            return [
                JSON.Member("session", .string(hexadecimal(session.id.bytes))),
                JSON.Member("activity", .string(identifier)), JSON.Member("isNew", .bool(isNew)),
            ]
        } catch {
            throw ControlFailure(error)
        }
    }

    /// The title that an activity's metadata have, if they are of Apple's form.
    func title(_ metadata: [UInt8]) -> String? {
        (try? MessageDecoder().decode(GroupActivityMetadata.self, from: metadata))?.title
    }
}
