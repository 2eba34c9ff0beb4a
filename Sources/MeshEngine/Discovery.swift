import MeshCrypto
import MeshTransport
import MeshWire

/// What discovery should say on this node's behalf.
struct Announcement: Sendable {
    /// The open invites.
    var invites: [InviteAnnouncement]
    /// Whether this node looks for somebody who invites.
    var isSearching: Bool
    /// Whether members of the room are missing.
    var isEstranged: Bool
}

/// What discovery heard: a hint where somebody is, nothing more.
enum DiscoveryHint: Sendable {
    /// A member of our room; `reference` names it to members.
    case member(SocketAddress, reference: UInt64)
    /// Somebody invites.
    case invite(InviteBeacon, SocketAddress)
}

/// Sealed beacons for members, invite beacons and probes for guests (`10-security.md` §8).
///
/// A beacon is an address hint; the handshake decides. Bounds: 20 datagrams a second from one source,
/// 500 in total, 64 sources told apart at a time.
struct Discovery: Sendable {
    private let nodeID: NodeID
    private let port: UInt16
    /// Unix time at the clock's origin, in seconds.
    private let unixOrigin: Int64
    private var generator: SeededGenerator
    private var secrets: any SecretSource
    private var key: BeaconKey?
    private var room: RoomID?
    private var viewTag: UInt64 = 0

    private var nextBeacon: Instant = .zero
    private var lastBeacon: Instant?
    private var fastUntil: Instant
    private var nextInvite: Instant = .zero
    private var lastInvite: Instant?
    private var nextProbe: Instant = .zero
    private var rate = SourceRate()
    private(set) var statistics = DiscoveryStatistics()

    init(
        nodeID: NodeID,
        port: UInt16,
        unixOrigin: Int64,
        generator: SeededGenerator,
        secrets: any SecretSource,
        now: Instant
    ) {
        self.nodeID = nodeID
        self.port = port
        self.unixOrigin = unixOrigin
        self.generator = generator
        self.secrets = secrets
        fastUntil = now + Self.fastTime
    }

    /// The period of a beacon in quiet times, while members are missing, and after a change.
    static let period = (
        usual: Duration.seconds(2), estranged: Duration.seconds(1),
        fast: Duration.milliseconds(200)
    )
    /// How long the fast period lasts after a start or a change of the network.
    static let fastTime: Duration = .seconds(3)
    /// Beacons that are asked for keep at least this distance.
    static let spacing: Duration = .milliseconds(500)
    static let invitePeriod: Duration = .seconds(1)
    static let probePeriod: Duration = .seconds(1)

    mutating func setRoom(_ secret: RoomSecret?, now: Instant) {
        key = secret.map(BeaconKey.init)
        room = secret?.room
        viewTag = 0
        hurry(now: now)
    }

    mutating func setView(_ epoch: Epoch) {
        guard let room else { return }
        viewTag = Hash.viewTag(room, epoch)
    }

    /// Sends soon and often for a while: something changed.
    mutating func hurry(now: Instant) {
        fastUntil = now + Self.fastTime
        nextBeacon = now
        nextInvite = now
        nextProbe = now
    }

    /// How beacons of our room name `node`; zero outside a room.
    func reference(of node: NodeID) -> UInt64 {
        key?.nodeReference(node) ?? 0
    }

    // MARK: Sending

    func deadline(announcing announcement: Announcement) -> Instant? {
        var deadline: Instant?
        if key != nil { deadline = nextBeacon }
        if !announcement.invites.isEmpty { deadline = earliest(deadline, nextInvite) }
        if announcement.isSearching { deadline = earliest(deadline, nextProbe) }
        return deadline
    }

    mutating func poll(
        now: Instant,
        announcing announcement: Announcement,
        into batch: inout DatagramBatch
    ) {
        if let key, nextBeacon <= now {
            batch.append(beacon(key, now: now), to: .discovery)
            lastBeacon = now
            nextBeacon = now + beaconPeriod(announcement, now: now)
        }
        if nextInvite <= now, !announcement.invites.isEmpty {
            for invite in announcement.invites {
                batch.append(inviteBeacon(invite), to: .discovery)
            }
            lastInvite = now
            nextInvite = now + jittered(Self.invitePeriod, percent: 10)
        }
        if announcement.isSearching, nextProbe <= now {
            let probe = InviteProbe(nonce: secrets.identifier())
            batch.append(probe.encode(), to: .discovery)
            nextProbe = now + jittered(Self.probePeriod, percent: 10)
        }
    }

    private mutating func beacon(_ key: BeaconKey, now: Instant) -> [UInt8] {
        let beacon = Beacon(
            nodeReference: key.nodeReference(nodeID),
            port: port,
            asksForBeacons: now < fastUntil,
            generation: key.generation,
            timeBucket: timeBucket(now),
            viewTag: viewTag
        )
        return key.seal(beacon, from: &secrets)
    }

