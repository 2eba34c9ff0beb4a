import MeshWire

/// A fast message that waits for its packet.
struct PendingFast: Sendable {
    let token: UInt64
    var header: FastHeader
    let bytes: [UInt8]
    let queued: Instant
    let expires: Instant?
    let fragmentCount: Int
    let fragmentBytes: Int
    let reportsOutcome: Bool
    /// The next fragment to send; above zero it is under way.
    var fragment = 0

    /// When it is dropped.
    func dropped(after wait: Duration) -> Instant {
        min(queued + wait, expires ?? .distantFuture)
    }
}

/// Fast messages on their way out: few, and the newest first when not all fit.
struct FastSender: Sendable {
    static let countMaximum = 256
    static let byteMaximum = 1 << 20

    var pending: [PendingFast] = []
    private(set) var byteCount = 0

    var isEmpty: Bool { pending.isEmpty }

    mutating func append(_ message: PendingFast) {
        byteCount += message.bytes.count
        pending.append(message)
    }

    mutating func remove(at index: Int) -> PendingFast {
        let message = pending.remove(at: index)
        byteCount -= message.bytes.count
        return message
    }

    /// The message to send next: one under way, else the oldest if all fit, else the newest.
    ///
    /// `latest` values wait for their interval unless `latestMayLeave`.
    func next(room: Int, latestMayLeave: Bool) -> Int? {
        if let index = pending.firstIndex(where: { $0.fragment > 0 }) { return index }
        func mayLeave(_ message: PendingFast) -> Bool { latestMayLeave || !message.header.isLatest }
        return byteCount + 40 * pending.count <= room
            ? pending.firstIndex(where: mayLeave) : pending.lastIndex(where: mayLeave)
    }

    mutating func removeAll() {
        pending.removeAll()
        byteCount = 0
    }
}

/// Fragments of fast messages that are not whole yet: few, small and young.
struct FastReassembly: Sendable {
    static let countMaximum = 64
    static let byteMaximum = 1 << 20
    static let ageMaximum: Duration = .milliseconds(500)

    struct Partial: Sendable {
        let header: FastHeader
        /// When it is dropped.
        ///
        /// The fragments of a `latest` value were acknowledged and do not come again, so they stay as
        /// long as a channel waits to be resumed, or until a newer value of the key begins.
        let expires: Instant
        var fragments: [[UInt8]?]
        var missing: Int
    }

    /// Oldest first.
    private(set) var partials: [Partial] = []
    private(set) var byteCount = 0

    /// When the next one is dropped.
    var deadline: Instant? { partials.map(\.expires).min() }

    /// Takes a fragment and answers with the whole message once it is there.
    ///
    /// `dropped` counts the messages that made room.
    mutating func insert(
        _ header: FastHeader,
        _ fragment: FastHeader.Fragment,
        _ bytes: RawSpan,
        now: Instant,
        dropped: inout UInt64
    ) -> [UInt8]? {
        var index = partials.lastIndex {
            $0.header.channel == header.channel && $0.header.key == header.key
                && $0.header.sequence == header.sequence
        }
        if let found = index, partials[found].fragments.count != Int(fragment.count) {
            // Two sizes of one message: the sender contradicts itself, and loses the message.
            remove(at: found)
            dropped += 1
            return nil
        }
        if index == nil {
            dropOlder(header, dropped: &dropped)
            let age = header.isLatest ? Limits.grace : Self.ageMaximum
            partials.append(
                Partial(
                    header: header,
                    expires: now + age,
                    fragments: Array(repeating: nil, count: Int(fragment.count)),
                    missing: Int(fragment.count)
                )
            )
            index = partials.count - 1
        }
        guard let index, partials[index].fragments[Int(fragment.index)] == nil else { return nil }
        partials[index].fragments[Int(fragment.index)] = bytes.copied
        partials[index].missing -= 1
        byteCount += bytes.byteCount
        if partials[index].missing == 0 {
            let whole = Array(partials[index].fragments.compactMap(\.self).joined())
            remove(at: index)
            return whole
        }
        while partials.count > Self.countMaximum || byteCount > Self.byteMaximum {
            remove(at: 0)
            dropped += 1
        }
        return nil
    }

    /// Drops what is too old and answers with how many.
    mutating func expire(now: Instant) -> UInt64 {
        var count: UInt64 = 0
        for index in partials.indices.reversed() where partials[index].expires <= now {
            remove(at: index)
            count += 1
        }
        return count
    }

    /// A newer message of a key makes the older ones worthless.
    private mutating func dropOlder(_ header: FastHeader, dropped: inout UInt64) {
        guard header.key != 0 else { return }
        for index in partials.indices.reversed()
        where partials[index].header.channel == header.channel
            && partials[index].header.key == header.key
            && partials[index].header.sequence < header.sequence
        {
            remove(at: index)
            dropped += 1
        }
    }

    private mutating func remove(at index: Int) {
        byteCount -= partials[index].fragments.reduce(0) { $0 + ($1?.count ?? 0) }
        partials.remove(at: index)
    }
}
