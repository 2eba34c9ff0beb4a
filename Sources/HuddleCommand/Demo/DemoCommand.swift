/// `huddle demo`: the whole story on one machine.
enum DemoCommand {
    @MainActor
    static func run(_ invocation: Invocation) async throws(Failure) -> Int32 {
        ExitCode.success
    }
}
