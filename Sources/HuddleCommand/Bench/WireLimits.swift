import Foundation
import Glibc
import MeshNet
import MeshWire
import Synchronization

/// What the machine itself can do on loopback, for the figures to stand beside.
enum WireLimits {
    /// Microseconds of a datagram there and back between two threads that wait in `poll`, p50 and p99.
    static func echo(bytes: Int, rounds: Int) throws -> (median: Double, most: Double) {
        let left = try UDPSocket(bind: SocketAddress(127, 0, 0, 1, port: 0))
        let other = Other()
        let target = other.start { $0.answer($1) }
        defer { other.stop() }
        var batch = DatagramBatch()
        batch.append([UInt8](repeating: 7, count: bytes), to: .address(target))
        var received = ReceiveBatch()
        var samples: [Double] = []
        for _ in 0..<rounds {
            let start = SystemClock.now()
            left.send(batch)
            repeat {
                _ = waitReadable([left.descriptor], within: .seconds(1))
                left.receive(into: &received)
            } while received.isEmpty
            samples.append((SystemClock.now() - start).milliseconds * 1000)
        }
        samples.sort()
        return (samples[samples.count / 2], samples[samples.count * 99 / 100])
    }

    /// Megabytes a second of datagrams of this size from one thread to another, segmented by the kernel.
    static func pipe(datagramBytes: Int, for duration: Duration) throws -> Double {
        let left = try UDPSocket(bind: SocketAddress(127, 0, 0, 1, port: 0))
        let other = Other()
        let target = other.start { $0.swallow($1) }
        defer { other.stop() }
        var batch = DatagramBatch()
        let payload = [UInt8](repeating: 7, count: datagramBytes)
        for _ in 0..<(65_000 / datagramBytes) {
            batch.append(payload, to: .address(target))
        }
        let start = SystemClock.now()
        var sent = 0
        while SystemClock.now() - start < duration {
            // The sender waits for the receiver as a window would make it.
            while sent - other.bytes > 1 << 20, SystemClock.now() - start < duration {}
            left.send(batch)
            sent += batch.entries.count * datagramBytes
        }
        let spent = SystemClock.now() - start
        let bytes = other.bytes
        return Double(bytes) / spent.milliseconds / 1000
    }
}

/// The other end of a socket, on a thread of its own; it opens its socket there.
private final class Other: Sendable {
    private let number = Atomic(0)
    private let count = Atomic(0)
    private let isOver = Atomic(false)

    /// Bytes that came.
    var bytes: Int { count.load(ordering: .relaxed) }

    func stop() { isOver.store(true, ordering: .relaxed) }

    /// Runs `body` with the socket until it ends; answers where it can be reached.
    func start(_ body: @escaping @Sendable (Other, UDPSocket) -> Void) -> SocketAddress {
        Thread.detachNewThread {
            guard let socket = try? UDPSocket(bind: SocketAddress(127, 0, 0, 1, port: 0)) else {
                return self.number.store(-1, ordering: .releasing)
            }
            self.number.store(Int(socket.port), ordering: .releasing)
            body(self, socket)
        }
        while number.load(ordering: .acquiring) == 0 { usleep(100) }
        let port = UInt16(clamping: number.load(ordering: .acquiring))
        return SocketAddress(127, 0, 0, 1, port: port)
    }

    /// Sends back what comes.
    func answer(_ socket: UDPSocket) {
        var received = ReceiveBatch()
        while !isOver.load(ordering: .relaxed) {
            guard waitReadable([socket.descriptor], within: .milliseconds(50))[0] else { continue }
            socket.receive(into: &received)
            var batch = DatagramBatch()
            received.forEach { bytes, sender in
                batch.append([UInt8](repeating: 7, count: bytes.byteCount), to: .address(sender))
            }
            socket.send(batch)
        }
    }

    /// Counts what comes.
    func swallow(_ socket: UDPSocket) {
        var received = ReceiveBatch()
        while !isOver.load(ordering: .relaxed) {
            socket.receive(into: &received)
            if received.isEmpty {
                _ = waitReadable([socket.descriptor], within: .milliseconds(50))
                continue
            }
            let bytes = received.datagrams.reduce(0) { $0 + $1.byteCount }
            count.add(bytes, ordering: .relaxed)
        }
    }
}
