package import MeshConsensus
package import MeshCrypto
package import MeshSession
import MeshTransport
package import MeshWire

/// One node's protocol: bytes, time and commands in; bytes, deadline and events out.
///
/// The run loop, numbered alike here, in `Node+Drive.swift` and in `SimulatedNode.swift`:
/// 1. wait for readiness, the deadline or a command;
/// 2. read the clock once;
/// 3. ``handle(_:now:)`` each input of the batch;
/// 4. ``poll(now:into:)`` once: it drains everything and answers with the next deadline;
/// 5. send the batch, hand out the events, empty the outlets, arm the deadline, go to 1.
///
/// Nothing is handled between 4 and 5. The engine has no clock, no socket and no chance of its own:
/// the same inputs at the same instants give the same bytes. It composes four machines that do not
/// know each other: the ``Endpoint`` (pairs and lanes), ``Consensus`` over ``RoomState`` (the room),
/// ``Discovery`` (who is near) and ``SessionLanes`` (which message goes where).
///
/// ```
/// datagram → Discovery.receive | Endpoint.receive → Connection → control → Consensus → RoomState
///                                                              → message → SessionLanes → event
/// command  → Consensus.submit | SessionLanes.submit → Connection → Endpoint.poll → datagram
/// ```
package struct Engine: ~Copyable {
    package internal(set) var configuration: EngineConfiguration
    /// This life of the node.
    package let process: ProcessID

    let identity: Identity
    var secrets: any SecretSource
    var generator: SeededGenerator
    var endpoint: Endpoint
    var consensus: Consensus<RoomState>?
    var membership = Membership.none
    var discovery: Discovery
    var contacts = Contacts()
    var lanes = SessionLanes()
    var contents = ContentLane()
    var operations = Operations()
    var upkeep = Upkeep()
    /// What the application knows of the room.
    var observer = RoomObserver(seen: .empty)
    /// The nodes with a live pair, sorted by identity.
    var links: [Link] = []
    var events: [Event] = []
    /// Used again at each poll, so that draining allocates nothing.
    private var consensusOutput = ConsensusOutput()

    /// An engine in no room.
    package init(
        configuration: EngineConfiguration,
        identity: Identity,
        secrets: any SecretSource,
        now: Instant
    ) {
        let generator = SeededGenerator(seed: configuration.seed)
        var secrets = secrets
        self.configuration = configuration
        self.identity = identity
        self.generator = generator.stream("engine")
        process = ProcessID(
            nodeID: identity.nodeID,
            incarnation: configuration.incarnation,
            tag: Hash.processTag(identity.nodeID, incarnation: configuration.incarnation)
        )
        var endpointStream = generator.stream("endpoint")
        endpoint = Endpoint(
            configuration: configuration.endpoint,
            identity: identity,
            incarnation: configuration.incarnation,
            secrets: secrets.fork(),
            hardwareAES: configuration.hardwareAES,
            seed: endpointStream.next(),
            now: now
        )
        discovery = Discovery(
            nodeID: identity.nodeID,
            port: configuration.dataPort,
            unixOrigin: configuration.unixOrigin,
            generator: generator.stream("discovery"),
            secrets: secrets.fork(),
            now: now
        )
        self.secrets = secrets.fork()
    }

    /// Step 3: takes one input.
    package mutating func handle(_ input: consuming Input, now: Instant) {
        switch consume input {
        case .datagram(let bytes, let source):
            receive(bytes, from: source, now: now)
        case .timer:
            break  // `poll` runs every timer that is due
        case .command(let command):
            perform(command, now: now)
        }
    }

    /// Step 4: runs what is due, drains every machine and answers with the next deadline.
    package mutating func poll(now: Instant, into outlets: inout Outlets) -> Instant? {
        advance(to: now)
        var deadline = settle(now: now)
        deadline = earliest(deadline, endpoint.poll(now: now, into: &outlets.batch))
        // Building packets can end sends; what follows from that is drained at once.
        deadline = earliest(deadline, settle(now: now))
        discovery.poll(now: now, announcing: announcement, into: &outlets.batch)
        outlets.events.append(contentsOf: events)
        events.removeAll(keepingCapacity: true)
        let others = [
            discovery.deadline(announcing: announcement), lanes.deadline,
            // Outside a room nobody is dialed, so nothing is due.
            membership.record == nil ? nil : contacts.deadline,
            membership.deadline, upkeep.deadline,
        ]
        return others.reduce(deadline, earliest)
    }

    private mutating func advance(to now: Instant) {
        for index in links.indices {
            // Any authenticated packet is a heartbeat; consensus must know before its timers run.
            guard let heard = endpoint.lastHeard(of: links[index].process.nodeID) else { continue }
            guard heard > links[index].heard else { continue }
            links[index].heard = heard
            consensus?.heard(links[index].process, now: heard)
        }
        endpoint.advance(to: now)
        consensus?.advance(to: now)
        let companions = companions
        lanes.advance(
            to: now,
            isTogether: { companions.contains($0) },
            endpoint: &endpoint
        )
        advanceMembership(to: now)
        advanceUpkeep(to: now)
        dialContacts(now: now)
    }

    /// Passes events and messages between the machines until none has any left.
    ///
    /// Bounded: a machine that always had more would be a fault, and the timer comes back anyway.
    private mutating func settle(now: Instant) -> Instant? {
        var deadline: Instant?
        for _ in 0..<16 {
            let tookEvents = receiveEndpointEvents(now: now)
            deadline = consensus?.poll(into: &consensusOutput)
            let output = consensusOutput
            consensusOutput.messages.removeAll(keepingCapacity: true)
            consensusOutput.events.removeAll(keepingCapacity: true)
            for message in output.messages { submit(message, now: now) }
            for event in output.events { receive(event, now: now) }
            if !output.events.isEmpty { observeRoom(now: now) }
            events.append(contentsOf: lanes.events)
            lanes.events.removeAll(keepingCapacity: true)
            events.append(contentsOf: contents.takeEvents())
            if !tookEvents, output.messages.isEmpty, output.events.isEmpty { break }
        }
        return deadline
    }

    /// The room's replicated state as this node has applied it.
    package var room: RoomState? { inspectConsensus { $0.machine } }

    /// The installed view.
    package var view: View? { inspectConsensus { $0.view } ?? nil }

    /// The pair with `nodeID`, if one is up.
    func link(_ nodeID: NodeID) -> Link? {
        links.first { $0.process.nodeID == nodeID }
    }
}

/// A node with a live pair.
struct Link: Hashable, Sendable {
    var process: ProcessID
    var address: SocketAddress
    /// When consensus was last told that something came.
    var heard: Instant
}

/// The earlier of two deadlines, either of which may be missing.
func earliest(_ left: Instant?, _ right: Instant?) -> Instant? {
    guard let left else { return right }
    guard let right else { return left }
    return min(left, right)
}
