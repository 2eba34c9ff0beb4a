import Huddle
import MeshNet
import MeshWire

/// Serves a node's control socket, on the node's own thread (`ControlMessage` has the language).
///
/// Hostile input costs a typed error or the connection, never more: lines, connections and waiting
/// requests are bounded, and only processes of the same user are let in.
actor ControlServer {
    let node: Node
    nonisolated let loop: EventLoop
    private let listener: UnixListener
    private var registration: LoopRegistration?
    private var connections: [Int: ControlConnection] = [:]
    private var nextConnection = 1
    var chat: ChatRoom
    var notices = NoticeLog()
    private var watches: [Int: Task<Void, Never>] = [:]
    private var nextWatch = 1
    /// The room that `huddle up` made because there was none, until it gives way to an invitation.
    var unusedRoom: String?
    let started: Instant
    /// Called when somebody asks the node to stop.
    let onDown: @Sendable () -> Void

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe loop.asUnownedSerialExecutor()
    }

    /// Listens at `path`.
    init(node: Node, path: String, onDown: @escaping @Sendable () -> Void) throws(Failure) {
        self.node = node
        loop = node.loop
        self.onDown = onDown
        started = SystemClock.now()
        chat = ChatRoom()
        do {
            listener = try UnixListener(path: path)
        } catch {
            throw Failure(
                "controlSocket",
                error.description,
                exit: error.isAboutFiles ? ExitCode.usage : ExitCode.failure
            )
        }
    }

    /// Notes that the node's room was just made and is nobody's yet.
    func noteUnused(room: String) {
        unusedRoom = room
    }

    /// Begins to accept.
    func start() throws(Failure) {
        do {
            registration = try loop.register(listener.descriptor) { [weak self] _ in
                guard let self else { return }
                assumeIsolated { $0.accept() }
            }
        } catch {
            throw Failure("system", "the control socket cannot be watched: \(error)")
        }
        watch { await $0.followRoom() }
        watch { await $0.followNotices() }
    }

    /// Closes everything and removes the socket's file.
    func stop() {
        if let registration { loop.remove(registration) }
        registration = nil
        listener.close()
        for task in watches.values { task.cancel() }
        watches = [:]
        for id in connections.keys { close(id) }
    }

    /// Runs `body` until it ends by itself or the server stops.
    func watch(_ body: @escaping @Sendable (isolated ControlServer) async -> Void) {
        let id = nextWatch
        nextWatch += 1
        watches[id] = Task {
            await body(self)
            self.watches[id] = nil
        }
    }

    // MARK: Connections

    private func accept() {
        while true {
            let connection: UnixConnection?
            do {
                connection = try listener.accept()
            } catch {
                return  // one visitor less; the next turn tells if others wait
            }
            guard let connection else { return }
            guard connections.count < ControlMessage.connectionsMaximum else {
                let failure = ControlFailure(
                    "tooMany",
                    "too many programs talk to the node already"
                )
                connection.send(line: ControlMessage.failure(id: nil, failure).description.utf8)
                continue
            }
            serve(connection)
        }
    }

    private func serve(_ socket: UnixConnection) {
        let id = nextConnection
        nextConnection += 1
        do {
            let registration = try loop.register(socket.descriptor) { [weak self] readiness in
                guard let self else { return }
                assumeIsolated { $0.handle(id, readiness) }
            }
            connections[id] = ControlConnection(id: id, socket: socket, registration: registration)
        } catch {
            return  // the socket closes as it goes out of scope
        }
    }

    private func handle(_ id: Int, _ readiness: MeshNet.Readiness) {
        guard let connection = connections[id] else { return }
        if readiness.isWritable { connection.socket.flush() }
        guard readiness.isReadable || readiness.isClosed else { return watchWrites(connection) }
        let received = connection.socket.receive()
        for line in received.lines { take(line, connection) }
        if received.isClosed { close(id) } else { watchWrites(connection) }
    }

    private func take(_ line: [UInt8], _ connection: ControlConnection) {
        guard !line.isEmpty else { return }
        let value: JSON
        do {
            guard line.count < ControlMessage.lineBytesMaximum else {
                throw JSONError.tooDeep(at: 0)
            }
            value = try JSONReader.read(line)
        } catch {
            let failure = ControlFailure("protocol", "a request is one JSON object a line", exit: 2)
            return send(ControlMessage.failure(id: nil, failure), to: connection)
        }
        let request = ControlRequest(json: value, connection: connection.id)
        guard connection.pending < ControlMessage.pendingMaximum else {
            let failure = ControlFailure("busy", "too many requests wait on this connection")
            return send(ControlMessage.failure(id: request.id, failure), to: connection)
        }
        connection.pending += 1
        let task = Task { await self.serve(request) }
        connection.tasks.append(task)
        // Finished tasks are cheap to keep for a while, and few: cut the list when it is long.
        if connection.tasks.count > 4 * ControlMessage.pendingMaximum {
            connection.tasks.removeFirst(ControlMessage.pendingMaximum)
        }
    }

    private func serve(_ request: ControlRequest) async {
        let answer: JSON
        do {
            answer = ControlMessage.success(id: request.id, try await perform(request))
        } catch {
            answer = ControlMessage.failure(id: request.id, error)
        }
        guard let connection = connections[request.connection] else { return }
        connection.pending -= 1
        send(answer, to: connection)
        for event in connection.owed { send(event, to: connection) }
        connection.owed = []
    }

    /// Sends events to every connection that subscribed to `topic`.
    func publish(_ topic: String, _ event: JSON) {
        for connection in connections.values where connection.topics.contains(topic) {
            send(event, to: connection)
        }
    }

    /// Channels that are collected, for all connections together.
    var collectorCount: Int { connections.values.reduce(0) { $0 + $1.readers.count } }

    /// The connection a request came on, unless it closed meanwhile.
    func connection(_ id: Int) -> ControlConnection? { connections[id] }

    private func send(_ line: JSON, to connection: ControlConnection) {
        guard connection.socket.send(line: line.description.utf8) else {
            return close(connection.id)
        }
        watchWrites(connection)
    }

    private func watchWrites(_ connection: ControlConnection) {
        let wanted = connection.socket.wantsToWrite
        guard wanted != connection.watchesWrites else { return }
        connection.watchesWrites = wanted
        do {
            try loop.modify(connection.registration, readable: true, writable: wanted)
        } catch {
            close(connection.id)
        }
    }

    private func close(_ id: Int) {
        guard let connection = connections.removeValue(forKey: id) else { return }
        loop.remove(connection.registration)
        for task in connection.tasks { task.cancel() }
        for reader in connection.readers.values { reader.task?.cancel() }
    }
}

