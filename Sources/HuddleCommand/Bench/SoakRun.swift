import MeshCrypto
import MeshNet
import MeshTransport
import MeshWire

/// A hub that 64 peers are connected to, over sockets of loopback, while some leave and others come.
///
/// One thread drives all 65 ends. Half of the peers stay for the whole run, so that their keys are renewed; of the
/// others a few end each second, by turns because they close, because the hub closes, or without a word, and the
/// last of these come back as the same node in another life. One datagram in a hundred is thrown away.
final class SoakRun {
    /// What happened so far.
    struct Count {
        var connections = 0
        var reliable = 0
        var fast = 0
        var rekeys: UInt64 = 0
        /// What broke a promise of the lanes, in words.
        var faults: [String] = []
    }

    static let peers = 64
    private static let leavers = peers / 2
    private static let leavingPerSecond = 6
    private static let interval: Duration = .milliseconds(20)
    private static let lost = 0.01

    /// One of the ends of a connection: where its messages go, and what they were.
    private struct Side {
        var peer: NodeID
        var channels: [ChannelNumber]
        var ledger: SoakLedger
        var turn = 0
    }

    /// A peer of the hub in one of its lives.
    private final class Guest {
        let end: SocketEndpoint
        let identity: Identity
        var side: Side?
        /// When it dials anew because nothing came of the last time.
        var redial: Instant?

        init(_ end: SocketEndpoint, identity: Identity) {
            (self.end, self.identity) = (end, identity)
        }

        var life: UInt64 { end.use { $0.process.incarnation } }
    }

    private(set) var count = Count()
    private let hub: SocketEndpoint
    private let room: RoomSecret
    private var secrets = SystemSecrets()
    private var guests: [Guest] = []
    /// The hub's sides, by the peer.
    private var sides: [NodeID: Side] = [:]
    private var received = ReceiveBatch()
    private var leavings = 0

    /// Opens all sockets and dials.
    init() throws(SystemError) {
        var secrets = SystemSecrets()
        room = RoomSecret(from: &secrets)
        var configuration = EndpointConfiguration()
        configuration.peersMaximum = Self.peers
        hub = try SocketEndpoint(
            bind: SocketAddress(127, 0, 0, 1, port: 0),
            room: room,
            configuration: configuration
        )
        for slot in 0..<Self.peers { guests.append(try makeGuest(slot)) }
    }

    /// Connections that are up at both ends.
    var live: Int {
        guests.count { $0.side != nil && sides[$0.end.use { $0.nodeID }] != nil }
    }

    /// Whether every reliable message that was taken has arrived.
    var isSettled: Bool {
        guests.allSatisfy { guest in
            guard let own = guest.side?.ledger,
                let other = sides[guest.end.use { $0.nodeID }]?.ledger
            else { return false }
            return own.sent == other.received && other.sent == own.received
        }
    }

    // MARK: Time

    /// Drives all ends until `end`; messages are sent while `isSending`.
    func run(until end: Instant, isSending: Bool, or isEnough: () -> Bool = { false }) {
        var nextTick = SystemClock.now()
        while SystemClock.now() < end, !isEnough() {
            var now = SystemClock.now()
            if now >= nextTick {
                tick(now, isSending: isSending)
                nextTick = max(nextTick + Self.interval, now)
            }
            let all = [hub] + guests.map(\.end)
            let next = all.compactMap(\.deadline).min() ?? nextTick
            let ready = waitReadable(all.map(\.descriptor), until: min(next, nextTick))
            now = SystemClock.now()
            for (end, isReady) in zip(all, ready) where isReady || (end.deadline ?? now) <= now {
                end.receive(now, into: &received, lost: Self.lost)
            }
            takeEvents(now)
            for (end, isReady) in zip(all, ready) where isReady || (end.deadline ?? now) <= now {
                end.flush(now)
            }
            takeEvents(now)
        }
    }

    private func tick(_ now: Instant, isSending: Bool) {
        for guest in guests {
            if let redial = guest.redial, redial <= now { dial(guest, now) }
            let name = guest.end.use { $0.nodeID }
            guard isSending else { continue }
            send(from: guest.end, &guest.side, now)
            send(from: hub, &sides[name], now)
        }
        for end in [hub] + guests.map(\.end) { end.flush(now) }
    }

