package import MeshWire

/// A leader's signed word of how far its view's log reaches and what it is (`10-security.md` §12).
///
/// Whoever signs two for one epoch and index with different hashes shows two histories.
package struct SignedHead: Hashable, Sendable {
    /// The view that the signer leads.
    package var epoch: Epoch
    /// The last committed entry.
    package var index: UInt64
    /// The chain's hash there.
    package var hash: Digest
    /// The leader's, over ``signedBytes``.
    package var signature: [UInt8]

    /// What is signed, behind label and room: epoch 16, index u64, hash 32.
    package var signedBytes: [UInt8] {
        var writer = ByteWriter(capacity: 56)
        writer.write(epoch)
        writer.write(index)
        writer.write(hash)
        return writer.bytes
    }
}

/// What a process signs besides its commands; each has a label of its own.
package enum SigningPurpose: Sendable {
    /// A ``SignedHead``.
    case head
    /// A message that goes through a helper.
    case relay
}

/// How heads and relayed messages are signed and verified; the keys stay outside.
package struct Signing: Sendable {
    /// This process's signature over the bytes, 64 bytes.
    package var sign: @Sendable (SigningPurpose, [UInt8]) -> [UInt8]
    /// Whether the node signed the bytes for the purpose.
    package var verify:
        @Sendable (SigningPurpose, NodeID, _ bytes: [UInt8], _ signature: [UInt8]) -> Bool

    /// Made of both.
    package init(
        sign: @escaping @Sendable (SigningPurpose, [UInt8]) -> [UInt8],
        verify:
            @escaping @Sendable (SigningPurpose, NodeID, _ bytes: [UInt8], _ signature: [UInt8]) ->
            Bool
    ) {
        self.sign = sign
        self.verify = verify
    }

    static let signatureBytes = 64
}

/// The heads of the present view's leader, and who was caught.
struct Heads: Sendable {
    /// The newest ones, oldest first; at most ``ConsensusLimits/heads``.
    var kept: [SignedHead] = []
    var nextAt: Instant
    /// Signatures checked since the last second began; a check costs some 40 µs.
    var checked = 0
    /// Whose turn it is to hear the newest one from me.
    var turn = 0
    /// Processes that signed two histories; at most ``ConsensusLimits/estranged``.
    var distrusted: [UInt64] = []
}

// Two histories from one leader are found within seconds and cost it the lead: each second it signs its
// head for all, and each member passes the newest on to one other, so that two that were told
// different things compare. Detected, not prevented; what a client was answered meanwhile may be lost.
extension ConsensusCore {
    func isDistrusted(_ tag: UInt64) -> Bool { signedHeads.distrusted.contains(tag) }

    /// When the next head is due; only where somebody signs.
    var nextHeadDue: Instant { signing == nil || !isMember ? .distantFuture : signedHeads.nextAt }

    mutating func tickHeads() {
        guard let signing, let view, isMember, now >= signedHeads.nextAt else { return }
        signedHeads.nextAt = now + .seconds(1)
        signedHeads.checked = 0
        let others = view.members.map(\.process).filter { $0 != me }
        guard !others.isEmpty else { return }
        if isLeading {
            guard isUsable, let hash = log.hash(at: commit), commit >= view.start.index else {
                return
            }
            var head = SignedHead(epoch: view.epoch, index: commit, hash: hash, signature: [])
            head.signature = signing.sign(.head, head.signedBytes)
            for process in others { send(.head(head), to: process) }
        } else if let newest = signedHeads.kept.last {
            signedHeads.turn &+= 1
            send(.head(newest), to: others[signedHeads.turn % others.count])
        }
    }

    mutating func receiveHead(_ head: SignedHead) {
        guard let signing, let view, head.epoch == view.epoch, !isLeading,
            let leader = view.leader, !isDistrusted(leader.tag), !signedHeads.kept.contains(head),
            signedHeads.checked < ConsensusLimits.headsChecked
        else { return }
        signedHeads.checked += 1
        guard signing.verify(.head, leader.nodeID, head.signedBytes, head.signature) else {
            statistics.badSignatures += 1
            return
        }
        let other = signedHeads.kept.first { $0.index == head.index && $0.hash != head.hash }
        signedHeads.kept.append(head)
        if signedHeads.kept.count > ConsensusLimits.heads { signedHeads.kept.removeFirst() }
        // What it signed for others and what it sent me must be one as well.
        let isMine = log.position(at: head.index).map { $0.epoch == head.epoch } ?? false
        guard other != nil || isMine && log.hash(at: head.index) != head.hash else { return }
        accuse(leader, head, other)
    }

    /// Follows a leader no more that shows two histories, and tells the others why.
    private mutating func accuse(_ leader: ProcessID, _ head: SignedHead, _ other: SignedHead?) {
        signedHeads.distrusted.append(leader.tag)
        if signedHeads.distrusted.count > ConsensusLimits.estranged {
            signedHeads.distrusted.removeFirst()
        }
        statistics.equivocations += 1
        output.events.append(.evidence(against: leader, head, other))
        for member in view?.members ?? [] where member.process != me && member.process != leader {
            send(.head(head), to: member.process)
            if let other { send(.head(other), to: member.process) }
        }
        leaderHasQuorum = false
    }
}
