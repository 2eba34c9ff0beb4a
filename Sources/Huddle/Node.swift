import MeshCrypto
import MeshEngine
import MeshFaults
package import MeshNet
import MeshStore
import MeshTransport
public import MeshWire

/// A running node: an identity, a UDP port, and at most one room.
///
/// Everything of a node happens on the one thread of its ``EventLoop``, which is this actor's
/// executor: sockets, timers and the engine run there without a lock, the application enters by
/// `await`. How a turn goes stands in `Node+Drive.swift`.
///
/// A node stays up until ``stop()``; letting go of the last reference stops it without a farewell,
/// as a crash would.
public actor Node {
    /// The node's identity, the public key of its key file.
    public nonisolated let id: NodeID
    /// What the node was started with.
    public nonisolated let configuration: NodeConfiguration
    /// The UDP port of the data socket.
    public nonisolated let port: UInt16
    /// The thread all of the node runs on.
    package nonisolated let loop: EventLoop

    /// The event loop's thread.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe loop.asUnownedSerialExecutor()
    }

    /// Runs tasks on the node's own thread, for what cannot afford to change threads twice a message.
    ///
    /// `Task(executorPreference: node.executor) { … }` waits for messages and sends them without leaving that
    /// thread. While such a task computes or blocks, the node does nothing: keep it to microseconds.
    public nonisolated var executor: any TaskExecutor { loop }

    // MARK: The run loop's (`Node+Drive.swift`)

    var engine: Engine
    var outlets = Outlets()
    var socket: FaultySocket
    let discovery: DiscoverySockets?
    var received: ReceiveBatch
    var isDirty = true
    var registrations: [LoopRegistration] = []
    var timers: [LoopTimer] = []
    var turnHandler: LoopTurnHandler?

    // MARK: Requests (`Node+Requests.swift`)

    var nextRequest: RequestID = 1
    var waiting: [RequestID: AwaitedEvent] = [:]
    var outcomes: [RequestID: AwaitedEvent] = [:]
    /// Of messages whose outcome is awaited: whether all have it but those who are silent.
    var settling: [RequestID: PartialOutcome] = [:]
    /// Messages that nobody waits for (`Outbox.swift`), and how much of them each request is.
    nonisolated let outbox = Outbox()
    var posted: [RequestID: (count: Int, byteCount: Int)] = [:]
    var phase = RoomPhase.none
    /// The way into a room that is under way.
    var entering: (request: RequestID, kind: RoomEntry)?
    var isStopped = false
    var paces = Paces()
    /// What this node shows to others.
    public internal(set) var profile: Profile
    /// Profiles whose signatures were asked for; looked up, never walked.
    var knownProfiles: [NodeID: KnownProfile] = [:]

    // MARK: What the application listens to (`Node+Events.swift`)

    var roomName = ""
    var view: ViewSummary?
    var hubs: [SessionID: SessionHub] = [:]
    var listeners: [Mailbox<RoomUpdate>] = []
    /// The sessions that run, as far as the application was told; walked by ``standingOrder``.
    var standings: [SessionID: SessionStanding] = [:]
    var standingOrder: [SessionID] = []
    var sessionListeners: [Mailbox<SessionUpdate>] = []
    var board = NoticeBoard()
    /// How the last sessions ended for this node.
    var ends: [(session: SessionID, reason: GroupSessionError)] = []
    /// Numbers drawn for joins that are not in the log yet.
    var nonces: [SessionID: UInt64] = [:]
    var addresses: [NodeID: [SocketAddress]] = [:]
    var networks = NearbyNetworks()
    var invites: [UInt8: OpenInvite] = [:]

    // MARK: Journals (`Journal/Node+Journal.swift`)

    let contents: ContentKeeper

    var record: MeshEngine.RoomRecord?
    /// The last write of the room's record, which waits for those before it.
    var saving: Task<Void, Never>?
    /// Why the room could not be stored, if so.
    package internal(set) var storeFailure: String?
    /// Where rooms are stored to come back; a simulated node has no disk.
    let store: RoomStore?
    private var lock: InstanceLock?
    /// What identifiers are drawn from.
    var secrets: any SecretSource

    init(parts: consuming NodeParts) {
        id = parts.id
        configuration = parts.configuration
        profile = parts.configuration.profile
        port = parts.socket.number
        loop = parts.loop
        engine = parts.engine
        socket = parts.socket
        discovery = parts.discovery
        store = parts.store
        lock = parts.lock
        secrets = parts.secrets
        received = ReceiveBatch(isUsable: !parts.socket.sockets.isEmpty)
        contents = ContentKeeper(of: parts.id)
    }

    deinit {
        loop.stop()
    }

    /// Starts a node: opens its key file (made at the first start), its port and its discovery.
    ///
    /// Throws ``HuddleError`` of kind `keyFile`, `identityInUse`, `portInUse` or `system`; the
    /// description says what to do. The node is in no room yet.
    public static func start(_ configuration: NodeConfiguration) async throws(HuddleError) -> Node {
        let node = Node(parts: try NodeParts(configuration))
        try await node.startDriving()
        return node
    }

    // MARK: Rooms

    /// The room this node is a member of, if any.
    public var room: Room? {
        guard case .joined = phase else { return nil }
        return Room(node: self, name: currentRoomName)
    }

    /// Makes a room with this node as its first member, which follows `policy`.
    ///
    /// Throws `alreadyInRoom` if the node is in one. Cancelling ends the wait only.
    public func createRoom(
        named name: String,
        policy: PartitionPolicy = .available
    ) async throws(HuddleError) -> Room {
        try requireNoRoom()
        roomName = name
        switch await enter(
            .creating,
            { .createRoom($0, name: name, policy: policy.inner) }
        ) {
        case .joined?: return Room(node: self, name: name)
        case .joinFailed(_, let failure)?: throw HuddleError(failure)
        default: throw abandoned
        }
    }

    /// Goes back to the room stored last, with whoever of it is near; `nil` if none is stored.
    ///
    /// Throws `roomFile` if the file is there and cannot be used. Alone, the node goes on alone, and
    /// both become one room when they meet; a room that follows the majority is suspended till then.
    public func resumeRoom() async throws(HuddleError) -> Room? {
        try requireNoRoom()
        guard let record = try storedRoom() else { return nil }
        roomName = record.name
        self.record = record
        switch await enter(.resuming, { .resumeRoom($0, record) }) {
        case .joined?: return Room(node: self, name: record.name)
        case .joinFailed(_, let failure)?: throw HuddleError(failure)
        default: throw abandoned
        }
    }

    /// Enters the room that `invitation` opens.
    ///
    /// A mistyped code never gets here: it is no ``Invitation``. Cancelling ends the wait only.
    public func join(_ invitation: Invitation) async throws(JoinError) -> Room {
        guard !isStopped else { throw .cancelled }
        if case .joined = phase { throw .busy }
        // Its name comes with its state.
        if case .connecting = phase {} else { roomName = "" }
        switch await enter(.joining, { .join($0, invitation.target) }) {
        case .joined?: return Room(node: self, name: currentRoomName)
        case .joinFailed(_, .notFound)?:
            // Whoever named an address wants to hear of that address.
            guard case .code(_, let address?) = invitation.target else { throw .notFound }
            throw .unreachable(address: address)
        case .joinFailed(_, let failure)?: throw JoinError(failure)
        default: throw .cancelled
        }
    }

    /// Says farewell to the room, which it can resume, and stops everything.
    ///
    /// Harmless if it was stopped before. Every wait ends, every sequence finishes.
    public func stop() async {
        guard !isStopped else { return }
        closeOutbox()
        isStopped = true
        await sayFarewell()
        await saving?.value
        stopDriving()
        // Another node may run with this identity now, in this process or another.
        lock = nil
    }

    /// Ends without a word, as a process that is killed.
    ///
    /// Whoever waits in this process hears of it; the room's other members find out by themselves.
    package func crash() {
        guard !isStopped else { return }
        outbox.close()
        isStopped = true
        stopDriving()
        lock = nil
    }

    private func requireNoRoom() throws(HuddleError) {
        guard !isStopped else { throw .stopped }
        switch phase {
        case .joined, .connecting:
            throw HuddleError(
                .alreadyInRoom,
                "the node is in room '\(roomName)' already",
                hint: "leave it first: 'huddle leave'"
            )
        case .none, .left: break
        }
    }

    /// Gets into a room, and waits until that ends one way or the other; the wait may be cancelled.
    private func enter(
        _ kind: RoomEntry,
        _ make: (RequestID) -> MeshEngine.Command
    ) async -> Event? {
        let request = nextRequest
        if entering == nil { entering = (request, kind) }
        let event = await perform(make)
        if event != nil, entering?.request == request { entering = nil }
        return event
    }

    /// How this node is getting into a room just now, if it is.
    package var entry: RoomEntry? { entering?.kind }

    /// Why a wait ended without an answer.
    var abandoned: HuddleError {
        isStopped ? .stopped : HuddleError(.cancelled, "the wait was cancelled")
    }
}

/// A way into a room.
package enum RoomEntry: String, Sendable {
    /// A new room.
    case creating
    /// The stored one.
    case resuming
    /// Somebody else's, by an invitation.
    case joining
}

extension HuddleError {
    static let stopped = HuddleError(.stopped, "the node was stopped")
    package static let noRoom = HuddleError(
        .noRoom,
        "this node is in no room",
        hint: "'huddle join CODE' enters one; 'huddle down' and 'huddle up --room NAME' make one"
    )
}
