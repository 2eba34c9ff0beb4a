// swift-format-ignore-file

import Foundation
import GroupActivities
import Combine

struct DemoAppActivity: GroupActivity {
    static let activityIdentifier = "dev.polpiella.demoapp.DemoAppActivity"

    var metadata: GroupActivityMetadata {
        var metadata = GroupActivityMetadata()
        metadata.title = "Demo Activity"
        metadata.subtitle = "Share an experience together using SharePlay"
        metadata.previewImage = UIImage(named: "preview-image")?.cgImage
        metadata.type = .generic
        return metadata
    }
}

enum SharePlayActivationOutcome {
    case local
    case sharePlay
    case needsDialog
}

@Observable final class GroupActivityManager {
    private let groupStateObserver = GroupStateObserver()

    func startSharing() async -> SharePlayActivationOutcome {
        // 1
        if groupStateObserver.isEligibleForGroupSession {
            // 2
            let activity = DemoAppActivity()
            let result = await activity.prepareForActivation()

            switch result {
            case .activationPreferred:
                // 3
                _ = try? await activity.activate()
                return .sharePlay
            case .activationDisabled:
                // 4
                return .local
            default: return .local
            }
        } else {
            // 5
            return .needsDialog
        }
    }

    var session: GroupSession<DemoAppActivity>?
    var messenger: GroupSessionMessenger?

    init() {
        Task.detached {
            for await session in DemoAppActivity.sessions() {
                self.session = session
                self.sessionJoined(session)
            }
        }
    }

    private func listenToMessages() {
        guard let messenger else { return }
        Task.detached {
            for await message in messenger.messages(of: String.self) {
                print("Received message: \(message.0)")
            }
        }
    }

    func send(_ message: String) async throws {
        try await messenger?.send(message)
    }

    var participantCount = 0
    private var cancellables = Set<AnyCancellable>()

    private func keepParticipantCount() {
        guard let session else { return }
        session
            .$activeParticipants
            .sink { self.participantCount = $0.count }
            .store(in: &cancellables)
    }

    func stop() {
        guard let session else { return }
        switch session.state {
        case .invalidated: break
        default: isSessionActive = false; session.end()
        }
    }

    private func sessionJoined(_ session: GroupSession<DemoAppActivity>) {
        if session.state != .joined { session.join() }
        messenger = GroupSessionMessenger(session: session)
        listenToMessages()
        keepParticipantCount()
        monitorSessionState()
    }

    private func monitorSessionState() {
        session?.$state.sink { state in
            switch state {
            case .invalidated:
                // Perform any cleanup here
                break
            case .joined:
                // Handle a re-join to the same session
                self.session.map(self.sessionJoined)
            default: break
            }
        }
        .store(in: &cancellables)
    }
}
