import Huddle

/// Invites others to an activity and starts it when the first one accepts.
///
/// Apple's class of this name is a sheet; this one has no window. What a person is shown of it is
/// ``GroupActivityPolicy/presentInvitation``'s to say.
///
/// ```swift
/// let controller = try GroupActivitySharingController(WatchTogether(film))
/// if await controller.result == .success { … }      // the session comes through `sessions()`
/// ```
@MainActor
public final class GroupActivitySharingController {
    private let obtain: () async throws -> any GroupActivity
    private var sharing: Task<GroupActivitySharingResult, Never>?

    /// A controller that shares `activity`.
    ///
    /// Throws ``ActivationError`` if it cannot be encoded or is too large.
    public init<ActivityType: GroupActivity>(_ activity: ActivityType) throws {
        _ = try ActivityPayload.encode(activity)
        obtain = { activity }
    }

    /// A controller that shares what `preparationHandler` returns, which is called once.
    public init<ActivityType: GroupActivity>(
        preparationHandler: @escaping () async throws -> ActivityType
    ) {
        obtain = { try await preparationHandler() }
    }

    /// Shares the activity, and says what came of it.
    ///
    /// Makes a room if there is none, and an invitation. It is `success` once somebody has accepted and the
    /// activity was started: do not call `activate()` then. It is `cancelled` if the invitation was
    /// cancelled, nobody accepted within ten minutes, or something failed, which is said on stderr. Asked
    /// again, it answers the same.
    public var result: GroupActivitySharingResult {
        get async {
            let task = sharing ?? Task { await share(in: .current) }
            sharing = task
            return await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
        }
    }

    private func share(in conversation: Conversation) async -> GroupActivitySharingResult {
        do {
            let activity = try await obtain()
            let shown = await activity.timelyMetadata
            let title = shown.title ?? type(of: activity).activityIdentifier
            let room = try await conversation.room(orNew: title.cut(toBytes: 64))
            // Before the invitation is out, so that no answer is missed.
            let updates = await room.updates()
            let notices = await room.notices()
            let invitation = GroupActivityInvitation(
                invite: try await room.invite(),
                room: room,
                activityIdentifier: type(of: activity).activityIdentifier,
                title: title
            )
            let listening = invitation.listen(to: updates, notices)
            defer { for task in listening { task.cancel() } }
            if let present = GroupActivityPolicy.presentInvitation {
                present(invitation)
            } else {
                invitation.presentOnStandardError()
                Task { await invitation.announce() }
            }
            guard await invitation.isAccepted() else {
                await room.closeInvites()
                return .cancelled
            }
            return try await conversation.run { try await activity.activate() }
                ? .success : .cancelled
        } catch {
            GroupActivityInvitation.say("the activity is not shared: \(error)")
            return .cancelled
        }
    }
}

/// What came of sharing an activity.
public enum GroupActivitySharingResult: Hashable, Sendable {
    /// Somebody accepted, and the activity was started.
    case success
    /// Nobody did.
    case cancelled
}

/// An invitation to an activity, as ``GroupActivityPolicy/presentInvitation`` shows it to a person.
public final class GroupActivityInvitation: Sendable {
    /// The short code that `huddle join` takes, `SS-XXXXXXC`; for one guest.
    public let code: String
    /// The same as a link, which may also be shown as a QR code.
    public let link: String
    /// The activity's kind.
    public let activityIdentifier: String
    /// What would be done together.
    public let title: String

    private let room: Room
    private let slot: Int
    private let number = Notice.InvitationID.random(in: 1 ... .max)
    /// Whether it was accepted: the first word counts.
    private let words: AsyncStream<Bool>
    private let feed: AsyncStream<Bool>.Continuation

    init(invite: Invite, room: Room, activityIdentifier: String, title: String) {
        code = invite.code
        link = invite.link
        slot = invite.slot
        self.room = room
        self.activityIdentifier = activityIdentifier
        self.title = title
        (words, feed) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
    }

    /// Withdraws it: nothing is started.
    ///
    /// Has no effect once somebody has accepted.
    public func cancel() {
        feed.yield(false)
    }

    /// Invites those who are in the room already; their programs and `huddle up` show it.
    public func announce() async {
        do throws(MessengerError) {
            let subject = Notice.Subject.invitation(number, activity: activityIdentifier)
            try await room.node.post(subject, title.cut(toBytes: Notice.textLimit))
        } catch {
            Self.say("those in the room were not invited: \(error)")
        }
    }

    /// Hears of guests and answers.
    fileprivate func listen(
        to updates: MailboxSequence<RoomUpdate>,
        _ notices: MailboxSequence<Notice>
    ) -> [Task<Void, Never>] {
        let guests = Task { [feed, slot] in
            for await update in updates {
                switch update {
                case .inviteUsed(slot: slot, by: _): feed.yield(true)
                case .inviteBurned(slot: slot, let reason):
                    Self.say("the invitation is closed: \(reason)")
                    feed.yield(false)
                case .left: feed.yield(false)
                default: break
                }
            }
            feed.yield(false)
        }
        let answers = Task { [feed, number] in
            for await notice in notices {
                // Who declines says nothing for the others.
                if case .answer(number, isAccepted: true) = notice.subject { feed.yield(true) }
            }
        }
        return [guests, answers]
    }

    /// Waits for the first word, ten minutes at the most.
    fileprivate func isAccepted() async -> Bool {
        await TimeLimit.value(within: TimeLimit.sharing) { [words] in
            for await word in words { return word }
            return false
        } ?? false
    }

    fileprivate func presentOnStandardError() {
        Self.say(
            """
            '\(SafeText.clean(title, toBytes: 256))' starts when somebody comes, within 10 minutes:
              huddle join \(code)
              \(link)
            """
        )
    }

    fileprivate static func say(_ text: String) {
        FileHandle.standardError.write(Data("huddle: \(text)\n".utf8))
    }
}
