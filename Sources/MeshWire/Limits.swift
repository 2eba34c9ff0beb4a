/// The limits several layers share; each layer's own stand in its configuration.
public enum Limits {
    /// Members of a room (`10-security.md` §9).
    public static let members = 64
    /// Bytes of a message on the reliable lane, 16 MiB (`20-transport.md` §2).
    public static let messageBytes = 16 << 20
    /// Fragments of a message on the fast lane (`20-transport.md` §2).
    public static let fastFragments = 16
    /// Channels of a connection, counted by each sender (`20-transport.md` §2).
    public static let channels = 1024
    /// Bytes of a channel's name (`20-transport.md` §2).
    public static let channelNameBytes = 255
    /// Bytes of the smallest datagram every path must carry (RFC 9000 §14).
    public static let datagramFloorBytes = 1200
    /// Bytes of the largest datagram, a UDP payload over loopback.
    public static let datagramCeilingBytes = 65_507
    /// Bytes of a DATA header and its tag (`10-security.md` §4).
    public static let sealOverheadBytes = 32
    /// Bytes of a control message, header included (`30-consensus.md` §4).
    public static let controlBytes = 1100
    /// Sessions of a room, participants of a session (`30-consensus.md` §12).
    public static let sessions = 16
    /// Participants of a session.
    public static let participants = 64
    /// Keys of a session's values.
    public static let valueKeys = 1024
    /// Bytes of a value's key.
    public static let keyBytes = 256
    /// Bytes of a value.
    public static let valueBytes = 16 << 10
    /// Bytes of all values of a session.
    public static let sessionValueBytes = 1 << 20
    /// Bytes of an activity.
    public static let activityBytes = 64 << 10
    /// Bytes of a command's payload.
    public static let commandBytes = 68 << 10
    /// The grace in which an absent participant is away and its channels resume.
    public static let grace: Duration = .seconds(30)
}
