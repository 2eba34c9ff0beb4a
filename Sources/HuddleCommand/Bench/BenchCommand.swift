import Huddle

/// `huddle bench`: what this machine does, beside what else could be expected of it.
enum BenchCommand {
    /// What can be measured.
    static let verbs = ["failover", "coding", "activities"]

    @MainActor
    static func run(_ invocation: Invocation) async throws(Failure) -> Int32 {
        guard let verb = invocation.operands.first, verbs.contains(verb) else {
            throw .usage("bench needs one of: \(verbs.joined(separator: ", "))", command: "bench")
        }
        guard verb == "activities" || !invocation.has("--journal") else {
            throw .usage("--journal is of activities, not of \(verb)", command: "bench")
        }
        return switch verb {
        case "coding": try CodingBench(invocation).run()
        case "activities": try await ActivitiesBench(invocation).run()
        default: try FailoverBench(invocation).run()
        }
    }
}
