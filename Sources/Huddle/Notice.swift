public import MeshWire

/// What a member of the room tells everybody to be shown: that somebody did something, or an invitation.
///
/// Apple's system shows such notices; here the programs of the room and the node of `huddle up` do.
public struct Notice: Hashable, Sendable {
    /// The most bytes of ``text``.
    public static let textLimit = 1024

    /// What a notice is about.
    public enum Subject: Hashable, Sendable {
        /// A participant of a session did what ``Notice/text`` says.
        case event(session: SessionID, by: ParticipantID)
        /// The sender would like to do ``Notice/text`` together; ``Room/answer(_:accepting:)`` answers it.
        case invitation(InvitationID, activity: String)
        /// An answer to an invitation of this node's; nobody else gets it.
        case answer(InvitationID, isAccepted: Bool)
    }

    /// Tells apart the invitations of one node.
    public typealias InvitationID = UInt64

    /// The node that sent it.
    public let sender: NodeID
    /// Who did it, in words: a name, which may have any characters that the member put there.
    public let who: String
    /// What it is about.
    public let subject: Subject
    /// What was done, or would be: a few words of others, to be made safe for where they are shown.
    public let text: String
}

/// A notice's bytes: `version 1 · kind u8`, then by kind `session 16 · participant 16 · text`,
/// `invitation u64 · activity text · text`, or `invitation u64 · accepted u8`.
struct NoticeBody: Hashable, Sendable {
    var subject: Notice.Subject
    var text = ""

    /// The channel of the shared session that carries notices.
    static let channel = "huddle.notice"
    private static let version: UInt8 = 1

    init(subject: Notice.Subject, text: String = "") {
        self.subject = subject
        self.text = text
    }

    var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 64)
        writer.write(Self.version)
        switch subject {
        case .event(let session, let participant):
            writer.write(UInt8(0))
            writer.write(session)
            writer.write(participant)
            writer.writeString(text)
        case .invitation(let id, let activity):
            writer.write(UInt8(1))
            writer.write(id)
            writer.writeString(activity)
            writer.writeString(text)
        case .answer(let id, let isAccepted):
            writer.write(UInt8(2))
            writer.write(id)
            writer.write(UInt8(isAccepted ? 1 : 0))
        }
        return writer.bytes
    }

    /// Throws at what this version does not read; kinds of later versions are not shown.
    init(_ bytes: [UInt8]) throws(WireError) {
        var reader = ByteReader(bytes.raw)
        guard try reader.read(UInt8.self) == Self.version else { throw .invalid(at: 0) }
        switch try reader.read(UInt8.self) {
        case 0:
            subject = .event(session: try reader.read(), by: try reader.read())
            text = try reader.readString(limit: Notice.textLimit)
        case 1:
            let id = try reader.read(UInt64.self)
            subject = .invitation(id, activity: try reader.readString(limit: 255))
            text = try reader.readString(limit: Notice.textLimit)
        case 2:
            let id = try reader.read(UInt64.self)
            let answer = try reader.read(UInt8.self)
            guard answer < 2 else { throw .invalid(at: 10) }
            subject = .answer(id, isAccepted: answer == 1)
        default: throw .invalid(at: 1)
        }
        try reader.finish()
    }
}

/// Lets at most five notices a second of each sender through (`40-groupactivities.md` §8).
struct NoticeGate {
    private var times: [NodeID: [Instant]] = [:]

    static let perSecond = 5
    private static let second = Duration.seconds(1)

    /// Whether a notice of `sender` that comes at `now` is shown.
    mutating func admits(_ sender: NodeID, at now: Instant) -> Bool {
        let recent = (times[sender] ?? []).filter { now - $0 < Self.second }
        guard recent.count < Self.perSecond else { return false }
        // Who was silent for a second needs no memory; so there are never more than the room's members.
        if times.count >= Limits.members {
            times = times.filter { $0.value.contains { now - $0 < Self.second } }
        }
        times[sender] = recent + [now]
        return true
    }
}
