import MeshConsensus
import MeshEngine
import MeshSession
import MeshWire

/// A scenario of whole engines: sessions, participants, values under `SESSION/KEY`.
final class EngineScenario: ScenarioRun<EngineProcess> {
    private var sessions: [String] = []
    private var reads: [UInt64: String] = [:]
    /// What each node's disk keeps of the room.
    private var records: [Int: RoomRecord] = [:]

    override func makeProcess(_ life: Life, now: Instant) -> EngineProcess {
        let node = world.nodes[life.node]
        var identity = life
        if let other = scenario.clones[life.node] { identity.node = other }
        return EngineProcess(
            life: identity,
            seed: scenario.seed,
            port: node.address.port,
            clock: node.clock,
            now: now
        )
    }

    override func issue(
        _ verb: Scenario.Verb,
        on index: Int,
        request: UInt64
    ) throws(ScenarioFailure) {
        let command: MeshEngine.Command
        switch verb {
        case .create:
            command = .createRoom(request, name: scenario.name, policy: scenario.policy)
        case .join(let via): command = .resumeRoom(request, try record(for: index, via))
        case .leave: command = .leaveRoom(request)
        case .adoptPrimary: command = .adoptPrimary
        case .kick: throw failure("`kick` is of the consensus layer")
        case .put(let key, let value, let demands):
            let (session, key) = try split(key)
            command = submit(request, .put(key: key, value: Array(value.utf8)), session, demands)
        case .add(let key, let amount, let demands):
            let (session, key) = try split(key)
            command = submit(request, .add(key: key, amount: amount), session, demands)
        case .compareAndSet(let key, let expected, let value, let demands):
            let (session, key) = try split(key)
            let expectation: Expectation =
                expected == "none" ? .absent : .value(Array(expected.utf8))
            command = submit(
                request,
                .compareAndSet(key: key, expected: expectation, value: Array(value.utf8)),
                session,
                demands
            )
        case .read(let key, let isLocal):
            reads[request] = key
            command = .read(request, isLocal ? .local : .linearizable)
        case .acknowledgeConflict(let key):
            let (session, key) = try split(key)
            command = submit(
                request,
                .acknowledgeConflict(.value, key: key),
                session,
                Scenario.Demands()
            )
        default: command = try sessionCommand(verb, request)
        }
        try take(world.perform(command, on: index))
    }

    private func sessionCommand(
        _ verb: Scenario.Verb,
        _ request: UInt64
    ) throws(ScenarioFailure) -> MeshEngine.Command {
        switch verb {
        case .startSession(let name, let activity, let slot, let mode, let demands):
            let blueprint = SessionBlueprint(
                activity: Activity(identifier: activity),
                leadMode: mode,
                slot: slot
            )
            return submit(request, .startSession(blueprint), session(name), demands)
        case .joinSession(let name):
            return submit(request, .join(nonce: request), session(name), Scenario.Demands())
        case .leaveSession(let name):
            return submit(request, .leave, session(name), Scenario.Demands())
        case .endSession(let name, let demands):
            return submit(request, .endSession(isExpiry: false), session(name), demands)
        case .takeLead(let name):
            return submit(request, .takeLead, session(name), Scenario.Demands())
        case .giveLead(let name, let to):
            guard let participant = participant(to, session(name)) else {
                throw failure("\(to) is no participant of \(name)")
            }
            return submit(
                request,
                .giveLead(to: participant),
                session(name),
                Scenario.Demands()
            )
        default: preconditionFailure("a verb of sessions: \(verb)")
        }
    }

    private func submit(
        _ request: UInt64,
        _ command: RoomCommand,
        _ session: SessionID,
        _ demands: Scenario.Demands
    ) -> MeshEngine.Command {
        .submit(request, command, session: session, level: demands.level)
    }

