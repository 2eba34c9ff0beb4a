// The canonical bytes of the room's state: equal states give equal bytes. Lists are a varint
// count and their elements, sorted and without doubles; `process` is node 32 · incarnation u64 ·
// tag u64; `position` is 24 bytes.
//
//   version u8 (1) · upgradeNeeded u8 (0 no, 1 yes and the type u16) · leader u64
//   members, by process:   process · profile · isPresent u8 · changedAt position
//   sessions, by id:       id 16 · initiator process · startedAt position · lifetime u8
//                          activity · options 13 · leadMode u8 · text slot · lead 16 (zero: none)
//                          isLeadReserved u8 · nextNumber u32 · bans: node 32 … · kicked: id 16 …
//     participants, by number:   id 16 · number u32 · process · joinedAt position · isPresent u8
//                                decidedMove u64
//     values, by key:            text key · kind u8 · content · version position · author 16
//   journal, in order:         entry (see JournalEntry) · author 16 · node 32
//   log                        nextIndex u64 · entries: index u64 · position · author 16 · draft
//   content                0 bytes: blob | 1 counter: i64 | 2 set: blobs, sorted
//   conflicts, sorted:     session 16 · subject u8 · text key · known u8 (· content) · side
//                          lost: side …          side: present u8 (· content) · author 16 · version
//   unlisted u32

package import MeshWire

extension RoomState {
    /// The canonical bytes of the state.
    package func snapshot() -> [UInt8] {
        var writer = ByteWriter(capacity: 256 + byteCount)
        writer.write(UInt8(1))
        writer.write(flag: upgradeNeeded != nil)
        if let upgradeNeeded { writer.write(upgradeNeeded) }
        writer.write(leader)
        writer.writeCount(members.count)
        for member in members {
            writer.write(member.process)
            member.profile.write(to: &writer)
            writer.write(flag: member.isPresent)
            writer.write(member.changedAt)
        }
        writer.writeCount(sessions.count)
        for session in sessions { session.write(to: &writer) }
        writer.writeCount(conflicts.conflicts.count)
        for conflict in conflicts.conflicts { conflict.write(to: &writer) }
        writer.write(conflicts.unlisted)
        return writer.bytes
    }

    /// Takes over the state that `snapshot` holds.
    ///
    /// Throws without a change if the bytes are not canonical or break a limit.
    package mutating func restore(from snapshot: RawSpan) throws(WireError) {
        var restored = RoomState(digest: digest)
        var reader = ByteReader(snapshot)
        let version: UInt8 = try reader.read()
        guard version == 1 else { throw .unknownType(version, at: 0) }
        if try reader.readFlag() { restored.upgradeNeeded = try reader.read(UInt16.self) }
        restored.leader = try reader.read()
        for _ in 0..<(try reader.readCount(limit: SessionLimits.members)) {
            let start = reader.offset
            let member = RoomMember(
                process: try reader.readProcess(),
                profile: try reader.readKnownProfile(),
                isPresent: try reader.readFlag(),
                changedAt: try reader.readPosition()
            )
            if let last = restored.members.last, last.process >= member.process {
                throw .invalid(at: start)
            }
            restored.members.append(member)
        }
        for _ in 0..<(try reader.readCount(limit: Limits.sessions)) {
            let start = reader.offset
            let session = try RoomSession(reading: &reader)
            if let last = restored.sessions.last, last.id >= session.id {
                throw .invalid(at: start)
            }
            guard restored.slotIndex(session.slot) == nil else { throw .invalid(at: start) }
            restored.sessions.append(session)
        }
        for _ in 0..<(try reader.readCount(limit: SessionLimits.conflicts)) {
            let start = reader.offset
            guard restored.conflicts.append(try Conflict(reading: &reader)) else {
                throw .invalid(at: start)
            }
        }
        restored.conflicts.unlisted = try reader.read()
        try reader.finish()
        guard restored.byteCount <= SessionLimits.stateBytes else {
            throw .overLimit(UInt64(restored.byteCount), at: reader.offset)
        }
        restored.position = nil
        restored.events.removeAll()
        self = restored
    }
}

extension RoomSession {
    func write(to writer: inout ByteWriter) {
        writer.write(id)
        writer.write(initiator)
        writer.write(startedAt)
        writer.write(lifetime.rawValue)
        writer.write(activity)
        writer.write(options)
        writer.write(leadMode.rawValue)
        writer.writeString(slot)
        writer.write(lead ?? .zero)
        writer.write(flag: isLeadReserved)
        writer.write(nextNumber)
        writer.writeCount(bans.count)
        for ban in bans { writer.write(ban) }
        writer.writeCount(kicked.count)
        for participant in kicked { writer.write(participant) }
        writer.writeCount(participants.count)
        for participant in participants {
            writer.write(participant.id)
            writer.write(participant.number)
            writer.write(participant.process)
            writer.write(participant.joinedAt)
            writer.write(flag: participant.isPresent)
            writer.write(participant.decidedMove)
        }
        writer.writeCount(values.entries.count)
        for entry in values.entries {
            writer.writeString(entry.key)
            writer.write(entry.value.content)
            writer.write(entry.value.version)
            writer.write(entry.value.author)
        }
        writer.writeCount(journal.count)
        for record in journal { writer.write(record) }
        writer.write(log)
    }

