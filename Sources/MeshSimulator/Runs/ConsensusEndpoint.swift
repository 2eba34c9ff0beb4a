import MeshConsensus
import MeshWire

/// The state of a ``ConsensusProcess``: consensus, the peers it knows, what waits to be sent.
struct ConsensusEndpoint: ~Copyable {
    private(set) var consensus: Consensus<RegisterMachine>
    let process: ProcessID

    private struct Peer {
        var process: ProcessID
        var address: SocketAddress
        var lastHeard: Instant
        var isReachable: Bool
    }

    /// The peers ever heard, sorted.
    private var peers: [Peer] = []
    private var large = LargeMessages()
    private var outgoing = DatagramBatch()
    private var output = ConsensusOutput()
    private var events: [ConsensusProcess.Event] = []
    private var wantsToJoin = false
    private var nextHello: Instant
    /// How long a process that looks for a room waits before it asks again.
    private var search = ConsensusEndpoint.firstSearch
    private var consensusDeadline: Instant?
    /// No peer counts as lost before this.
    private var nextLoss = Instant.distantFuture
    private var tickets: [Ticket: UInt64] = [:]
    private var sequence: UInt64 = 0
    private let readsStale: Bool
    /// The epoch of an acknowledgment below the promise, which must never be.
    private(set) var misacknowledged: Epoch?

    /// Silence after which a connection counts as lost, as the transport's grace.
    private static let grace = Limits.grace
    /// The time between two announcements, and the first between two of a process that looks for a
    /// room.
    private static let helloPeriod = Duration.seconds(2)
    private static let firstSearch = Duration.milliseconds(250)

    init(
        node: Int,
        incarnation: UInt32,
        seed: UInt64,
        planted: PlantedBug?,
        registers: Int,
        policy: PartitionPolicy,
        now: Instant,
        identity other: Int?,
        ability: UInt8
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
            digest: ConsensusProcess.digest,
            verify: { _ in true },
            signing: Self.signing(process),
            seed: generator.next(),
            now: now
        )
        nextHello = now
    }

    /// The identity of a node: its number.
    private static func nodeID(_ node: UInt16) -> NodeID { NodeID(words: (0, 0, 0, UInt64(node))) }

    /// Signatures that are a digest of who signs what; nobody in a run forges one.
    private static func signing(_ process: ProcessID) -> Signing {
        Signing(
            sign: { signature(process.nodeID, $1) },
            verify: { $3 == signature($1, $2) }
        )
    }

    private static func signature(_ node: NodeID, _ bytes: [UInt8]) -> [UInt8] {
        var writer = ByteWriter(capacity: 64)
        let hash = ConsensusProcess.digest(bytes)
        for word in [node.words.3, hash.words.0, hash.words.1, hash.words.2] {
            writer.write(word)
            writer.write(~word)
        }
        return writer.bytes
    }

    mutating func handle(_ command: ConsensusProcess.Command, now: Instant) {
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

    mutating func handleTimer(now: Instant) {
        if nextHello <= now { sayHello(now) }
        if nextLoss <= now { loseSilentPeers(now) }
        consensus.advance(to: now)
    }

    private mutating func loseSilentPeers(_ now: Instant) {
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

    mutating func poll(
        now: Instant,
        into batch: inout DatagramBatch,
        events: inout [ConsensusProcess.Event]
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

    var transfers: Int { large.pieces }

    /// Takes a datagram; throws if it is damaged.
    mutating func receive(
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
        guard let kind = ConsensusProcess.Kind(rawValue: try reader.read()) else {
            throw .invalid(at: 0)
        }
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

    /// Where a peer stands among the sorted, or where it would.
    private func place(of peer: ProcessID) -> Int {
        var low = 0
        var high = peers.count
        while low < high {
            let middle = (low + high) / 2
            if peers[middle].process < peer { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Notes a sign of life; answers whether its sender counted as unknown or lost.
    private mutating func hear(_ sender: ProcessID, at address: SocketAddress, now: Instant) -> Bool
    {
        let place = place(of: sender)
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

    private mutating func sayHello(_ now: Instant) {
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

    private mutating func drain(_ now: Instant) {
        consensusDeadline = consensus.poll(into: &output)
        guard !output.messages.isEmpty || !output.events.isEmpty else { return }
        for message in output.messages {
            if let epoch = Acknowledgments.epoch(of: message.bytes), epoch < consensus.promised {
                misacknowledged = epoch
            }
            if message.isLarge {
                large.send(message.bytes, to: message.to.tag, now: now)
            } else {
                send(.control, message.bytes, to: message.to)
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

    private mutating func send(_ kind: ConsensusProcess.Kind, _ body: [UInt8], toTag tag: UInt64) {
        guard let peer = peers.first(where: { $0.process.tag == tag }) else { return }
        send(kind, body, to: peer.process, at: peer.address)
    }

    private mutating func send(_ kind: ConsensusProcess.Kind, _ body: [UInt8], to peer: ProcessID) {
        let place = place(of: peer)
        guard place < peers.count, peers[place].process == peer else { return }
        send(kind, body, to: peer, at: peers[place].address)
    }

    private mutating func send(
        _ kind: ConsensusProcess.Kind,
        _ body: [UInt8],
        to peer: ProcessID,
        at address: SocketAddress
    ) {
        append(kind, body, receiver: peer.tag, to: .address(address))
    }

    /// Queues a datagram with its checksum.
    ///
    /// kind u8 · node u16 · incarnation u64 · tag u64 · receiver u64 · body · checksum u64
    private mutating func append(
        _ kind: ConsensusProcess.Kind,
        _ body: [UInt8],
        receiver: UInt64,
        to destination: Destination
    ) {
        let process = process
        outgoing.append(to: destination) { bytes in
            let start = bytes.count
            bytes.append(kind.rawValue)
            bytes.append(littleEndian: UInt16(truncatingIfNeeded: process.nodeID.words.3))
            bytes.append(littleEndian: process.incarnation)
            bytes.append(littleEndian: process.tag)
            bytes.append(littleEndian: receiver)
            bytes.append(contentsOf: body)
            var checksum = TraceHash()
            checksum.update(bytes.raw.extracting(start...))
            bytes.append(littleEndian: checksum.finish())
        }
    }
}
