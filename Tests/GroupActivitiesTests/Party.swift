import Foundation
import Synchronization
import Testing

/// Some peers in one room, each a process of its own; ended by ``end()``.
final class Party: Sendable {
    let folder: String
    /// What each is started with behind the way into the room: how bad its links are, and its grace.
    private let extra: [String]
    private let all = Mutex<[Peer]>([])

    /// The peers, the first of which made the room.
    var peers: [Peer] { all.withLock { $0 } }

    /// Starts `names`, the first of which makes the room, or does what else `host` says.
    init(
        _ names: [String],
        fault: String = "",
        grace: Int = 3,
        host word: String = "host"
    ) async throws {
        var template = Array("/tmp/huddle-party-XXXXXX".utf8CString)
        _ = try #require(mkdtemp(&template))
        folder = String(
            decoding: template.dropLast().map(UInt8.init(bitPattern:)),
            as: UTF8.self
        )
        extra = [fault, "\(grace)"]
        let host = try Peer(names[0], in: folder, [word, "-"] + extra)
        all.withLock { $0 = [host] }
        try await host.expect("ready")
        for name in names.dropFirst() { try await welcome(name) }
    }

    /// One more comes into the room.
    @discardableResult
    func welcome(_ name: String, program: String = "SharePlayPeer") async throws -> Peer {
        let host = peers[0]
        host.tell("invite")
        let link = try await host.expect("link ")
        let guest = try Peer(name, in: folder, program: program, ["guest", link] + extra)
        all.withLock { $0.append(guest) }
        try await guest.expect("ready")
        return guest
    }

    func end() {
        for peer in peers { peer.stop() }
        // What is left of a test in a temporary folder does no harm.
        try? FileManager.default.removeItem(atPath: folder)
    }
}

/// Runs `body` with peers of these names in one room.
func withParty(
    _ names: [String],
    fault: String = "",
    grace: Int = 3,
    _ body: (Party) async throws -> Void
) async throws {
    let party = try await Party(names, fault: fault, grace: grace)
    defer { party.end() }
    try await body(party)
}

/// Makes one session that all have joined; answers with each peer's participant identifier.
func gather(_ peers: [Peer], _ words: String = "sketch") async throws -> [String] {
    peers[0].tell("activate \(words)")
    var ids: [String] = []
    for peer in peers {
        let words = try await peer.expect("session ").split(separator: " ")
        ids.append(String(words[3]))
        peer.tell("join")
        try await peer.expect("state joined")
    }
    for peer in peers { try await peer.hears("participants \(peers.count) ") }
    return ids
}

/// A home of its own in which `huddle up` runs on loopback, if `isUp`; `body` gets what programs of it inherit.
func withUser(
    isUp: Bool = true,
    _ body: ([String: String]) async throws -> Void
) async throws {
    var template = Array("/tmp/huddle-user-XXXXXX".utf8CString)
    _ = try #require(mkdtemp(&template))
    let home = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    defer { try? FileManager.default.removeItem(atPath: home) }
    let environment = [
        "HOME": home, "XDG_RUNTIME_DIR": "\(home)/run", "XDG_DATA_HOME": "\(home)/data",
        "XDG_STATE_HOME": "\(home)/state",
    ]
    try FileManager.default.createDirectory(
        atPath: "\(home)/run",
        withIntermediateDirectories: false,
        attributes: [.posixPermissions: 0o700]
    )
    guard isUp else { return try await body(environment) }
    let node = try Peer("node", "huddle", ["up", "--loopback"], environment: environment)
    defer { node.stop() }
    try await node.expect("✓")
    try await body(environment)
}
