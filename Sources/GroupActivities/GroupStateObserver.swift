import Huddle

/// Tells whether activities can be started or joined: whether this program is in a room that works.
public final class GroupStateObserver: ObservableObject, @unchecked Sendable {
    /// Whether activities can be shared now; right as soon as the observer is made.
    @Published public private(set) var isEligibleForGroupSession: Bool

    private var following: Task<Void, Never>?

    /// An observer of the current conversation.
    public init() {
        let conversation = Conversation.current
        isEligibleForGroupSession = conversation.eligibility == nil
        following = Task { @MainActor [weak self] in
            for await diagnosis in conversation.eligibilityChanges() {
                guard let self else { return }
                let isEligible = diagnosis == nil
                if isEligible != self.isEligibleForGroupSession {
                    self.isEligibleForGroupSession = isEligible
                }
            }
        }
    }

    deinit {
        following?.cancel()
    }
}
