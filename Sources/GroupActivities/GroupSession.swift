import Huddle
import Synchronization

/// One activity that the members of a room do together, as this program takes part in it.
///
/// What it publishes comes on the main actor, in the order of the room. A joined session lives until it is
/// invalidated, whether or not the program keeps it.
public final class GroupSession<ActivityType: GroupActivity>: ObservableObject, @unchecked Sendable
{
    /// What tells before each change.
    public typealias ObjectWillChangePublisher = ObservableObjectPublisher

    /// Where this program stands in a session.
    public enum State: Sendable {
        /// The session is there; this program has not joined.
        case waiting
        /// This program takes part.
        case joined
        /// It is over for this program; the reason is a `GroupSessionError`.
        case invalidated(reason: any Error)
    }

    /// The same on every node.
    public let id: UUID
    /// Whether this process started it.
    public let isLocallyInitiated: Bool
    /// This program's participant: it is so called from the beginning, and takes part once joined.
    public let localParticipant: Participant

    /// Where this program stands.
    @Published(sparesSubscribers: true) public private(set) var state = State.waiting

    /// Who takes part.
    @Published(sparesSubscribers: true) public private(set) var activeParticipants:
        Set<Participant> = []

    /// What is done together.
    ///
    /// Setting it while joined replaces it for all; of several the last one that the
    /// room orders stays.
    @Published public var activity: ActivityType {
        willSet { changes.begin() }
        didSet { if changes.end() { propose() } }
    }

    /// The session by the names of `Huddle`, which can more.
    public var session: Session { core.session }

    let core: SessionCore
    private let changes = OwnChanges()
    /// What others do already and this program does not yet.
    @MainActor private var held: SessionActivity?
    /// Whether the program is being asked.
    @MainActor private var isHolding = false
    private let directory: any SessionOffering

    @MainActor
    init(
        _ update: SessionUpdate,
        local: Participant,
        activity: UncheckedBox<ActivityType>,
        directory: any SessionOffering
    ) {
        id = update.session.id.uuid
        isLocallyInitiated = update.isLocallyInitiated
        localParticipant = local
        core = SessionCore(session: update.session, local: local)
        self.activity = activity.value
        self.directory = directory
        core.follow(for: self)
    }

    // MARK: Taking part

    /// Takes part; the effect is seen in ``state``, and a second call has none.
    public func join() {
        core.act(for: self) { session throws(HuddleError) in try await session.join() }
    }

    /// Takes part no more; the others go on.
    public func leave() {
        core.act(for: self) { session throws(HuddleError) in try await session.leave() }
        core.tell(self, .event(.invalidated(.left)))
    }

    /// Ends the session for all.
    public func end() {
        core.act(for: self) { session throws(HuddleError) in try await session.end() }
    }

    /// Asks to be brought to the front: ``GroupActivityPolicy/foreground`` decides.
    public func requestForegroundPresentation() {
        guard core.reason == nil else { return }
        Task { @MainActor [id] in GroupActivityPolicy.foreground?(id) }
    }

    /// Always `nil`: windows are the program's own affair here.
    public var sceneSessionIdentifier: String? { nil }

    private func propose() {
        guard case .joined = state, let payload = try? ActivityPayload.encode(activity) else {
            return
        }
        core.act(for: self) { session throws(HuddleError) in
            guard var new = await session.activity else { return }
            new.payload = payload
            try await session.replaceActivity(new)
        }
    }

    @MainActor
    private func publish(_ participants: Set<Participant>) {
        guard core.reason == nil else { return }
        let isJoined = participants.contains(localParticipant)
        if participants != activeParticipants { activeParticipants = participants }
        core.publish(participants, isJoined: isJoined)
        if isJoined, case .waiting = state {
            directory.desk.joined(id)
            state = .joined
        }
    }

