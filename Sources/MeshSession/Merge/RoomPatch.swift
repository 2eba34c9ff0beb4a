import MeshWire

/// What a merge changes in the room's state, ready to be done on every replica alike.
///
/// ```
/// version u8 (1)
/// profiles:  process 48 · profile …
/// ended:     session 16 …
/// started:   session as in a snapshot …
/// sessions:  session 16
///              left:    participant 16 · removed u8 …
///              joined:  participant 16 · process 48 …
///              bans:    node 32 …   kicked: participant 16 …
///              values:  text key · present u8 (· content · author 16) …
///              removed: attachment 16 …   added: record as in a snapshot …
/// conflicts: as in a snapshot …        settled: session 16 · subject u8 · text key …
/// unlisted u32
/// ```
struct RoomPatch: Hashable, Sendable {
    struct Profile: Hashable, Sendable {
        var process: ProcessID
        var profile: MemberProfile
    }

    struct Leaving: Hashable, Sendable {
        var participant: ParticipantID
        /// Somebody removed it; else it left.
        var isRemoval: Bool
    }

    struct Joining: Hashable, Sendable {
        var participant: ParticipantID
        var process: ProcessID
    }

    struct Value: Hashable, Sendable {
        var key: String
        /// `nil`: removed.
        var content: ValueContent?
        var author: ParticipantID
    }

    struct Session: Hashable, Sendable {
        var id: SessionID
        var left: [Leaving] = []
        var joined: [Joining] = []
        var bans: [NodeID] = []
        var kicked: [ParticipantID] = []
        var values: [Value] = []
        var removed: [AttachmentID] = []
        var added: [JournalRecord] = []

        var isEmpty: Bool {
            left.isEmpty && joined.isEmpty && bans.isEmpty && kicked.isEmpty && values.isEmpty
                && removed.isEmpty && added.isEmpty
        }
    }

    struct Settled: Hashable, Sendable {
        var session: SessionID
        var subject: Conflict.Subject
        var key: String
    }

    var profiles: [Profile] = []
    var ended: [SessionID] = []
    var started: [RoomSession] = []
    var sessions: [Session] = []
    var conflicts: [Conflict] = []
    var settled: [Settled] = []
    var unlisted: UInt32 = 0

    var isEmpty: Bool {
        profiles.isEmpty && ended.isEmpty && started.isEmpty && sessions.isEmpty
            && conflicts.isEmpty
            && settled.isEmpty && unlisted == 0
    }
}

extension RoomPatch {
    var encoded: [UInt8] {
        guard !isEmpty else { return [] }
        var writer = ByteWriter(capacity: 256)
        writer.write(UInt8(1))
        writer.writeCount(profiles.count)
        for shown in profiles {
            writer.write(shown.process)
            shown.profile.write(to: &writer)
        }
        writer.writeCount(ended.count)
        for session in ended { writer.write(session) }
        writer.writeCount(started.count)
        for session in started { session.write(to: &writer) }
        writer.writeCount(sessions.count)
        for session in sessions { session.write(to: &writer) }
        writer.writeCount(conflicts.count)
        for conflict in conflicts { conflict.write(to: &writer) }
        writer.writeCount(settled.count)
        for item in settled {
            writer.write(item.session)
            writer.write(item.subject.rawValue)
            writer.writeString(item.key)
        }
        writer.write(unlisted)
        return writer.bytes
    }

    /// The patch with these bytes; no bytes are an empty one.
    init(decoding bytes: [UInt8]) throws(WireError) {
        guard !bytes.isEmpty else { return }
        var reader = ByteReader(bytes.raw)
        let version: UInt8 = try reader.read()
        guard version == 1 else { throw .unknownType(version, at: 0) }
        for _ in 0..<(try reader.readCount(limit: SessionLimits.members)) {
            profiles.append(
                Profile(
                    process: try reader.readProcess(),
                    profile: try reader.readKnownProfile()
                )
            )
        }
        for _ in 0..<(try reader.readCount(limit: Limits.sessions)) {
            ended.append(try reader.read())
        }
        for _ in 0..<(try reader.readCount(limit: Limits.sessions)) {
            started.append(try RoomSession(reading: &reader))
        }
        for _ in 0..<(try reader.readCount(limit: Limits.sessions)) {
            sessions.append(try Session(reading: &reader))
        }
        for _ in 0..<(try reader.readCount(limit: SessionLimits.conflicts)) {
            conflicts.append(try Conflict(reading: &reader))
        }
        for _ in 0..<(try reader.readCount(limit: SessionLimits.conflicts)) {
            settled.append(
                Settled(
                    session: try reader.read(),
                    subject: try reader.readCase(),
                    key: try reader.readString(limit: Limits.keyBytes)
                )
            )
        }
        unlisted = try reader.read()
        try reader.finish()
    }
}