    /// The record that a node comes back with: its own, else that of any other.
    private func record(for index: Int, _ via: Int?) throws(ScenarioFailure) -> RoomRecord {
        let known = [via, index].compactMap { $0 } + Array(scenario.nodes.indices)
        guard var record = known.lazy.compactMap({ self.records[$0] }).first else {
            throw failure("nobody has a record of the room yet")
        }
        if let via { record.addresses = [world.nodes[via].address] }
        return record
    }

    // MARK: - Events

    override func handle(_ event: MeshEngine.Event, of life: Life) throws(ScenarioFailure) {
        switch event {
        case .completed(let request, .success(let committed)):
            if case .refused(let refusal) = committed.result {
                return answer(request, .refused(name(of: refusal)))
            }
            answer(request, .ok(committed.position))
        case .completed(let request, .failure(let failure)):
            answer(request, .refused(name(of: failure)))
        case .readReady(let request, .success(let position)):
            guard let key = reads[request], let process = world.nodes[life.node].process else {
                return
            }
            answer(
                request,
                .value(value(key, of: process), position, isPrimary: process.isPrimary)
            )
        case .readReady(let request, .failure(let failure)):
            answer(request, .refused(name(of: failure)))
        case .joined(let request), .left(let request): answer(request, .ok(nil))
        case .joinFailed(let request, let why): answer(request, .refused("\(why)"))
        case .roomRecord(let record): records[life.node] = record
        case .room(let change): tell(change, to: life.node)
        case .merged(let report): tell(report, to: life.node)
        case .evidence: told[life.node].append((world.time, "evidence"))
        case .branchDiscarded(let lost):
            discarded[life.node] += UInt64(lost.count)
            for write in lost { note(life.node, "gave up \(text(write.position))") }
            told[life.node].append((world.time, "discarded"))
        case .roomPhase, .view, .inviteOpened, .inviteRefused, .inviteUsed, .inviteBurned,
            .accepted, .settledInPart, .sendOutcome, .message, .content, .contentTaken, .peer:
            break
        }
    }

    private func tell(_ change: RoomEvent, to node: Int) {
        let event: String
        switch change {
        case .memberJoined: event = "memberJoined"
        case .memberAway: event = "memberAway"
        case .memberBack: event = "memberBack"
        case .memberLeft: event = "memberLeft"
        case .profileChanged: event = "profileChanged"
        case .sessionStarted: event = "sessionStarted"
        case .sessionEnded: event = "sessionEnded"
        case .activityChanged: event = "activityChanged"
        case .optionsChanged: event = "optionsChanged"
        case .participantJoined: event = "participantJoined"
        case .participantAway: event = "participantAway"
        case .participantBack: event = "participantBack"
        case .participantReturned: event = "participantReturned"
        case .participantLeft: event = "participantLeft"
        case .leadChanged: event = "leadChanged"
        case .leadModeChanged: event = "leadModeChanged"
        case .stateRequested: event = "stateRequested"
        case .valueChanged: event = "valueChanged"
        case .conflictFound: event = "conflictFound"
        case .conflictSettled: event = "conflictSettled"
        case .logAppended: event = "logAppended"
        case .logRolledBack: event = "logRolledBack"
        case .moveRefused: event = "moveRefused"
        case .attachmentAdded: event = "attachmentAdded"
        case .attachmentRemoved: event = "attachmentRemoved"
        case .upgradeNeeded: event = "upgradeNeeded"
        }
        told[node].append((world.time, event))
        note(node, event)
    }

    private func name(of failure: SubmitFailure) -> String {
        switch failure {
        case .notJoined: "notJoined"
        case .refused(let error): "\(error)"
        }
    }

    /// The case without what it carries.
    private func name(of refusal: CommandRefusal) -> String {
        String("\(refusal)".prefix { $0 != "(" })
    }

    // MARK: - Facts

    override func value(_ key: String, of process: EngineProcess) -> String? {
        guard let (session, key) = try? split(key),  // the statement said so already
            let value = process.room?.session(session)?.values[key]
        else { return nil }
        return text(value.content)
    }

