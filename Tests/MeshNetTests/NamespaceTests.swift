import CLinux
import Glibc
import MeshNet
import MeshWire
import Testing

/// Two network namespaces with a virtual cable between them; removed by ``remove()``.
private struct Cable {
    let names: [String]
    private static let interface = "mesh0"

    /// `nil`, with the reason printed, where namespaces are not allowed.
    init?() {
        guard geteuid() == 0 else {
            print("skipped: network namespaces need root")
            return nil
        }
        let tag = "huddle-test-\(getpid())"
        names = ["\(tag)-a", "\(tag)-b"]
        let device = "hd\(getpid() % 1_000_000)"
        let setUp =
            [
                names.map { "ip netns add \($0)" },
                [
                    "ip -n \(names[0]) link add \(Self.interface) type veth"
                        + " peer name \(device) netns \(names[1])",
                    "ip -n \(names[1]) link set \(device) name \(Self.interface)",
                ],
                names.enumerated().flatMap { index, name in
                    [
                        "ip -n \(name) addr add 10.77.0.\(index + 1)/24 broadcast + dev mesh0",
                        "ip -n \(name) link set lo up",
                        "ip -n \(name) link set \(Self.interface) up",
                    ]
                },
            ].flatMap { $0 }
        for command in setUp where system("\(command) >/dev/null 2>&1") != 0 {
            print("skipped: network namespaces are not allowed here: \(command)")
            remove()
            return nil
        }
    }

    func remove() {
        for name in names { system("ip netns del \(name) >/dev/null 2>&1") }
    }

    /// Runs `body` on a thread in the namespace `index`; sockets made there stay there.
    func enter<Result: Sendable>(
        _ index: Int,
        _ body: @escaping @Sendable () throws -> Result
    ) throws -> Result {
        let path = "/run/netns/\(names[index])"
        return try onThread {
            let result = linux_enter_network(path)
            guard result >= 0 else { throw SystemError(call: "setns", code: -result) }
            return try body()
        }
    }
}

/// Runs `body` on a new thread and waits for it.
private func onThread<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
) throws -> Result {
    let job = Job(body)
    // Typed at run time, since a C function cannot capture the generic type.
    let start: () -> Void = { job.outcome = Swift.Result { try job.body() } }
    let context = Unmanaged.passRetained(Box(start))
    var thread = pthread_t()
    pthread_create(
        &thread,
        nil,
        { pointer in
            Unmanaged<Box>.fromOpaque(pointer!).takeRetainedValue().start()
            return nil
        },
        context.toOpaque()
    )
    pthread_join(thread, nil)
    return try #require(job.outcome).get()
}

private final class Job<Output>: @unchecked Sendable {
    // Sendable: written by the thread before its end, read after the join.
    let body: () throws -> Output
    var outcome: Swift.Result<Output, any Error>?
    init(_ body: @escaping () throws -> Output) { self.body = body }
}

private final class Box {
    let start: () -> Void
    init(_ start: @escaping () -> Void) { self.start = start }
}

/// Discovery sockets made in a namespace, used by one thread of the test at a time.
private struct Node: @unchecked Sendable {
    let sockets: DiscoverySockets

    /// Receives what comes within 2 s, until `count` datagrams came, by family.
    func receive(
        _ family: AddressFamily,
        _ count: Int,
        now: Instant = .zero
    ) -> [(bytes: [UInt8], from: SocketAddress)] {
        var result: [(bytes: [UInt8], from: SocketAddress)] = []
        var batch = ReceiveBatch()
        guard let index = sockets.receivers.firstIndex(where: { $0.family == family }) else {
            return []
        }
        while result.count < count, waitReadable(sockets.receivers[index].descriptor) {
            sockets.receive(from: index, into: &batch, now: now)
            batch.forEach { bytes, from in result.append((bytes.copied, from)) }
        }
        return result
    }
}

@Suite("Discovery between two machines — 10-security.md §8", .serialized)
struct NamespaceTests {
    @Test("multicast of both families and directed broadcast cross the link")
    func multicast() throws {
        guard let cable = Cable() else { return }
        defer { cable.remove() }
        let options = DiscoverySockets.Options(interfaceNames: ["mesh0"])
        let nodes = try (0..<2).map { index in
            try cable.enter(index) {
                let news = try LinkNews()
                let sockets = try DiscoverySockets(options: options)
                // An IPv6 link-local address may be used once duplicate detection is over.
                while !hasUsableIPv6(sockets), news.wait() { sockets.rescan() }
                return Node(sockets: sockets)
            }
        }
        #expect(nodes[0].sockets.senders.map(\.family) == [.ipv4, .ipv6])
        #expect(nodes[0].sockets.send([1, 2, 3]) == 2)
        let over4 = nodes[1].receive(.ipv4, 1)
        #expect(over4.map(\.bytes) == [[1, 2, 3]])
        #expect(over4.first?.from.with(port: 0) == SocketAddress(10, 77, 0, 1, port: 0))
        let over6 = nodes[1].receive(.ipv6, 1)
        #expect(over6.map(\.bytes) == [[1, 2, 3]])
        #expect(over6.first?.from.isLinkLocal == true)
        #expect(over6.first?.from.scope != 0)
        // The sender hears itself, once in each family.
        #expect(nodes[0].receive(.ipv4, 1).count == 1)

        nodes[1].sockets.send([4], alsoBroadcast: true)
        #expect(nodes[0].receive(.ipv4, 2).map(\.bytes) == [[4], [4]])
    }

