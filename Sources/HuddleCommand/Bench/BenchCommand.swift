import Huddle

/// `huddle bench`: what this machine does, beside what else could be expected of it.
enum BenchCommand {
    /// What can be measured.
    static let verbs = [
        "failover", "coding", "activities", "bulk", "messages", "fast", "ping", "thin", "lossy",
    ]

    @MainActor
    static func run(_ invocation: Invocation) async throws(Failure) -> Int32 {
        guard let verb = invocation.operands.first, verbs.contains(verb) else {
            throw .usage("bench needs one of: \(verbs.joined(separator: ", "))", command: "bench")
        }
        guard verb == "activities" || !invocation.has("--journal") else {
            throw .usage("--journal is of activities, not of \(verb)", command: "bench")
        }
        let isOfLanes = !["failover", "coding", "activities"].contains(verb)
        for option in ["--nodes", "--trials", "--loss", "--keep"]
        where isOfLanes && invocation.has(option) {
            throw .usage("\(option) is of failover, not of \(verb)", command: "bench")
        }
        let isTimed = ["bulk", "messages", "fast"].contains(verb)
        guard isTimed || !invocation.has("--seconds") else {
            throw .usage(
                "--seconds is of bulk, messages and fast, not of \(verb)",
                command: "bench"
            )
        }
        let seconds = try invocation.number("--seconds", in: 1...600) ?? 3
        return switch verb {
        case "thin": LinkBench.thin(asJSON: invocation.wantsJSON)
        case "lossy": LinkBench.lossy(asJSON: invocation.wantsJSON)
        case "bulk", "messages", "fast", "ping":
            try await TransportBench(
                isJSON: invocation.wantsJSON,
                duration: .seconds(seconds)
            ).run(verb)
        case "coding": try CodingBench(invocation).run()
        case "activities": try await ActivitiesBench(invocation).run()
        default: try FailoverBench(invocation).run()
        }
    }
}
