import FoundationEssentials
import MeshCrypto
import MeshWire

/// The room of the node that `huddle up` runs for this user, and how another program enters it.
///
/// Whoever may open that node's control socket, this user alone, may ask it for an invitation; the
/// program comes in as its guest, with an identity of its own that ends with it.
enum LocalRoom {
    /// A node of this process that is in the room; its files stand in a folder of this name.
    static func enter(
        _ name: String = "\(ProcessInfo.processInfo.processIdentifier)"
    ) async throws(EligibilityDiagnosis) -> Node {
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
        do {
            var configuration = configuration(name, places)
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

    /// A node of this process in no room, with an identity of its own that ends with it.
    static func start(_ name: String) async throws(HuddleError) -> Node {
        guard let places = Places.ofUser else {
            throw HuddleError(.system, "it is not known where your files are: HOME is not set")
        }
        return try await Node.start(configuration(name, places))
    }

    private static func configuration(_ name: String, _ places: Places) -> NodeConfiguration {
        NodeConfiguration(
            name: ProcessInfo.processInfo.processName,
            places: Places(below: "\(places.runtime)/programs/\(name)")
        )
    }
}
