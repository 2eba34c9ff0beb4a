import MeshSession
import MeshTransport
import MeshWire

/// Carries a session's messages over the pairs: which channel of which pair, for whom, and what
/// became of them.
///
/// A message to a participant whose pair is not up yet waits in that node's backlog; a message from
/// a participant whose join has not been applied here yet waits in that node's hold. Both are
/// bounded in bytes and in time (`30-consensus.md` §12, gate; `40-groupactivities.md` §5). Nobody
/// waits for a node that is quiet: see `SessionLanes+Quiet.swift`.
struct SessionLanes: Sendable {
    /// What the lanes know of one node.
    struct Peer: Sendable {
        var nodeID: NodeID
        var isConnected = false
        /// Since when messages wait for a pair, if they do.
        var waitingSince: Instant?
        /// Whether the transport has heard nothing of the node for a while.
        var isSilent = false
        /// Since when something has been under way to the node without any progress.
        var unansweredSince: Instant?
        /// Whether the node has been silent for so long, while asked, that nobody waits for it.
        var isQuiet = false
        /// Channels opened on this pair, by what they carry.
        var channels: [ChannelKey: ChannelNumber] = [:]
        /// Sends that the pair has taken and not answered.
        var tokens: [SendToken: Delivery] = [:]
        /// The node's channels by which reliable messages came, ascending; at most 1,024 by transport.
        var incoming: [Incoming] = []
        /// Messages that wait for the pair or for room in its windows.
        var backlog = Backlog()
        /// Messages that wait for the room's state, oldest first.
        var held: Queue<Held>
        /// Nothing that waits is dropped before this: the node was in no common view until then.
        var heldFloor = Instant.zero
        /// The node's channels that are shut because of what waits.
        var shut: [ChannelNumber] = []
    }

    /// A channel of the other side.
    struct Incoming: Sendable {
        var channel: ChannelNumber
        var name: SessionChannelName
    }

    /// What one channel of a pair carries.
    struct ChannelKey: Hashable, Sendable {
        var name: SessionChannelName
        var lane: Lane
        var priority: Priority
    }

    /// One message to one participant.
    struct Delivery: Hashable, Sendable {
        var request: RequestID
        var session: SessionID
        var participant: ParticipantID
    }

    /// A delivery that its pair could not take yet.
    struct Waiting: Sendable {
        var delivery: Delivery
        var key: ChannelKey
        var bytes: [UInt8]
        var options: SendOptions
        /// After this the message is not worth sending.
        var expires: Instant?
        /// Whether it counts as accepted although the pair has not taken it.
        var isAccepted = false
    }

    /// A message that came before the state it needs.
    struct Held: Sendable {
        var name: SessionChannelName
        var lane: Lane
        var channel: ChannelNumber
        var key: UInt64
        var bytes: [UInt8]
        var until: Instant
    }

    /// What is known of one request so far.
    struct Outstanding: Sendable {
        var unaccepted: Int
        var pending: Int
        /// Of several messages in one request: what each recipient still lacks.
        var parts: [Part] = []
        /// The recipients among the pending ones that are quiet.
        var quiet: [ParticipantID] = []
        /// Whether it was told that only those are left.
        var isSettledInPart = false
        var report: SendReport
    }

    /// What becomes of the messages of one request to one participant.
    struct Part: Sendable {
        var participant: ParticipantID
        var left: Int
        var failure: SendFailure?
    }

    /// The nodes, sorted.
    private(set) var peers: [Peer] = []
    /// The requests without an outcome; looked up, never walked.
    var outstanding: [RequestID: Outstanding] = [:]
    /// Channels whose reader is full.
    var paused: Set<SessionChannelName> = []
    /// What the application should hear.
    var events: [Event] = []
    /// What was dropped and why.
    var statistics = LaneStatistics()

    /// Bytes, messages and time that one node's early messages may wait (`30-consensus.md` §12).
    static let heldBytes = 1 << 20
    static let heldMessages = 8192
    static let heldTime: Duration = .seconds(2)

    /// When waiting messages must be looked at again.
    var deadline: Instant? {
        peers.lazy.compactMap { peer in
            let hold = peer.held.first.map { max($0.until, peer.heldFloor) }
            let lost = peer.isConnected ? nil : peer.waitingSince.map { $0 + Limits.grace }
            return [hold, lost, peer.quietDue].compactMap { $0 }.min()
        }.min()
    }

