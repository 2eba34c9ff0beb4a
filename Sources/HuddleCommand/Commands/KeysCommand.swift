import Huddle
import MeshCrypto
import MeshStore
import MeshWire

/// `huddle keys`: the fingerprint and the key file.
enum KeysCommand {
    @MainActor
    static func run(_ invocation: Invocation) async throws(Failure) -> Int32 {
        let path = try ControlSocketPath.places().keyFile
        switch invocation.operands.first {
        case "path"?:
            try expect(invocation, count: 1)
            report(invocation, ["path": .string(path)], path)
        case "new"?:
            try expect(invocation, count: 1)
            let identity = try make(path)
            let fingerprint = identity.nodeID.fingerprint
            let text = "\(Style.green("✓")) a new identity\n\(Style.bold(fingerprint))\n\(path)"
            report(invocation, ["fingerprint": .string(fingerprint), "path": .string(path)], text)
        case "verify"?: try verify(invocation, path)
        default:
            let identity = try load(path)
            let fingerprint = identity.nodeID.fingerprint
            let text = "\(Style.bold(fingerprint))\n\(Style.dim(path))"
            report(invocation, ["fingerprint": .string(fingerprint), "path": .string(path)], text)
        }
        return ExitCode.success
    }

    private static func expect(_ invocation: Invocation, count: Int) throws(Failure) {
        guard invocation.operands.count == count else {
            throw .usage(
                "'huddle keys \(invocation.operands[0])' takes nothing more",
                command: "keys"
            )
        }
    }

    /// Compares a fingerprint, read aloud or pasted in groups, with the members and with our own.
    private static func verify(_ invocation: Invocation, _ path: String) throws(Failure) {
        let text = invocation.operands.dropFirst().joined()
        guard let wanted = NodeID(fingerprint: text) else {
            throw .usage(
                "that is no full fingerprint: it has 52 symbols",
                hint: "'huddle keys' on the other machine shows it",
                command: "keys"
            )
        }
        let answer = try invocation.ask("keys.verify", [.text("fingerprint", wanted.fingerprint)])
        let isLocal = answer["isLocal"]?.flag == true
        let name = answer.shown("name")
        let text2 = isLocal ? "that is this node itself" : "it is \(Style.bold(name))"
        report(invocation, answer.report, "\(Style.green("✓")) the fingerprint matches: \(text2)")
    }

    private static func load(_ path: String) throws(Failure) -> Identity {
        do {
            return try KeyFile.load(path)
        } catch {
            throw Failure("keyFile", error.description, exit: ExitCode.usage)
        }
    }

    private static func make(_ path: String) throws(Failure) -> Identity {
        var secrets = SystemSecrets()
        do {
            return try KeyFile.create(path, from: &secrets)
        } catch {
            // That there is one already is no fault of the file.
            let exit = if case .exists = error { ExitCode.failure } else { ExitCode.usage }
            throw Failure("keyFile", error.description, exit: exit)
        }
    }

    private static func report(_ invocation: Invocation, _ json: JSON, _ text: String) {
        Terminal.print(invocation.wantsJSON ? json.description : text)
    }
}
