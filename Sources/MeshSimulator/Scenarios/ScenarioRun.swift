import MeshConsensus
import MeshFaults
import MeshWire

/// Tells one scenario; a subclass brings the processes and what their applications ask.
///
/// Statements are carried out in order. Time moves at `at`, at an `expect … within`, and while a
/// command's answer is waited for; after each step of the world the invariants of every simulation
/// and the scenario's own `never`s are checked.
package class ScenarioRun<Process: ScenarioProcess> {
    typealias Step = World<Process>.Step

    /// How a command was answered.
    enum Answer {
        case ok(Position?)
        case refused(String)
        case value(String?, Position, isPrimary: Bool)
        /// The process is gone.
        case ended
    }

    /// A `never` in force.
    struct Ban {
        var statement: Scenario.Statement
        var who: Scenario.Who
        var claims: [Scenario.Claim]
        var since: Instant
    }

    let scenario: Scenario
    let world: World<Process>
    var gate = ScenarioGate()
    /// The names of processes by their tags.
    var names: [UInt64: String] = [:]
    /// The views that each node installed, and what was told to its application.
    var views: [[(time: Instant, view: View)]]
    var told: [[(time: Instant, event: String)]]
    var discarded: [UInt64]
    /// The merges that each node was told of.
    var merges: [[(time: Instant, report: MergeReport)]]
    var answers: [UInt64: Answer] = [:]
    var labels: [String: [UInt64]] = [:]
    /// The time of the last `at`: what happened counts from here.
    var mark = Instant.zero
    /// When the last statement was done that did anything: `within` counts from here.
    private(set) var acted = Instant.zero
    private(set) var transcript: [String] = []

    private var owners: [UInt64: Life] = [:]
    private var bans: [Ban] = []
    private var checkers = ConsensusCheckers()
    private var statement = Scenario.Statement(line: 1, text: "scenario", action: .after(.zero))
    private var lastRequest: UInt64 = 0
    /// Which time the innermost `repeat` runs its body, from 1.
    private var round = 0
    private var lastApplied: [Life: Position] = [:]
    private var lastView: [Life: Epoch] = [:]
    private var lastRole: [Life: Role] = [:]
    /// The requests that a role answers.
    private var joining: [Life: UInt64] = [:]
    private var leaving: [Life: UInt64] = [:]

    init(_ scenario: Scenario, observer: ((TraceEvent) -> Void)?) {
        self.scenario = scenario
        world = World(seed: scenario.seed)
        views = Array(repeating: [], count: scenario.nodes.count)
        told = Array(repeating: [], count: scenario.nodes.count)
        discarded = Array(repeating: 0, count: scenario.nodes.count)
        merges = Array(repeating: [], count: scenario.nodes.count)
        world.trace.observer = observer
    }

    // MARK: - What a subclass brings

    /// The process of a node's next incarnation.
    func makeProcess(_ life: Life, now: Instant) -> Process {
        preconditionFailure("a run brings its process")
    }

    /// Lets a node's application ask for something; the answer comes by ``answer(_:_:)``.
    func issue(
        _ verb: Scenario.Verb,
        on index: Int,
        request: UInt64
    ) throws(ScenarioFailure) {}

    /// Takes what a process told its application.
    func handle(_ event: Process.Event, of life: Life) throws(ScenarioFailure) {}

    /// The value under a key, as text.
    func value(_ key: String, of process: Process) -> String? { nil }

    /// Whether a fact about sessions holds of a process, and what is seen.
    func holds(_ fact: Scenario.Fact, of process: Process) -> Bool { false }
    func seen(_ fact: Scenario.Fact, of process: Process) -> String { "there are no sessions" }

    // MARK: - The run

    func run() -> ScenarioReport {
        var failure: ScenarioFailure?
        do {
            try begin()
            try tell(scenario.body)
        } catch {
            failure = error
            note(nil, "FAILED \(error)")
        }
        return ScenarioReport(
            name: scenario.name,
            failure: failure,
            transcript: transcript,
            traceHash: world.trace.digest,
            simulated: world.time - .zero
        )
    }

    private func begin() throws(ScenarioFailure) {
        gate.keepsNewest = scenario.forges
        world.gate = { [unowned self] bytes, from, to in permits(bytes, from: from, to: to) }
        for rule in scenario.links { apply(rule) }
        for index in scenario.nodes.indices {
            _ = world.addNode(clock: scenario.clocks[index] ?? VirtualClock())
        }
        for index in scenario.nodes.indices where !scenario.down.contains(index) {
            try start(index)
        }
    }

    private func tell(_ statements: [Scenario.Statement]) throws(ScenarioFailure) {
        for statement in statements {
            self.statement = statement
            try tell(statement)
        }
    }

    private func tell(_ told: Scenario.Statement) throws(ScenarioFailure) {
        switch told.action {
        case .at(let time): try move(to: .zero + time)
        case .after(let time): try move(to: mark + time)
        case .command(let who, let verb, let label, let pattern):
            note(nil, told.text)
            for index in nodes(who) { try command(verb, on: index, label, pattern) }
            acted = world.time
        case .network(let action):
            note(nil, told.text)
            try perform(action)
            acted = world.time
        case .expect(let who, let claims, let within):
            try expect(who, claims, within: within)
            note(nil, told.text)
        case .never(let who, let claims):
            note(nil, told.text)
            bans.append(Ban(statement: told, who: who, claims: claims, since: world.time))
            try checkBans()
        case .repeated(let count, let every, let body):
            note(nil, told.text)
            let outer = round
            defer { round = outer }
            for number in 0..<count {
                round = number + 1
                let begin = world.time
                mark = begin
                try tell(body)
                if world.time < begin + every { try advance(to: begin + every) }
            }
            mark = world.time
            acted = world.time
        }
    }

    private func move(to time: Instant) throws(ScenarioFailure) {
        guard time >= world.time else {
            throw failure("it is \(Self.text(world.time)) already")
        }
        try advance(to: time)
        mark = time
        acted = time
    }

    // MARK: - Commands

    private func command(
        _ verb: Scenario.Verb,
        on index: Int,
        _ label: String?,
        _ pattern: Scenario.AnswerPattern?
    ) throws(ScenarioFailure) {
        guard world.nodes[index].process != nil else {
            throw failure("\(scenario.nodes[index]) runs no process")
        }
        lastRequest += 1
        let request = lastRequest
        let life = life(index)
        owners[request] = life
        switch verb {
        case .create, .join: joining[life] = request
        case .leave: leaving[life] = request
        default: break
        }
        if let label { labels[label, default: []].append(request) }
        try issue(verb.numbered(round), on: index, request: request)
        guard let pattern else { return }
        switch pattern {
        case .unanswered(let time): try advance(to: world.time + time)
        case .ok(_, let limit), .refused(_, let limit), .value(_, _, let limit):
            _ = try wait(until: world.time + limit) { answers[request] != nil }
        }
        guard matches(answers[request], pattern) else {
            throw failure("\(name(life)): \(text(answers[request]))")
        }
    }

    /// Notes how a request was answered.
    func answer(_ request: UInt64, _ answer: Answer) {
        guard answers[request] == nil, let life = owners[request] else { return }
        answers[request] = answer
        note(life.node, "-> \(text(answer))")
    }

    func matches(_ answer: Answer?, _ pattern: Scenario.AnswerPattern) -> Bool {
        switch (pattern, answer) {
        case (.unanswered, nil): true
        case (.ok(let position, _), .ok(let found)?):
            position == nil || found.map(text) == position
        case (.refused(let reason, _), .refused(let found)?): reason == nil || reason == found
        case (.value(let value, let isPrimary, _), .value(let found, _, let wasPrimary)?):
            value == found && (isPrimary == nil || isPrimary == wasPrimary)
        default: false
        }
    }

    func text(_ answer: Answer?) -> String {
        switch answer {
        case nil: "unanswered"
        case .ok(let position): "ok" + (position.map { " \(text($0))" } ?? "")
        case .refused(let reason): "refused \(reason)"
        case .value(let value, let position, let isPrimary):
            "value \(value ?? "none") \(isPrimary ? "primary" : "nonprimary") at \(text(position))"
        case .ended: "the process ended before it answered"
        }
    }

    // MARK: - Steps

    func advance(to time: Instant) throws(ScenarioFailure) {
        while let step = world.step(until: time) { try take(step) }
    }

    /// Advances until the condition holds, and answers whether it does by `limit`.
    func wait(until limit: Instant, _ condition: () -> Bool) throws(ScenarioFailure) -> Bool {
        while !condition() {
            guard let step = world.step(until: limit) else { return condition() }
            try take(step)
        }
        return true
    }

    /// Hands a step's events out and checks what must always hold.
    func take(_ step: Step) throws(ScenarioFailure) {
        guard let index = step.node, let process = world.nodes[index].process else { return }
        let life = life(index)
        for event in step.events { try handle(event, of: life) }
        try look(at: process, of: life)
        if let action = gate.fired {
            gate.fired = nil
            try perform(action)
        }
        try checkBans()
    }

    private func look(at process: Process, of life: Life) throws(ScenarioFailure) {
        let applied = process.applied
        let isNew = lastApplied[life] != applied
        lastApplied[life] = applied
        if let view = process.view, view.contains(process.process),
            lastView[life] != view.epoch
        {
            lastView[life] = view.epoch
            views[life.node].append((world.time, view))
            note(life.node, text(view))
        }
        if let role = process.role, lastRole[life] != role {
            lastRole[life] = role
            note(life.node, "role \(role)")
            settle(role, of: life)
        }
        guard let seen = process.observation(of: life, hashingState: isNew) else { return }
        do {
            try Bounds().check(life, spins: world.nodes[life.node].spins)
            try checkers.check(seen)
            if let epoch = seen.misacknowledged {
                try Acknowledgments().check(epoch, promised: seen.promised, by: life)
            }
        } catch {
            throw failure("\(error)")
        }
    }

    /// Answers the requests that a role is the answer to.
    private func settle(_ role: Role, of life: Life) {
        switch role {
        case .member, .leader:
            if let request = joining.removeValue(forKey: life) { answer(request, .ok(nil)) }
        case .left:
            if let request = leaving.removeValue(forKey: life) { answer(request, .ok(nil)) }
            if let request = joining.removeValue(forKey: life) {
                answer(request, .refused("left"))
            }
        case .joining, .suspended: break
        }
    }

    private func checkBans() throws(ScenarioFailure) {
        for ban in bans {
            for claim in ban.claims where claim.range?.contains(world.time) ?? true {
                let since = max(ban.since, claim.range?.lowerBound ?? ban.since)
                guard let culprit = firstNode(ban.who, with: claim.fact, since: since) else {
                    continue
                }
                throw ScenarioFailure(
                    line: ban.statement.line,
                    statement: ban.statement.text,
                    reason: "\(culprit): \(seen(claim.fact, ban.who, since: since))"
                )
            }
        }
    }

    // MARK: - Lives

    func start(_ index: Int) throws(ScenarioFailure) {
        let node = world.nodes[index]
        let life = Life(node: index, incarnation: node.incarnation + 1)
        let process = makeProcess(life, now: node.clock.local(world.time))
        names[process.process.tag] = name(life)
        try take(world.start(process, on: index))
    }

    func crash(_ index: Int) {
        let ended = life(index)
        // order: a request is answered the same in any
        for (request, life) in owners where life == ended && answers[request] == nil {
            answers[request] = .ended
        }
        world.crash(index)
    }

    func life(_ index: Int) -> Life {
        Life(node: index, incarnation: world.nodes[index].incarnation)
    }

    /// `B`, or `B#2` for its second process.
    func name(_ life: Life) -> String {
        let node = scenario.nodes[life.node]
        return life.incarnation <= 1 ? node : "\(node)#\(life.incarnation)"
    }

    // MARK: - Texts

    func failure(_ reason: String) -> ScenarioFailure {
        ScenarioFailure(line: statement.line, statement: statement.text, reason: reason)
    }

    /// Adds a line to the transcript: the time, the process, what it did.
    func note(_ node: Int?, _ text: String) {
        let place = node.map { name(life($0)) } ?? ">"
        transcript.append("\(Self.text(world.time))  \(place)  \(text)")
    }

    /// Milliseconds with three digits behind the point.
    static func text(_ time: Instant) -> String {
        let microseconds = time.nanoseconds / 1000
        let fraction = String(microseconds % 1000)
        return "\(microseconds / 1000).\(String(repeating: "0", count: 3 - fraction.count))"
            + "\(fraction)ms"
    }
}
