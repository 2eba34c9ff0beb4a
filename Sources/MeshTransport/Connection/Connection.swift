package import MeshWire

/// One peer's connection: messages in, contents of packets out, and back.
package struct Connection: Sendable {
    package let configuration: TransportConfiguration
    package var statistics = TransportStatistics()
    package private(set) var lastHeard: Instant
    package var isQuiet: Bool { false }

    /// A connection without keys; call ``adopt(space:resumed:now:)`` next.
    package init(configuration: TransportConfiguration, seed: UInt64, now: Instant) {
        self.configuration = configuration
        lastHeard = now
    }

    /// One opened packet; `space` names the handshake it came under, `number` is its counter.
    package mutating func receive(
        _ content: RawSpan,
        space: UInt32,
        number: UInt64,
        now: Instant
    ) throws(ProtocolViolation) {}

    /// Appends one packet's content of at most `capacity` bytes; `false` when nothing may leave now.
    package mutating func build(
        space: UInt32,
        number: UInt64,
        capacity: Int,
        into buffer: inout [UInt8],
        now: Instant
    ) -> Bool { false }

    /// Lets the timers that are due act.
    package mutating func advance(to now: Instant) {}

    /// When ``advance(to:)`` or ``build(space:number:capacity:into:now:)`` should be called next.
    package func deadline(now: Instant) -> Instant? { nil }

    /// New data is sealed under `space` from now on.
    package mutating func adopt(space: UInt32, resumed: Bool, now: Instant) {}

    /// The keys of `space` are gone: what is unacknowledged there is sent again.
    package mutating func retire(space: UInt32, now: Instant) {}

    /// The endpoint used `number` of `space` for a packet of its own.
    package mutating func skip(space: UInt32, number: UInt64) {}

    /// Whether nothing was heard for the idle time-out.
    package func isIdle(now: Instant) -> Bool { false }

    package mutating func openChannel(
        name: [UInt8],
        class: TrafficClass
    ) throws(SendError) -> ChannelNumber { throw .closed }

    package mutating func closeChannel(_ channel: ChannelNumber, now: Instant) {}

    package mutating func send(
        _ message: [UInt8],
        on channel: ChannelNumber,
        options: SendOptions = .reliable,
        now: Instant
    ) throws(SendError) -> SendToken { throw .closed }

    package mutating func cancel(_ token: SendToken, now: Instant) {}

    @discardableResult
    package mutating func sendControl(machine: UInt8, _ bytes: [UInt8]) -> Bool { false }

    package mutating func sendEndpointFrame(_ frame: Frame, untilAcknowledged: Bool) {}

    /// While held, delivered bytes of the peer's channel are not given back to the peer.
    package mutating func hold(_ channel: ChannelNumber, _ isHeld: Bool) {}

    package mutating func close(reason: CloseReason, text: String) {}

    /// Ends every open send with `peerLost` and frees everything.
    package mutating func abandon() {}

    package mutating func nextEvent() -> ConnectionEvent? { nil }
}
