import MeshWire

// One code a message and its fields in order, as `Sources/Huddle/Huddle.docc` tells. Integers are
// little-endian, lists a varint count and their elements.
extension Message {
    /// The message's code, the header's first byte.
    var code: UInt8 {
        switch self {
        case .beacon: 0x01
        case .heartbeat: 0x02
        case .heartbeatAnswer: 0x03
        case .append: 0x04
        case .acknowledgment: 0x05
        case .missing: 0x06
        case .propose: 0x07
        case .reply: 0x08
        case .probe: 0x09
        case .probeRequest: 0x0a
        case .probeAnswer: 0x0b
        case .probeFailure: 0x0c
        case .head: 0x0d
        case .relay: 0x0e
        case .prevote: 0x10
        case .would: 0x11
        case .prepare: 0x12
        case .promise: 0x13
        case .reject: 0x14
        case .fetch: 0x15
        case .entries: 0x16
        case .install: 0x17
        case .installed: 0x18
        case .handover: 0x19
        case .leave: 0x1a
        case .leaveAnswer: 0x1b
        case .kicked: 0x1c
        case .ended: 0x1d
        case .join: 0x20
        case .offer: 0x21
        case .chunk: 0x22
        case .chunkRequest: 0x23
        case .mergeOffer: 0x28
        case .branch: 0x2a
        case .mergeEnd: 0x2b
        case .readIndex: 0x30
        case .readAnswer: 0x31
        }
    }

    /// The whole message.
    func encoded(_ header: MessageHeader) -> [UInt8] {
        var writer = ByteWriter(capacity: 160)
        writer.write(code)
        writer.write(UInt8(1))
        writer.write(header.flags)
        writer.write(header.sender)
        writer.write(header.receiver)
        writer.write(header.epoch)
        writer.write(UInt32(truncatingIfNeeded: header.roomTag))
        writer.write(UInt16(truncatingIfNeeded: header.roomTag >> 32))
        writeFields(into: &writer)
        return writer.bytes
    }

    private func writeFields(into writer: inout ByteWriter) {
        switch self {
        case .beacon(let beacon):
            writer.write(beacon.epoch)
            writer.write(beacon.head)
            writer.write(beacon.hashPrefix)
            writer.write(beacon.size)
            writer.write(flag: beacon.isPrimary)
        case .heartbeat(let beat), .heartbeatAnswer(let beat):
            writer.write(beat.sequence)
            writer.write(beat.commit)
            writer.write(beat.head)
            writer.write(beat.hashPrefix)
            writer.write(flag: beat.hasQuorum)
            writer.write(beat.health)
            writer.write(beat.heardFrom)
            writer.write(beat.promised)
            writer.write(beat.sentAt)
            writer.write(beat.echoed)
        case .append(let append), .entries(let append):
            writer.write(append.previous)
            writer.write(append.previousHash)
            writer.write(append.commit)
            writer.writeCount(append.entries.count)
            for entry in append.entries { writer.writeBlob(entry.bytes) }
        case .acknowledgment(let match, let durable):
            writer.write(match)
            writer.write(durable)
        case .missing(let ranges):
            writer.writeCount(ranges.count)
            for range in ranges {
                writer.write(range.lowerBound)
                writer.write(range.upperBound)
            }
        case .propose(let floor, let command):
            writer.write(floor)
            command.encode(into: &writer)
        case .reply(let reply):
            writer.write(reply.sequence)
            writer.write(reply.status.rawValue)
            writer.write(reply.view)
            writer.write(reply.position)
            writer.write(flag: reply.isPrimary)
            writer.writeBlob(reply.result)
        case .probe(let probe), .probeRequest(let probe), .probeAnswer(let probe),
            .probeFailure(let probe):
            writer.write(probe.nonce)
            writer.write(probe.target)
            writer.write(probe.leaderAge)
            writer.write(flag: probe.hasQuorum)
        case .head(let head):
            writer.write(head.epoch)
            writer.write(head.index)
            writer.write(head.hash)
            writer.write(head.signature)
        case .relay(let relay):
            writer.write(relay.origin)
            writer.write(relay.target)
            writer.write(relay.counter)
            writer.write(flag: relay.isDeaf)
            writer.writeBlob(relay.inner)
            writer.write(relay.signature)
        case .prevote(let head):
            writer.write(head)
        case .would(let would):
            writer.write(flag: would.yes)
            writer.write(would.lastView)
            writer.write(would.commit)
            writer.write(would.heardFrom)
            writer.write(would.promised)
        case .prepare(let prepare):
            writer.writeCount(prepare.tags.count)
            for tag in prepare.tags { writer.write(tag) }
            writer.write(prepare.head)
            writer.write(prepare.reason.rawValue)
            writer.writeCount(prepare.proof.count)
            for epoch in prepare.proof { writer.write(epoch) }
        case .promise(let promise):
            writer.write(promise.lastView)
            writer.write(promise.head)
            writer.write(promise.headHash)
            writer.write(promise.commit)
            writer.write(promise.heardFrom)
            writer.write(promise.ability)
            writer.write(flag: promise.isForced)
            writer.writeCount(promise.required.count)
            for configuration in promise.required { writer.write(configuration) }
        case .reject(let promised, let isVeto):
            writer.write(promised)
            writer.write(flag: isVeto)
        case .fetch(let from, let previousHash):
            writer.write(from)
            writer.write(previousHash)
        case .install(let install):
            writer.write(install.previous)
            writer.write(install.previousHash)
            writer.writeBlob(install.entry.bytes)
            writer.write(flag: install.merge != nil)
            if let merge = install.merge { writer.writeBlob(merge.bytes) }
        case .installed(let head, let hash):
            writer.write(head)
            writer.write(hash)
        case .handover(let to, let position):
            writer.write(to)
            writer.write(position)
        case .leave(let reason, let position), .leaveAnswer(let reason, let position),
            .kicked(let reason, let position), .ended(let reason, let position):
            writer.write(reason.rawValue)
            writer.write(position)
        default: writeTransferFields(into: &writer)
        }
    }

