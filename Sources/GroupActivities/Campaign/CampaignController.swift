import Huddle

/// Runs a campaign's activity for a view: offers to share it, starts it, and takes leave when the view goes.
///
/// ```swift
/// let controller = CampaignController(extras: message.extras)
/// switch await controller.start() {
/// case .local(let campaign): play(campaign.url)
/// case .group: break                        // `controller.session` plays
/// case .nothing: dismiss()
/// }
/// ```
@MainActor
public final class CampaignController: ObservableObject {
    /// What becomes of a campaign that was started.
    public enum Outcome: Hashable, Sendable {
        /// The program shows it alone.
        case local(CampaignActivity)
        /// It is watched together: ``CampaignController/session`` is the session, or will be.
        case group
        /// Nothing is shown: the campaign is not valid, the person said no, or the view is gone.
        case nothing
    }

    /// Whether a button that shares the campaign has a use: it is valid, and activities can be shared.
    @Published public private(set) var isShareButtonVisible = false
    /// The session of this campaign, once there is one; it waits to be joined.
    @Published public private(set) var session: GroupSession<CampaignActivity>?

    /// The campaign, if it is valid.
    public let activity: CampaignActivity?
    /// Why it is not, if so.
    public let error: CampaignError?

    private let steps: CampaignSteps
    private var watches: [Task<Void, Never>] = []
    private var isDismissed = false
    /// Whether ``start()`` runs.
    private var isStarting = false
    /// Whether a session was asked for that is not here yet.
    private var isExpecting = false
    /// Takes leave of the session that is here; it is used once.
    private var leave: (@MainActor () -> Void)?

    /// A controller of an in-app message's pairs, with ``CampaignRules/current`` if nothing is said.
    public convenience init(extras: [String: String], rules: CampaignRules = .current) {
        self.init(extras: extras, rules: rules, steps: CampaignSteps())
    }

    init(extras: [String: String], rules: CampaignRules, steps: CampaignSteps) {
        self.steps = steps
        do throws(CampaignError) {
            activity = try CampaignActivity(extras: extras, rules: rules)
            error = nil
        } catch {
            activity = nil
            self.error = error
        }
        guard let activity else { return }
        let eligible = steps.eligible()
        watches.append(
            Task { [weak self] in
                for await isEligible in eligible {
                    guard let self, !self.isDismissed else { return }
                    if self.isShareButtonVisible != isEligible {
                        self.isShareButtonVisible = isEligible
                    }
                }
            }
        )
        let sessions = steps.sessions(activity)
        watches.append(
            Task { [weak self] in
                for await found in sessions {
                    guard let self else { return }
                    self.take(found)
                }
            }
        )
    }

    deinit {
        for watch in watches { watch.cancel() }
    }

    /// Shares the campaign, or says that it is shown alone.
    ///
    /// Asks by `prepareForActivation()`, and activates if that is preferred. What fails then is shown alone.
    public func start() async -> Outcome {
        guard let activity, !isDismissed, !isStarting else { return .nothing }
        isStarting = true
        defer { isStarting = false }
        let answer = await steps.prepare(activity)
        guard !isDismissed else { return .nothing }
        switch answer {
        case .activationDisabled: return .local(activity)
        case .cancelled: return .nothing
        case .activationPreferred:
            isExpecting = true
            let isStarted = (try? await steps.activate(activity)) ?? false
            // A session that runs already is the one that is meant; no other comes then.
            isExpecting = isExpecting && isStarted && leave == nil
            endIfDone()
            if isDismissed { return .nothing }
            return isStarted ? .group : .local(activity)
        }
    }

    /// The view is gone: takes leave of the session, once, also of one that is still to come.
    public func dismiss() {
        guard !isDismissed else { return }
        isDismissed = true
        isShareButtonVisible = false
        takeLeave()
        endIfDone()
    }

    private func take(_ found: CampaignSteps.Found) {
        // What comes after the view is gone and was not asked for is somebody else's.
        guard !isDismissed || isExpecting else { return }
        isExpecting = false
        leave = found.leave
        session = found.session
        guard isDismissed else { return }
        takeLeave()
        endIfDone()
    }

    private func takeLeave() {
        let leave = leave
        self.leave = nil
        if session != nil { session = nil }
        leave?()
    }

    /// Listens no more, unless a session that was started is still to come.
    private func endIfDone() {
        guard isDismissed, !isExpecting else { return }
        for watch in watches { watch.cancel() }
        watches = []
    }
}

/// What a controller does to the world; tests put others in their place.
struct CampaignSteps: Sendable {
    /// A session of the campaign, and how it is left.
    struct Found: Sendable {
        var session: GroupSession<CampaignActivity>?
        var leave: @MainActor @Sendable () -> Void
    }

    var eligible: @MainActor @Sendable () -> AsyncStream<Bool> = {
        let changes = Conversation.current.eligibilityChanges()
        return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { feed in
            let task = Task {
                for await diagnosis in changes { feed.yield(diagnosis == nil) }
                feed.finish()
            }
            feed.onTermination = { _ in task.cancel() }
        }
    }

    var sessions: @MainActor @Sendable (CampaignActivity) -> AsyncStream<Found> = { activity in
        let sessions = CampaignActivity.sessions()
        // Few come, one after the other.
        return AsyncStream { feed in
            let task = Task {
                for await session in sessions where session.activity == activity {
                    feed.yield(Found(session: session, leave: { session.leave() }))
                }
                feed.finish()
            }
            feed.onTermination = { _ in task.cancel() }
        }
    }

    var prepare: @MainActor @Sendable (CampaignActivity) async -> GroupActivityActivationResult = {
        await $0.prepareForActivation()
    }

    var activate: @MainActor @Sendable (CampaignActivity) async throws -> Bool = {
        try await $0.activate()
    }
}
