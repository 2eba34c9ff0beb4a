import GroupActivities
import Huddle

/// What the peer does about notices and invitations, for `NoticeTests` and `SharingTests`.
@MainActor
final class Sharing {
    private var controller: GroupActivitySharingController?
    private var invitation: GroupActivityInvitation?
    /// The newest invitation of somebody else.
    private var invited: Notice?
    private var tasks: [Task<Void, Never>] = []
    private var campaign: CampaignController?
    private var campaignSession: AnyCancellable?

    private struct NoActivity: Error {}

    func obey(_ words: [String], _ peer: Peer) async throws {
        switch words[0] {
        case "notices": try await listen(peer)
        case "show":
            guard let session = peer.session else { return }
            show(session.localParticipant, words)(session)
        case "showother":
            guard let session = peer.session,
                let other = session.activeParticipants.first(where: {
                    $0 != session.localParticipant
                })
            else { return }
            show(other, words)(session)
        case "foreground":
            GroupActivityPolicy.foreground = { say("foreground \($0)") }
            peer.session?.requestForegroundPresentation()
        case "oldwords":
            guard let session = peer.session else { return }
            post(words[1], session)
        case "answer":
            guard let invited, let room = await Conversation.process.room else { return }
            try await room.answer(invited, accepting: words[1] == "accept")
            say("answered")
        case "share":
            GroupActivityPolicy.presentInvitation = { invitation in
                self.invitation = invitation
                say("invitation \(invitation.link)")
            }
            share(try GroupActivitySharingController(Canvas(title: words[1])))
        case "announce":
            share(GroupActivitySharingController { Canvas(title: words[1]) })
        case "sharefailing":
            share(
                GroupActivitySharingController { () async throws -> Canvas in throw NoActivity() }
            )
        case "sharelate":
            GroupActivityPolicy.presentInvitation = { say("invitation \($0.code)") }
            let controller = try GroupActivitySharingController(Canvas(title: words[1]))
            TimeLimit.$clock.withValue(HastyClock()) { share(controller) }
        case "sharedagain":
            if let controller { say("again \(await controller.result)") }
        case "withdraw": invitation?.cancel()
        case "prepareslow":
            GroupActivityPolicy.activation = { identifier, metadata in
                say("asked \(identifier) \(metadata.title ?? "-")")
                for await _ in AsyncStream<Void>.makeStream().stream {}
                // Only a cancelled wait comes here.
                return .activationPreferred
            }
            let canvas = Canvas(title: words[1])
            TimeLimit.$clock.withValue(HastyClock()) {
                tasks.append(Task { say("prepared \(await canvas.prepareForActivation())") })
            }
        case "watchcampaigns":
            tasks.append(
                Task {
                    for await session in CampaignActivity.sessions() {
                        say("campaign session \(session.id) \(session.activity.title)")
                    }
                }
            )
        case "campaign": start(words)
        case "dismiss": campaign?.dismiss()
        default: say("error unknown word \(words[0])")
        }
    }

    /// Starts a campaign; with the word `dismissed` its view is gone before the room has answered.
    private func start(_ words: [String]) {
        let campaign = CampaignController(
            extras: ["video_url": words[1], "video_title": words[2]]
        )
        self.campaign = campaign
        var left = 0
        campaignSession = campaign.$session.compactMap(\.self).flatMap(\.$state).sink { state in
            guard case .invalidated(let reason) = state else { return }
            left += 1
            say("campaign over \(left) \(reason)")
        }
        tasks.append(
            Task {
                switch await campaign.start() {
                case .local: say("campaign local")
                case .group: say("campaign group")
                case .nothing: say("campaign nothing")
                }
            }
        )
    }

    private func share(_ controller: GroupActivitySharingController) {
        self.controller = controller
        tasks.append(Task { say("shared \(await controller.result)") })
    }

    private func show(
        _ who: Participant,
        _ words: [String]
    ) -> (GroupSession<Canvas>) -> Void {
        let action: GroupSessionEvent.Action =
            switch words[1] {
            case "play": .play
            case "pause": .pause
            default: .skip(item: words[2])
            }
        return { $0.showNotice(GroupSessionEvent(originator: who, action: action, url: nil)) }
    }

    @available(*, deprecated, message: "it tries what is deprecated")
    private func postOld(_ text: String, _ session: GroupSession<Canvas>) {
        session.postEvent(
            GroupSession<Canvas>.Event(
                originator: session.localParticipant,
                localizedDescription: text
            )
        )
    }

    private func post(_ text: String, _ session: GroupSession<Canvas>) {
        (self as any OldWords).old(text, session)
    }

    private func listen(_ peer: Peer) async throws {
        guard let room = await Conversation.process.room
        else { return say("error no room") }
        if let session = peer.session {
            let own = await session.session.notices
            tasks.append(
                Task { for await notice in own { say("notice \(notice.who) \(notice.text)") } }
            )
        }
        let all = await room.notices()
        tasks.append(
            Task {
                for await notice in all {
                    guard case .invitation(_, let activity) = notice.subject else { continue }
                    invited = notice
                    say("invited \(notice.who) \(notice.text) \(activity)")
                }
            }
        )
        say("listening")
    }
}

/// By a protocol, so that the deprecated call gives no warning.
@MainActor
private protocol OldWords {
    func old(_ text: String, _ session: GroupSession<Canvas>)
}

extension Sharing: OldWords {
    @available(*, deprecated, message: "it tries what is deprecated")
    fileprivate func old(_ text: String, _ session: GroupSession<Canvas>) { postOld(text, session) }
}

/// A clock on which a minute and more is over at once.
private struct HastyClock: Clock {
    typealias Instant = ContinuousClock.Instant

    var now: Instant { ContinuousClock.now }
    var minimumResolution: Swift.Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Swift.Duration?) async throws {
        let left = deadline - now
        guard left > .seconds(50) else {
            return try await Task.sleep(until: deadline, clock: ContinuousClock())
        }
        say("waited \((left / .seconds(1)).rounded()) seconds")
    }
}
