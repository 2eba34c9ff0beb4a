import MeshConsensus
import MeshWire

/// A scenario of views and logs alone, with registers as the room's state.
///
/// The registers hold numbers; a word is stored as the number of its first mention.
final class ConsensusScenario: ScenarioRun<ConsensusProcess> {
    private var keys: [String] = []
    private var words: [String] = []
    private var reads: [UInt64: String] = [:]
    private var comparisons: [UInt64: UInt64] = [:]

    /// Marks a stored word.
    private static let word: UInt64 = 1 << 62

    override func makeProcess(_ life: Life, now: Instant) -> ConsensusProcess {
        ConsensusProcess(
            node: life.node,
            incarnation: life.incarnation,
            seed: scenario.seed,
            policy: scenario.policy,
            now: now,
            identity: scenario.clones[life.node],
            // Who is named first is the fittest, so that a story knows its successors.
            ability: scenario.abilities[life.node] ?? UInt8(clamping: 200 - life.node)
        )
    }

    override func issue(
        _ verb: Scenario.Verb,
        on index: Int,
        request: UInt64
    ) throws(ScenarioFailure) {
        let command: ConsensusProcess.Command
        switch verb {
        case .create: command = .create
        case .join(nil): command = .join
        case .join(let via?):
            guard let process = world.nodes[via].process?.process else {
                throw failure("\(scenario.nodes[via]) runs no process")
            }
            command = .joinVia(process)
        case .leave: command = .leave
        case .adoptPrimary: command = .adoptPrimary
        case .kick(let name): command = .expel(try process(name))
        case .put(let key, let value, let demands):
            command = submit(.write(number(value)), key, demands, request)
        case .add(let key, let amount, let demands):
            command = submit(.add(UInt64(bitPattern: amount)), key, demands, request)
        case .compareAndSet(let key, let expected, let value, let demands):
            let expected = expected == "none" ? 0 : number(expected)
            comparisons[request] = expected
            command = submit(
                .compareAndSet(expected: expected, number(value)),
                key,
                demands,
                request
            )
        case .read(let key, let isLocal):
            reads[request] = key
            command = .read(request: request, isLocal ? .local : .linearizable)
        case .startSession, .joinSession, .leaveSession, .endSession, .takeLead, .giveLead,
            .acknowledgeConflict:
            throw failure("there are no sessions on this layer: write `layer engine`")
        }
        try take(world.perform(command, on: index))
    }

    private func submit(
        _ operation: RegisterMachine.Operation,
        _ key: String,
        _ demands: Scenario.Demands,
        _ request: UInt64
    ) -> ConsensusProcess.Command {
        .submit(
            operation,
            register: register(key),
            request: request,
            level: demands.level,
            requiresPrimary: demands.requiresPrimary
        )
    }

    override func handle(
        _ event: ConsensusProcess.Event,
        of life: Life
    ) throws(ScenarioFailure) {
        switch event {
        case .completed(let request, .success(let completion)):
            if let expected = comparisons[request], !succeeded(completion.result, expected) {
                return answer(request, .refused("mismatch"))
            }
            answer(request, .ok(completion.position))
        case .completed(let request, .failure(.suspended(let have, let need))):
            answer(request, .refused("suspended(\(have),\(need))"))
        case .completed(let request, .failure(let error)):
            answer(request, .refused("\(error)"))
        case .refused(let request): answer(request, .refused("suspended"))
        case .read(let request, let position):
            guard let key = reads[request], let process = world.nodes[life.node].process else {
                return
            }
            answer(
                request,
                .value(value(key, of: process), position, isPrimary: process.isPrimary)
            )
        case .consensus(let event): tell(event, to: life.node)
        }
    }

    private func tell(_ event: ConsensusEvent, to node: Int) {
        switch event {
        case .branchDiscarded(let entries):
            discarded[node] += UInt64(entries.count)
            for entry in entries { note(node, "gave up \(text(entry.position))") }
            told[node].append((world.time, "discarded"))
        case .merged(let report): tell(report, to: node)
        case .left(let reason):
            note(node, "left: \(reason)")
            told[node].append((world.time, "left"))
        case .refused(let reason):
            note(node, "refused: \(reason)")
            told[node].append((world.time, "\(reason)"))
        case .linkShaky(_, let isShaky):
            told[node].append((world.time, isShaky ? "linkShaky" : "linkSteady"))
        case .evidence(let against, _, _):
            note(node, "evidence against \(names[against.tag] ?? "?")")
            told[node].append((world.time, "evidence"))
        case .stateReplaced: told[node].append((world.time, "stateReplaced"))
        case .estranged: told[node].append((world.time, "estranged"))
        case .viewInstalled, .viewUsable, .leaderChanged, .applied, .completed, .readReady,
            .readRefused, .roleChanged, .contactWanted:
            break
        }
    }

    private func succeeded(_ result: [UInt8], _ expected: UInt64) -> Bool {
        var reader = ByteReader(result.raw)
        return (try? reader.read(UInt64.self)) == expected  // no number: no success
    }

    override func value(_ key: String, of process: ConsensusProcess) -> String? {
        let register = register(key)
        return process.consensus.machine.registers.first { $0.register == register }
            .map { text($0.value) }
    }

    private func process(_ name: String) throws(ScenarioFailure) -> ProcessID {
        for node in world.nodes {
            if let process = node.process?.process, names[process.tag] == name { return process }
        }
        throw failure("\(name) does not run")
    }

    private func register(_ key: String) -> UInt64 {
        if let place = keys.firstIndex(of: key) { return UInt64(place) + 1 }
        keys.append(key)
        return UInt64(keys.count)
    }

    private func number(_ word: String) -> UInt64 {
        if let number = Int64(word), abs(number) < 1 << 61 { return UInt64(bitPattern: number) }
        if let place = words.firstIndex(of: word) { return Self.word | UInt64(place) }
        words.append(word)
        return Self.word | UInt64(words.count - 1)
    }

    private func text(_ number: UInt64) -> String {
        if number >> 62 == 1 {
            let place = Int(number ^ Self.word)
            return place < words.count ? words[place] : "?"
        }
        return "\(Int64(bitPattern: number))"
    }
}
