import Huddle

/// `huddle bench`: what this machine does, beside what else could be expected of it.
enum BenchCommand {
    /// What can be measured.
    static let verbs = [
        "failover", "coding", "activities", "bulk", "messages", "fast", "ping", "thin", "lossy",
        "handshake", "memory", "fanout", "tcp", "soak",
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
        let isTimed = ["bulk", "messages", "fast", "fanout", "tcp", "soak"].contains(verb)
        guard isTimed || !invocation.has("--seconds") else {
            throw .usage(
                "--seconds is of bulk, messages, fast, fanout, tcp and soak, not of \(verb)",
                command: "bench"
            )
        }
        guard verb == "tcp" || !invocation.has("--rate") else {
            throw .usage("--rate is of tcp, not of \(verb)", command: "bench")
        }
        let limit = verb == "soak" ? 86_400 : 600
        let given = try invocation.number("--seconds", in: 1...limit)
        let seconds = given ?? (verb == "soak" ? 600 : verb == "tcp" ? 20 : 3)
        let rate = try invocation.number("--rate", in: 1...1000)
        return switch verb {
        case "thin": LinkBench.thin(asJSON: invocation.wantsJSON)
        case "lossy": LinkBench.lossy(asJSON: invocation.wantsJSON)
        case "bulk", "messages", "fast", "ping":
            try await TransportBench(
                isJSON: invocation.wantsJSON,
                duration: .seconds(seconds)
            ).run(verb)
        case "handshake", "memory", "fanout":
            try EndpointBench(isJSON: invocation.wantsJSON, duration: .seconds(seconds)).run(verb)
        case "tcp":
            try await TCPBench(
                isJSON: invocation.wantsJSON,
                rates: rate.map { [$0 * 1_000_000] } ?? [100_000_000, 10_000_000],
                duration: .seconds(seconds)
            ).run()
        case "soak":
            try SoakBench(isJSON: invocation.wantsJSON, duration: .seconds(seconds)).run()
        case "coding": try CodingBench(invocation).run()
        case "activities": try await ActivitiesBench(invocation).run()
        default: try FailoverBench(invocation).run()
        }
    }
}
