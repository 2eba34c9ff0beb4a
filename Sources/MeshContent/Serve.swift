package import MeshWire

/// Gives others what they ask for, in turn: which part is read next, and for whom.
///
/// One part of each requester after the other, so that nobody starves; what was read and the pair has
/// not taken yet is bounded for each of them, so that a slow one holds up itself alone
/// (`50-journal-and-playback.md` A5).
package struct Serve: Sendable {
    /// A part that somebody waits for.
    package struct Part: Hashable, Sendable {
        package var content: ContentID
        package var wanted: Wanted

        package init(content: ContentID, wanted: Wanted) {
            self.content = content
            self.wanted = wanted
        }
    }

    private struct Requester: Sendable {
        var peer: NodeID
        var urgent: [Part] = []
        var parts: [Part] = []
        /// Parts that are read, or were and are not with the pair yet.
        var ahead = 0

        var count: Int { urgent.count + parts.count }
        var isReady: Bool { ahead < Serve.partsAhead && count > 0 }

        mutating func popFirst() -> Part? {
            if !urgent.isEmpty { return urgent.removeFirst() }
            return parts.isEmpty ? nil : parts.removeFirst()
        }
    }

    /// Sorted by peer.
    private var requesters: [Requester] = []
    /// The requester whose turn comes next, or the one after it.
    private var turn = NodeID.zero
    /// Parts that are being read.
    private(set) var reads = 0

    /// Parts that are read at once.
    static let readsMaximum = 8
    /// Parts of one requester that are read and not with its pair.
    static let partsAhead = 4
    /// Parts that one requester may wait for.
    static let queueMaximum = 256

    package init() {}

    /// Puts a part into the peer's queue; `false` if that is full.
    ///
    /// One that waits already counts once.
    package mutating func want(_ part: Part, for peer: NodeID, isUrgent: Bool) -> Bool {
        let index = place(of: peer)
        let requester = requesters[index]
        if requester.urgent.contains(part) || requester.parts.contains(part) { return true }
        guard requester.count < Self.queueMaximum else { return false }
        if isUrgent {
            requesters[index].urgent.append(part)
        } else {
            requesters[index].parts.append(part)
        }
        return true
    }

    /// Takes parts back that wait.
    package mutating func cancel(_ content: ContentID, _ chunks: [Int], for peer: NodeID) {
        guard let index = requesters.firstIndex(where: { $0.peer == peer }) else { return }
        let isMeant = { (part: Part) in
            guard case .chunk(let chunk) = part.wanted else { return false }
            return part.content == content && chunks.contains(chunk)
        }
        requesters[index].urgent.removeAll(where: isMeant)
        requesters[index].parts.removeAll(where: isMeant)
    }

    /// A part that is to be read now, if one may be.
    package mutating func next() -> (peer: NodeID, part: Part)? {
        guard reads < Self.readsMaximum, !requesters.isEmpty else { return nil }
        let start = requesters.firstIndex { !($0.peer < turn) } ?? 0
        for offset in requesters.indices {
            let index = (start + offset) % requesters.count
            guard requesters[index].isReady, let part = requesters[index].popFirst() else {
                continue
            }
            requesters[index].ahead += 1
            reads += 1
            let following = (index + 1) % requesters.count
            turn = requesters[following].peer
            return (requesters[index].peer, part)
        }
        return nil
    }

    /// A part was read, or could not be; the pair has it next if it `isSent`.
    package mutating func wasRead(for peer: NodeID, isSent: Bool) {
        reads -= 1
        if !isSent { taken(by: peer) }
    }

    /// The pair took a part.
    package mutating func taken(by peer: NodeID) {
        guard let index = requesters.firstIndex(where: { $0.peer == peer }) else { return }
        requesters[index].ahead = max(requesters[index].ahead - 1, 0)
        if requesters[index].ahead == 0, requesters[index].count == 0 {
            requesters.remove(at: index)
        }
    }

    /// A peer is gone; what is being read for it ends as it would have.
    package mutating func lose(_ peer: NodeID) {
        requesters.removeAll { $0.peer == peer }
    }

    /// A content is gone; answers who waited for what of it.
    package mutating func forget(_ content: ContentID) -> [(peer: NodeID, part: Part)] {
        var dropped: [(NodeID, Part)] = []
        for index in requesters.indices {
            let peer = requesters[index].peer
            for part in requesters[index].urgent + requesters[index].parts
            where part.content == content {
                dropped.append((peer, part))
            }
            requesters[index].urgent.removeAll { $0.content == content }
            requesters[index].parts.removeAll { $0.content == content }
        }
        return dropped
    }

    private mutating func place(of peer: NodeID) -> Int {
        let index = requesters.firstIndex { !($0.peer < peer) } ?? requesters.endIndex
        if index < requesters.endIndex, requesters[index].peer == peer { return index }
        requesters.insert(Requester(peer: peer), at: index)
        return index
    }
}
