import MeshWire

/// The figures of one connection; counters only grow.
public struct TransportStatistics: Hashable, Sendable {
    /// The smoothed round-trip time; zero before the first sample (RFC 9002 §5.3).
    public var roundTrip: Duration = .zero
    /// The least round-trip time of the last 10 s.
    public var roundTripMinimum: Duration = .zero
    /// The mean deviation of the round-trip time.
    public var jitter: Duration = .zero
    /// The share of packets declared lost, of the last few hundred.
    public var loss: Double = 0
    /// Bytes a second the peer acknowledged lately.
    public var deliveryRate: Double = 0
    /// Bytes a second the pacer lets go.
    public var pacingRate: Double = 0
    /// Bytes of the congestion window.
    public var windowBytes = 0
    /// Bytes sent and neither acknowledged nor lost.
    public var inFlightBytes = 0
    /// Bytes of messages that wait or are unacknowledged.
    public var queuedBytes = 0
    /// Bytes received and not yet delivered.
    public var bufferedBytes = 0
    /// Bytes of the largest datagrams the path is known to carry and the rate asks for.
    public var datagramBytes = Limits.datagramFloorBytes
    /// Times the path swallowed datagrams of a size that it had carried.
    public var blackHoles: UInt64 = 0
    /// Packets built.
    public var packetsSent: UInt64 = 0
    /// Packets taken in.
    public var packetsReceived: UInt64 = 0
    /// Bytes of content built.
    public var bytesSent: UInt64 = 0
    /// Bytes of content taken in.
    public var bytesReceived: UInt64 = 0
    /// Packets declared lost.
    public var packetsLost: UInt64 = 0
    /// Packets declared lost whose acknowledgment came after all.
    public var packetsLostSpuriously: UInt64 = 0
    /// Probe timeouts.
    public var probeTimeouts: UInt64 = 0
    /// Bytes of messages sent more than once.
    public var retransmittedBytes: UInt64 = 0
    /// Bytes of messages sent more than once before anybody knew whether they had arrived.
    public var redundantBytes: UInt64 = 0
    /// Reliable messages taken from the application.
    public var messagesSent: UInt64 = 0
    /// Reliable messages given to the application.
    public var messagesReceived: UInt64 = 0
    /// Fast messages put on the wire.
    public var fastSent: UInt64 = 0
    /// Fast messages given to the application.
    public var fastReceived: UInt64 = 0
    /// Fast messages dropped before sending: too late, too many, or replaced by a newer one.
    public var fastDropped: UInt64 = 0
    /// Fast messages dropped on arrival: not newer, or a fragment missing.
    public var fastStale: UInt64 = 0
    /// Control datagrams dropped because too many waited.
    public var controlDropped: UInt64 = 0

    /// Nothing happened yet.
    public init() {}
}
