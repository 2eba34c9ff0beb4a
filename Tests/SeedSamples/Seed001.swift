import GroupActivities

struct WatchTogetherActivity: GroupActivity {
    let movieID: String
    let movieTitle: String

    var metadata: GroupActivityMetadata {
        var meta = GroupActivityMetadata()
        meta.title = movieTitle
        meta.type = .watchTogether
        meta.fallbackURL = URL(string: "https://example.com/movie/\(movieID)")
        return meta
    }
}

@Observable
@MainActor
final class SharePlayManager {
    private var session: GroupSession<WatchTogetherActivity>?
    private var messenger: GroupSessionMessenger?
    private var sessionTasks: [Task<Void, Never>] = []

    func observeSessions() {
        Task {
            for await session in WatchTogetherActivity.sessions() {
                self.configureSession(session)
            }
        }
    }

    private func configureSession(
        _ session: GroupSession<WatchTogetherActivity>
    ) {
        self.session = session
        self.messenger = GroupSessionMessenger(session: session)

        // Observe session state changes
        let stateTask = Task {
            for await state in session.$state.values {
                handleState(state)
            }
        }
        sessionTasks.append(stateTask)

        // Observe participant changes
        let participantTask = Task {
            for await participants in session.$activeParticipants.values {
                handleParticipants(participants)
            }
        }
        sessionTasks.append(participantTask)

        // Join the session
        session.join()

        Task {
            let journal = GroupSessionJournal(session: session)

            // Upload a Transferable file or data item
            let attachment = try await journal.add(sharedImageItem)

            // Observe incoming attachments
            Task {
                for await attachments in journal.attachments {
                    for attachment in attachments {
                        let data = try await attachment.load(Data.self)
                        handleReceivedFile(data)
                    }
                }
            }
        }
    }

    private func cleanUp() {
        sessionTasks.forEach { $0.cancel() }
        sessionTasks.removeAll()
        session = nil
        messenger = nil
    }

    private func handleState(_ state: GroupSession<WatchTogetherActivity>.State) {
        switch state {
        case .waiting:
            print("Waiting to join")
        case .joined:
            print("Joined session")
            loadActivity(session?.activity)
        case .invalidated(let reason):
            print("Session ended: \(reason)")
            cleanUp()
        @unknown default:
            break
        }
    }

    private func handleParticipants(_ participants: Set<Participant>) {
        print("Active participants: \(participants.count)")
        handleNewcomers(participants)
    }

    func sendSync(_ message: SyncMessage) async throws {
        guard let messenger else { return }

        try await messenger.send(message, to: .all)
    }

    func observeMessages() {
        guard let messenger else { return }

        Task {
            for await (message, context) in messenger.messages(of: SyncMessage.self) {
                let sender = context.source
                handleReceivedMessage(message, from: sender)
            }
        }
    }

    func handleNewcomers(_ participants: Set<Participant>) {
        let newParticipants = participants.subtracting(knownParticipants)
        for participant in newParticipants {
            Task {
                try await messenger?.send(currentState, to: .only(participant))
            }
        }
        knownParticipants = participants
    }

    func viewDidDisappear() {
        session?.leave()
        session = nil
        messenger = nil
    }

    func finish() {
        // End the session for all participants
        session?.end()
    }
}

struct SyncMessage: Codable {
    let action: String
    let timestamp: Date
    let data: [String: String]
}

func startSharePlay() async throws {
    let activity = WatchTogetherActivity(
        movieID: "123",
        movieTitle: "Great Movie"
    )

    switch await activity.prepareForActivation() {
    case .activationPreferred:
        // A conversation is active and the user chose to share.
        _ = try await activity.activate()

    case .activationDisabled:
        // The user chose local playback, or sharing is unavailable.
        startLocalExperience()

    case .cancelled:
        break

    @unknown default:
        break
    }
}
