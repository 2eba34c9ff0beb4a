import MeshConsensus
import MeshSession
import MeshWire

/// A room on the bench: a state, a log that grows, processes by letter.
struct Bench {
    var room = RoomState(digest: Bench.digest)
    /// What happened, to be applied again by another replica.
    private(set) var history: [Entry] = []
    private var observer = RoomObserver(seen: RoomState(digest: Bench.digest))
    private var index: UInt64 = 0
    private var sequence: UInt64 = 0

    /// One entry of the log.
    enum Entry {
        case view([ProcessID], leader: ProcessID, departed: [ProcessID], Position)
        case command(Command, Position)
    }

    static let session = SessionID(Array(repeating: 7, count: 16)) ?? .zero
    static let other = SessionID(Array(repeating: 9, count: 16)) ?? .zero
    static let (a, b, c, d) = (process("A"), process("B"), process("C"), process("D"))

    /// A process of the node called `name`.
    static func process(_ name: Character, life: UInt64 = 1) -> ProcessID {
        let byte = name.asciiValue ?? 0
        let node = NodeID(Array(repeating: byte, count: 32)) ?? .zero
        return ProcessID(nodeID: node, incarnation: life, tag: UInt64(byte) << 56 | life)
    }

    /// A hash that is good enough to tell joins apart.
    static func digest(_ bytes: [UInt8]) -> Digest {
        var words: [UInt64] = [1, 2, 3, 4]
        for byte in bytes {
            for lane in words.indices {
                words[lane] = (words[lane] ^ UInt64(byte)) &* 0x100_0000_01b3 &+ UInt64(lane)
            }
        }
        let out = words.flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
        }
        return Digest(out) ?? .zero
    }

    /// A room with A, B and C, led by A, and no session.
    init() {
        install([Self.a, Self.b, Self.c])
        _ = events()
    }

    /// A room with A, B and C in one session, which A leads.
    static func joined(
        _ blueprint: SessionBlueprint = SessionBlueprint(activity: .chess)
    ) -> Bench {
        var bench = Bench()
        bench.apply(.startSession(blueprint), by: a)
        for process in [a, b, c] { bench.apply(.join(nonce: 0), by: process) }
        _ = bench.events()
        return bench
    }

    mutating func install(_ members: [ProcessID], leader: ProcessID = a, departed: [ProcessID] = [])
    {
        let position = next()
        history.append(.view(members, leader: leader, departed: departed, position))
        room.install(members: members, leader: leader.tag, departed: departed, at: position)
    }

    @discardableResult
    mutating func apply(
        _ command: RoomCommand,
        session: SessionID = Bench.session,
        by origin: ProcessID = a
    ) -> CommandResult {
        sequence += 1
        // A join without a nonce draws one, as a node does.
        let isJoin = command == .join(nonce: 0)
        let record = Command(
            isJoin ? .join(nonce: sequence) : command,
            session: session,
            origin: Origin(origin),
            sequence: sequence
        )
        return apply(record)
    }

    @discardableResult
    mutating func apply(_ record: Command) -> CommandResult {
        let position = next()
        history.append(.command(record, position))
        return room.result(of: record, at: position)
    }

    /// What changed since the last call.
    mutating func events() -> [RoomEvent] {
        observer.observe(room)
    }

    /// The identifier of the participant of `process`.
    func id(_ process: ProcessID) -> ParticipantID {
        current?.participant(of: process)?.id ?? .zero
    }

    /// The session of most tests.
    var current: RoomSession? { room.session(Self.session) }

    /// The position of the last entry.
    var last: Position { Position(epoch: Epoch(counter: 1, proposer: Self.a.tag), index: index) }

    private mutating func next() -> Position {
        index += 1
        return last
    }
}

extension Activity {
    static let chess = Activity(identifier: "org.example.chess", payload: [1, 2, 3])
}
