import MeshWire

/// The messages that wait for one node's pair, channel by channel.
///
/// Order holds within a channel, so behind a message that waits the later ones of its channel wait
/// too. Other channels go on: one whose reader is full holds up nobody else. A channel may have 8 MiB
/// and 8,192 messages here (`40-groupactivities.md` §5), all of a node's 32 MiB.
struct Backlog: Sendable {
    private struct Line: Sendable {
        var key: SessionLanes.ChannelKey
        var waiting: Queue<SessionLanes.Waiting>
    }

    /// The channels with something that waits, in the order in which they began to.
    private var lines: [Line] = []
    private var byteCount: Int { lines.reduce(0) { $0 + $1.waiting.byteCount } }

    static let channelBytes = 8 << 20
    static let channelMessages = 8192
    static let nodeBytes = 32 << 20

    var isEmpty: Bool { lines.isEmpty }
    var keys: [SessionLanes.ChannelKey] { lines.map(\.key) }

    func contains(_ key: SessionLanes.ChannelKey) -> Bool {
        lines.contains { $0.key == key }
    }

    /// Appends unless a bound forbids it; one message of any size fits an empty backlog.
    mutating func append(_ waiting: SessionLanes.Waiting) -> Bool {
        let bytes = waiting.bytes.count
        guard isEmpty || byteCount + bytes <= Self.nodeBytes else { return false }
        if let index = lines.firstIndex(where: { $0.key == waiting.key }) {
            return lines[index].waiting.appendIfFits(waiting, byteCount: bytes)
        }
        var line = Line(
            key: waiting.key,
            waiting: Queue(countLimit: Self.channelMessages, byteLimit: Self.channelBytes)
        )
        line.waiting.append(waiting, byteCount: bytes)
        lines.append(line)
        return true
    }

    /// What waits, channel by channel in order.
    var deliveries: [SessionLanes.Delivery] {
        lines.flatMap { line in
            (0..<line.waiting.count).compactMap { line.waiting[$0]?.delivery }
        }
    }

    /// Lets everything that waits count as accepted; the requests of what did not before, in order.
    mutating func acceptAll() -> [RequestID] {
        var accepted: [RequestID] = []
        for line in lines.indices {
            for index in 0..<lines[line].waiting.count {
                guard let waiting = lines[line].waiting[index], !waiting.isAccepted else {
                    continue
                }
                accepted.append(waiting.delivery.request)
                lines[line].waiting[index]?.isAccepted = true
            }
        }
        return accepted
    }

    /// The oldest message of a channel.
    func first(of key: SessionLanes.ChannelKey) -> SessionLanes.Waiting? {
        lines.first { $0.key == key }?.waiting.first
    }

    /// Removes the oldest message of a channel.
    mutating func removeFirst(of key: SessionLanes.ChannelKey) {
        guard let index = lines.firstIndex(where: { $0.key == key }) else { return }
        lines[index].waiting.popFirst()
        if lines[index].waiting.isEmpty { lines.remove(at: index) }
    }

    /// Removes what fits `predicate` and returns it, channel by channel in order.
    mutating func removeAll(
        where predicate: (SessionLanes.Waiting) -> Bool
    ) -> [SessionLanes.Waiting] {
        var removed: [SessionLanes.Waiting] = []
        for index in lines.indices { removed += lines[index].waiting.removeAll(where: predicate) }
        lines.removeAll { $0.waiting.isEmpty }
        return removed
    }
}