    /// Drops what waited too long.
    ///
    /// The time of a reliable message runs only while its sender is in this node's view: on another
    /// branch its join cannot come, and it was promised to arrive.
    mutating func advance(
        to now: Instant,
        isTogether: (NodeID) -> Bool,
        endpoint: inout Endpoint
    ) {
        for index in peers.indices {
            while let first = peers[index].held.first,
                max(first.until, peers[index].heldFloor) <= now
            {
                if first.lane == .reliable, !isTogether(peers[index].nodeID) {
                    peers[index].heldFloor = now + Self.heldTime
                    break
                }
                peers[index].held.popFirst()
                statistics.heldTooLong += 1
            }
            open(at: index, endpoint: &endpoint)
            if let due = peers[index].quietDue, due <= now { becomeQuiet(at: index) }
            if !peers[index].isConnected, let since = peers[index].waitingSince,
                now - since >= Limits.grace
            {
                failBacklog(at: index, .peerLost)
                peers[index].waitingSince = nil
            }
        }
    }

    /// The position of `nodeID`, which gets one if it has none.
    mutating func index(of nodeID: NodeID) -> Int {
        let position = peers.firstIndex { !($0.nodeID < nodeID) } ?? peers.endIndex
        if position < peers.endIndex, peers[position].nodeID == nodeID { return position }
        let peer = Peer(
            nodeID: nodeID,
            held: Queue(countLimit: Self.heldMessages, byteLimit: Self.heldBytes)
        )
        peers.insert(peer, at: position)
        return position
    }

    /// Changes what is known of the node at `index`.
    mutating func withPeer<Result>(at index: Int, _ body: (inout Peer) -> Result) -> Result {
        body(&peers[index])
    }

    /// A pair is up; `resumed` if its channels of before go on.
    mutating func connected(_ nodeID: NodeID, resumed: Bool, now: Instant) {
        let index = index(of: nodeID)
        heard(at: index, now: now)
        peers[index].isConnected = true
        peers[index].waitingSince = nil
        if !resumed {
            peers[index].channels = [:]
            peers[index].tokens = [:]
            peers[index].incoming = []
        }
    }

    /// A pair is gone for good: what waited for it has failed.
    mutating func disconnected(_ nodeID: NodeID) {
        let index = index(of: nodeID)
        let lost = peers[index].tokens.sorted { $0.key < $1.key }
        for (_, delivery) in lost { finish(delivery, .peerLost) }
        failBacklog(at: index, .peerLost)
        peers.remove(at: index)
    }

    private mutating func failBacklog(at index: Int, _ reason: SendFailure) {
        for waiting in withPeer(at: index, { $0.backlog.removeAll { _ in true } }) {
            accept(waiting)
            finish(waiting.delivery, reason)
        }
    }

    /// One recipient's pair has taken the message, or never will.
    mutating func accept(_ request: RequestID) {
        guard let place = outstanding.index(forKey: request) else { return }
        outstanding.values[place].unaccepted -= 1
        if outstanding.values[place].unaccepted == 0 { events.append(.accepted(request)) }
    }

    /// The same for a message that may have been accepted already.
    mutating func accept(_ waiting: Waiting) {
        if !waiting.isAccepted { accept(waiting.delivery.request) }
    }

    /// One recipient's outcome is known; `nil` if the message arrived.
    mutating func finish(_ delivery: Delivery, _ failure: SendFailure?) {
        guard let place = outstanding.index(forKey: delivery.request) else { return }
        outstanding.values[place].finish(delivery.participant, failure)
        keep(at: place)
    }
}

extension SessionLanes.Outstanding {
    /// One message to a participant arrived, or never will.
    mutating func finish(_ participant: ParticipantID, _ failure: SendFailure?) {
        var failure = failure
        if let part = parts.firstIndex(where: { $0.participant == participant }) {
            parts[part].left -= 1
            parts[part].failure = parts[part].failure ?? failure
            guard parts[part].left == 0 else { return }
            failure = parts[part].failure
        }
        if let failure {
            report.failures.append(SendReport.Failure(participant: participant, reason: failure))
        } else {
            report.delivered.append(participant)
        }
        pending -= 1
        if !quiet.isEmpty { quiet.removeAll { $0 == participant } }
    }
}

/// What the lanes dropped, by reason.
package struct LaneStatistics: Hashable, Sendable {
    /// Messages whose envelope or channel made no sense.
    package var malformed: UInt64 = 0
    /// Messages whose source was not a participation of the sending node.
    package var forged: UInt64 = 0
    /// Messages to a participation of this node that is over, or to a session it is not in.
    package var misdirected: UInt64 = 0
    /// Early messages whose join did not come in time.
    package var heldTooLong: UInt64 = 0
    /// Early messages beyond the bound of their node.
    package var heldOverflow: UInt64 = 0
    /// Messages delivered to the application.
    package var delivered: UInt64 = 0

    package init() {}
}
