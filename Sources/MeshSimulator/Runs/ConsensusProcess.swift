package import MeshConsensus
package import MeshWire

/// Consensus alone on the simulated network, with the least transport it can stand on.
///
/// Datagrams carry who sent them and a checksum instead of a seal; large messages go through
/// ``LargeMessages``. Processes find each other, and rooms, by a hello to the discovery groups. Runs
/// many times faster than the whole engine, so that the rules of views and logs see many more faults.
package final class ConsensusProcess: MeshProcess {
    /// What the workload asks for.
    package enum Command {
        /// Found the room.
        case create
        /// Become a member as soon as somebody is heard.
        case join
        /// Become a member by this process.
        case joinVia(ProcessID)
        /// Leave gracefully.
        case leave
        /// Do something to a register; answered by `.completed` with this number as the ticket.
        case submit(
            RegisterMachine.Operation,
            register: UInt64,
            request: UInt64,
            level: WriteLevel = .majority,
            requiresPrimary: Bool = false
        )
        /// Read; answered by `.read`.
        case read(request: UInt64, ReadLevel = .linearizable)
        /// A person says that the component of this process is the room.
        case adoptPrimary
        /// Remove a process, as the leader does for a kick.
        case expel(ProcessID)
    }

    /// What the process tells the workload.
    package enum Event {
        case consensus(ConsensusEvent)
        case completed(request: UInt64, Result<Completion, SubmitError>)
        case read(request: UInt64, Position)
        /// A read could not be answered.
        case refused(request: UInt64)
    }

    /// The state machine under test.
    package private(set) var consensus: Consensus<RegisterMachine>
    /// This process.
    package let process: ProcessID

    private struct Peer {
        var process: ProcessID
        var address: SocketAddress
        var lastHeard: Instant
        var isReachable: Bool
    }

    enum Kind: UInt8 { case hello = 0, welcome, control, fragment, acknowledgment }

    /// The peers ever heard, sorted.
    private var peers: [Peer] = []
    private var large = LargeMessages()
    private var outgoing = DatagramBatch()
    private var output = ConsensusOutput()
    private var writer = ByteWriter(capacity: 1500)
    private var events: [Event] = []
    private var wantsToJoin = false
    private var nextHello: Instant
    /// How long a process that looks for a room waits before it asks again.
    private var search = ConsensusProcess.firstSearch
    private var consensusDeadline: Instant?
    /// No peer counts as lost before this.
    private var nextLoss = Instant.distantFuture
    private var tickets: [Ticket: UInt64] = [:]
    private var sequence: UInt64 = 0
    private let readsStale: Bool
    /// The epoch of an acknowledgment below the promise, which must never be.
    private var misacknowledged: Epoch?

    /// Silence after which a connection counts as lost, as the transport's grace.
    private static let grace = Limits.grace
    /// The time between two announcements, and the first between two of a process that looks for a
    /// room.
    private static let helloPeriod = Duration.seconds(2)
    private static let firstSearch = Duration.milliseconds(250)

    /// The process number `incarnation` of `node`; all chance comes from `seed`.
    ///
    /// `identity` is another node whose identity it claims; `ability` ranks it among leaders;
    /// `registers` are filled from the beginning.
    package init(
        node: Int,
        incarnation: UInt32,
        seed: UInt64,
        planted: PlantedBug? = nil,
        registers: Int = 0,
        policy: PartitionPolicy = .available,
        now: Instant,
        identity other: Int? = nil,
        ability: UInt8 = 0
    ) {
        readsStale = planted == .staleReads
        let isSound = planted == .divergentState && node > 0
        var generator = SeededGenerator(seed: seed).stream(
            "process",
            UInt64(node) << 32 | UInt64(incarnation)
        )
        let random = generator.next()
        var tag = SipHash()
        tag.update(UInt64(node))
        tag.update(random)
        process = ProcessID(
            nodeID: Self.nodeID(UInt16(other ?? node)),
            incarnation: random,
            tag: tag.finish()
        )
        var configuration = ConsensusConfiguration(room: .zero)
        configuration.policy = policy
        consensus = Consensus(
            configuration: configuration,
            process: process,
            ability: ability,
            machine: RegisterMachine(planted: isSound ? nil : planted, filled: registers),
            digest: Self.digest,
            verify: { _ in true },
            signing: Self.signing(process),
            seed: generator.next(),
            now: now
        )
        nextHello = now
    }

    /// The identity of a node: its number.
    private static func nodeID(_ node: UInt16) -> NodeID { NodeID(words: (0, 0, 0, UInt64(node))) }

    /// A fast digest of 32 bytes; a run needs no resistance against people.
    static func digest(_ bytes: [UInt8]) -> Digest {
        var hash = SipHash()
        hash.update(bytes.raw)
        func next() -> UInt64 {
            hash.update(0 as UInt64)
            return hash.finish()
        }
        return Digest(words: (next(), next(), next(), next()))
    }

    /// Signatures that are a digest of who signs what; nobody in a run forges one.
    private static func signing(_ process: ProcessID) -> HeadSigning {
        HeadSigning(
            sign: { signature(process.nodeID, $0) },
            verify: { $2 == signature($0, $1) }
        )
    }

    private static func signature(_ node: NodeID, _ bytes: [UInt8]) -> [UInt8] {
        var writer = ByteWriter(capacity: 64)
        let hash = digest(bytes)
        for word in [node.words.3, hash.words.0, hash.words.1, hash.words.2] {
            writer.write(word)
            writer.write(~word)
        }
        return writer.bytes
    }

    package func handle(command: Command, now: Instant) {
        switch command {
        case .create: consensus.create(now: now)
        case .join:
            wantsToJoin = true
            search = Self.firstSearch
            nextHello = now
        case .leave: consensus.leave(now: now)
        case .joinVia(let process): consensus.join(via: process, now: now)
        case .adoptPrimary: consensus.adoptPrimary(now: now)
        case .expel(let process): consensus.expel(process, now: now)
        case .read(let request, let level):
            tickets[consensus.read(readsStale ? .local : level, now: now)] = request
        case .submit(let operation, let register, let request, let level, let requiresPrimary):
            sequence += 1
            let command = MeshConsensus.Command(
                type: 1,
                level: level,
                requiresPrimary: requiresPrimary,
                origin: Origin(process),
                sequence: sequence,
                payload: RegisterMachine.payload(operation, register: register)
            )
            do {
                tickets[try consensus.submit(command, now: now)] = request
            } catch {
                events.append(.completed(request: request, .failure(error)))
            }
        }
    }

    package func handleTimer(now: Instant) {
        if nextHello <= now { sayHello(now) }
        if nextLoss <= now { loseSilentPeers(now) }
        consensus.advance(to: now)
    }

    private func loseSilentPeers(_ now: Instant) {
        nextLoss = .distantFuture
        for index in peers.indices where peers[index].isReachable {
            let loss = peers[index].lastHeard + Self.grace
            guard loss <= now else {
                nextLoss = min(nextLoss, loss)
                continue
            }
            peers[index].isReachable = false
            consensus.unreachable(peers[index].process, now: now)
        }
    }

    package func handle(datagram: RawSpan, from sender: SocketAddress, now: Instant) {
        // What is damaged or foreign is dropped, as an unauthentic packet would be.
        try? receive(datagram, from: sender, now: now)
    }

    package func poll(
        now: Instant,
        into batch: inout DatagramBatch,
        events: inout [Event]
    ) -> Instant? {
        drain(now)
        for (tag, bytes) in large.due(now) { send(.fragment, bytes, toTag: tag) }
        var deadline = min(nextHello, nextLoss, large.deadline)
        if let due = consensusDeadline { deadline = min(deadline, due) }
        // The caller's batch is empty: it has sent what was in it.
        swap(&outgoing, &batch)
        if !self.events.isEmpty {
            events.append(contentsOf: self.events)
            self.events.removeAll(keepingCapacity: true)
        }
        return deadline
    }

    package var marks: ConsensusMarks? { consensus.marks }

    package func observation(of life: Life, hashingState: Bool) -> Observation? {
        var seen = Observation(
            consensus,
            tag: process.tag,
            life: life,
            hashingState: hashingState
        )
        seen.misacknowledged = misacknowledged
        return seen
    }

    package var required: [PrimaryConfiguration]? {
        consensus.view == nil ? nil : consensus.required
    }

    package var transfers: Int { large.moved }

    private func receive(
        _ datagram: RawSpan,
        from address: SocketAddress,
        now: Instant
    ) throws(WireError) {
        guard datagram.byteCount > 8 else { throw .truncated(at: 0) }
        let sealed = datagram.extracting(..<(datagram.byteCount - 8))
        var trailer = ByteReader(datagram.extracting((datagram.byteCount - 8)...))
        var checksum = TraceHash()
        checksum.update(sealed)
        guard checksum.finish() == (try trailer.read(UInt64.self)) else { throw .invalid(at: 0) }
        var reader = ByteReader(sealed)
        guard let kind = Kind(rawValue: try reader.read()) else { throw .invalid(at: 0) }
        let sender = ProcessID(
            nodeID: Self.nodeID(try reader.read()),
            incarnation: try reader.read(),
            tag: try reader.read()
        )
        let receiver: UInt64 = try reader.read()
        guard receiver == 0 || receiver == process.tag, sender != process else { return }
        let isNew = hear(sender, at: address, now: now)
        switch kind {
        case .hello, .welcome:
            let isInRoom = try reader.read(UInt8.self) == 1
            if isInRoom, wantsToJoin, consensus.role == .joining {
                consensus.join(via: sender, now: now)
            }
            // Whoever looks for a room hears of mine at once; others when they are new.
            if kind == .hello, isNew || (!isInRoom && self.isInRoom) {
                append(
                    .welcome,
                    [self.isInRoom ? 1 : 0],
                    receiver: sender.tag,
                    to: .address(address)
                )
            }
        case .control:
            consensus.receive(try reader.readSpan(reader.remaining), from: sender, now: now)
        case .fragment:
            let (answer, message) = try large.receive(&reader, from: sender.tag)
            send(.acknowledgment, answer, to: sender, at: address)
            if let message { consensus.receive(message.raw, from: sender, now: now) }
        case .acknowledgment: try large.acknowledge(&reader, from: sender.tag, now: now)
        }
    }

    /// Notes a sign of life; answers whether its sender counted as unknown or lost.
    private func hear(_ sender: ProcessID, at address: SocketAddress, now: Instant) -> Bool {
        let place = peers.firstIndex { !($0.process < sender) } ?? peers.count
        var isNew = place == peers.count || peers[place].process != sender
        if isNew {
            // A new life of a node takes over the connection of its predecessor.
            for index in peers.indices
            where peers[index].process.nodeID == sender.nodeID && peers[index].isReachable {
                peers[index].isReachable = false
                consensus.unreachable(peers[index].process, now: now)
            }
            let peer = Peer(process: sender, address: address, lastHeard: now, isReachable: true)
            peers.insert(peer, at: place)
            nextLoss = min(nextLoss, now + Self.grace)
        } else {
            isNew = !peers[place].isReachable
            if isNew { nextLoss = min(nextLoss, now + Self.grace) }
            peers[place].isReachable = true
            peers[place].lastHeard = now
            peers[place].address = address
        }
        if isNew { consensus.reachable(sender, now: now) }
        consensus.heard(sender, now: now)
        return isNew
    }

    private func sayHello(_ now: Instant) {
        switch consensus.role {
        case .joining where wantsToJoin:
            nextHello = now + search
            search = min(search * 2, Self.helloPeriod)
        // Leaders find each other after a split; the others' words, to all, grow with the square.
        case .member: nextHello = now + Self.helloPeriod * max(1, peers.count / 8)
        case .joining, .leader, .suspended, .left: nextHello = now + Self.helloPeriod
        }
        append(.hello, [isInRoom ? 1 : 0], receiver: 0, to: .discovery)
    }

    /// Whether a process that looks for a room may join through this one.
    private var isInRoom: Bool {
        switch consensus.role {
        case .member, .leader, .suspended: true
        case .joining, .left: false
        }
    }

    private func drain(_ now: Instant) {
        consensusDeadline = consensus.poll(into: &output)
        guard !output.messages.isEmpty || !output.events.isEmpty else { return }
        for message in output.messages {
            if let epoch = Acknowledgments.epoch(of: message.bytes), epoch < consensus.promised {
                misacknowledged = epoch
            }
            if message.isLarge {
                large.send(message.bytes, to: message.to.tag, now: now)
            } else {
                send(.control, message.bytes, toTag: message.to.tag)
            }
        }
        for event in output.events {
            switch event {
            case .completed(let ticket, let result):
                guard let request = tickets.removeValue(forKey: ticket) else { continue }
                events.append(.completed(request: request, result))
            case .readReady(let ticket, let position):
                guard let request = tickets.removeValue(forKey: ticket) else { continue }
                events.append(.read(request: request, position))
            case .readRefused(let ticket, _):
                guard let request = tickets.removeValue(forKey: ticket) else { continue }
                events.append(.refused(request: request))
            default: events.append(.consensus(event))
            }
        }
        output.messages.removeAll(keepingCapacity: true)
        output.events.removeAll(keepingCapacity: true)
    }

    private func send(_ kind: Kind, _ body: [UInt8], toTag tag: UInt64) {
        guard let peer = peers.first(where: { $0.process.tag == tag }) else { return }
        send(kind, body, to: peer.process, at: peer.address)
    }

    private func send(_ kind: Kind, _ body: [UInt8], to peer: ProcessID, at address: SocketAddress)
    {
        append(kind, body, receiver: peer.tag, to: .address(address))
    }

    /// Queues a datagram with its checksum.
    ///
    /// kind u8 · node u16 · incarnation u64 · tag u64 · receiver u64 · body · checksum u64
    private func append(
        _ kind: Kind,
        _ body: [UInt8],
        receiver: UInt64,
        to destination: Destination
    ) {
        writer.removeAll()
        writer.write(kind.rawValue)
        writer.write(UInt16(truncatingIfNeeded: process.nodeID.words.3))
        writer.write(process.incarnation)
        writer.write(process.tag)
        writer.write(receiver)
        writer.write(body)
        var checksum = TraceHash()
        checksum.update(writer.bytes.raw)
        writer.write(checksum.finish())
        outgoing.append(writer.bytes, to: destination)
    }
}