    private func send(from end: SocketEndpoint, _ side: inout Side?, _ now: Instant) {
        guard var own = side else { return }
        let options = SendOptions(reportsOutcome: false)
        for (channel, number) in zip(SoakLedger.Channel.allCases, own.channels) {
            let message = own.ledger.message(channel)
            let token = end.use {
                try? $0.send(message, on: number, to: own.peer, options: options, now: now)
            }
            if token != nil { own.ledger.didSend(channel) }
        }
        let message = own.ledger.fastMessage()
        let fast = SendOptions(lane: .fast, key: 1, reportsOutcome: false)
        _ = end.use {
            try? $0.send(message, on: own.channels[0], to: own.peer, options: fast, now: now)
        }
        side = own
    }

    // MARK: Coming and going

    private func makeGuest(
        _ slot: Int,
        identity: Identity? = nil
    ) throws(SystemError) -> Guest {
        let own = identity ?? Identity(from: &secrets)
        // Each has an address of its own, as strangers have: what one source may cost is bounded.
        let address = SocketAddress(127, 77, 0, UInt8(slot + 1), port: 0)
        let guest = Guest(
            try SocketEndpoint(bind: address, room: room, identity: own),
            identity: own
        )
        dial(guest, SystemClock.now())
        return guest
    }

    private func dial(_ guest: Guest, _ now: Instant) {
        guest.redial = nil
        let target = DialTarget.member(address: hub.address, expected: hub.use { $0.nodeID })
        guest.end.use { _ = $0.dial(target, now: now) }
        guest.end.flush(now)
    }

    /// Lets some of those that do not stay go, and others come in their places.
    func change() throws(SystemError) {
        for _ in 0..<Self.leavingPerSecond {
            // Each of them once in a while: 5 has no divisor in common with their number.
            let slot = Self.peers - 1 - leavings * 5 % Self.leavers
            let (guest, now) = (guests[slot], SystemClock.now())
            let name = guest.end.use { $0.nodeID }
            leavings += 1
            switch leavings % 3 {
            case 0:
                guest.end.use { $0.closeAll(reason: .leaving, now: now) }
                guest.end.flush(now)
                guests[slot] = try makeGuest(slot)
            case 1:
                hub.use { $0.close(name, reason: .leaving, now: now) }
                hub.flush(now)
                guests[slot] = try makeGuest(slot)
            default:
                guests[slot] = try makeGuest(slot, identity: guest.identity)
            }
        }
    }

    // MARK: Events

    private func takeEvents(_ now: Instant) {
        hub.takeEvents { event in
            switch event {
            case .connected(let found) where !found.resumed:
                sides[found.peer] = open(found.peer, life: found.incarnation, at: hub)
                count.connections += 1
            case .disconnected(let peer, let life, _):
                if sides[peer]?.ledger.connection == life { sides[peer] = nil }
            default: take(event, &sides)
            }
        }
        for guest in guests {
            guest.end.takeEvents { event in
                switch event {
                case .connected(let found) where !found.resumed:
                    guest.side = open(found.peer, life: guest.life, at: guest.end)
                case .disconnected, .dialFailed:
                    guest.side = nil
                    guest.redial = now + .seconds(1)
                default:
                    guard let peer = guest.side?.peer else { break }
                    var own = [peer: guest.side].compactMapValues { $0 }
                    take(event, &own)
                    guest.side = own[peer]
                }
            }
        }
        count.rekeys = hub.use { $0.statistics.rekeys }
    }

    private func open(_ peer: NodeID, life: UInt64, at end: SocketEndpoint) -> Side? {
        let channels = SoakLedger.Channel.allCases.compactMap { channel in
            end.use { try? $0.openChannel(to: peer, name: channel.name, class: .normal) }
        }
        guard channels.count == SoakLedger.Channel.allCases.count else { return nil }
        return Side(peer: peer, channels: channels, ledger: SoakLedger(connection: life))
    }

    private func take(_ event: EndpointEvent, _ sides: inout [NodeID: Side]) {
        switch event {
        case .connection(let peer, .received(let message)):
            do throws(SoakLedger.Fault) {
                try sides[peer]?.ledger.receive(message)
                if message.lane == .fast { count.fast += 1 } else { count.reliable += 1 }
            } catch {
                note("\(error)")
            }
        case .violation: note("an end took the other for one that breaks the protocol")
        default: break
        }
    }

    private func note(_ fault: String) {
        // A run that goes wrong goes wrong a thousand times.
        if count.faults.count < 20 { count.faults.append(fault) }
    }
}
