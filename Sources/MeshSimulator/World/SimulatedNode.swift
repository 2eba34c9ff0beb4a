package import MeshWire

/// What waits for a stopped node.
enum Stimulus<Command> {
    /// A datagram arrived.
    case datagram([UInt8], from: SocketAddress)
    /// The application wants something.
    case command(Command)
}

/// One machine of the world: an address, a clock, and the process that runs there or none.
///
/// With `World` it is the second of the two callers of the engine; the numbers are those of the
/// run loop in `Engine.swift`. The world (1) waits for a stimulus, (2) reads the clock once and
/// (5) sends the batch, hands out the events and arms the deadline; the node does what lies between.
package final class SimulatedNode<Process: SimulatedProcess> {
    /// The node's number, from 0; also its name on the links.
    package let index: Int
    /// Where the node receives.
    package internal(set) var address: SocketAddress
    /// The network of ``address``, its second byte; changes when the node moves.
    var network: UInt8 = 0
    /// The node's clock.
    package internal(set) var clock: VirtualClock
    /// The running process; `nil` while the node is down.
    package internal(set) var process: Process?
    /// Counts the processes that ran here, from 1.
    package internal(set) var incarnation: UInt32 = 0
    /// Whether the process is stopped, as by SIGSTOP.
    package internal(set) var isPaused = false

    /// How long the process takes for each stimulus; zero as a rule.
    package internal(set) var cost = Duration.zero
    /// Until when it is busy with the last one, if it takes time.
    var busyUntil = Instant.zero
    /// How many datagrams wait until it is not.
    var backlog = 0
    /// Whether the process dies after the next stimulus, before it has sent anything.
    var diesBeforeSending = false

    /// What arrived while the process was stopped, as in a socket buffer; bounded.
    var waiting: [Stimulus<Process.Command>] = []
    /// The deadline in force, on the node's clock.
    var deadline: Instant?
    /// The deadline in force, on the world's clock.
    var armed: Instant?
    /// The wake-up that stands on the agenda, no later than ``armed``.
    var planned: Instant?
    /// When the last timer was handled, and how many more at that same instant.
    var lastWake = Instant(nanoseconds: .min)
    /// How often in a row the process armed a deadline that had passed already.
    package internal(set) var spins = 0
    /// What the last drive gave: datagrams to send and events, until the world takes them.
    var batch = DatagramBatch()
    var events: [Process.Event] = []

    /// How many datagrams a stopped process's socket keeps.
    static var socketBuffer: Int { 256 }

    init(index: Int, address: SocketAddress, clock: VirtualClock) {
        self.index = index
        self.address = address
        self.clock = clock
    }

    // 3. Handle each input of the batch; here a batch has one.

    /// Lets the process handle a datagram at the world's `now`, and polls it dry.
    func drive(datagram: RawSpan, from sender: SocketAddress, now: Instant) {
        guard let process else { return }
        let local = clock.local(now)
        process.handle(datagram: datagram, from: sender, now: local)
        poll(process, now: now, local: local)
    }

    /// Lets the process handle its deadline, and polls it dry.
    func driveTimer(now: Instant) {
        guard let process else { return }
        let local = clock.local(now)
        process.handleTimer(now: local)
        poll(process, now: now, local: local)
    }

    /// Lets the process handle a command, and polls it dry.
    func drive(command: Process.Command, now: Instant) {
        guard let process else { return }
        let local = clock.local(now)
        process.handle(command: command, now: local)
        poll(process, now: now, local: local)
    }

    /// Polls a new process.
    func drive(now: Instant) {
        guard let process else { return }
        poll(process, now: now, local: clock.local(now))
    }

    // 4. Poll until there is nothing to send, gathering datagrams and events.
    private func poll(_ process: Process, now: Instant, local: Instant) {
        deadline = process.poll(now: local, into: &batch, events: &events)
        arm(now: now)
    }

    /// Translates the deadline to the world's clock.
    func arm(now: Instant) {
        armed = deadline.map { max(now, clock.world($0)) }
    }
}
