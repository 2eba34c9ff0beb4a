import MeshCrypto
import MeshNet
import MeshTransport
import MeshWire

/// `huddle bench handshake`, `memory`, `fanout`: ends of the transport on real sockets of loopback, driven by one thread.
struct EndpointBench {
    let isJSON: Bool
    let duration: Duration

    private static let handshakes = 200
    private static let pairs = 256
    private static let fans = [2, 8, 32, 63]
    private static let payload = [UInt8](repeating: 7, count: 64)

    /// How long an answer of a peer on this machine may take; beyond it the measurement has failed.
    private static let patience: Duration = .seconds(10)

    func run(_ verb: String) throws(Failure) -> Int32 {
        do {
            switch verb {
            case "handshake": try handshake()
            case "memory": try memory()
            default: try fanout()
            }
        } catch {
            throw Failure("failed", "the measurement did not come to its end: \(error)")
        }
        return ExitCode.success
    }

    /// From the call to dial until the first byte of the application is there: four datagrams and the keys of both.
    private func handshake() throws {
        var samples: [Double] = []
        for _ in 0..<Self.handshakes {
            var star = try Star(peers: 1)
            let start = SystemClock.now()
            star.dial()
            try star.connect(within: Self.patience)
            star.send(Self.payload)
            try star.run(within: Self.patience) { $0.arrived == 1 }
            samples.append((SystemClock.now() - start).milliseconds)
        }
        samples.sort()
        let echo = try WireLimits.echo(bytes: 128, rounds: 2000)
        for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
            BenchRow(
                name: "handshake to the first byte, \(name)",
                figure: samples[Int(Double(samples.count) * share)],
                unit: "ms",
                limit: BenchRow.Limit(name: "ms of a UDP echo", figure: echo.median / 1000),
                goal: share == 0.5 ? "≤ 0.7 ms" : nil,
                digits: 3
            ).show(asJSON: isJSON)
        }
    }

    /// What an end of a connection holds on the heap, idle and with a message on its way.
    private func memory() throws {
        ProcessMemory.mapPieces(above: 128 << 10)
        // What the process makes once is made before.
        let first = try Star(peers: 1, connectingWithin: Self.patience)
        defer { withExtendedLifetime(first) {} }
        var stars: [Star] = []
        for _ in 0..<Self.pairs { stars.append(try Star(peers: 1)) }
        let before = ProcessMemory.heapBytes
        for index in stars.indices {
            stars[index].dial()
            try stars[index].connect(within: Self.patience)
        }
        let ends = Double(2 * Self.pairs)
        let idle = Double(ProcessMemory.heapBytes - before) / ends
        BenchRow(
            name: "memory of an end of a connection, idle",
            figure: idle / 1024,
            unit: "KiB",
            goal: "≤ 16 KiB"
        ).show(asJSON: isJSON)
        let chunk = [UInt8](repeating: 7, count: 16 << 10)
        for star in stars { for _ in 0..<8 { star.send(chunk) } }
        for index in stars.indices {
            try stars[index].run(within: Self.patience) { $0.arrived == 8 }
        }
        let busy = Double(ProcessMemory.heapBytes - before) / ends
        BenchRow(
            name: "memory of an end after 128 KiB each way of eight messages",
            figure: busy / 1024,
            unit: "KiB",
            limit: BenchRow.Limit(name: "KiB idle", figure: idle / 1024)
        ).show(asJSON: isJSON)
    }

    /// The same message to each of several peers, again and again.
    private func fanout() throws {
        let limit = try WireLimits.pipe(datagramBytes: 1200, for: duration / 2)
        for peers in Self.fans {
            var star = try Star(peers: peers, connectingWithin: Self.patience)
            let (start, before, cpu) = (SystemClock.now(), star.arrived, processorTime())
            let end = start + duration
            while SystemClock.now() < end {
                let wanted = star.arrived + peers * 16
                for _ in 0..<16 { star.send(Self.payload) }
                try star.run(within: Self.patience) { $0.arrived >= wanted }
            }
            let seconds = (SystemClock.now() - start).milliseconds / 1000
            let count = Double(star.arrived - before)
            BenchRow(
                name: "64 B to each of \(peers), 16 a turn",
                figure: count / seconds / 1000,
                unit: "k/s",
                limit: BenchRow.Limit(
                    name: "k datagrams of 1,200 B/s between two threads, not sealed",
                    figure: limit * 1000 / 1200
                )
            ).show(asJSON: isJSON)
            BenchRow(
                name: "64 B to each of \(peers), processor time",
                figure: (processorTime() - cpu) / count * 1e6,
                unit: "µs, both ends",
                digits: 2
            ).show(asJSON: isJSON)
        }
    }
}