    @Test("who hears only itself tries broadcast after 3 s, who hears another machine does not")
    func silence() throws {
        guard let cable = Cable() else { return }
        defer { cable.remove() }
        let options = DiscoverySockets.Options(interfaceNames: ["mesh0"], families: [.ipv4])
        let nodes = try (0..<2).map { index in
            try cable.enter(index) {
                let news = try LinkNews()
                let sockets = try DiscoverySockets(options: options)
                while sockets.senders.isEmpty, news.wait() { sockets.rescan() }
                return Node(sockets: sockets)
            }
        }
        /// Sends as a node's loop does, and takes the echo.
        func send(_ index: Int, _ byte: UInt8, seconds: Int64, copies: Int) {
            let now = Instant.zero + .seconds(seconds)
            var batch = DatagramBatch()
            batch.append([byte], to: .discovery)
            nodes[index].sockets.send(batch, now: now)
            for node in [nodes[index], nodes[1 - index]] {
                let received = node.receive(.ipv4, copies, now: now)
                #expect(received.map(\.bytes) == Array(repeating: [byte], count: copies))
            }
        }
        // Of node 0 nobody is heard: the third goes twice. Node 1 hears node 0 all the time.
        send(0, 1, seconds: 1, copies: 1)
        send(0, 2, seconds: 4, copies: 1)
        send(0, 3, seconds: 5, copies: 2)
        send(1, 4, seconds: 6, copies: 1)
        // Now node 0 has heard somebody.
        send(0, 5, seconds: 9, copies: 1)
    }

    @Test("an interface that comes later is joined by the next scan, one that goes is left")
    func interfaceChange() throws {
        guard let cable = Cable() else { return }
        defer { cable.remove() }
        let options = DiscoverySockets.Options(families: [.ipv4])
        system("ip -n \(cable.names[0]) link set mesh0 down")
        let changes = try cable.enter(0) {
            let news = try LinkNews()
            let sockets = try DiscoverySockets(options: options)
            let before = sockets.senders.map(\.interface.name)
            system("ip -n \(cable.names[0]) link set mesh0 up")
            while !sockets.rescan(), news.wait() {}
            let between = sockets.senders.map(\.interface.name)
            let joined = sockets.receivers[0].interfaces.count
            system("ip -n \(cable.names[0]) link del mesh0")
            sockets.rescan()
            let after = sockets.senders.map(\.interface.name)
            return (before, between, joined, after, sockets.receivers[0].interfaces.count)
        }
        #expect(changes.0 == ["lo"])
        #expect(changes.1 == ["lo", "mesh0"])
        #expect(changes.2 == 2)
        #expect(changes.3 == ["lo"])
        #expect(changes.4 == 1)
    }

    @Test("a run larger than the link's MTU is loss, smaller ones still leave in segments")
    func linkMTU() throws {
        guard let cable = Cable() else { return }
        defer { cable.remove() }
        let (port, received) = try cable.enter(1) {
            let socket = try UDPSocket(bind: SocketAddress(10, 77, 0, 2, port: 0))
            return (socket.port, Kept(socket: socket))
        }
        let statistics = try cable.enter(0) {
            let socket = try UDPSocket(bind: SocketAddress(10, 77, 0, 1, port: 0))
            let target = SocketAddress(10, 77, 0, 2, port: port)
            let large = (0..<4).map { pattern($0, byteCount: 3000) }
            let small = (0..<40).map { pattern($0, byteCount: 1200) }
            socket.send(DatagramBatch(large + small, to: target))
            return (socket.statistics, socket.isSegmenting)
        }
        let expected = (0..<40).map { pattern($0, byteCount: 1200) }
        #expect(receive(40, from: received.socket).map(\.bytes) == expected)
        #expect(statistics.0.droppedTooLarge == 4)
        #expect(statistics.0.segmentFallbacks == 0)
    }
}

/// What the kernel says of the links and addresses of the namespace it was made in.
private final class LinkNews {
    private let descriptor: Int32

    init() throws {
        // AF_NETLINK, NETLINK_ROUTE; groups: links 1, addresses of IPv4 10 and of IPv6 100.
        descriptor = socket(16, Int32(SOCK_RAW.rawValue), 0)
        var address: (UInt16, UInt16, UInt32, UInt32) = (16, 0, 0, 0x111)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, 12) }
        }
        guard result == 0 else { throw SystemError(call: "bind", code: errno) }
    }

    deinit { close(descriptor) }

    /// Waits for something new and takes it; `false` if nothing comes for 2 s.
    func wait() -> Bool {
        guard waitReadable(descriptor) else { return false }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        while recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT)) > 0 {}
        return true
    }
}

private struct Kept: @unchecked Sendable {
    let socket: UDPSocket
}

/// Whether the kernel takes an IPv6 datagram to the group already.
private func hasUsableIPv6(_ sockets: DiscoverySockets) -> Bool {
    guard let sender = sockets.senders.first(where: { $0.family == .ipv6 }) else { return false }
    guard sender.send([0xff], alsoBroadcast: false) else { return false }
    // Take our own echo away again.
    var batch = ReceiveBatch()
    for receiver in sockets.receivers { receiver.receive(into: &batch) }
    return true
}
