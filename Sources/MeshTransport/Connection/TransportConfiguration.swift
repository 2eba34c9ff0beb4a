import MeshWire

/// What a connection may be told; the defaults are those of `20-transport.md`.
public struct TransportConfiguration: Hashable, Sendable {
    /// The longest an acknowledgment waits for company, 5 ms, which suits a LAN.
    ///
    /// Raising it saves packets and lengthens every probe timeout of the peer by as much.
    public var acknowledgmentDelay: Duration = .milliseconds(5)
    /// Bytes of a channel the peer may send before it hears more, 256 KiB at least.
    public var channelWindowBytes = 256 << 10
    /// Bytes of all channels the peer may send before it hears more, 1 MiB at least.
    public var connectionWindowBytes = 1 << 20
    /// The most a window grows to, of a channel or of the connection, 128 MiB.
    public var windowMaximumBytes = 128 << 20
    /// The silence after which the pair shakes hands anew, 10 s.
    public var idleTimeout: Duration = .seconds(10)
    /// How long an absent peer's reliable channels wait to be resumed, 30 s.
    public var grace: Duration = Limits.grace
    /// Bytes of a message on the reliable lane, envelope included, at most 16 MiB.
    public var messageBytes = Limits.messageBytes
    /// Bytes of the largest datagram to send and to take, headers and tag included.
    ///
    /// The search for what the path carries goes up to it, from 1,200 bytes.
    public var datagramBytes = Limits.datagramCeilingBytes
    /// Bytes a channel queues before a send is refused with `wouldBlock`.
    ///
    /// A message larger than this is taken when the queue is empty. Raising it costs memory a
    /// peer; lowering it makes senders wait more often.
    public var channelQueueBytes = 4 << 20
    /// Bytes all channels of a connection queue together.
    public var connectionQueueBytes = 64 << 20
    /// How long a fast message waits for its turn before it is dropped, 20 ms.
    public var fastWaitMaximum: Duration = .milliseconds(20)
    /// How long a `latest` value is still before its last value is sent until it is acknowledged.
    public var latestStillness: Duration = .milliseconds(100)
    /// The shortest time between two datagrams that carry `latest` values, 4 ms.
    public var latestInterval: Duration = .milliseconds(4)
    /// The silence of our own after which a PING leaves, 3 s.
    public var keepAlive: Duration = .seconds(3)
    /// The silence of the peer after which it is called quiet, 1 s.
    public var quietAfter: Duration = .seconds(1)

    /// The defaults.
    public init() {}
}
