import Foundation
import MeshNet
import MeshWire
import Synchronization

/// Two machines behind a router whose link is slow: networks of their own in this process, with real sockets.
///
/// ```
/// near ─ veth ─ router ─ tbf ─ veth ─ line, a delay each way ─ veth ─ far
/// ```
///
/// The kernel's `tbf` is the only queue; the delay behind it is a ``DelayLine``. Everything is gone with the
/// process, since the networks have no names.
final class RateLink: Sendable {
    /// What the link is like.
    struct Shape: Hashable, Sendable {
        var bitsPerSecond: Int
        /// There and back past an empty queue.
        var roundTrip: Duration
        /// The queue's room, in products of rate and round trip.
        var buffer = 1.0

        /// Bytes of the queue's room, 16 packets at least.
        var bufferBytes: Int {
            max(16 * 1514, Int(buffer * Double(bitsPerSecond) / 8e3 * roundTrip.milliseconds))
        }
    }

    static let nearAddress = SocketAddress(10, 79, 1, 2, port: 0)
    static let farAddress = SocketAddress(10, 79, 2, 2, port: 0)

    let shape: Shape
    /// The network of the sender and that of the receiver.
    let near, far: NetworkNamespace
    private let router, line: NetworkNamespace
    private let meter: QueueMeter
    private let isOver = Atomic(false)

    /// Builds the link; throws the reason if this is not allowed here or a tool is missing.
    init(_ shape: Shape) throws(Failure) {
        do {
            self.shape = shape
            near = try NetworkNamespace()
            router = try NetworkNamespace()
            line = try NetworkNamespace()
            far = try NetworkNamespace()
        } catch {
            throw Failure(
                "system",
                "network namespaces cannot be made: \(error)",
                hint: "run it as root, or by 'unshare -Urn huddle bench tcp'"
            )
        }
        try Self.connect(near: near, router: router, line: line, far: far)
        try Self.setRate(shape.bitsPerSecond, of: router, buffer: shape.bufferBytes, "add")
        do {
            meter = try router.perform { () throws(SystemError) in try QueueMeter(interface: "slow")
            }
            let delay = shape.roundTrip / 2
            let cable = try line.perform { () throws(SystemError) in
                try DelayLine("slow", "far", delay: delay)
            }
            Thread.detachNewThread { [weak self] in
                cable.run { self?.isOver.load(ordering: .relaxed) == false }
            }
        } catch {
            throw Failure("system", "the link cannot be made: \(error)")
        }
    }

    /// Ends the thread that carries the frames.
    func stop() { isOver.store(true, ordering: .relaxed) }

    /// What the queue before the slow link says now.
    func queue() throws(SystemError) -> QueueMeter.Reading { try meter.read() }

    /// Changes the rate; the queue keeps its room.
    func setRate(_ bitsPerSecond: Int) throws(Failure) {
        try Self.setRate(bitsPerSecond, of: router, buffer: shape.bufferBytes, "change")
    }

    private static func connect(
        near: NetworkNamespace,
        router: NetworkNamespace,
        line: NetworkNamespace,
        far: NetworkNamespace
    ) throws(Failure) {
        // Whole runs of segments would cross a virtual cable as one frame: one at a time.
        try run(
            in: near,
            "ip link add mesh0 type veth peer name near netns \(router.path)",
            "ip link set mesh0 gso_max_segs 1",
            "ip addr add 10.79.1.2/24 dev mesh0",
            "ip link set mesh0 up"
        )
        try run(
            in: far,
            "ip link add mesh0 type veth peer name far netns \(line.path)",
            "ip link set mesh0 gso_max_segs 1",
            "ip addr add 10.79.2.2/24 dev mesh0",
            "ip link set mesh0 up"
        )
        try run(
            in: router,
            "ip link add slow type veth peer name slow netns \(line.path)",
            "ip addr add 10.79.1.1/24 dev near",
            "ip addr add 10.79.2.1/24 dev slow",
            "ip link set near up",
            "ip link set slow up",
            "echo 1 > /proc/sys/net/ipv4/ip_forward"
        )
        try run(in: line, "ip link set slow up", "ip link set far up")
        try run(in: near, "ip route add default via 10.79.1.1")
        try run(in: far, "ip route add default via 10.79.2.1")
    }

    private static func setRate(
        _ bitsPerSecond: Int,
        of router: NetworkNamespace,
        buffer: Int,
        _ verb: String
    ) throws(Failure) {
        // At once go two packets, or what leaves in half a millisecond.
        let burst = max(3200, bitsPerSecond / 16_000)
        try run(
            in: router,
            "tc qdisc \(verb) dev slow root tbf rate \(bitsPerSecond)bit burst \(burst) limit \(buffer)"
        )
    }

    /// Runs lines of a shell in a network; throws what the first that fails says.
    private static func run(
        in network: NetworkNamespace,
        _ lines: String...
    ) throws(Failure) {
        let process = Process()
        let errors = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "nsenter", "--net=\(network.path)", "sh", "-ec", lines.joined(separator: "\n"),
        ]
        process.environment = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
        process.standardError = errors
        do {
            try process.run()
        } catch {
            throw Failure("system", "the link cannot be made: \(error)")
        }
        let text = String(
            decoding: errors.fileHandleForReading.readDataToEndOfFile(),
            as: UTF8.self
        )
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(
                "system",
                "the link cannot be made: \(text.split(separator: "\n").first ?? "it says nothing")",
                hint: "it needs ip and tc (iproute2), nsenter, and a kernel with veth and tbf"
            )
        }
    }
}
