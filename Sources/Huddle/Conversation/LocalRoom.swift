import FoundationEssentials
import MeshCrypto
import MeshWire

/// The room of the node that `huddle up` runs for this user, and how another program enters it.
///
/// Whoever may open that node's control socket, this user alone, may ask it for an invitation; the
/// program comes in as its guest, with an identity of its own that ends with it.
enum LocalRoom {
    /// A node of this process that is in the room.
    static func enter() async throws(EligibilityDiagnosis) -> Node {
        guard let places = Places.ofUser else { throw .noRoom }
        let link: String?
        do throws(ControlFailure) {
            let client = try ControlClient(path: places.controlSocket)
            link = try client.request("invite.open", within: .seconds(5))["link"]?.text
        } catch {
            if ["notRunning", "noRoom"].contains(error.code) { throw .noRoom }
            throw .refused(error.message)
        }
        guard let link else { throw .noRoom }
        let process = ProcessInfo.processInfo
        let folder = "\(places.runtime)/programs/\(process.processIdentifier)"
        do {
            var configuration = NodeConfiguration(
                name: process.processName,
                places: Places(below: folder)
            )
            // A room that stays on this machine is entered the same way.
            if InviteLink(link)?.addresses.allSatisfy(\.isLoopback) == true {
                configuration.reach = .loopback
            }
            let node = try await Node.start(configuration)
            do {
                _ = try await node.join(Invitation(link))
            } catch {
                await node.stop()
                throw error
            }
            return node
        } catch {
            throw .refused("\(error)")
        }
    }
}
