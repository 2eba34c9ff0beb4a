import MeshConsensus
import MeshFaults
import MeshWire

/// A room of consensus alone on lossy links, in which something is measured.
///
/// Nothing is checked here: that is what runs are for. What the links do to the room begins when it
/// stands; time that the processes spend computing is none.
final class FigureRoom {
    /// A trial that came to no end within ``patience``.
    struct Stuck: Error {}

    let world: World<ConsensusProcess>
    var draw: SeededGenerator
    /// The epochs of views installed, since the last `watchViews()`.
    private(set) var epochs: Set<Epoch> = []

    private let seed: UInt64
    private let registers: Int
    /// When each request was answered with success.
    private var answers: [UInt64: Instant] = [:]
    private var nextRequest: UInt64 = 1

    /// How long anything is waited for.
    static let patience = Duration.seconds(60)
    /// Of the rooms in which commits are measured.
    static let roundTrip = Duration.milliseconds(2)

    /// A room of `nodes` that has formed, with this many registers filled, on links without loss.
    init(nodes: Int, seed: UInt64, registers: Int = 0) throws(Stuck) {
        self.seed = seed
        self.registers = registers
        world = World(seed: seed)
        world.baseDelay = .zero
        draw = SeededGenerator(seed: seed).stream("figures")
        world.faults.setAll(
            FigureNetwork.loss(0).conditions(delay: .milliseconds(1), jitter: .zero)
        )
        for index in 0..<nodes {
            _ = world.addNode()
            start(index)
            world.submit(
                index == 0 ? .create : .join,
                to: index,
                at: .zero + .milliseconds(index == 0 ? 0 : 5)
            )
        }
        try wait { isSettled(0..<nodes) }
    }

    /// From now on the links are such.
    func setNetwork(_ network: FigureNetwork, delay: Duration, jitter: Duration) {
        world.faults.setAll(network.conditions(delay: delay, jitter: jitter))
        world.faults.outages = network.outages
    }

    // MARK: Time

    /// Lets the world go on for a time.
    func advance(by time: Duration) {
        let end = world.time + time
        while let step = world.step(until: end) { take(step) }
    }

    /// Lets the world go on until `isDone`, which is asked after every step.
    func wait(_ isDone: () -> Bool) throws(Stuck) {
        let end = world.time + Self.patience
        while !isDone() {
            guard let step = world.step(until: end) else { throw Stuck() }
            take(step)
        }
    }

    private func take(_ step: World<ConsensusProcess>.Step) {
        for event in step.events {
            switch event {
            case .completed(let request, .success): answers[request] = step.time
            case .consensus(.viewInstalled(let view)): epochs.insert(view.epoch)
            default: break
            }
        }
    }

    // MARK: Processes

    /// A new process on a node; it wants nothing yet.
    func start(_ index: Int) {
        let node = world.nodes[index]
        if node.process != nil { world.crash(index) }
        let process = ConsensusProcess(
            node: index,
            incarnation: node.incarnation + 1,
            seed: seed,
            registers: registers,
            now: world.time
        )
        take(world.start(process, on: index))
    }

    /// Another machine; answers its number.
    func addNode() -> Int { world.addNode() }

    func perform(_ command: ConsensusProcess.Command, on index: Int) {
        take(world.perform(command, on: index))
    }

    /// Asks for a write on a node; answers the name of its answer.
    func write(on index: Int) -> UInt64 {
        let request = nextRequest
        nextRequest += 1
        perform(
            .submit(.write(request), register: UInt64(index + 1), request: request),
            on: index
        )
        return request
    }

    /// When a write was answered.
    func answer(_ request: UInt64) -> Instant? { answers[request] }

    func forgetAnswers() { answers.removeAll(keepingCapacity: true) }

    // MARK: What is seen

    /// The node that leads a usable view; the one of the largest view, should there be several.
    var leader: Int? {
        world.nodes.filter { $0.process?.role == .leader }
            .max { ($0.process?.memberCount ?? 0) < ($1.process?.memberCount ?? 0) }?.index
    }

    /// Whether the processes on these nodes, and nobody else, are in one usable view.
    func isSettled(_ nodes: some Collection<Int>) -> Bool {
        // From behind: who joined last is the one that is missing as a rule.
        var epoch: Epoch?
        var leads = false
        for index in nodes.reversed() {
            guard let process = world.nodes[index].process else { return false }
            let marks = process.consensus.marks
            guard marks.role == .member || marks.role == .leader, process.consensus.isUsable,
                epoch == nil || epoch == marks.view
            else { return false }
            if epoch == nil, process.memberCount != nodes.count { return false }
            epoch = marks.view
            leads = leads || marks.role == .leader
        }
        return leads
    }

    /// Forgets the views that were installed so far.
    func forgetViews() { epochs = [] }
}

extension ConsensusProcess {
    /// How many members the newest view has.
    var memberCount: Int { consensus.view?.members.count ?? 0 }
}
