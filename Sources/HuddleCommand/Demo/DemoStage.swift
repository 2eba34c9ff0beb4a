import Foundation
import Glibc
import Huddle
import MeshNet
import MeshWire

/// Where the demo plays: the folder, the nodes, and what is known of all of them together.
@MainActor
final class DemoStage {
    private let folder: String
    private let fault: String
    private let command: String
    let keepsFolder: Bool
    /// The nodes that live, in the order of their names.
    private(set) var nodes: [DemoNode] = []

    /// A stage in a new folder of this machine's temporary directory, for what `command` does.
    init(fault: String, keepsFolder: Bool, command: String = "demo") throws(Failure) {
        self.fault = fault
        self.keepsFolder = keepsFolder
        self.command = command
        let base = environment("TMPDIR") ?? "/tmp"
        // A socket's path has 107 bytes at most: "/huddle-bench-XXXXXX/anna/run/huddle/node.sock".
        let place = base.utf8.count < 50 ? base : "/tmp"
        let prefix = "huddle-\(command)-"
        Self.removeRemains(in: place, prefix)
        folder = try makeTemporaryDirectory(in: place, prefix: "\(prefix)\(getpid())-")
    }

    /// Removes the folders of runs that were killed before they could do it themselves.
    private static func removeRemains(in place: String, _ prefix: String) {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: place)
        } catch {
            return  // what cannot be read has nothing of ours
        }
        for name in names where name.hasPrefix(prefix) {
            let digits = name.dropFirst(prefix.count).prefix { $0 != "-" }
            guard let pid = Int32(digits), kill(pid, 0) != 0, errno == ESRCH else { continue }
            // Another user's stays; it is not ours to remove.
            try? FileManager.default.removeItem(atPath: "\(place)/\(name)")
        }
    }

    /// Starts nodes of these names side by side, and waits until all are ready.
    func start(_ names: [String]) throws(Failure) {
        for name in names {
            nodes.append(try DemoNode(name: name, below: folder, fault: fault, command: command))
        }
        for node in nodes { try node.awaitReady(within: .seconds(15)) }
    }

    /// The living node called `name`.
    func node(_ name: String) throws(Failure) -> DemoNode {
        guard let node = nodes.first(where: { $0.name == name }) else {
            throw Failure(command, "there is no node \(name)")
        }
        return node
    }

    /// Starts a node that crashed anew; it goes back to its room.
    func restart(_ node: DemoNode) throws(Failure) {
        node.reap(within: .seconds(5))
        guard let place = nodes.firstIndex(where: { $0 === node }) else { return }
        nodes[place] = try DemoNode(
            name: node.name,
            below: folder,
            fault: fault,
            command: command,
            resumes: true
        )
        try nodes[place].awaitReady(within: .seconds(15))
    }

    /// Takes a node that crashed off the stage.
    func remove(_ node: DemoNode) {
        nodes.removeAll { $0 === node }
    }

    /// Ends every process and removes every file; the demo's last deed, whatever happened.
    func clear() {
        for node in nodes { node.askToEnd() }
        for node in nodes { node.reap(within: .seconds(3)) }
        nodes = []
        if keepsFolder {
            Terminal.log("kept: \(folder)")
        } else {
            // What cannot be removed is not ours any more; there is nothing left to do about it.
            try? FileManager.default.removeItem(atPath: folder)
        }
    }

    /// Ends the demo if a signal asks for it.
    nonisolated static func checkSignals() throws(Failure) {
        guard let signal = Signals.take() else { return }
        throw Failure("stopped", "stopped", exit: Signals.exitCode(signal))
    }

    /// Polls until `condition` answers something; throws with `claim` after `timeout`.
    @discardableResult
    func wait<Result>(
        _ claim: String,
        within timeout: Duration,
        until condition: () throws(Failure) -> Result?
    ) throws(Failure) -> Result {
        let deadline = SystemClock.now() + timeout
        while true {
            try Self.checkSignals()
            if let result = try condition() { return result }
            guard SystemClock.now() < deadline else {
                throw Failure("claim", "\(claim): not within \(shown(timeout))")
            }
            usleep(20_000)
        }
    }

    // MARK: What several nodes say

    /// What each of `nodes` says of the room.
    func rooms(_ nodes: [DemoNode]) throws(Failure) -> [RoomWord] {
        var words: [RoomWord] = []
        for node in nodes { words.append(RoomWord(node.name, try node.ask("status"))) }
        return words
    }

    /// Waits until all of `nodes` are in one usable view of just them, and answers with it.
    func waitForOneView(
        of nodes: [DemoNode],
        within timeout: Duration,
        sameState: Bool = false
    ) throws(Failure) -> RoomWord {
        let names = nodes.map(\.name).joined(separator: ", ")
        var words: [RoomWord] = []
        do {
            return try wait("one view of \(names)", within: timeout) { () throws(Failure) in
                words = try rooms(nodes)
                guard let first = words.first else { return nil }
                let agree = words.allSatisfy { word in
                    word.epoch == first.epoch && word.leader == first.leader && word.isUsable
                        && word.viewSize == nodes.count && (!sameState || word.state == first.state)
                }
                return agree && !first.epoch.isEmpty && !first.leader.isEmpty ? first : nil
            }
        } catch {
            var failure = error
            if failure.code == "claim" {
                failure.message += "; " + words.map(\.description).joined(separator: "; ")
            }
            throw failure
        }
    }
}

/// What one node says of the room.
struct RoomWord: Hashable, CustomStringConvertible {
    var node: String
    var epoch: String
    var leader: String
    var viewSize: Int
    var isUsable: Bool
    var isPrimary: Bool
    var state: String

    init(_ node: String, _ status: JSON) {
        let room = status["room"] ?? .null
        self.node = node
        epoch = room["epoch"]?.text ?? ""
        let members = room["members"]?.elements ?? []
        leader = members.first { $0["isLeader"]?.flag == true }?["name"]?.text ?? ""
        viewSize = Int(room["viewSize"]?.whole ?? 0)
        isUsable = room["isUsable"]?.flag ?? false
        isPrimary = room["isPrimary"]?.flag ?? false
        state = room["state"]?.text ?? ""
    }

    var description: String {
        let usable = isUsable ? "" : ", not usable"
        return
            "\(node): \(epoch) of \(viewSize) led by \(leader), state \(state.prefix(8))\(usable)"
    }
}