    private func writeTransferFields(into writer: inout ByteWriter) {
        switch self {
        case .join(let join):
            writer.write(join.ability)
            writer.write(join.policy)
            writer.writeCount(join.heads.count)
            for head in join.heads {
                writer.write(head.index)
                writer.write(head.hash)
            }
        case .offer(.delta(let genesis, let index)):
            writer.write(UInt8(0))
            writer.write(genesis)
            writer.write(index)
        case .offer(.manifest(let manifest)):
            writer.write(UInt8(1))
            writer.write(manifest.genesis)
            manifest.policy.encode(into: &writer)
            writer.write(manifest.position)
            writer.write(manifest.hash)
            writer.write(manifest.byteCount)
            writer.write(manifest.chunkBytes)
            writer.write(manifest.digest)
        case .offer(.redirect(let process)):
            writer.write(UInt8(2))
            writer.write(process)
        case .offer(.refusal(let refusal)):
            writer.write(UInt8(3))
            writer.write(refusal.rawValue)
        case .chunk(let chunk):
            writer.write(chunk.position)
            writer.write(chunk.index)
            writer.writeBlob(chunk.bytes)
        case .chunkRequest(let request):
            writer.write(request.position)
            writer.write(request.first)
            writer.write(request.count)
        case .mergeOffer(let offer):
            writer.write(offer.nonce)
            writer.write(offer.echoed)
            offer.summary.encode(into: &writer)
        case .branch(let branch): branch.encode(into: &writer)
        case .mergeEnd(let nonce, let isBusy):
            writer.write(nonce)
            writer.write(flag: isBusy)
        case .readIndex(let nonce):
            writer.write(nonce)
        case .readAnswer(let nonce, let position):
            writer.write(nonce)
            writer.write(position)
        default: break
        }
    }
}