extension RoomPatch.Session {
    fileprivate func write(to writer: inout ByteWriter) {
        writer.write(id)
        writer.writeCount(left.count)
        for leaving in left {
            writer.write(leaving.participant)
            writer.write(flag: leaving.isRemoval)
        }
        writer.writeCount(joined.count)
        for joining in joined {
            writer.write(joining.participant)
            writer.write(joining.process)
        }
        writer.writeCount(bans.count)
        for ban in bans { writer.write(ban) }
        writer.writeCount(kicked.count)
        for participant in kicked { writer.write(participant) }
        writer.writeCount(values.count)
        for value in values {
            writer.writeString(value.key)
            writer.write(flag: value.content != nil)
            guard let content = value.content else { continue }
            writer.write(content)
            writer.write(value.author)
        }
        writer.writeCount(removed.count)
        for attachment in removed { writer.write(attachment) }
        writer.writeCount(added.count)
        for record in added { writer.write(record) }
    }

    @_lifetime(reader: copy reader)
    fileprivate init(reading reader: inout ByteReader) throws(WireError) {
        self.init(id: try reader.read())
        for _ in 0..<(try reader.readCount(limit: Limits.participants)) {
            left.append(
                .init(participant: try reader.read(), isRemoval: try reader.readFlag())
            )
        }
        for _ in 0..<(try reader.readCount(limit: Limits.participants)) {
            joined.append(
                .init(participant: try reader.read(), process: try reader.readProcess())
            )
        }
        for _ in 0..<(try reader.readCount(limit: SessionLimits.bans)) {
            bans.append(try reader.read())
        }
        for _ in 0..<(try reader.readCount(limit: SessionLimits.kicked)) {
            kicked.append(try reader.read())
        }
        for _ in 0..<(try reader.readCount(limit: 2 * Limits.valueKeys)) {
            let key = try reader.readString(limit: Limits.keyBytes)
            guard try reader.readFlag() else {
                values.append(.init(key: key, content: nil, author: .zero))
                continue
            }
            values.append(
                .init(key: key, content: try reader.readContent(), author: try reader.read())
            )
        }
        for _ in 0..<(try reader.readCount(limit: SessionLimits.journalEntries)) {
            removed.append(try reader.read())
        }
        for _ in 0..<(try reader.readCount(limit: SessionLimits.journalEntries)) {
            added.append(try reader.readJournalRecord())
        }
    }
}

extension Conflict {
    func write(to writer: inout ByteWriter) {
        writer.write(session)
        writer.write(subject.rawValue)
        writer.writeString(key)
        writer.write(flag: base != nil)
        if let base { writer.write(base) }
        kept.write(to: &writer)
        writer.writeCount(lost.count)
        for side in lost { side.write(to: &writer) }
    }

    @_lifetime(reader: copy reader)
    init(reading reader: inout ByteReader) throws(WireError) {
        session = try reader.read()
        subject = try reader.readCase()
        key = try reader.readString(limit: Limits.keyBytes)
        if try reader.readFlag() { base = try reader.readContent() }
        kept = try Side(reading: &reader)
        lost = []
        for _ in 0..<(try reader.readCount(limit: Self.sides)) {
            lost.append(try Side(reading: &reader))
        }
    }
}

extension Conflict.Side {
    fileprivate func write(to writer: inout ByteWriter) {
        writer.write(flag: content != nil)
        if let content { writer.write(content) }
        writer.write(author)
        writer.write(version)
    }

    @_lifetime(reader: copy reader)
    fileprivate init(reading reader: inout ByteReader) throws(WireError) {
        content = try reader.readFlag() ? try reader.readContent() : nil
        author = try reader.read()
        version = try reader.readPosition()
    }
}
