package import MeshWire

/// What the log says of an attachment: a name, a size and the root of its bytes, which travel outside.
///
/// ```
/// id 16 · kind u8 · size u64 · root 32 · text name ≤ 200 · text type ≤ 128 · files u32
/// metadata blob ≤ 1,024 · metadata root 32, or zero
/// ```
///
/// At most 2 KiB (`50-journal-and-playback.md` A3).
package struct JournalEntry: Hashable, Sendable {
    /// What the bytes are.
    package enum Kind: UInt8, CaseIterable, Sendable {
        case data = 0
        case file = 1
        case bundle = 2
    }

    /// The attachment's identifier, drawn by who adds it.
    package var id: AttachmentID
    /// What the bytes are.
    package var kind: Kind
    /// How many they are.
    package var size: UInt64
    /// The root of their hash tree.
    package var root: ContentID
    /// What the file is called; display text that nobody may use as a path.
    package var name: String
    /// Its type, a MIME type or the identifier of a uniform one.
    package var type: String
    /// The files of a bundle; else 1 or 0.
    package var files: UInt32
    /// What the application says about it, if that fits here.
    package var metadata: [UInt8]
    /// The root of what it says about it, if that is a content of its own; else zero.
    package var metadataRoot: ContentID

    package init(
        id: AttachmentID,
        kind: Kind,
        size: UInt64,
        root: ContentID,
        name: String = "",
        type: String = "",
        files: UInt32 = 0,
        metadata: [UInt8] = [],
        metadataRoot: ContentID = .zero
    ) {
        self.id = id
        self.kind = kind
        self.size = size
        self.root = root
        self.name = name
        self.type = type
        self.files = files
        self.metadata = metadata
        self.metadataRoot = metadataRoot
    }

    /// What it costs in the room's state.
    var byteCount: Int { 160 + name.utf8.count + type.utf8.count + metadata.count }
}

/// An entry that stands in a session's journal, and who put it there.
package struct JournalRecord: Hashable, Sendable {
    /// What was added.
    package let entry: JournalEntry
    /// The participant that added it.
    package let author: ParticipantID
    /// The node that added it, whose quota it uses.
    package let node: NodeID

    package init(entry: JournalEntry, author: ParticipantID, node: NodeID) {
        self.entry = entry
        self.author = author
        self.node = node
    }
}

extension JournalEntry {
    /// Throws unless every field is inside its limit and has a meaning.
    func validate() throws(CommandRefusal) {
        guard id != .zero, size <= SessionLimits.attachmentBytes else { throw .invalid }
        guard metadata.isEmpty || metadataRoot == .zero else { throw .invalid }
        try RoomCommand.require(name.utf8.count, atMost: SessionLimits.attachmentNameBytes)
        try RoomCommand.require(type.utf8.count, atMost: SessionLimits.attachmentTypeBytes)
        try RoomCommand.require(metadata.count, atMost: SessionLimits.attachmentMetadataBytes)
    }
}

extension ByteWriter {
    mutating func write(_ entry: JournalEntry) {
        write(entry.id)
        write(entry.kind.rawValue)
        write(entry.size)
        write(entry.root)
        writeString(entry.name)
        writeString(entry.type)
        write(entry.files)
        writeBlob(entry.metadata)
        write(entry.metadataRoot)
    }

    mutating func write(_ record: JournalRecord) {
        write(record.entry)
        write(record.author)
        write(record.node)
    }
}

extension ByteReader {
    @_lifetime(self: copy self)
    mutating func readJournalEntry() throws(WireError) -> JournalEntry {
        JournalEntry(
            id: try read(),
            kind: try readCase(),
            size: try read(),
            root: try read(),
            name: try readString(limit: SessionLimits.entryBytes),
            type: try readString(limit: SessionLimits.entryBytes),
            files: try read(),
            metadata: try readBlob(limit: SessionLimits.entryBytes),
            metadataRoot: try read()
        )
    }

    /// Reads a record of a snapshot or a patch, whose entry must be inside its limits.
    @_lifetime(self: copy self)
    mutating func readJournalRecord() throws(WireError) -> JournalRecord {
        let start = offset
        let record = JournalRecord(
            entry: try readJournalEntry(),
            author: try read(),
            node: try read()
        )
        do {
            try record.entry.validate()
        } catch {
            throw .invalid(at: start)
        }
        return record
    }
}

extension RoomState {
    /// Entries of all journals.
    var journalCount: Int { sessions.reduce(0) { $0 + $1.journal.count } }

    /// Entries of all journals that a node added.
    package func journalCount(of node: NodeID) -> Int {
        sessions.reduce(0) { sum, session in sum + session.journal.count { $0.node == node } }
    }

    /// Puts an entry into a session's journal.
    mutating func add(
        _ entry: JournalEntry,
        by caller: Participant,
        sessionAt index: Int
    ) throws(CommandRefusal) {
        guard !sessions.contains(where: { $0.attachment(entry.id) != nil }) else {
            throw .invalid
        }
        let limit = sessions[index].options.attachmentLimit
        guard entry.size <= limit else { throw .tooLarge(limit: Int(clamping: limit)) }
        guard journalCount < SessionLimits.journalEntries else {
            throw .full(.journal, limit: SessionLimits.journalEntries)
        }
        let node = caller.process.nodeID
        guard journalCount(of: node) < SessionLimits.journalEntriesOfNode else {
            throw .full(.ownAttachments, limit: SessionLimits.journalEntriesOfNode)
        }
        try requireRoom(forBytes: entry.byteCount)
        let record = JournalRecord(entry: entry, author: caller.id, node: node)
        sessions[index].journal.append(record)
        events.append(.attachmentAdded(sessions[index].id, record))
    }

    /// Takes an entry out of a session's journal, for all.
    mutating func removeAttachment(
        _ id: AttachmentID,
        sessionAt index: Int
    ) throws(CommandRefusal) {
        guard let place = sessions[index].journal.firstIndex(where: { $0.entry.id == id }) else {
            throw .noSuchAttachment
        }
        sessions[index].journal.remove(at: place)
        events.append(.attachmentRemoved(sessions[index].id, id))
    }
}