extension Message {
    /// Reads a whole message; throws unless every byte is as it should be.
    static func decode(_ bytes: RawSpan) throws(WireError) -> (MessageHeader, Message) {
        var reader = ByteReader(bytes)
        let code: UInt8 = try reader.read()
        let version: UInt8 = try reader.read()
        guard version == 1 else { throw .unknownType(version, at: 1) }
        let flags: UInt16 = try reader.read()
        guard flags & ~MessageHeader.forwarded == 0 else { throw .reserved(at: 2) }
        let sender: UInt64 = try reader.read()
        let receiver: UInt64 = try reader.read()
        let epoch = try reader.readEpoch()
        let low: UInt32 = try reader.read()
        let high: UInt16 = try reader.read()
        let header = MessageHeader(
            flags: flags,
            sender: sender,
            receiver: receiver,
            epoch: epoch,
            roomTag: UInt64(low) | UInt64(high) << 32
        )
        let message = try readFields(code, &reader)
        try reader.finish()
        return (header, message)
    }

    private static func readFields(
        _ code: UInt8,
        _ reader: inout ByteReader
    ) throws(WireError) -> Message {
        switch code {
        case 0x01:
            return .beacon(
                Beacon(
                    epoch: try reader.readEpoch(),
                    head: try reader.read(),
                    hashPrefix: try reader.read(),
                    size: try reader.read(),
                    isPrimary: try reader.readFlag()
                )
            )
        case 0x02: return .heartbeat(try reader.readHeartbeat())
        case 0x03: return .heartbeatAnswer(try reader.readHeartbeat())
        case 0x04: return .append(try reader.readAppend())
        case 0x05: return .acknowledgment(match: try reader.read(), durable: try reader.read())
        case 0x06:
            var ranges: [ClosedRange<UInt64>] = []
            for _ in 0..<(try reader.readCount(limit: 32)) {
                let start = reader.offset
                let lower: UInt64 = try reader.read()
                let upper: UInt64 = try reader.read()
                guard lower <= upper else { throw .invalid(at: start) }
                ranges.append(lower...upper)
            }
            return .missing(ranges)
        case 0x07: return .propose(floor: try reader.read(), try Command(reading: &reader))
        case 0x08: return .reply(try reader.readReply())
        case 0x09: return .probe(try reader.readProbe())
        case 0x0a: return .probeRequest(try reader.readProbe())
        case 0x0b: return .probeAnswer(try reader.readProbe())
        case 0x0c: return .probeFailure(try reader.readProbe())
        case 0x0d:
            return .head(
                SignedHead(
                    epoch: try reader.readEpoch(),
                    index: try reader.read(),
                    hash: try reader.read(),
                    signature: try reader.readBytes(Signing.signatureBytes)
                )
            )
        case 0x0e:
            return .relay(
                Relay(
                    origin: try reader.read(),
                    target: try reader.read(),
                    counter: try reader.read(),
                    isDeaf: try reader.readFlag(),
                    inner: try reader.readBlob(limit: ConsensusLimits.relayedBytes),
                    signature: try reader.readBytes(Signing.signatureBytes)
                )
            )
        case 0x10: return .prevote(head: try reader.readPosition())
        case 0x11:
            return .would(
                Would(
                    yes: try reader.readFlag(),
                    lastView: try reader.readEpoch(),
                    commit: try reader.read(),
                    heardFrom: try reader.read(),
                    promised: try reader.readEpoch()
                )
            )
        case 0x12:
            return .prepare(
                Prepare(
                    tags: try reader.readTags(),
                    head: try reader.readPosition(),
                    reason: try reader.readReason(),
                    proof: try reader.readEpochs(limit: ConsensusLimits.parents)
                )
            )
        case 0x13:
            return .promise(
                Promise(
                    lastView: try reader.readEpoch(),
                    head: try reader.readPosition(),
                    headHash: try reader.read(),
                    commit: try reader.read(),
                    heardFrom: try reader.read(),
                    ability: try reader.read(),
                    isForced: try reader.readFlag(),
                    required: try reader.readConfigurations()
                )
            )
        case 0x14:
            return .reject(promised: try reader.readEpoch(), isVeto: try reader.readFlag())
        case 0x15: return .fetch(from: try reader.read(), previousHash: try reader.read())
        case 0x16: return .entries(try reader.readAppend())
        case 0x17:
            return .install(
                Install(
                    previous: try reader.readPosition(),
                    previousHash: try reader.read(),
                    entry: try reader.readEntry(),
                    merge: try reader.readFlag() ? try reader.readEntry() : nil
                )
            )
        case 0x18: return .installed(head: try reader.read(), hash: try reader.read())
        case 0x19: return .handover(to: try reader.read(), try reader.readPosition())
        case 0x1a: return .leave(try reader.readLeaveReason(), try reader.readPosition())
        case 0x1b: return .leaveAnswer(try reader.readLeaveReason(), try reader.readPosition())
        case 0x1c: return .kicked(try reader.readLeaveReason(), try reader.readPosition())
        case 0x1d: return .ended(try reader.readLeaveReason(), try reader.readPosition())
        default: return try readTransferFields(code, &reader)
        }
    }

