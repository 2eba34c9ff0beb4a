import Foundation
import GroupActivities
import SampleDriver

// What the sample takes for granted.

struct UIImage {
    let cgImage: CGImage? = CGImage()

    init?(named name: String) {}
}

var isSessionActive = true

@main
struct Program {
    /// `Seed000`: the sample's manager; `Seed000 late`: one that is made once its session is joined.
    @MainActor static func main() async throws {
        let witness = Witness(DemoAppActivity.self)
        var manager: GroupActivityManager?
        func make() {
            let new = GroupActivityManager()
            manager = new
            Task {
                for await count in Observations({ new.participantCount }) {
                    print("count \(count)")
                }
            }
        }
        if !CommandLine.arguments.contains("late") { make() }
        try await serve { line in
            switch line {
            case "start":
                if let manager { print("start \(await manager.startSharing())") }
            case "join": witness.session?.join()
            case "make": make()
            case "stop":
                manager?.stop()
                print("active \(isSessionActive)")
            default:
                try await manager?.send(line)
                print("sent \(line)")
            }
        }
    }
}
