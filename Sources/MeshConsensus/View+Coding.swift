package import MeshWire

// A view, little-endian: epoch 16 · start epoch and index 24 · startHash 32 · flags u8 (1 primary,
// 2 forced) · members: count, then process 48, ability u8, joined 24 each · departed: count,
// processes · parents: count, epochs · required: count, then epoch 16, flags u8 (1 committed,
// 2 forced), tags each.
// A process: NodeID 32 · incarnation u64 · tag u64.

extension ByteWriter {
    /// Appends a process: 48 bytes.
    package mutating func write(_ process: ProcessID) {
        write(process.nodeID)
        write(process.incarnation)
        write(process.tag)
    }

    /// Appends a member: 73 bytes.
    package mutating func write(_ member: Member) {
        write(member.process)
        write(member.ability)
        write(member.joined)
    }

    /// Appends a configuration.
    package mutating func write(_ configuration: PrimaryConfiguration) {
        write(configuration.epoch)
        write(UInt8((configuration.isCommitted ? 1 : 0) | (configuration.isForced ? 2 : 0)))
        writeCount(configuration.tags.count)
        for tag in configuration.tags { write(tag) }
    }

    /// Appends a view.
    package mutating func write(_ view: View) {
        write(view.epoch)
        write(view.start)
        write(view.startHash)
        write(UInt8((view.primary ? 1 : 0) | (view.forced ? 2 : 0)))
        writeCount(view.members.count)
        for member in view.members { write(member) }
        writeCount(view.departed.count)
        for process in view.departed { write(process) }
        writeCount(view.parents.count)
        for parent in view.parents { write(parent) }
        writeCount(view.required.count)
        for configuration in view.required { write(configuration) }
    }
}

extension ByteReader {
    /// Reads a process.
    @_lifetime(self: copy self)
    package mutating func readProcess() throws(WireError) -> ProcessID {
        ProcessID(nodeID: try read(), incarnation: try read(), tag: try read())
    }

    /// Reads a member.
    @_lifetime(self: copy self)
    package mutating func readMember() throws(WireError) -> Member {
        Member(process: try readProcess(), ability: try read(), joined: try readPosition())
    }

    /// Reads members; throws unless they stand in rank order with no tag twice.
    @_lifetime(self: copy self)
    package mutating func readMembers() throws(WireError) -> [Member] {
        let start = offset
        let count = try readCount(limit: Limits.members)
        var members: [Member] = []
        members.reserveCapacity(count)
        for _ in 0..<count {
            let member = try readMember()
            if let last = members.last, !Member.outranks(last, member) {
                throw .invalid(at: start)
            }
            if members.contains(where: { $0.process.tag == member.process.tag }) {
                throw .invalid(at: start)
            }
            members.append(member)
        }
        return members
    }

    /// Reads a list of tags, at most a room's members.
    @_lifetime(self: copy self)
    package mutating func readTags() throws(WireError) -> [UInt64] {
        let count = try readCount(limit: Limits.members)
        var tags: [UInt64] = []
        for _ in 0..<count { tags.append(try read()) }
        return tags
    }

    /// Reads a list of tags, at most `limit`; throws unless they ascend.
    @_lifetime(self: copy self)
    package mutating func readAscendingTags(limit: Int) throws(WireError) -> [UInt64] {
        var tags: [UInt64] = []
        for _ in 0..<(try readCount(limit: limit)) {
            let tag: UInt64 = try read()
            if let last = tags.last, last >= tag { throw .invalid(at: offset) }
            tags.append(tag)
        }
        return tags
    }

    /// Reads a list of processes, at most `limit`.
    @_lifetime(self: copy self)
    package mutating func readProcesses(limit: Int) throws(WireError) -> [ProcessID] {
        let count = try readCount(limit: limit)
        var processes: [ProcessID] = []
        for _ in 0..<count { processes.append(try readProcess()) }
        return processes
    }

    /// Reads a list of epochs, at most `limit`.
    @_lifetime(self: copy self)
    package mutating func readEpochs(limit: Int) throws(WireError) -> [Epoch] {
        let count = try readCount(limit: limit)
        var epochs: [Epoch] = []
        for _ in 0..<count { epochs.append(try readEpoch()) }
        return epochs
    }

