import Glibc
import Huddle
import MeshFaults
import MeshStore

/// `huddle up`: runs a node, in the foreground or detached.
enum UpCommand {
    @MainActor
    static func run(_ invocation: Invocation) async throws(Failure) -> Int32 {
        if let parent: Int32 = try invocation.number("--parent", in: 1...Int32.max) {
            guard ProcessHardening.endWithParent(parent) else { return ExitCode.failure }
        }
        // Who passes a descriptor keeps stderr in a file: this is a node in the background.
        if invocation.has("--ready-descriptor") { Terminal.stampLog() }
        let configuration = try configuration(invocation)
        guard !invocation.has("--detach") else { return try Detached.start(invocation) }
        do {
            return try await serve(invocation, configuration)
        } catch {
            try Readiness(invocation)?.tell(error.json)
            throw error
        }
    }

    private static func configuration(
        _ invocation: Invocation
    ) throws(Failure) -> NodeConfiguration {
        let places = try ControlSocketPath.places()
        var configuration = NodeConfiguration(
            name: invocation.value("--name") ?? environment("HUDDLE_NAME")
                ?? RememberedName.load(places) ?? defaultName,
            places: places
        )
        configuration.port = try invocation.number("--port", in: 0...UInt16.max) ?? 0
        if invocation.has("--loopback") { configuration.reach = .loopback }
        guard !(invocation.has("--room") && invocation.has("--no-room")) else {
            throw .usage("--room and --no-room exclude each other", command: "up")
        }
        if let room = invocation.value("--room"), room.trimmed.isEmpty || room.utf8.count > 64 {
            throw .usage("a room's name has 1 to 64 bytes", command: "up")
        }
        guard RememberedName.isName(configuration.name) else {
            throw .usage("a name has 1 to 64 bytes and no control characters", command: "up")
        }
        _ = try policy(invocation)
        let text = invocation.all("--fault").joined(separator: " ")
        guard !text.isEmpty else { return configuration }
        do {
            configuration.faults = try LinkConditions(parsing: text)
        } catch {
            throw .usage("--fault: \(error.description)", command: "up")
        }
        return configuration
    }

    /// The rule of a new room, as the options say.
    private static func policy(_ invocation: Invocation) throws(Failure) -> PartitionPolicy {
        let survivor: Duration?
        do {
            survivor = try invocation.value("--survivor").map { text throws(FaultSyntaxError) in
                try FaultUnits.time(text, "--survivor")
            }
        } catch {
            throw .usage(error.description, command: "up")
        }
        guard !invocation.has("--policy") || invocation.has("--room") else {
            throw .usage("--policy is of a new room: name it with --room", command: "up")
        }
        switch invocation.value("--policy") {
        case "majority"?: return .majority(survivor: survivor)
        case nil where survivor == nil, "available"? where survivor == nil: return .available
        case nil, "available"?:
            throw .usage("--survivor belongs to --policy majority", command: "up")
        case let other?:
            throw .usage("--policy: '\(other)' is neither available nor majority", command: "up")
        }
    }

    private static var defaultName: String {
        guard let user = environment("USER") ?? environment("LOGNAME") else { return hostName() }
        return "\(user)@\(hostName())"
    }

    // MARK: Serving

    @MainActor
    private static func serve(
        _ invocation: Invocation,
        _ configuration: NodeConfiguration
    ) async throws(Failure) -> Int32 {
        let node: Node
        do {
            node = try await Node.start(configuration)
        } catch {
            throw Failure(error)
        }
        if let name = invocation.value("--name") {
            RememberedName.save(name, configuration.places)
        }
        let ending = Ending()
        let path = try ControlSocketPath.path(invocation)
        let server: ControlServer
        let greeting: Greeting
        do {
            server = try ControlServer(node: node, path: path) { ending.end(ExitCode.success) }
            try await server.start()
            greeting = try await enterRoom(invocation, node)
            if greeting.isNew, !invocation.has("--room"), let room = greeting.room {
                await server.noteUnused(room: room)
            }
        } catch {
            await node.stop()
            throw error
        }
        ending.followSignals()
        if let readiness = try Readiness(invocation) {
            readiness.tell(greeting.json)
            Terminal.log(greeting.logLine)
        } else if invocation.wantsJSON {
            Terminal.print(greeting.json.description)
        } else {
            Terminal.print(greeting.text(isForeground: true))
        }
        let code = await ending.wait()
        if code != ExitCode.success {
            Terminal.log("leaving…")
        } else if invocation.has("--ready-descriptor") {
            Terminal.log("going down, as asked")
        }
        await node.stop()
        await server.stop()
        return code
    }

