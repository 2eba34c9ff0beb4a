import MeshCrypto
import MeshNet
import MeshTransport
import MeshWire

/// One end of the transport on a real socket, driven by the one thread that made it.
///
/// Its run loop is that of a node without an engine: receive, advance, poll, send (`70-style.md` §4).
final class SocketEndpoint {
    private(set) var endpoint: Endpoint
    let address: SocketAddress
    /// When ``receive(_:into:lost:)`` is due even if nothing comes.
    private(set) var deadline: Instant?

    private let socket: UDPSocket
    private var batch = DatagramBatch()
    private var loss = SeededGenerator(seed: 1)

    /// An endpoint of `room` bound to `address`, where port 0 is any free one.
    ///
    /// Throws what the kernel says of the socket.
    init(
        bind address: SocketAddress,
        room: RoomSecret,
        identity: Identity? = nil,
        configuration: EndpointConfiguration = EndpointConfiguration()
    ) throws(SystemError) {
        var secrets = SystemSecrets()
        socket = try UDPSocket(bind: address)
        self.address = address.with(port: socket.port)
        let now = SystemClock.now()
        endpoint = Endpoint(
            configuration: configuration,
            identity: identity ?? Identity(from: &secrets),
            incarnation: secrets.word(),
            secrets: secrets,
            hardwareAES: Sodium.hasHardwareAES,
            seed: secrets.word(),
            now: now
        )
        endpoint.setRoom(room, now: now)
    }

    var descriptor: Int32 { socket.descriptor }

    /// Takes what waits and lets timers act; `lost` is the share of datagrams that is thrown away.
    ///
    /// `received` is memory that all endpoints of a thread may share.
    func receive(_ now: Instant, into received: inout ReceiveBatch, lost: Double = 0) {
        repeat {
            socket.receive(into: &received)
            received.forEach { bytes, sender in
                guard lost == 0 || !loss.happens(lost) else { return }
                endpoint.receive(bytes, from: sender, now: now)
            }
        } while received.isFull
        endpoint.advance(to: now)
    }

    /// Sends what may leave now.
    func flush(_ now: Instant) {
        batch.removeAll()
        deadline = endpoint.poll(now: now, into: &batch)
        socket.send(batch)
    }

    /// Calls `body` with each event that was not taken yet.
    func takeEvents(_ body: (EndpointEvent) throws -> Void) rethrows {
        while let event = endpoint.nextEvent() { try body(event) }
    }

    /// Lets `body` use the lanes.
    func use<Result>(_ body: (inout Endpoint) throws -> Result) rethrows -> Result {
        try body(&endpoint)
    }
}