    /// Reads a list of configurations, at most ``ConsensusLimits/requiredConfigurations``.
    @_lifetime(self: copy self)
    package mutating func readConfigurations() throws(WireError) -> [PrimaryConfiguration] {
        let count = try readCount(limit: ConsensusLimits.requiredConfigurations)
        var configurations: [PrimaryConfiguration] = []
        for _ in 0..<count {
            let epoch = try readEpoch()
            let start = offset
            let flags: UInt8 = try read()
            guard flags & ~3 == 0 else { throw .reserved(at: start) }
            configurations.append(
                PrimaryConfiguration(
                    epoch: epoch,
                    tags: try readTags(),
                    isCommitted: flags & 1 != 0,
                    isForced: flags & 2 != 0
                )
            )
        }
        return configurations
    }

    /// Reads a view.
    @_lifetime(self: copy self)
    package mutating func readView() throws(WireError) -> View {
        let epoch = try readEpoch()
        let start = try readPosition()
        let startHash: Digest = try read()
        let place = offset
        let flags: UInt8 = try read()
        guard flags & ~3 == 0 else { throw .reserved(at: place) }
        guard start.epoch == epoch else { throw .invalid(at: 16) }
        let members = try readMembers()
        guard !members.isEmpty else { throw .invalid(at: place) }
        return View(
            epoch: epoch,
            members: members,
            departed: try readProcesses(limit: Limits.members * 2),
            parents: try readEpochs(limit: ConsensusLimits.parents),
            required: try readConfigurations(),
            start: start,
            startHash: startHash,
            primary: flags & 1 != 0,
            forced: flags & 2 != 0
        )
    }
}

/// Bounds of what this module keeps and accepts.
package enum ConsensusLimits {
    /// Commands of a lost branch whose second result is awaited.
    package static let disputed = 1024
    /// Configurations that a process requires: one of each proposer, at most, and the committed one.
    package static let requiredConfigurations = 64
    /// Branches that meet in one view.
    package static let parents = 64
    /// Entries of one message.
    package static let entriesPerMessage = 1024
    /// Bytes of entries in one message over the reliable lane.
    package static let entriesBytes = 64 << 10
    /// Bytes of one entry: a merge entry, which carries what the state machine takes over.
    package static let entryBytes = 15 << 20
    /// Bytes of a merge entry's part for the state machine.
    package static let mergeBytes = 10 << 20
    /// Commands of a losing branch whose fate a merge entry tells.
    package static let mergedCommands = 65_535
    /// Bytes of results that a losing branch hands over.
    package static let mergedResultBytes = 3 << 20
    /// Views of the lineage that are kept.
    package static let lineage = 1024
    /// Views of the lineage that a merge offer tells.
    package static let offeredLineage = 128
    /// Tags of processes that left or were removed.
    package static let tombstones = 10_000
    /// Processes lost without leaving.
    package static let estranged = 256
    /// Results kept for each origin.
    package static let results = 256
    /// Bytes of a result.
    package static let resultBytes = 1024
    /// Origins kept whose process is no member.
    package static let absentOrigins = 256
    /// Origins of a room: its members' and the absent.
    package static let origins = absentOrigins + Limits.members
    /// States kept to go back to.
    package static let checkpoints = 8
    /// Commands of this process that wait for an answer.
    package static let pending = 256
    /// Committed commands that wait for a primary leader to confirm them.
    package static let unconfirmed = 64
    /// Reads of this process that wait.
    package static let reads = 256
    /// Sequenced commands that the leader has not committed.
    package static let uncommitted = 1024
    /// Answers that the leader owes.
    package static let waiters = 4096
    /// Processes that are known at once.
    package static let links = 256
    /// Processes that learn at once.
    package static let learners = 64
    /// Bytes of a snapshot that is accepted.
    package static let snapshotBytes = 16 << 20
    /// Heads named in a JOIN.
    package static let heads = 12
    /// Signed heads checked in a second: each member's accusation brings two, and the room has room for
    /// twice as many.
    package static let headsChecked = 4 * Limits.members
    /// Bytes of a message that goes through a helper: a message of entries with its header.
    package static let relayedBytes = entriesBytes + 1024
    /// What a helper carries for one origin in a second; a message counts once, and once more for each
    /// whole kibibyte.
    ///
    /// A leader sends a member some 30, in full work some hundred.
    package static let relaysCarried = 1024
    /// What is taken from one helper in a second, counted alike; a check of a signature costs 40 µs.
    package static let relaysReceived = 4096
    /// How far above the promised counter a counter may lie.
    package static let counterLeap: UInt64 = 1 << 32
}
