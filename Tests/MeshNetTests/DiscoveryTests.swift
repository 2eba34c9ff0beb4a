import MeshNet
import MeshWire
import Testing

@Suite("Discovery sockets — 10-security.md §8")
struct DiscoveryTests {
    /// A port of this test's own, so that nothing else on the machine is heard.
    static func freePort() throws -> UInt16 {
        try UDPSocket(bind: .any(.ipv4)).port
    }

    static func options(_ port: UInt16) -> DiscoverySockets.Options {
        DiscoverySockets.Options(port: port, interfaceNames: ["lo"], families: [.ipv4])
    }

    /// Receives from all receivers until `count` datagrams came or none comes for 2 s.
    static func receive(_ count: Int, from sockets: DiscoverySockets) -> [[UInt8]] {
        var batch = ReceiveBatch()
        var result: [[UInt8]] = []
        while result.count < count, waitReadable(sockets.receivers[0].descriptor) {
            for receiver in sockets.receivers {
                receiver.receive(into: &batch)
                batch.forEach { bytes, from in
                    #expect(from.isLoopback)
                    result.append(bytes.copied)
                }
            }
        }
        return result
    }

    @Test("several nodes of one machine share the port and each hears all, on lo")
    func loopback() throws {
        let port = try Self.freePort()
        let nodes = try (0..<3).map { _ in try DiscoverySockets(options: Self.options(port)) }
        for (number, node) in nodes.enumerated() {
            #expect(node.senders.count == 1)
            #expect(node.send([UInt8(number)]) == 1)
        }
        for node in nodes {
            #expect(Self.receive(3, from: node) == [[0], [1], [2]])
        }
    }

    @Test("a socket hears only groups it joined itself: IP_MULTICAST_ALL is off")
    func foreignGroup() throws {
        let port = try Self.freePort()
        let node = try DiscoverySockets(options: Self.options(port))
        let foreign = SocketAddress(239, 255, 1, 2, port: port)
        let lo = try #require(try Interfaces.list().first { $0.isLoopback })
        let other = try MulticastReceiver(group: foreign)
        try other.join(lo)
        #expect(try MulticastSender(interface: lo, group: foreign).send([7], alsoBroadcast: false))
        #expect(waitReadable(other.descriptor))
        node.send([8])
        #expect(Self.receive(1, from: node) == [[8]])
    }

    @Test("only what goes to everybody near leaves by discovery")
    func batch() throws {
        let port = try Self.freePort()
        let node = try DiscoverySockets(options: Self.options(port))
        var batch = DatagramBatch()
        batch.append([1], to: .address(SocketAddress(127, 0, 0, 1, port: port)))
        batch.append([2, 3], to: .discovery)
        node.send(batch, now: .zero)
        #expect(Self.receive(1, from: node) == [[2, 3]])
    }

    @Test("a scan without change keeps the senders")
    func rescan() throws {
        let node = try DiscoverySockets(options: Self.options(try Self.freePort()))
        let before = node.senders.map(ObjectIdentifier.init)
        #expect(!node.rescan())
        #expect(node.senders.map(ObjectIdentifier.init) == before)
    }

    @Test("IPv6 multicast passes where an interface carries it")
    func ipv6() throws {
        let interfaces = try Interfaces.list().filter {
            $0.isUp && $0.isMulticast && $0.ipv6?.address.isLinkLocal == true
        }
        guard let interface = interfaces.first else {
            print("skipped: no interface with IPv6 multicast here; see NamespaceTests")
            return
        }
        let port = try Self.freePort()
        let options = DiscoverySockets.Options(
            port: port,
            interfaceNames: [interface.name],
            families: [.ipv6]
        )
        let node = try DiscoverySockets(options: options)
        guard node.senders.count == 1, node.send([6]) == 1 else {
            print("skipped: \(interface.name) refuses IPv6 multicast: \(node.refusals)")
            return
        }
        var batch = ReceiveBatch()
        #expect(waitReadable(node.receivers[0].descriptor))
        node.receivers[0].receive(into: &batch)
        #expect(batch.datagrams.count == 1)
        #expect(batch.datagrams.first?.from.scope == interface.index)
        #expect(batch.datagrams.first?.interface == interface.index)
    }

    @Test("the loopback interface is found with its addresses")
    func interfaces() throws {
        let lo = try #require(try Interfaces.list().first { $0.isLoopback })
        #expect(lo.name == "lo")
        #expect(lo.isUp)
        #expect(lo.ipv4?.address == SocketAddress(127, 0, 0, 1, port: 0))
        #expect(lo.ipv4?.prefixBits == 8)
        #expect(lo.ipv4?.broadcast == nil)
    }
}
