import MeshWire

/// What a leader tells of its branch when two meet; both sides rank from the two summaries alone.
struct BranchSummary: Hashable, Sendable {
    var epoch: Epoch
    var head: Position
    var headHash: Digest
    var commit: UInt64
    /// The last entry of the newest committed primary view.
    var primaryEnd: Position
    var members: [Member]
    /// The newest views of the branch, oldest first, the present one last.
    var lineage: [LineageView]

    /// Whether this branch wins over `other` (`30-consensus.md` §9, M4).
    ///
    /// Total and antisymmetric for two different branches: the last rule compares head hashes, and
    /// epochs stand behind it.
    func outranks(_ other: BranchSummary) -> Bool {
        if primaryEnd != other.primaryEnd { return primaryEnd > other.primaryEnd }
        if let fork = history.newestCommon(with: other.history) {
            let mine = count(of: fork.tags)
            let theirs = other.count(of: fork.tags)
            if mine != theirs { return mine > theirs }
            let leads = holds(fork.epoch.proposer)
            if leads != other.holds(fork.epoch.proposer) { return leads }
            let written = commit &- min(commit, fork.index)
            let writtenThere = other.commit &- min(other.commit, fork.index)
            if written != writtenThere { return written > writtenThere }
        } else {
            // Founded apart, by members that came back and met nobody: the larger, then the busier.
            if members.count != other.members.count { return members.count > other.members.count }
            if commit != other.commit { return commit > other.commit }
        }
        if headHash != other.headHash { return headHash < other.headHash }
        return epoch < other.epoch
    }

    /// The views it tells, with its head.
    var history: Lineage { Lineage(views: lineage, head: head.index) }

    private func holds(_ tag: UInt64) -> Bool {
        members.contains { $0.process.tag == tag }
    }

    private func count(of tags: [UInt64]) -> Int {
        tags.reduce(0) { $0 + (holds($1) ? 1 : 0) }
    }

    func encode(into writer: inout ByteWriter) {
        writer.write(epoch)
        writer.write(head)
        writer.write(headHash)
        writer.write(commit)
        writer.write(primaryEnd)
        writer.writeCount(members.count)
        for member in members { writer.write(member) }
        writer.writeCount(lineage.count)
        for view in lineage { view.encode(into: &writer) }
    }

    init(reading reader: inout ByteReader) throws(WireError) {
        epoch = try reader.readEpoch()
        head = try reader.readPosition()
        headHash = try reader.read()
        commit = try reader.read()
        primaryEnd = try reader.readPosition()
        members = try reader.readMembers()
        lineage = []
        for _ in 0..<(try reader.readCount(limit: ConsensusLimits.offeredLineage)) {
            lineage.append(try LineageView(reading: &reader))
        }
    }

    init(
        epoch: Epoch,
        head: Position,
        headHash: Digest,
        commit: UInt64,
        primaryEnd: Position,
        members: [Member],
        lineage: [LineageView]
    ) {
        self.epoch = epoch
        self.head = head
        self.headHash = headHash
        self.commit = commit
        self.primaryEnd = primaryEnd
        self.members = members
        self.lineage = lineage
    }
}