extension UnixSocketError {
    /// Whether a file or folder is not as it must be, which its owner can mend.
    fileprivate var isAboutFiles: Bool {
        switch self {
        case .directoryNotPrivate, .notSocket: true
        case .inUse, .system: false
        }
    }
}

/// One program that talks to the node.
final class ControlConnection {
    let id: Int
    let socket: UnixConnection
    let registration: LoopRegistration
    var watchesWrites = false
    var pending = 0
    var tasks: [Task<Void, Never>] = []
    var topics: Set<String> = []
    /// Channels whose messages this program collects.
    var readers: [ReaderKey: MessageCollector] = [:]
    /// Events that must come behind the answer to the subscription.
    var owed: [JSON] = []

    init(id: Int, socket: UnixConnection, registration: LoopRegistration) {
        self.id = id
        self.socket = socket
        self.registration = registration
    }
}

/// A request with typed access to its fields.
struct ControlRequest: Sendable {
    let json: JSON
    let connection: Int

    var id: JSON? { json["id"] }
    var op: String { json["op"]?.text ?? "" }

    /// A field that must be a text.
    func text(_ key: String) throws(ControlFailure) -> String {
        guard let value = json[key] else { throw missing(key, "a text") }
        guard let text = value.text else { throw wrong(key, "a text") }
        return text
    }

    /// A field that may be a text.
    func optionalText(_ key: String) throws(ControlFailure) -> String? {
        guard let value = json[key], value != .null else { return nil }
        guard let text = value.text else { throw wrong(key, "a text") }
        return text
    }

    /// A field that may be a truth value; false if it is not there.
    func flag(_ key: String) throws(ControlFailure) -> Bool {
        guard let value = json[key] else { return false }
        guard let flag = value.flag else { throw wrong(key, "true or false") }
        return flag
    }

    /// A field that may be a list of texts.
    func texts(_ key: String) throws(ControlFailure) -> [String] {
        guard let value = json[key] else { return [] }
        guard let elements = value.elements, elements.count <= 256 else {
            throw wrong(key, "a list of texts")
        }
        let texts = elements.compactMap(\.text)
        guard texts.count == elements.count else { throw wrong(key, "a list of texts") }
        return texts
    }

    private func missing(_ key: String, _ wanted: String) -> ControlFailure {
        ControlFailure("request", "'\(op)' needs '\(key)', \(wanted)", exit: 2)
    }

    private func wrong(_ key: String, _ wanted: String) -> ControlFailure {
        ControlFailure("request", "'\(key)' of '\(op)' must be \(wanted)", exit: 2)
    }
}
