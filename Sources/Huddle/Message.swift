import MeshEngine
public import MeshWire

/// How a message travels.
public enum DeliveryMode: Hashable, Sendable {
    /// Once, in order per channel, to everybody that stays.
    case reliable
    /// At most once, newest first; for what is soon out of date.
    case unreliable
}

/// A message as it came.
public struct Message: Hashable, Sendable {
    /// The participant that sent it.
    public let from: ParticipantID
    /// The application's channel.
    public let channel: String
    /// How it travelled.
    public let mode: DeliveryMode
    /// The stream inside an unreliable channel of which only the newest counts; 0 for none.
    public let key: UInt64
    /// The application's bytes.
    public let payload: [UInt8]
    /// What its sender wants a receipt by, once it was read.
    let receipt: UInt64?
}

/// Who gets a message.
public enum MessageRecipients: Hashable, Sendable {
    /// Everybody joined in the session but the sender.
    case all
    /// These participants; the sender among them is left out.
    case only(Set<ParticipantID>)
}

/// The rank of a reliable message among others that wait for the same links.
///
/// What has a higher rank goes first; a lower one keeps at least a sixteenth of the bytes.
public enum MessagePriority: Hashable, Sendable {
    /// Before the others.
    case high
    /// As most messages.
    case normal
    /// After the others.
    case low

    var inner: Priority {
        switch self {
        case .high: .high
        case .normal: .normal
        case .low: .low
        }
    }
}

/// What a reliable send waits for.
public enum Confirmation: Hashable, Sendable {
    /// Room in the windows of every recipient's connection: this is the back-pressure.
    ///
    /// One that has been silent for a second is not waited for: what it misses stands in a backlog.
    case accepted
    /// The acknowledgment of every recipient's node.
    case delivered
    /// That every recipient's program has read it: its loop took the message, and came back for the next.
    ///
    /// Where several readers share a channel all of them have. A recipient that does not read yet is waited
    /// for, so a deadline is in place; one whose readers let go of the message unread, or that
    /// leaves, is named in the error.
    case processed
}

/// A change of a session's values.
public struct ValueChange: Hashable, Sendable {
    /// The key.
    public let key: String
    /// The value now, or `nil` if it was deleted.
    public let value: Value?
}

/// A value of a session and its version.
public struct Value: Hashable, Sendable {
    /// The application's bytes.
    public let bytes: [UInt8]
    /// What compare-and-set compares.
    public let revision: Revision

    /// The bytes as text; `nil` if they are no UTF-8.
    public var text: String? { String(validating: bytes, as: UTF8.self) }
}
