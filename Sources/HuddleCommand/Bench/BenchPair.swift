import Huddle
import Synchronization

/// Two nodes on loopback in one room, each with its own thread, and a session that both are in.
struct BenchPair {
    let (ada, bob): (Node, Node)
    /// The session as the first and as the second sees it.
    let (mine, theirs): (Session, Session)

    init(in folder: String) async throws {
        let ada = try await Self.start("ada", in: folder)
        let bob = try await Self.start("bob", in: folder)
        let room = try await ada.createRoom(named: "bench")
        let other = try await bob.join(Invitation(try await room.invite().link))
        let mine = try await room.start("huddle.bench.lanes")
        // The second hears of it by the log.
        while await other.sessions.first(where: { $0.id == mine.id }) == nil {
            try await Task.sleep(for: .milliseconds(5))
        }
        let theirs = Session(id: mine.id, node: bob)
        try await theirs.join()
        while await mine.participants.count < 2 { try await Task.sleep(for: .milliseconds(5)) }
        try await mine.send([0], on: "first")
        (self.ada, self.bob, self.mine, self.theirs) = (ada, bob, mine, theirs)
    }

    static func start(_ name: String, in folder: String) async throws -> Node {
        var configuration = NodeConfiguration(
            name: name,
            places: Places(below: "\(folder)/\(name)")
        )
        configuration.reach = .loopback
        configuration.isDiscovering = false
        return try await Node.start(configuration)
    }

    func stop() async {
        await bob.stop()
        await ada.stop()
    }
}

/// Counts what arrives, on any thread.
final class Counter: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .relaxed) }

    func add(_ amount: Int) { count.add(amount, ordering: .relaxed) }
}
