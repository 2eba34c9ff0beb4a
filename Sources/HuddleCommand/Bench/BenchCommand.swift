import Huddle

/// `huddle bench`: what real processes on this machine do, beside what the simulator says.
enum BenchCommand {
    /// What can be measured.
    static let verbs = ["failover"]

    @MainActor
    static func run(_ invocation: Invocation) async throws(Failure) -> Int32 {
        guard let verb = invocation.operands.first, verbs.contains(verb) else {
            throw .usage("bench needs one of: \(verbs.joined(separator: ", "))", command: "bench")
        }
        return try FailoverBench(invocation).run()
    }
}