    /// Makes, resumes or waits for a room, as the options say.
    private static func enterRoom(
        _ invocation: Invocation,
        _ node: Node
    ) async throws(Failure) -> Greeting {
        var greeting = Greeting(node: node)
        guard !invocation.has("--no-room") else { return greeting }
        let policy = try policy(invocation)
        do {
            if let name = invocation.value("--room") {
                greeting.room = try await node.createRoom(named: name, policy: policy).name
                greeting.isNew = true
            } else if let room = try await node.resumeRoom() {
                greeting.room = await node.nameOfRoom
                greeting.others = await room.members.filter { !$0.isLocal && $0.isPresent }.map(
                    \.name
                )
            } else {
                let name = "\(node.configuration.displayName)'s room"
                greeting.room = try await node.createRoom(named: name, policy: policy).name
                greeting.isNew = true
            }
        } catch {
            // 'huddle leave' came first: the node stays up, in no room.
            guard error.kind == .cancelled else { throw Failure(error) }
            greeting.room = nil
        }
        return greeting
    }
}

/// What a node says when it is up.
struct Greeting: Sendable {
    var name: String
    var fingerprint: String
    var port: UInt16
    var room: String?
    var isNew = false
    var others: [String] = []

    init(node: Node) {
        name = node.configuration.displayName
        fingerprint = fingerprintText(node.id)
        port = node.port
    }

    init(json: JSON) {
        name = json["name"]?.text ?? ""
        fingerprint = json["fingerprint"]?.text ?? ""
        port = UInt16(clamping: json["port"]?.whole ?? 0)
        room = json["room"]?.text
        isNew = json["isNew"]?.flag ?? false
        others = (json["others"]?.elements ?? []).compactMap(\.text)
    }

    var json: JSON {
        [
            "name": .string(name),
            "fingerprint": .string(fingerprint),
            "port": .count(port),
            "pid": .count(getpid()),
            "room": room.map(JSON.string) ?? .null,
            "isNew": .bool(isNew),
            "others": .array(others.map(JSON.string)),
        ]
    }

    /// The first line of a background node's log.
    var logLine: String {
        let place = room.map { isNew ? "new room \($0.printable)" : "room \($0.printable)" }
        return
            "\(name.printable) is up: \(fingerprint.prefix(8)), UDP \(port), pid \(getpid()), "
            + (place ?? "no room")
    }

    func text(isForeground: Bool, pid: Int64? = nil) -> String {
        let short = fingerprint.prefix(8)
        var head = "\(Style.green("✓")) \(Style.bold(name.printable)) is up"
        head += "  \(short)  UDP \(port)"
        if let pid { head += "  pid \(pid)" }
        var lines = [head]
        if let room {
            let shown = Style.bold(room.isEmpty ? "(name not known yet)" : room.printable)
            if isNew {
                lines.append("  new room \(shown): 'huddle invite' gives a code for a guest")
            } else if others.isEmpty {
                lines.append("  back in room \(shown); nobody else is near yet")
            } else {
                let names = others.map(\.printable).joined(separator: ", ")
                lines.append("  back in room \(shown) with \(names)")
            }
        } else {
            lines.append("  in no room: 'huddle join CODE' enters one")
        }
        if isForeground {
            lines.append(Style.dim("  Ctrl-C stops it; use another terminal to talk to it"))
        }
        return lines.joined(separator: "\n")
    }
}

extension Failure {
    init(_ error: HuddleError) {
        let isUsage = error.kind == .keyFile || error.kind == .roomFile
        self.init(
            error.kind.code,
            error.description,
            hint: error.hint,
            exit: isUsage ? ExitCode.usage : ExitCode.failure
        )
    }
}