    private static func readTransferFields(
        _ code: UInt8,
        _ reader: inout ByteReader
    ) throws(WireError) -> Message {
        switch code {
        case 0x20:
            var join = Join(ability: try reader.read(), policy: try reader.read(), heads: [])
            for _ in 0..<(try reader.readCount(limit: ConsensusLimits.heads)) {
                join.heads.append(Head(index: try reader.read(), hash: try reader.read()))
            }
            return .join(join)
        case 0x21: return .offer(try reader.readOffer())
        case 0x22:
            return .chunk(
                Chunk(
                    position: try reader.readPosition(),
                    index: try reader.read(),
                    bytes: try reader.readBlob(limit: ConsensusLimits.entriesBytes)
                )
            )
        case 0x23:
            return .chunkRequest(
                ChunkRequest(
                    position: try reader.readPosition(),
                    first: try reader.read(),
                    count: try reader.read()
                )
            )
        case 0x28:
            return .mergeOffer(
                MergeOffer(
                    nonce: try reader.read(),
                    echoed: try reader.read(),
                    summary: try BranchSummary(reading: &reader)
                )
            )
        case 0x2a:
            return .branch(try Branch(reading: &reader))
        case 0x2b: return .mergeEnd(nonce: try reader.read(), isBusy: try reader.readFlag())
        case 0x30: return .readIndex(nonce: try reader.read())
        case 0x31: return .readAnswer(nonce: try reader.read(), try reader.readPosition())
        default: throw .unknownType(code, at: 0)
        }
    }
}

extension Message.Branch {
    fileprivate func encode(into writer: inout ByteWriter) {
        writer.write(nonce)
        writer.write(echoed)
        writer.write(epoch)
        writer.write(head)
        writer.writeCount(members.count)
        for member in members { writer.write(member) }
        writer.writeCount(views.count)
        for view in views { view.encode(into: &writer) }
        writer.writeCount(buried.count)
        for tag in buried { writer.write(tag) }
        writer.writeCount(estranged.count)
        for process in estranged { writer.write(process) }
        writer.writeCount(origins.count)
        for record in origins { record.encode(into: &writer) }
        writer.writeCount(commands.count)
        for command in commands { command.encode(into: &writer) }
        writer.write(flag: isComplete)
        writer.write(flag: base != nil)
        if let base {
            writer.write(base.position)
            writer.writeBlob(base.bytes)
        }
        writer.writeBlob(state)
    }

    fileprivate init(reading reader: inout ByteReader) throws(WireError) {
        nonce = try reader.read()
        echoed = try reader.read()
        epoch = try reader.readEpoch()
        head = try reader.readPosition()
        members = try reader.readMembers()
        views = []
        for _ in 0..<(try reader.readCount(limit: ConsensusLimits.lineage)) {
            views.append(try LineageView(reading: &reader))
        }
        buried = try reader.readAscendingTags(limit: ConsensusLimits.tombstones)
        estranged = try reader.readProcesses(limit: ConsensusLimits.estranged)
        origins = []
        for _ in 0..<(try reader.readCount(limit: ConsensusLimits.origins)) {
            origins.append(try Origins.Record(reading: &reader))
        }
        commands = []
        for _ in 0..<(try reader.readCount(limit: ConsensusLimits.mergedCommands)) {
            commands.append(try MergedCommand(reading: &reader))
        }
        isComplete = try reader.readFlag()
        if try reader.readFlag() {
            base = State(
                position: try reader.readPosition(),
                bytes: try reader.readBlob(limit: ConsensusLimits.snapshotBytes)
            )
        }
        state = try reader.readBlob(limit: ConsensusLimits.snapshotBytes)
    }
}

