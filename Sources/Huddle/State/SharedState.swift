/// What the lead of a session, or who stands in for it, had to give to a participant that asked for the state.
public struct SharedState: Hashable, Sendable {
    /// The state, or why there is none.
    public enum Content: Hashable, Sendable {
        /// What the lead's program made, at most ``SharedState/byteLimit`` bytes.
        case bytes([UInt8])
        /// Nobody had a state to give.
        case empty(Absence)
    }

    /// Why there is no state.
    public enum Absence: Hashable, Sendable {
        /// The session has no lead, or whoever asked is the one to be asked.
        case nobodyElse
        /// The lead provides no state.
        case noProvider
        /// The lead's program took longer than a second.
        case tooLate
        /// The lead's program made more than ``SharedState/byteLimit`` bytes.
        case tooLarge
        /// The lead did not answer, nor did who followed it.
        case unanswered
    }

    /// The state, or why there is none.
    public let content: Content
    /// Who was asked, where the request stands in the log: the lead, or while that is away the present
    /// participant that joined first; `nil` if there was nobody else.
    public let from: Participant?
    /// Participants of whose messages the state may lack some, and some may come that it holds.
    ///
    /// They were away, or did not say in time what they had sent, or left; all others are here if the
    /// lead's readers did not keep up.
    public let incomplete: [Participant]

    /// The state's bytes, if there is a state.
    public var bytes: [UInt8]? {
        guard case .bytes(let bytes) = content else { return nil }
        return bytes
    }

    /// The most bytes of a state: 16 MiB, less 4 KiB for what goes with it.
    public static let byteLimit = (16 << 20) - (4 << 10)
}