    private func text(_ content: ValueContent) -> String {
        switch content {
        case .bytes(let bytes): return String(decoding: bytes, as: UTF8.self)
        case .counter(let number): return "\(number)"
        case .set(let elements):
            return elements.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "+")
        }
    }

    override func holds(_ fact: Scenario.Fact, of process: EngineProcess) -> Bool {
        switch fact {
        case .session(let name, let isThere):
            (process.room?.session(session(name)) != nil) == isThere
        case .participants(let name, let wanted, let lead):
            participants(name, process) == wanted.sorted()
                && (lead == nil || self.lead(name, process) == lead)
        case .away(let name, let wanted):
            participants(name, process) { !$0.isPresent } == wanted.sorted()
        case .lead(let name, let wanted): lead(name, process) == wanted
        case .conflict(let key, let kept, let lost):
            conflict(key, process).map { conflict in
                conflict.kept.content.map(text) == kept
                    && conflict.lost.contains { $0.content.map(text) == lost }
            } ?? false
        case .noConflicts: process.room?.conflicts.conflicts.isEmpty ?? false
        default: false
        }
    }

    override func seen(_ fact: Scenario.Fact, of process: EngineProcess) -> String {
        switch fact {
        case .session(let name, _), .participants(let name, _, _), .away(let name, _),
            .lead(let name, _):
            guard process.room?.session(session(name)) != nil else { return "has no \(name)" }
            let all = participants(name, process).joined(separator: ",")
            let away = participants(name, process) { !$0.isPresent }.joined(separator: ",")
            return
                "has participants \(all), away [\(away)], lead \(lead(name, process) ?? "nobody")"
        case .conflict, .noConflicts:
            let list = process.room?.conflicts.conflicts.map { conflict in
                let lost = conflict.lost.map { $0.content.map(text) ?? "none" }
                return "\(conflict.subject) \(conflict.key) "
                    + "kept \(conflict.kept.content.map(text) ?? "none") "
                    + "lost \(lost.joined(separator: ", "))"
            }
            return "has the conflicts [\((list ?? []).joined(separator: "; "))]"
        default: return "?"
        }
    }

    private func conflict(_ key: String, _ process: EngineProcess) -> Conflict? {
        guard let (session, key) = try? split(key) else { return nil }  // no key of this layer
        return process.room?.conflicts.conflict(session, .value, key)
    }

    private func participants(
        _ name: String,
        _ process: EngineProcess,
        where isWanted: (Participant) -> Bool = { _ in true }
    ) -> [String] {
        let all = process.room?.session(session(name))?.participants ?? []
        return all.filter(isWanted).map { self.name(of: $0.process.tag) }.sorted()
    }

    private func lead(_ name: String, _ process: EngineProcess) -> String? {
        guard let session = process.room?.session(session(name)), let lead = session.lead else {
            return nil
        }
        return session.participant(lead).map { self.name(of: $0.process.tag) }
    }

    private func participant(_ name: String, _ session: SessionID) -> ParticipantID? {
        for node in world.nodes {
            let all = node.process?.room?.session(session)?.participants ?? []
            if let found = all.first(where: { self.name(of: $0.process.tag) == name }) {
                return found.id
            }
        }
        return nil
    }

    private func session(_ name: String) -> SessionID {
        if !sessions.contains(name) { sessions.append(name) }
        var bytes = [UInt8](repeating: 0, count: 16)
        bytes[0] = 0x5e
        bytes[15] = UInt8((sessions.firstIndex(of: name) ?? 0) & 255)
        return SessionID(bytes) ?? .zero
    }

    private func split(_ key: String) throws(ScenarioFailure) -> (SessionID, String) {
        guard let slash = key.firstIndex(of: "/") else {
            throw failure("write SESSION/KEY on the engine layer: `\(key)`")
        }
        return (session(String(key[..<slash])), String(key[slash...].dropFirst()))
    }
}
