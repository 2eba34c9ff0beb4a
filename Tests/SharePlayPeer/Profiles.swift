import GroupActivities
import Huddle

/// What the peer shows of itself and sees of others.
enum Profiles {
    @MainActor
    static func obey(_ words: [String], _ session: GroupSession<Canvas>?) async throws {
        switch words[0] {
        case "profile":
            // The name as given, with a mark that turns its direction.
            let colour = Profile.Colour(red: 10, green: 20, blue: UInt8(words[2]) ?? 0)
            let profile = Profile(name: "\u{202e}\(words[1])", colour: colour, device: .tablet)
            do {
                try await Conversation.process.node().setProfile(profile)
                say("shown")
            } catch let error as HuddleError {
                say("not shown \(error.kind.code)")
            }
        default:
            let shown = (session?.activeParticipants ?? []).map { who in
                "\(who)/\(who.profile.colour?.blue ?? 0)/\(who.profile.device)"
            }
            say("who \(shown.sorted().joined(separator: " "))")
        }
    }
}
