import Foundation
import GroupActivities
import SampleDriver

// What the sample takes for granted: the marketing library's message and manager, the views, and the
// part of the coordination manager that the document leaves out.

struct InAppMessage {
    var extras: [AnyHashable: Any]?
}

final class BrazeManager {
    nonisolated(unsafe) static let shared = BrazeManager()

    var inAppMessageCurrentlyVisible = false

    func logCustomEvent(_ name: String) {
        print("event \(name)")
    }
}

final class Button {
    var isHidden = true {
        didSet { print(isHidden ? "button hidden" : "button shown") }
    }
}

class ModalViewController {
    let inAppMessage: InAppMessage
    let groupStateObserver = GroupStateObserver()
    let sharePlayButton = Button()
    var mediaItem: MediaItem?
    var groupSession: GroupSession<MediaItemActivity>? { CoordinationManager.shared.groupSession }

    init(_ inAppMessage: InAppMessage) {
        self.inAppMessage = inAppMessage
    }

    func viewDidLoad() {}

    func viewDidDisappear(_ animated: Bool) {}
}

extension CoordinationManager {
    nonisolated(unsafe) static let shared = CoordinationManager()

    @MainActor
    func follow() async {
        for await session in MediaItemActivity.sessions() {
            groupSession = session
            enqueuedMediaItem = session.activity.mediaItem
            session.join()
        }
    }

    @MainActor
    func play(_ item: MediaItem) async throws {
        let activity = MediaItemActivity(mediaItem: item)
        switch await activity.prepareForActivation() {
        case .activationDisabled: enqueuedMediaItem = item
        case .activationPreferred: _ = try await activity.activate()
        case .cancelled: break
        @unknown default: break
        }
    }
}

@main
struct Program {
    /// `Seed002 KEY=VALUE…`: a campaign's message with these extras.
    @MainActor static func main() async throws {
        let witness = Witness(MediaItemActivity.self)
        let extras = CommandLine.arguments.dropFirst().map {
            $0.split(separator: "=", maxSplits: 1)
        }
        let message = InAppMessage(
            extras: Dictionary(uniqueKeysWithValues: extras.map { (String($0[0]), String($0[1])) })
        )
        let controller = ModalVideoViewController(message)
        controller.viewDidLoad()
        controller.configureVideoPlayer()
        print("item \(controller.mediaItem.map { "\($0.title) \($0.url)" } ?? "none")")
        let following = Task { await CoordinationManager.shared.follow() }
        try await serve { line in
            switch line {
            case "play":
                if let item = controller.mediaItem {
                    try await CoordinationManager.shared.play(item)
                }
            case "dismiss":
                controller.viewDidDisappear(true)
                print("enqueued \(CoordinationManager.shared.enqueuedMediaItem?.title ?? "none")")
            case "end": witness.session?.end()
            default: print("error \(line)")
            }
        }
        following.cancel()
    }
}