extension ByteWriter {
    fileprivate mutating func write(flag: Bool) { write(UInt8(flag ? 1 : 0)) }
}

extension ByteReader {
    @_lifetime(self: copy self)
    fileprivate mutating func readFlag() throws(WireError) -> Bool {
        let start = offset
        let value: UInt8 = try read()
        guard value <= 1 else { throw .invalid(at: start) }
        return value == 1
    }

    @_lifetime(self: copy self)
    fileprivate mutating func readReason() throws(WireError) -> Message.Reason {
        let start = offset
        guard let reason = Message.Reason(rawValue: try read()) else { throw .invalid(at: start) }
        return reason
    }

    @_lifetime(self: copy self)
    fileprivate mutating func readLeaveReason() throws(WireError) -> LeaveReason {
        let start = offset
        guard let reason = LeaveReason(rawValue: try read()) else { throw .invalid(at: start) }
        return reason
    }

    @_lifetime(self: copy self)
    fileprivate mutating func readHeartbeat() throws(WireError) -> Message.Heartbeat {
        Message.Heartbeat(
            sequence: try read(),
            commit: try read(),
            head: try read(),
            hashPrefix: try read(),
            hasQuorum: try readFlag(),
            health: try read(),
            heardFrom: try read(),
            promised: try readEpoch(),
            sentAt: try read(),
            echoed: try read()
        )
    }

    @_lifetime(self: copy self)
    fileprivate mutating func readProbe() throws(WireError) -> Message.Probe {
        Message.Probe(
            nonce: try read(),
            target: try read(),
            leaderAge: try read(),
            hasQuorum: try readFlag()
        )
    }

    @_lifetime(self: copy self)
    fileprivate mutating func readReply() throws(WireError) -> Message.Reply {
        let sequence: UInt64 = try read()
        let start = offset
        guard let status = Message.Reply.Status(rawValue: try read()) else {
            throw .invalid(at: start)
        }
        return Message.Reply(
            sequence: sequence,
            status: status,
            view: try readEpoch(),
            position: try readPosition(),
            isPrimary: try readFlag(),
            result: try readBlob(limit: ConsensusLimits.resultBytes)
        )
    }

    @_lifetime(self: copy self)
    fileprivate mutating func readEntry() throws(WireError) -> Entry {
        try Entry(decoding: try readBlob(limit: ConsensusLimits.entryBytes))
    }

    /// Reads entries that follow one another; a leap between two is refused here.
    @_lifetime(self: copy self)
    fileprivate mutating func readAppend() throws(WireError) -> Message.Append {
        var append = Message.Append(
            previous: try read(),
            previousHash: try read(),
            commit: try read(),
            entries: []
        )
        var index = append.previous
        for _ in 0..<(try readCount(limit: ConsensusLimits.entriesPerMessage)) {
            let start = offset
            let entry = try readEntry()
            guard index < .max, entry.position.index == index + 1 else {
                throw .invalid(at: start)
            }
            index += 1
            append.entries.append(entry)
        }
        return append
    }

    @_lifetime(self: copy self)
    fileprivate mutating func readOffer() throws(WireError) -> Message.Offer {
        let start = offset
        let kind: UInt8 = try read()
        switch kind {
        case 0: return .delta(genesis: try read(), index: try read())
        case 1:
            return .manifest(
                Message.Manifest(
                    genesis: try read(),
                    policy: try PartitionPolicy(reading: &self),
                    position: try readPosition(),
                    hash: try read(),
                    byteCount: try read(),
                    chunkBytes: try read(),
                    digest: try read()
                )
            )
        case 2: return .redirect(try readProcess())
        case 3:
            guard let refusal = JoinRefusal(rawValue: try read()) else {
                throw .invalid(at: start)
            }
            return .refusal(refusal)
        default: throw .unknownType(kind, at: start)
        }
    }
}
