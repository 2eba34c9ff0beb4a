import MeshWire

/// The limits of the room's state beyond those that other layers share (`30-consensus.md` §12).
package enum SessionLimits {
    /// Bytes of a member's name (`40-groupactivities.md` §9.6).
    package static let nameBytes = 64
    /// Bytes of an activity's identifier (`40-groupactivities.md` §3.1).
    package static let identifierBytes = 255
    /// Bytes of an activity's metadata.
    package static let metadataBytes = 8 << 10
    /// Bytes of a slot's name.
    package static let slotBytes = 32
    /// Bytes of the note that a removal carries.
    package static let noteBytes = 256
    /// Bytes of an element of a set.
    package static let elementBytes = 256
    /// Entries of a session's sequence that are kept.
    package static let logEntries = 1024
    /// Bytes that these cost, 256 KiB.
    package static let logBytes = 256 << 10
    /// Nodes banned from one session.
    package static let bans = 64
    /// Participants of one session whose removal is remembered.
    package static let kicked = 64
    /// Bytes of a journal's entry as a command, 2 KiB (`50-journal-and-playback.md` A3).
    package static let entryBytes = 2 << 10
    /// Entries of the journals of a room, and those of one node (`50-journal-and-playback.md` A9).
    package static let journalEntries = 4096
    /// Entries of the journals of a room that one node added.
    package static let journalEntriesOfNode = 512
    /// Bytes of the largest attachment, 64 GiB.
    package static let attachmentBytes: UInt64 = 64 << 30
    /// Bytes of an attachment's name.
    package static let attachmentNameBytes = 200
    /// Bytes of an attachment's type.
    package static let attachmentTypeBytes = 128
    /// Bytes of an attachment's metadata that stand in its entry.
    package static let attachmentMetadataBytes = 1024
    /// Conflicts of a room that nobody has acknowledged.
    package static let conflicts = 1024
    /// Bytes of these conflicts, 1 MiB.
    package static let conflictBytes = 1 << 20
    /// Members of a room, present and absent.
    package static let members = Limits.members + absentMembers
    /// Members that are absent and not forgotten yet; the longest absent goes first.
    package static let absentMembers = 64
    /// Bytes of all activities and values of the room, 8 MB (`30-consensus.md` §12).
    package static let stateBytes = 8_000_000
    /// Bytes that a stored value costs beside its key and content.
    package static let valueOverheadBytes = 48
    /// Entries of the log whose events are kept for observers.
    package static let recentEntries = 1024
    /// Bytes that these events keep alive.
    package static let recentBytes = 4 << 20
}
