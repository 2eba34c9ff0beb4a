import Combine
import Foundation
import HuddleMedia
import SampleDriver

// What the sample takes for granted: the screen of UIKit, over the screen of this desktop.

extension Notification.Name {
    static let capturedDidChange = Notification.Name("UIScreenCapturedDidChange")
}

final class UIScreen: Sendable {
    static let main = UIScreen(ScreenCapture(reading: recorded))
    static let capturedDidChangeNotification = Notification.Name.capturedDidChange

    /// What the program is told to read in place of PipeWire.
    private static let recorded = Array(CommandLine.arguments.dropFirst())

    private let capture: ScreenCapture

    private init(_ capture: ScreenCapture) {
        self.capture = capture
    }

    var isCaptured: Bool { capture.isCaptured.hidesContent(whenUnknown: false) }

    /// Posts the notification at each change.
    func follow() async {
        for await _ in capture.states {
            NotificationCenter.default.post(name: Self.capturedDidChangeNotification, object: self)
        }
    }
}

@main
struct Program {
    /// `Seed004 COMMAND…`: the sample's view model, over what the command prints.
    @MainActor static func main() async {
        printLinesAtOnce()
        let model = ContentViewModel()
        var subscriptions = Set<AnyCancellable>()
        model.$isChaptured.removeDuplicates().sink { print("captured \($0)") }
            .store(in: &subscriptions)
        model.onAppear()
        await UIScreen.main.follow()
        model.onDisappear()
    }
}
