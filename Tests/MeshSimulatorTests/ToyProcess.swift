import MeshSimulator
import MeshWire

/// A process that announces itself, answers announcements and counts: enough to test the world.
///
/// A command is a text that goes to everybody; an event says what was heard, from whom and when.
final class ToyProcess: SimulatedProcess {
    enum Event: Hashable {
        case heard([UInt8], from: SocketAddress, at: Instant)
        case ticked(at: Instant)
    }

    /// How often the toy ticks.
    var period: Duration
    private var nextTick: Instant?
    private var pending: [(Destination, [UInt8])] = []
    private var events: [Event] = []

    init(period: Duration = .milliseconds(100)) {
        self.period = period
    }

    func handle(datagram: RawSpan, from sender: SocketAddress, now: Instant) {
        let bytes = datagram.copied
        events.append(.heard(bytes, from: sender, at: now))
        if bytes.first == 0 { pending.append((.address(sender), [1] + bytes.dropFirst())) }
    }

    func handleTimer(now: Instant) {
        guard let due = nextTick, due <= now else { return }
        nextTick = now + period
        events.append(.ticked(at: now))
        pending.append((.discovery, [2]))
    }

    func handle(command: [UInt8], now: Instant) {
        pending.append((.discovery, command))
    }

    func poll(now: Instant, into batch: inout DatagramBatch, events: inout [Event]) -> Instant? {
        if nextTick == nil { nextTick = now + period }
        for (destination, bytes) in pending { batch.append(bytes, to: destination) }
        pending.removeAll()
        events.append(contentsOf: self.events)
        self.events.removeAll()
        return nextTick
    }
}