    private func inviteBeacon(_ invite: InviteAnnouncement) -> [UInt8] {
        InviteBeacon(
            invite: invite.inviteID,
            slot: invite.slot,
            mode: .code,
            offersLink: invite.offersLink,
            port: port
        ).encode()
    }

    private mutating func beaconPeriod(_ announcement: Announcement, now: Instant) -> Duration {
        if now < fastUntil { return Self.period.fast }
        return announcement.isEstranged
            ? jittered(Self.period.estranged, percent: 20)
            : jittered(Self.period.usual, percent: 25)
    }

    private mutating func jittered(_ period: Duration, percent: Int) -> Duration {
        let spread = period / 100 * percent
        return generator.duration(in: (period - spread)...(period + spread))
    }

    private func timeBucket(_ now: Instant) -> UInt32 {
        UInt32(truncatingIfNeeded: (unixOrigin + now.nanoseconds / 1_000_000_000) / 30)
    }

    // MARK: Receiving

    /// Takes a datagram of discovery; what it says about an address, if anything new.
    mutating func receive(
        _ datagram: RawSpan,
        from source: SocketAddress,
        announcing announcement: Announcement,
        now: Instant
    ) -> DiscoveryHint? {
        guard rate.allows(source, now: now) else {
            statistics.tooFast += 1
            return nil
        }
        switch MessageType(rawValue: datagram.first ?? 0) {
        case .beacon:
            return receiveBeacon(datagram, from: source, now: now)
        case .inviteBeacon:
            guard announcement.isSearching else { return nil }
            guard let beacon = try? InviteBeacon(datagram) else {
                statistics.malformed += 1
                return nil
            }
            statistics.invites += 1
            return .invite(beacon, source.with(port: beacon.port))
        case .probe:
            guard !announcement.invites.isEmpty, (try? InviteProbe(datagram)) != nil else {
                return nil
            }
            nextInvite = min(nextInvite, max(now, (lastInvite ?? .zero) + Self.spacing))
            return nil
        case .hello, .retry, .first, .second, .third, .data, nil:
            statistics.malformed += 1
            return nil
        }
    }

    private mutating func receiveBeacon(
        _ datagram: RawSpan,
        from source: SocketAddress,
        now: Instant
    ) -> DiscoveryHint? {
        guard let key, let beacon = key.open(datagram) else {
            statistics.foreign += 1
            return nil
        }
        guard beacon.nodeReference != key.nodeReference(nodeID) else { return nil }
        statistics.beacons += 1
        let skew = Int64(beacon.timeBucket) - Int64(timeBucket(now))
        // Machines without a clock are welcome; a replayed beacon is a hint at most.
        if abs(skew) > 2 { statistics.skewed += 1 }
        if beacon.asksForBeacons {
            nextBeacon = min(nextBeacon, max(now, (lastBeacon ?? .zero) + Self.spacing))
        }
        return .member(source.with(port: beacon.port), reference: beacon.nodeReference)
    }
}

/// What discovery heard and dropped.
package struct DiscoveryStatistics: Hashable, Sendable {
    /// Beacons of members.
    package var beacons: UInt64 = 0
    /// Beacons that do not open: another room's, or noise.
    package var foreign: UInt64 = 0
    /// Beacons whose sender's clock is more than a minute off.
    package var skewed: UInt64 = 0
    /// Invite beacons heard while searching.
    package var invites: UInt64 = 0
    /// Datagrams that are none of discovery's.
    package var malformed: UInt64 = 0
    /// Datagrams above the rate of their source or of all.
    package var tooFast: UInt64 = 0

    package init() {}
}

/// Counts datagrams a second, by source and in total; fixed in size.
struct SourceRate: Sendable {
    private var second: Int64 = .min
    private var total = 0
    private var counts: [(address: SocketAddress, count: Int)] = []

    static let perSource = 20
    static let perSecond = 500
    static let sources = 64

    mutating func allows(_ source: SocketAddress, now: Instant) -> Bool {
        let current = now.nanoseconds / 1_000_000_000
        if current != second {
            second = current
            total = 0
            counts.removeAll(keepingCapacity: true)
        }
        guard total < Self.perSecond else { return false }
        // On loopback processes share an address, so the port tells them apart.
        let name = source.isLoopback ? source : source.with(port: 0)
        if let index = counts.firstIndex(where: { $0.address == name }) {
            // A loud source spends its own share only.
            guard counts[index].count < Self.perSource else { return false }
            counts[index].count += 1
            total += 1
            return true
        }
        total += 1
        // Beyond the table's size the total alone bounds.
        if counts.count < Self.sources { counts.append((name, 1)) }
        return true
    }
}
