import Foundation
import GroupActivities
import SampleDriver

// What the sample takes for granted. The player stands for AVPlayer until there is playback.

struct Movie: Codable {
    let title: String
    let posterURL: URL?
}

struct CMTime {
    let seconds: Double

    init(seconds: Double, preferredTimescale: Int32) {
        self.seconds = seconds
    }
}

struct Player {
    func play() { print("player plays") }
    func pause() { print("player pauses") }
    func seek(to time: CMTime) { print("player seeks \(time.seconds)") }
}

let player = Player()

func loadMovie(id: String) {
    print("movie \(id)")
}

@main
struct Program {
    /// `Seed003`: the sample's view model, driven by lines.
    @MainActor static func main() async throws {
        let witness = Witness(WatchTogether.self)
        let model = MoviePlayerViewModel()
        Task { await model.configureGroupSession() }
        let movie = Movie(title: "A & B", posterURL: URL(string: "https://example.com/poster.jpg"))
        try await serve { line in
            switch line {
            case "start": await model.startSharing(movie: movie)
            case "play": await model.broadcastPlayback(.play)
            case "seek": await model.broadcastPlayback(.seek(to: 12.5))
            case "change": await model.broadcastPlayback(.changeMovie(movieID: "b7"))
            case "end": witness.session?.end()
            default: print("error \(line)")
            }
        }
    }
}