    @_lifetime(reader: copy reader)
    init(reading reader: inout ByteReader) throws(WireError) {
        let start = reader.offset
        let id: SessionID = try reader.read()
        let initiator = try reader.readProcess()
        let startedAt = try reader.readPosition()
        let lifetime: SessionLifetime = try reader.readCase()
        let activity = try reader.readActivity()
        let options = try reader.readOptions()
        let leadMode: LeadMode = try reader.readCase()
        let blueprint = SessionBlueprint(
            activity: activity,
            lifetime: lifetime,
            leadMode: leadMode,
            options: options,
            slot: try reader.readString(limit: SessionLimits.slotBytes)
        )
        do {
            try RoomCommand.startSession(blueprint).validate()
        } catch {
            throw .invalid(at: start)
        }
        self.init(id: id, initiator: initiator, startedAt: startedAt, blueprint: blueprint)
        let lead: ParticipantID = try reader.read()
        self.lead = lead == .zero ? nil : lead
        isLeadReserved = try reader.readFlag()
        nextNumber = try reader.read()
        for _ in 0..<(try reader.readCount(limit: SessionLimits.bans)) {
            let start = reader.offset
            let ban: NodeID = try reader.read()
            if let last = bans.last, last >= ban { throw .invalid(at: start) }
            bans.append(ban)
        }
        for _ in 0..<(try reader.readCount(limit: SessionLimits.kicked)) {
            kicked.append(try reader.read())
        }
        try readParticipants(&reader)
        try readValues(&reader)
        try readJournal(&reader)
        log = try reader.readLog()
        let isLeadKnown = self.lead.map { participant($0) != nil } ?? true
        guard id != .zero, isLeadKnown else { throw .invalid(at: start) }
    }

    @_lifetime(reader: copy reader)
    private mutating func readParticipants(_ reader: inout ByteReader) throws(WireError) {
        for _ in 0..<(try reader.readCount(limit: Limits.participants)) {
            let start = reader.offset
            let next = Participant(
                id: try reader.read(),
                number: try reader.read(),
                process: try reader.readProcess(),
                joinedAt: try reader.readPosition(),
                isPresent: try reader.readFlag(),
                decidedMove: try reader.read()
            )
            let isAscending = participants.last.map { $0.number < next.number } ?? true
            let isNew = participants.allSatisfy { $0.id != next.id && $0.process != next.process }
            guard isAscending, isNew, next.number >= 1, next.number < nextNumber else {
                throw .invalid(at: start)
            }
            participants.append(next)
        }
    }

    @_lifetime(reader: copy reader)
    private mutating func readValues(_ reader: inout ByteReader) throws(WireError) {
        for _ in 0..<(try reader.readCount(limit: Limits.valueKeys)) {
            let start = reader.offset
            let key = try reader.readString(limit: Limits.keyBytes)
            let value = StoredValue(
                content: try reader.readContent(),
                version: try reader.readPosition(),
                author: try reader.read()
            )
            guard !key.isEmpty, values.append(key, value) else { throw .invalid(at: start) }
        }
        guard values.byteCount <= Limits.sessionValueBytes else {
            throw .overLimit(UInt64(values.byteCount), at: reader.offset)
        }
    }
}

extension RoomSession {
    @_lifetime(reader: copy reader)
    private mutating func readJournal(_ reader: inout ByteReader) throws(WireError) {
        var known: Set<AttachmentID> = []
        for _ in 0..<(try reader.readCount(limit: SessionLimits.journalEntries)) {
            let start = reader.offset
            let record = try reader.readJournalRecord()
            guard known.insert(record.entry.id).inserted else { throw .invalid(at: start) }
            journal.append(record)
        }
    }
}

extension ByteWriter {
    mutating func write(_ process: ProcessID) {
        write(process.nodeID)
        write(process.incarnation)
        write(process.tag)
    }

    mutating func write(_ content: ValueContent) {
        switch content {
        case .bytes(let bytes):
            write(UInt8(0))
            writeBlob(bytes)
        case .counter(let value):
            write(UInt8(1))
            write(value)
        case .set(let elements):
            write(UInt8(2))
            writeCount(elements.count)
            for element in elements { writeBlob(element) }
        }
    }
}

extension ByteReader {
    @_lifetime(self: copy self)
    mutating func readProcess() throws(WireError) -> ProcessID {
        ProcessID(nodeID: try read(), incarnation: try read(), tag: try read())
    }

    @_lifetime(self: copy self)
    mutating func readContent() throws(WireError) -> ValueContent {
        let start = offset
        switch try read(UInt8.self) {
        case 0:
            return .bytes(try readBlob(limit: Limits.valueBytes))
        case 1:
            return .counter(try read())
        case 2:
            var elements: [[UInt8]] = []
            // An element costs at least its length and two bytes of the set's limit.
            for _ in 0..<(try readCount(limit: Limits.valueBytes / 2)) {
                let next = try readBlob(limit: SessionLimits.elementBytes)
                if let last = elements.last {
                    guard last.lexicographicallyPrecedes(next) else { throw .invalid(at: start) }
                }
                elements.append(next)
            }
            let content = ValueContent.set(elements)
            guard content.byteCount <= Limits.valueBytes else { throw .invalid(at: start) }
            return content
        default:
            throw .invalid(at: start)
        }
    }
}
