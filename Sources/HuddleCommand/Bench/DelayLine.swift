import MeshNet
import MeshWire

/// A cable whose frames arrive later: what comes in by one of two interfaces leaves by the other after a fixed time.
///
/// Not every kernel has `netem`; this needs none. Frames keep their order, and none is dropped here.
final class DelayLine: Sendable {
    /// Frames under way in one direction, the oldest first.
    private struct Way {
        private var frames = Queue<(due: Instant, bytes: [UInt8])>()

        var next: Instant? { frames.first?.due }

        mutating func append(_ frame: [UInt8], due: Instant) { frames.append((due, frame)) }

        /// The frame that is due, if there is one.
        mutating func takeDue(_ now: Instant) -> [UInt8]? {
            guard let first = frames.first, first.due <= now else { return nil }
            return frames.popFirst()?.bytes
        }
    }

    private let left, right: PacketSocket
    private let delay: Duration

    /// A line between two interfaces of the calling thread's network.
    init(_ left: String, _ right: String, delay: Duration) throws(SystemError) {
        self.left = try PacketSocket(interface: left)
        self.right = try PacketSocket(interface: right)
        self.delay = delay
    }

    /// Moves frames on the calling thread while `condition` holds, which is asked every 20 ms at least.
    func run(while condition: () -> Bool) {
        var (there, back) = (Way(), Way())
        while condition() {
            let idle = SystemClock.now() + .milliseconds(20)
            let next = [there.next, back.next, idle].compactMap { $0 }.min()
            let ready = waitReadable([left.descriptor, right.descriptor], until: next)
            let now = SystemClock.now()
            while ready[0], let frame = left.receive() { there.append(frame, due: now + delay) }
            while ready[1], let frame = right.receive() { back.append(frame, due: now + delay) }
            while let frame = there.takeDue(now) { right.send(frame) }
            while let frame = back.takeDue(now) { left.send(frame) }
        }
    }
}
