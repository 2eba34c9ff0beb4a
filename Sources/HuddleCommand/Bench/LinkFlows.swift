import Foundation
import MeshCrypto
import MeshNet
import MeshTransport
import MeshWire
import Synchronization

/// A flow over a ``RateLink`` that always has more to send.
protocol LinkFlow: AnyObject, Sendable {
    /// Bytes of the application that arrived so far.
    var delivered: Int { get }
    /// What ended it before its time.
    var failure: SystemError? { get }
    /// Ends it; its threads follow soon.
    func stop()
}

/// What the two threads of a flow share.
final class FlowState: Sendable {
    private let count = Atomic(0)
    private let isOver = Atomic(false)
    private let error = Mutex(SystemError?.none)

    var delivered: Int { count.load(ordering: .relaxed) }
    var failure: SystemError? { error.withLock { $0 } }
    var isRunning: Bool { !isOver.load(ordering: .relaxed) }

    func deliver(_ bytes: Int) { count.add(bytes, ordering: .relaxed) }
    func stop() { isOver.store(true, ordering: .relaxed) }

    /// Ends both ends for a reason, of which the first stays.
    func fail(_ reason: SystemError) {
        error.withLock { $0 = $0 ?? reason }
        stop()
    }

    /// Runs one end on a thread of its own.
    func start(_ body: @escaping @Sendable () throws(SystemError) -> Void) {
        Thread.detachNewThread {
            do throws(SystemError) {
                try body()
            } catch {
                self.fail(error)
            }
        }
    }
}

/// One reliable channel of the transport from near to far.
final class MeshFlow: LinkFlow {
    private static let messageBytes = 64 << 10
    private static let port: UInt16 = 7000

    private let state = FlowState()

    var delivered: Int { state.delivered }
    var failure: SystemError? { state.failure }
    func stop() { state.stop() }

    /// Starts both ends.
    init(over link: RateLink) throws(SystemError) {
        var secrets = SystemSecrets()
        let room = RoomSecret(from: &secrets)
        state.start { [state] () throws(SystemError) in
            let end = try link.far.perform { () throws(SystemError) in
                try SocketEndpoint(bind: RateLink.farAddress.with(port: Self.port), room: room)
            }
            Self.receive(by: end, state)
        }
        state.start { [state] () throws(SystemError) in
            let end = try link.near.perform { () throws(SystemError) in
                try SocketEndpoint(bind: RateLink.nearAddress, room: room)
            }
            Self.send(by: end, state)
        }
    }

    private static func turns(
        of end: SocketEndpoint,
        _ state: FlowState,
        _ body: (EndpointEvent, Instant) -> Void,
        then work: (Instant) -> Void = { _ in }
    ) {
        var received = ReceiveBatch()
        while state.isRunning {
            let now = SystemClock.now()
            end.receive(now, into: &received)
            end.takeEvents { body($0, now) }
            work(now)
            end.flush(now)
            end.takeEvents { body($0, now) }
            let idle = now + .milliseconds(20)
            _ = waitReadable([end.descriptor], until: min(end.deadline ?? idle, idle))
        }
        let now = SystemClock.now()
        end.use { $0.closeAll(reason: .leaving, now: now) }
        end.flush(now)
    }

    private static func receive(by end: SocketEndpoint, _ state: FlowState) {
        turns(of: end, state) { event, _ in
            guard case .connection(_, .received(let message)) = event else { return }
            state.deliver(message.bytes.count)
        }
    }

    private static func send(by end: SocketEndpoint, _ state: FlowState) {
        let payload = [UInt8](repeating: 7, count: messageBytes)
        var target: (peer: NodeID, channel: ChannelNumber)?
        var isFull = false
        let far = RateLink.farAddress.with(port: port)
        end.use { _ = $0.dial(.member(address: far, expected: nil), now: SystemClock.now()) }
        turns(of: end, state) { event, _ in
            switch event {
            case .connected(let found):
                let channel = end.use {
                    try? $0.openChannel(to: found.peer, name: Array("bulk".utf8), class: .normal)
                }
                target = channel.map { (found.peer, $0) }
            case .connection(_, .windowOpened): isFull = false
            case .dialFailed, .disconnected: state.stop()
            default: break
            }
        } then: { now in
            guard let target else { return }
            while !isFull {
                let token = end.use {
                    try? $0.send(payload, on: target.channel, to: target.peer, now: now)
                }
                isFull = token == nil
            }
        }
    }
}

/// One TCP connection from near to far, under the congestion control that Linux has by default: CUBIC (RFC 9438).
final class TCPFlow: LinkFlow {
    private static let port: UInt16 = 7001

    private let state = FlowState()

    var delivered: Int { state.delivered }
    var failure: SystemError? { state.failure }
    func stop() { state.stop() }

    /// Starts both ends.
    init(over link: RateLink) throws(SystemError) {
        let address = RateLink.farAddress.with(port: Self.port)
        // It listens before the other end asks.
        let listener = try link.far.perform { () throws(SystemError) in
            try TCPConnection.Listener(at: address)
        }
        state.start { [state] () throws(SystemError) in
            while state.isRunning {
                let soon = SystemClock.now() + .milliseconds(20)
                guard waitReadable([listener.descriptor], until: soon)[0] else { continue }
                try Self.receive(by: listener.accept(), state)
            }
        }
        state.start { [state] () throws(SystemError) in
            let payload = [UInt8](repeating: 7, count: 64 << 10)
            let connection = try link.near.perform { () throws(SystemError) in
                try TCPConnection(to: address, congestion: "cubic", patience: .seconds(2))
            }
            // Once the other end has stopped, its reset ends the last write.
            while state.isRunning, connection.send(payload[...]) >= 0 {}
        }
    }

    private static func receive(by connection: borrowing TCPConnection, _ state: FlowState) {
        while state.isRunning {
            let soon = SystemClock.now() + .milliseconds(20)
            guard waitReadable([connection.descriptor], until: soon)[0] else { continue }
            let count = connection.receive()
            guard count >= 0 else { return }
            state.deliver(count)
        }
    }
}
