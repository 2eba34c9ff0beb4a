import MeshTransport
import MeshWire

/// The messages about contents that wait for their pairs: channel 1, the lowest class of all.
///
/// What is sent here comes in order and waits while the pair's queue is full. Who sends parts of a
/// content hears when a pair has taken them, and so keeps few of them here; the small messages are
/// bounded, and beyond that the newest are lost, as they would be with the pair.
struct ContentLane: Sendable {
    struct Message: Sendable {
        var bytes: [UInt8]
        /// Its sender waits until the pair has it.
        var isPart: Bool
    }

    private struct Line: Sendable {
        let peer: NodeID
        var waiting: Queue<Message>
    }

    /// The nodes for which something waits, sorted.
    private var lines: [Line] = []
    private var events: [Event] = []

    /// The channel of contents (`20-transport.md` §2).
    static let channel: ChannelNumber = 1
    /// Messages and bytes that wait for one pair.
    private static let messages = 4096
    private static let bytes = 8 << 20

    /// Sends a message, now or as soon as the pair takes it.
    mutating func submit(
        _ message: Message,
        to peer: NodeID,
        endpoint: inout Endpoint,
        now: Instant
    ) {
        let size = message.bytes.count
        if let index = lines.firstIndex(where: { $0.peer == peer }) {
            let isKept = lines[index].waiting.appendIfFits(message, byteCount: size)
            if !isKept, message.isPart { took(1, by: peer) }
        } else if hand(message.bytes, to: peer, endpoint: &endpoint, now: now) {
            if message.isPart { took(1, by: peer) }
        } else {
            var line = Line(
                peer: peer,
                waiting: Queue(countLimit: Self.messages, byteLimit: Self.bytes)
            )
            line.waiting.append(message, byteCount: size)
            lines.insert(line, at: lines.firstIndex { peer < $0.peer } ?? lines.endIndex)
        }
    }

    /// The pair has room again.
    mutating func drain(_ peer: NodeID, endpoint: inout Endpoint, now: Instant) {
        guard let index = lines.firstIndex(where: { $0.peer == peer }) else { return }
        var count = 0
        while let message = lines[index].waiting.first,
            hand(message.bytes, to: peer, endpoint: &endpoint, now: now)
        {
            lines[index].waiting.popFirst()
            if message.isPart { count += 1 }
        }
        if lines[index].waiting.isEmpty { lines.remove(at: index) }
        if count > 0 { took(count, by: peer) }
    }

    /// The pair is gone, or another one: nobody waits for what was meant for it.
    mutating func drop(_ peer: NodeID) {
        lines.removeAll { $0.peer == peer }
    }

    mutating func takeEvents() -> [Event] {
        defer { events.removeAll(keepingCapacity: true) }
        return events
    }

    private mutating func took(_ count: Int, by peer: NodeID) {
        events.append(.contentTaken(peer, count))
    }

    /// Gives a message to its pair; `false` if that has no room for it now.
    private func hand(
        _ bytes: [UInt8],
        to peer: NodeID,
        endpoint: inout Endpoint,
        now: Instant
    ) -> Bool {
        do {
            _ = try endpoint.send(
                bytes,
                on: Self.channel,
                to: peer,
                options: SendOptions(reportsOutcome: false),
                now: now
            )
            return true
        } catch {
            // Without a pair there is nobody to wait for.
            if case .refused(.wouldBlock) = error { return false }
            return true
        }
    }
}