/// One end in the middle and others around it, each on a socket of its own.
private struct Star {
    let hub: SocketEndpoint
    let peers: [SocketEndpoint]
    /// The hub's channel to each peer that is connected.
    private(set) var channels: [(peer: NodeID, number: ChannelNumber)] = []
    /// Messages that came to the peers.
    private(set) var arrived = 0
    private var received = ReceiveBatch()

    init(peers count: Int) throws {
        var secrets = SystemSecrets()
        let room = RoomSecret(from: &secrets)
        hub = try SocketEndpoint(bind: SocketAddress(127, 0, 0, 1, port: 0), room: room)
        peers = try (0..<count).map { place in
            // Each has an address of its own, as strangers have: what one source may cost is bounded.
            let address = SocketAddress(127, 78, 0, UInt8(place + 1), port: 0)
            return try SocketEndpoint(bind: address, room: room)
        }
    }

    init(peers count: Int, connectingWithin patience: Duration) throws {
        try self.init(peers: count)
        dial()
        try connect(within: patience)
    }

    func dial() {
        let now = SystemClock.now()
        let target = DialTarget.member(address: hub.address, expected: hub.use { $0.nodeID })
        for peer in peers {
            peer.use { _ = $0.dial(target, now: now) }
            peer.flush(now)
        }
    }

    mutating func connect(within patience: Duration) throws {
        let count = peers.count
        try run(within: patience) { $0.channels.count == count }
    }

    /// Gives the hub a message for each peer.
    func send(_ message: [UInt8]) {
        let now = SystemClock.now()
        let options = SendOptions(reportsOutcome: false)
        for channel in channels {
            _ = hub.use {
                try? $0.send(
                    message,
                    on: channel.number,
                    to: channel.peer,
                    options: options,
                    now: now
                )
            }
        }
        hub.flush(now)
    }

    /// Drives all ends until `isEnough`.
    mutating func run(within patience: Duration, until isEnough: (Star) -> Bool) throws {
        let limit = SystemClock.now() + patience
        let all = [hub] + peers
        let descriptors = all.map(\.descriptor)
        while !isEnough(self) {
            var now = SystemClock.now()
            guard now < limit else { throw Failure("failed", "a peer did not answer") }
            let due = all.compactMap(\.deadline).min() ?? limit
            let ready = waitReadable(descriptors, until: min(due, limit))
            now = SystemClock.now()
            for (place, end) in all.enumerated()
            where ready[place] || (end.deadline ?? limit) <= now {
                end.receive(now, into: &received)
                takeEvents(of: end, isHub: place == 0)
                end.flush(now)
                takeEvents(of: end, isHub: place == 0)
            }
        }
    }

    private mutating func takeEvents(of end: SocketEndpoint, isHub: Bool) {
        var connected: [NodeID] = []
        var count = 0
        end.takeEvents { event in
            switch event {
            case .connected(let found): connected.append(found.peer)
            case .connection(_, .received): count += 1
            default: break
            }
        }
        arrived += count
        guard isHub else { return }
        for peer in connected {
            let number = hub.use { try? $0.openChannel(to: peer, name: [1], class: .normal) }
            if let number { channels.append((peer, number)) }
        }
    }
}
