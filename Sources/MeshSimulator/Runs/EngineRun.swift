import MeshConsensus
import MeshEngine
import MeshSession
import MeshWire

/// One run of whole engines: rooms by invitation, a session, values, messages on both lanes.
package final class EngineRun: SimulationRun<EngineProcess> {
    enum Request {
        case write(AcknowledgedWrites.Write)
        case compareAndSet(expected: UInt64, value: UInt64)
        case read
        case send(number: UInt64, channel: Int, receivers: [ParticipantID: Life])
        /// The answer to this one is looked for in ``answers``.
        case control
    }

    var pending: [UInt64: (life: Life, request: Request)] = [:]
    var nextRequest: UInt64 = 1
    var nextNumber: UInt64 = 1
    /// The request that writes this number; each number is written once.
    var requests: [UInt64: UInt64] = [:]
    /// Which life a process is.
    var lives: [ProcessID: Life] = [:]
    /// What each node's disk keeps of the room.
    var records: [Int: RoomRecord] = [:]
    /// The nodes that left the room of their own will and have not come back.
    var leavers: Set<Int> = []
    /// The nodes whose session join is on its way.
    var joining: [Int: UInt64] = [:]
    /// The nodes whose way back into the room failed and that try again.
    var retries: Set<Int> = []
    /// The last answer to a request that the setup waits for.
    var answers: [UInt64: Event] = [:]
    var reliable = ReliableOrder()
    var fast = FastFreshness()
    var lifecycle = ParticipantLifecycle()
    let session: SessionID

    static let channels = ["chat", "moves"]
    static let sharedKey = "shared"

    override class var start: Instant { .zero + .seconds(6) }

    /// Prepares the run of `options`; `observer` sees every event of the trace.
    package override init(_ options: RunOptions, observer: ((TraceEvent) -> Void)? = nil) {
        var stream = SeededGenerator(seed: options.seed).stream("run.session")
        session = SessionID((0..<16).map { _ in UInt8(truncatingIfNeeded: stream.next()) }) ?? .zero
        super.init(options, observer: observer)
    }

    override class var layer: SimulatedLayer { .engine }

    override func makeProcess(_ life: Life, now: Instant) -> EngineProcess {
        let node = world.nodes[life.node]
        let process = EngineProcess(
            life: life,
            seed: options.seed,
            port: node.address.port,
            clock: node.clock,
            now: now
        )
        lives[process.process] = life
        return process
    }

    override func formRoom() throws(Violation) { try makeRoom() }

    override func work(_ index: Int) throws(Violation) {
        if retries.remove(index) != nil { try rejoin(index) }
        try workOnce(index)
    }

    override func handle(_ event: Event, of life: Life) throws(Violation) {
        try take(event, of: life)
    }

    override func rejoin(_ index: Int) throws(Violation) {
        leavers.remove(index)
        joining[index] = nil
        guard let record = records[index] else { return }
        try perform(.resumeRoom(takeRequest(index, .control), record), on: index)
    }

    override func adoptPrimary(_ index: Int) throws(Violation) {
        try perform(.adoptPrimary, on: index)
    }

    override func leave(_ index: Int) throws(Violation) {
        leavers.insert(index)
        try perform(.leaveRoom(takeRequest(index, .control)), on: index)
    }

    override func end(_ life: Life) {
        // order: a filter keeps none
        pending = pending.filter { $0.value.life != life }
        reliable.end { $0.sender == life || $0.receiver == life }
        joining[life.node] = nil
    }

    override func unfinished() -> String? {
        for node in world.nodes where node.process != nil && !leavers.contains(node.index) {
            guard let role = node.process?.role, role == .member || role == .leader else {
                return "n\(node.index) runs and is not in the room"
            }
        }
        if let waiting = pending.filter({ !$0.value.request.isSend }).min(by: { $0.key < $1.key }) {
            return "\(waiting.value.life) waits for its request \(waiting.value.request)"
        }
        return reliable.obstacle
    }

    override func finish() throws(Violation) {
        report.figures.reliable = reliable.deliveredCount
        report.figures.fast = fast.deliveredCount
        try reliable.finish()
    }

    override func finish(_ survivor: EngineProcess) throws(Violation) {
        guard let values = survivor.room?.session(session)?.values else { return }
        try writes.finish(isAlive: isAlive) { life, key in
            guard case .bytes(let bytes)? = values[Self.key(life, key)]?.content else {
                return nil
            }
            return Self.number(bytes)
        }
        try registers.finish(isAlive: isAlive)
        // What the survivor holds is what a last read would give.
        let known = Set(history.registers)
        var numbers: [UInt64: UInt64] = [:]
        for entry in values.entries {
            guard case .bytes(let bytes) = entry.value.content else { continue }
            numbers[Self.register(entry.key)] = Self.number(bytes)
        }
        let reader = Life(node: -1, incarnation: 0)
        for register in known.sorted() {
            let number = numbers[register] ?? 0
            history.look(
                takeRequest(0, .read),
                number,
                in: register,
                by: reader,
                at: survivor.applied
            )
        }
    }

    func perform(_ command: MeshEngine.Command, on index: Int) throws(Violation) {
        try check(world.perform(command, on: index))
    }

    /// A new request of the process on a node.
    func takeRequest(_ index: Int, _ request: Request) -> UInt64 {
        defer { nextRequest += 1 }
        pending[nextRequest] = (life(index), request)
        return nextRequest
    }

    func takeNumber() -> UInt64 {
        defer { nextNumber += 1 }
        return nextNumber
    }

    /// The key that only this life writes.
    static func key(_ life: Life, _ key: Int) -> String {
        "n\(life.node).\(life.incarnation).k\(key)"
    }

    /// The life and number of such a key.
    static func owner(_ key: String) -> (life: Life, key: Int)? {
        let parts = key.split(separator: ".")
        guard parts.count == 3, let node = Int(parts[0].dropFirst()),
            let incarnation = UInt32(parts[1]), let number = Int(parts[2].dropFirst())
        else { return nil }
        return (Life(node: node, incarnation: incarnation), number)
    }

    /// The number of a key's register in the history.
    static func register(_ key: String) -> UInt64 { SipHash.hash(key.utf8) }

    static func bytes(_ number: UInt64) -> [UInt8] {
        var writer = ByteWriter(capacity: 8)
        writer.write(number)
        return writer.bytes
    }

    static func number(_ bytes: [UInt8]) -> UInt64? {
        var reader = ByteReader(bytes.raw)
        return try? reader.read(UInt64.self)  // another length is no number of ours
    }
}

extension EngineRun.Request {
    var isSend: Bool {
        if case .send = self { true } else { false }
    }
}
