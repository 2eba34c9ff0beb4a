package import MeshWire

/// One peer's connection: messages in and contents of packets out, and back.
///
/// It knows no keys and no addresses. The endpoint hands it opened packets with `receive`, asks
/// for contents with `build` until that answers `false`, calls ``advance(to:)`` when
/// ``deadline(now:)`` has come, and drains ``nextEvent()``. A *space* is one handshake: packet
/// numbers and acknowledgments live in it; everything else outlives it, so that channels go on over
/// a rekey and resume after an absence (`20-transport.md` §3).
package struct Connection: Sendable {
    /// How far the connection has come to its end.
    enum Life: Hashable, Sendable {
        case open
        /// CLOSE leaves while the peer still talks: `left` more times, now if `isOwed`.
        case closing(CloseReason, text: String, left: Int, isOwed: Bool)
        case closed
    }

    struct Control: Sendable {
        let machine: UInt8
        let bytes: [UInt8]
    }

    struct FastAwaited: Sendable {
        let channel: ChannelNumber
        /// Fragments the peer has not acknowledged.
        var left: Int
    }

    struct LatestTimer: Sendable {
        let due: Instant
        let channel: ChannelNumber
        let key: UInt64
    }

    /// Machines' datagrams that wait, at most.
    static let controlMaximum = 64
    /// Messages with a sequence that the peer may not have delivered, over all channels.
    static let outstandingMaximum = 32_768
    /// Packets beyond the window that the fast lane and class control may have in flight.
    static let reservePackets = 8
    /// The machine whose datagrams travel alone: the clock (`20-transport.md` §4.1).
    static let clockMachine: UInt8 = 2

    package let configuration: TransportConfiguration
    /// Whether the peer's windows may grow; the endpoint says no when the node's memory is used up.
    package var windowsMayGrow = true
    /// When the last packet of the peer came.
    package internal(set) var lastHeard: Instant
    /// Whether nothing was heard for a second.
    package internal(set) var isQuiet = false
    /// The largest datagram the peer takes, by its SETTINGS.
    package internal(set) var peerDatagramBytes = Limits.datagramFloorBytes

    var life = Life.open
    /// Bytes of frames that fit into a packet now.
    var packetBytes = floorBytes
    var path = PathSearch()
    var counters = TransportStatistics()
    var events = Queue<ConnectionEvent>()
    var nextToken: UInt64 = 0

    // Packets.
    var spaces: [PacketSpace] = []
    /// The space that new data is sealed in.
    var currentSpace: UInt32?
    var roundTrip = RoundTripEstimator()
    var congestion: Drift
    /// The window of the background class, inside the other (§5.5).
    var background: Drift
    var backgroundInFlight = 0
    /// Whether the background waited for a window during the round.
    var isBackgroundFull = false
    var pacer: Pacer
    var redundancy = Redundancy()
    var pacingDeadline: Instant?
    var inFlightBytes = 0
    var deliveredBytes: UInt64 = 0
    /// When ``deliveredBytes`` grew last, and when the packet left that made it grow.
    var deliveredAt = Instant.zero
    var deliveredSentAt = Instant.zero
    /// Until so much is delivered the samples of the rate are the application's.
    var applicationLimitedUntil: UInt64 = 0
    var roundEnds: UInt64 = 0
    var roundStarted: Instant
    var roundDelivered: UInt64 = 0
    var isFull = false
    var wasFull = false
    var probeCount = 0
    var probesAllowed = 0
    var packetThreshold: UInt64 = 3
    /// The reordering window in eighths of a round trip, beyond one round trip (RFC 9002 §6.1.2).
    var reorderEighths = 1
    var spuriousRound: UInt64 = 0
    var peerDelay: Duration = .milliseconds(5)
    var lastSent: Instant
    var isPingOwed = false

    // Out.
    var outgoing = ChannelTable<OutgoingChannel>()
    var nextChannel: ChannelNumber = 2
    var scheduler: ClassScheduler
    var expiries = ExpiryQueue()
    var peerChannelWindow = 256 << 10
    var peerMessageBytes = Limits.messageBytes
    var sendLimit: UInt64 = 1 << 20
    var sentBytes: UInt64 = 0
    var reservedBytes = 0
    var outstanding = 0
    var queuedCost = 0
    /// Whether the connection's bound refused a message.
    var hasRefused = false
    var urgent = Queue<UrgentFrame>()
    /// What stands in ``urgent``; asked for membership only.
    var urgentWaiting: Set<UrgentFrame> = []
    var areSettingsAcknowledged = false
    var endpointFrames: [UInt64: Frame] = [:]
    var onceFrames = Queue<Frame>()
    var nextEndpointFrame: UInt64 = 0
    var controls = Queue<Control>()
    var fast = FastSender()
    /// Fast messages whose outcome is wanted, by token; asked by key only.
    var fastAwaited: [UInt64: FastAwaited] = [:]
    var latestTimers = Queue<LatestTimer>()
    var latestGate = Instant(nanoseconds: .min)

    // In.
    var incoming = ChannelTable<IncomingChannel>()
    var closedIncoming = NumberRanges()
    var receiveWindow: ReceiveWindow
    var heldSlots = 0
    var fastReassembly = FastReassembly()
    var heldFast: [ReceivedMessage] = []

    /// A connection without keys; ``adopt(space:resumed:now:)`` comes next.
    ///
    /// `seed` is for later controllers; nothing here is left to chance yet.
    package init(configuration: TransportConfiguration, seed: UInt64, now: Instant) {
        var configuration = configuration
        // Both sides count on these floors before SETTINGS come.
        configuration.channelWindowBytes = max(configuration.channelWindowBytes, 256 << 10)
        configuration.connectionWindowBytes = max(configuration.connectionWindowBytes, 1 << 20)
        configuration.messageBytes = min(configuration.messageBytes, Limits.messageBytes)
        self.configuration = configuration
        lastHeard = now
        lastSent = now
        roundStarted = now
        congestion = Drift(packetBytes: packetBytes, now: now)
        background = Drift(packetBytes: packetBytes, share: Drift.backgroundShare, now: now)
        pacer = Pacer(packetBytes: packetBytes, now: now)
        scheduler = ClassScheduler(packetBytes: packetBytes)
        receiveWindow = ReceiveWindow(size: configuration.connectionWindowBytes, now: now)
        for (number, trafficClass) in [(0, TrafficClass.control), (1, .background)] {
            outgoing.insert(
                OutgoingChannel(
                    number: ChannelNumber(number),
                    name: [],
                    trafficClass: trafficClass,
                    limit: UInt64(peerChannelWindow)
                )
            )
            incoming.insert(
                IncomingChannel(
                    number: ChannelNumber(number),
                    isOpen: true,
                    window: configuration.channelWindowBytes,
                    now: now
                )
            )
        }
        urgent.append(.settings)
        urgentWaiting.insert(.settings)
    }

    /// The figures of the connection, as of the last call.
    package var statistics: TransportStatistics {
        var figures = counters
        figures.roundTrip = roundTrip.hasSample ? roundTrip.smoothed : .zero
        figures.roundTripMinimum = roundTrip.hasSample ? roundTrip.minimum : .zero
        figures.jitter = roundTrip.hasSample ? roundTrip.variation : .zero
        figures.loss = congestion.loss
        figures.pacingRate = congestion.rate(smoothed: roundTrip.smoothed)
        figures.windowBytes = congestion.window
        figures.inFlightBytes = inFlightBytes
        figures.queuedBytes = queuedCost
        figures.datagramBytes = path.datagramBytes
        figures.bufferedBytes = Int(
            clamping: receiveWindow.received - min(receiveWindow.received, receiveWindow.released)
        )
        return figures
    }

    /// Whether nothing was heard for the idle time-out: time for a new handshake.
    package func isIdle(now: Instant) -> Bool { now - lastHeard >= configuration.idleTimeout }

    /// Whether the connection takes no more sends.
    package var isClosed: Bool { life != .open }

    /// Bytes of the datagrams that leave now, but for probes of the path.
    package var datagramBytes: Int { path.datagramBytes }

    /// Takes the oldest event; the bytes of a reliable message are given back to the peer with it.
    package mutating func nextEvent() -> ConnectionEvent? {
        guard let event = events.popFirst() else { return nil }
        if case .received(let message) = event, message.lane == .reliable {
            release(message.bytes.count, of: message.channel)
        }
        return event
    }

    // MARK: Keys

    /// New data is sealed under `space` from now on.
    ///
    /// `resumed` says that the peer was absent and kept its channels: nothing in flight will be
    /// acknowledged, and both sides exchange RESUME.
    package mutating func adopt(space: UInt32, resumed: Bool, now: Instant) {
        if resumed {
            for other in spaces where other.identifier != space {
                retire(space: other.identifier, now: now)
            }
            path = PathSearch()
            resizePackets()
            congestion = Drift(packetBytes: packetBytes, now: now)
            background = Drift(packetBytes: packetBytes, share: Drift.backgroundShare, now: now)
            roundTrip = RoundTripEstimator()
            pacer = Pacer(packetBytes: packetBytes, now: now)
            enqueue(.resume(from: 0))
        }
        _ = spaceIndex(space)
        currentSpace = space
        probeCount = 0
        heard(now: now)
    }

    /// The keys of `space` are gone: what is unacknowledged there is sent again in the current one.
    package mutating func retire(space: UInt32, now: Instant) {
        guard let index = spaces.firstIndex(where: { $0.identifier == space }) else { return }
        let old = spaces.remove(at: index)
        for place in 0..<old.sent.count {
            guard let packet = old.sent[place], packet.state == .inFlight else { continue }
            landed(packet)
            if packet.isPathProbe { noteVanished(packet, now: now) }
            for frame in packet.frames { requeue(frame) }
        }
    }

    /// The endpoint used `number` of `space` for a packet of its own, which may be acknowledged.
    package mutating func skip(space: UInt32, number: UInt64) {
        let index = spaceIndex(space)
        spaces[index].largestSent = max(spaces[index].largestSent ?? number, number)
    }

    func knownSpace(_ space: UInt32) -> Int? {
        spaces.lastIndex { $0.identifier == space }
    }

    /// The place of a space; an unknown one is added.
    mutating func spaceIndex(_ space: UInt32) -> Int {
        if let known = knownSpace(space) { return known }
        // Current, next and previous; more would be a mistake of the endpoint's.
        if spaces.count > 3, let oldest = spaces.first(where: { $0.identifier != currentSpace }) {
            retire(space: oldest.identifier, now: lastHeard)
        }
        spaces.append(PacketSpace(identifier: space))
        return spaces.count - 1
    }

    mutating func heard(now: Instant) {
        lastHeard = max(lastHeard, now)
        // After an outage of any length the first packet resets the backoff (quic-go#3594).
        probeCount = 0
        if isQuiet {
            isQuiet = false
            events.append(.heard)
        }
    }
}