    /// Somebody shows something else: the set stays, with the newer value in it.
    @MainActor
    private func renew(_ participant: Participant) {
        guard core.reason == nil, activeParticipants.contains(participant) else { return }
        activeParticipants = activeParticipants.subtracting([participant]).union([participant])
        core.publish(activeParticipants, isJoined: activeParticipants.contains(localParticipant))
    }

    /// Others do something else: this program does so too once it is ready.
    @MainActor
    private func hold(_ new: SessionActivity) {
        let isOwn = (try? ActivityPayload.encode(activity)) == new.payload
        guard GroupActivityPolicy.willReplace != nil, !isOwn else {
            held = nil
            return replace(new.payload)
        }
        let isAsking = isHolding
        held = new
        // Of several the last one is meant, and the person is asked once.
        guard !isAsking else { return }
        isHolding = true
        let replacement = GroupActivityReplacement(
            session: id,
            identifier: new.identifier,
            metadata: ReplacementDesk.metadata(of: new),
            isOtherSession: false
        )
        Task { @MainActor in
            await ReplacementDesk.ask(replacement)
            isHolding = false
            guard core.reason == nil, let held else { return }
            self.held = nil
            replace(held.payload)
        }
    }

    /// Another session has taken this one's place: it is over here once the program is ready.
    @MainActor
    private func giveWay(_ reason: GroupSessionError) {
        guard GroupActivityPolicy.willReplace != nil, core.isJoined else {
            return invalidate(reason)
        }
        Task { @MainActor in
            await directory.desk.hold(id, of: core.session.node)
            invalidate(reason)
        }
    }

    @MainActor
    private func replace(_ payload: [UInt8]) {
        guard let new = try? ActivityPayload.decode(ActivityType.self, payload) else { return }
        changes.applies()
        activity = new
    }

    @MainActor
    private func invalidate(_ reason: GroupSessionError) {
        guard core.reason == nil else { return }
        directory.forget(id)
        directory.desk.over(id)
        if !activeParticipants.isEmpty { activeParticipants = [] }
        state = .invalidated(reason: reason)
        core.invalidate(reason)
    }
}

extension GroupSession: SessionListener {
    func hear(_ news: SessionNews) {
        switch news {
        case .present(let participants): publish(participants)
        case .change(.joined(let who)), .change(.returned(let who)):
            publish(activeParticipants.union([who]))
        case .change(.profile(let who)): renew(who)
        case .change(.left(let who)): publish(activeParticipants.subtracting([who]))
        case .event(.activityChanged(let activity)): hold(activity)
        case .event(.invalidated(.replaced(let by))): giveWay(.replaced(by: by))
        case .event(.invalidated(let reason)): invalidate(reason)
        case .failure(let error):
            // What was refused while taking part changes nothing; a join that fails is the end of it.
            if case .waiting = state { invalidate(GroupSessionError(joinFailure: error)) }
        case .change(.away), .change(.lead), .event(.joined), .event(.away), .event(.back),
            .event(.optionsChanged):
            break
        }
    }
}

extension GroupSession.State: Equatable {
    /// Whether both are the same; all that is invalidated is.
    public static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.waiting, .waiting), (.joined, .joined), (.invalidated, .invalidated): true
        default: false
        }
    }
}

extension GroupSession: CustomStringConvertible {
    /// The activity's identifier, the session's, and where this program stands.
    public var description: String { "\(ActivityType.activityIdentifier) \(id) \(state)" }
}

/// Tells assignments that the room caused from those of the program, sinks that assign included.
private final class OwnChanges: Sendable {
    private let state = Mutex((isApplying: false, nested: [Bool]()))

    /// The next assignment is the room's.
    func applies() {
        state.withLock { $0.isApplying = true }
    }

    func begin() {
        state.withLock { state in
            state.nested.append(state.isApplying)
            state.isApplying = false
        }
    }

    /// Whether the assignment that ends was the program's.
    func end() -> Bool {
        state.withLock { !($0.nested.popLast() ?? false) }
    }
}
