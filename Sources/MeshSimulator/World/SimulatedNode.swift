package import MeshWire

/// What wakes a simulated node.
package enum Stimulus<Command> {
    /// A datagram arrived.
    case datagram([UInt8], from: SocketAddress)
    /// The armed deadline has come.
    case timer
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
    /// The node's clock.
    package internal(set) var clock: VirtualClock
    /// The running process; `nil` while the node is down.
    package internal(set) var process: Process?
    /// Counts the processes that ran here, from 1.
    package internal(set) var incarnation: UInt32 = 0
    /// Whether the process is stopped, as by SIGSTOP.
    package internal(set) var isPaused = false

    /// What arrived while the process was stopped, as in a socket buffer; bounded.
    var waiting: [Stimulus<Process.Command>] = []
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

    /// Lets the process handle one stimulus at the world's `now`, and polls it dry.
    func drive(_ stimulus: Stimulus<Process.Command>?, now: Instant) {
        guard let process else { return }
        let local = clock.local(now)
        // 3. Handle each input of the batch; here a batch has one.
        switch stimulus {
        case .datagram(let bytes, let sender):
            process.handle(datagram: bytes.raw, from: sender, now: local)
        case .timer: process.handleTimer(now: local)
        case .command(let command): process.handle(command: command, now: local)
        case nil: break
        }
        // 4. Poll until there is nothing to send, gathering datagrams and events.
        let deadline = process.poll(now: local, into: &batch, events: &events)
        armed = deadline.map { max(now, clock.world($0)) }
    }
}
