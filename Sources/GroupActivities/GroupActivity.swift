import Huddle

/// Something that the members of a room do together.
///
/// A value of it is what starts a session and what every member gets, so it is small: identifiers and
/// addresses in place of content, at most 64 KiB encoded.
public protocol GroupActivity: Decodable, Encodable {
    /// Names the kind of activity for all programs that know it; 1 to 255 bytes of UTF-8.
    ///
    /// Unless given, the name of the type without its module.
    static var activityIdentifier: String { get }

    /// Whether a session of the activity that `activityIdentifier` names is one of this type's.
    ///
    /// Unless given, whether it is this type's own identifier; a type that reads the values of an older
    /// one also takes that one's.
    static func _identifiable(by activityIdentifier: String) -> Bool

    /// What people are shown of it.
    var metadata: GroupActivityMetadata { get async }
}

extension GroupActivity {
    /// The name of the type without its module.
    public static var activityIdentifier: String { RoutingName.text(of: Self.self) }

    /// Whether it is this type's own identifier.
    public static func _identifiable(by activityIdentifier: String) -> Bool {
        activityIdentifier == Self.activityIdentifier
    }

    /// The sessions of this activity.
    public typealias Sessions = GroupSession<Self>.Sessions

    /// The sessions of this activity that come to this program: those that run, then each new one.
    ///
    /// Each iterator is a subscriber of its own. It never ends because a session does.
    public static func sessions() -> Sessions {
        Sessions(directory: SessionDirectory<Self>.current)
    }

    /// Asks whether the activity shall be shared, before it is started.
    ///
    /// Where activities cannot be started the answer is `activationDisabled` at once, and the program goes
    /// on alone. Else ``GroupActivityPolicy/activation`` answers; without one the answer is
    /// `activationPreferred`. It is `cancelled` if that takes longer than 60 s, or if the task is cancelled.
    public func prepareForActivation() async -> GroupActivityActivationResult {
        guard Conversation.current.eligibility == nil else { return .activationDisabled }
        guard let ask = await GroupActivityPolicy.activation else { return .activationPreferred }
        let (identifier, shown) = (Self.activityIdentifier, await timelyMetadata)
        return await TimeLimit.value(within: TimeLimit.activation) {
            await ask(identifier, shown)
        } ?? .cancelled
    }

    /// What people are shown; empty if it takes longer than 5 s to say.
    var timelyMetadata: GroupActivityMetadata {
        get async {
            // It runs where the caller does, who waits meanwhile.
            let read = UncheckedBox { await metadata }
            return await TimeLimit.value(within: TimeLimit.metadata) {
                await read.value()
            } ?? GroupActivityMetadata()
        }
    }

    /// Starts a session of this activity for the room, and waits until the room has taken it.
    ///
    /// The session comes to this program as to all others: through ``sessions()``. If the same activity
    /// with an equal value runs already, that session is meant; a session of another one ends.
    ///
    /// - Returns: `true`: the session reaches this process.
    /// - Throws: ``ActivationError``.
    public func activate() async throws -> Bool {
        let conversation = Conversation.current
        let payload = try ActivityPayload.encode(self)
        let shown = await timelyMetadata
        do {
            let node = try conversation.node()
            _ = try await node.start(Self.activityIdentifier, payload: payload, shown: shown)
            return true
        } catch let diagnosis as EligibilityDiagnosis {
            throw ActivationError.notEligible(diagnosis)
        } catch let error as HuddleError {
            throw ActivationError(error)
        }
    }
}

/// What became of the question whether an activity shall be shared.
public enum GroupActivityActivationResult: Hashable, Sendable {
    /// Share it: call `activate()`.
    case activationPreferred
    /// Go on alone.
    case activationDisabled
    /// Do nothing.
    case cancelled
}

/// Why an activity could not be started.
public enum ActivationError: Error, Sendable {
    /// The program is in no room that works.
    case notEligible(EligibilityDiagnosis)
    /// The room's rules say no; the words say which.
    case refused(String)
    /// A field of the activity is above its limit, both in bytes.
    case tooLarge(field: String, size: Int, limit: Int)
    /// The activity could not be encoded: what is wrong, and where in it.
    case encoding(String, path: String)
    /// The room did not answer in time; the session may start all the same.
    case timedOut

    init(_ error: HuddleError) {
        switch error.kind {
        case .timedOut: self = .timedOut
        case .noRoom: self = .notEligible(.noRoom)
        case .stopped: self = .notEligible(.nodeStopped)
        default: self = .refused(error.description)
        }
    }
}

extension ActivationError: LocalizedError {
    /// One sentence that a user can act on.
    public var errorDescription: String? {
        switch self {
        case .notEligible(let diagnosis): "The activity cannot be shared: \(diagnosis)."
        case .refused(let why): "The room does not start the activity: \(why)."
        case .tooLarge(let field, let size, let limit):
            "The activity's \(field) has \(size) bytes, the limit is \(limit)."
        case .encoding(let what, let path): "The activity cannot be encoded at '\(path)': \(what)."
        case .timedOut: "The room did not answer in time; the activity may start all the same."
        }
    }
}

/// What a program decides about activities, where Apple's system asks the person.
@MainActor
public enum GroupActivityPolicy {
    /// Asked by ``GroupActivity/prepareForActivation()``: the activity's identifier and what is shown of it.
    public static var activation:
        (@MainActor (String, GroupActivityMetadata) async -> GroupActivityActivationResult)?

    /// Shows a person the invitation of a ``GroupActivitySharingController``.
    ///
    /// Without one it is printed to stderr, and those who are in the room already are invited by a notice.
    public static var presentInvitation: (@MainActor (GroupActivityInvitation) -> Void)?

    /// Asked before this program hears that others replace what it takes part in, such as by a question to a
    /// person.
    ///
    /// The room has done it already and the others go on; for this program the old activity stays until
    /// this returns, for 10 s at the most. Messages of a session that gives way are not delivered any more.
    /// Without one, and for what this program itself does, nothing is held back.
    public static var willReplace: (@MainActor (GroupActivityReplacement) async -> Void)?

    /// Called when a session asks to be brought to the front; gets the session's identifier.
    public static var foreground: (@MainActor (UUID) -> Void)?
}
