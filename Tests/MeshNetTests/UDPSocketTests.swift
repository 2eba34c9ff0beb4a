import MeshNet
import MeshWire
import Testing

@Suite("UDP sockets — 20-transport.md §6")
struct UDPSocketTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var family: AddressFamily
        var isOffloadWanted: Bool
        var testDescription: String { "\(family), offload \(isOffloadWanted ? "on" : "off")" }

        var loopback: SocketAddress {
            family == .ipv4
                ? SocketAddress(127, 0, 0, 1, port: 0) : SocketAddress(high: 0, low: 1, port: 0)
        }
    }
    static let rows = AddressFamily.allCases.flatMap { family in
        [true, false].map { Row(family: family, isOffloadWanted: $0) }
    }

    @Test("what is sent in runs of equal size arrives datagram by datagram", arguments: rows)
    func batches(row: Row) throws {
        let options = UDPSocket.Options(isOffloadWanted: row.isOffloadWanted)
        let sender = try UDPSocket(bind: row.loopback, options: options)
        let receiver = try UDPSocket(bind: row.loopback, options: options)
        // Full runs, a shorter last one, a longer next one, a single byte, more than 64 segments.
        let sizes = Array(repeating: 1200, count: 100) + [500, 1200, 1, 1, 900, 900, 40]
        let datagrams = sizes.enumerated().map { pattern($0, byteCount: $1) }
        let target = row.loopback.with(port: receiver.port)
        sender.send(DatagramBatch(datagrams, to: target))

        let received = receive(datagrams.count, from: receiver)
        #expect(received.map(\.bytes) == datagrams)
        #expect(received.allSatisfy { $0.from == row.loopback.with(port: sender.port) })
        #expect(sender.statistics.sent == datagrams.count)
        #expect(receiver.statistics.received == datagrams.count)
        #expect(receiver.statistics.receivedBytes == sizes.reduce(0, +))
        if sender.isSegmenting {
            #expect(sender.statistics.segmentedSends >= 3)
            #expect(sender.statistics.segmentFallbacks == 0)
        } else {
            #expect(sender.statistics.segmentedSends == 0)
        }
    }

    @Test("the largest datagram of 65,507 bytes passes over loopback")
    func largest() throws {
        let loopback = SocketAddress(127, 0, 0, 1, port: 0)
        let sender = try UDPSocket(bind: loopback)
        let receiver = try UDPSocket(bind: loopback)
        let datagram = pattern(7, byteCount: Limits.datagramCeilingBytes)
        let target = loopback.with(port: receiver.port)
        sender.send(DatagramBatch([datagram], to: target))
        #expect(receive(1, from: receiver).map(\.bytes) == [datagram])
    }

    @Test("two destinations in one batch each get theirs, in order")
    func destinations() throws {
        let loopback = SocketAddress(127, 0, 0, 1, port: 0)
        let sender = try UDPSocket(bind: loopback)
        let receivers = try (0..<2).map { _ in try UDPSocket(bind: loopback) }
        var batch = DatagramBatch()
        for number in 0..<20 {
            let port = receivers[number / 5 % 2].port
            batch.append(pattern(number, byteCount: 300), to: .address(loopback.with(port: port)))
        }
        batch.append([1, 2, 3], to: .discovery)
        sender.send(batch)
        for (index, receiver) in receivers.enumerated() {
            let expected = (0..<20).filter { $0 / 5 % 2 == index }
            let received = receive(10, from: receiver)
            #expect(received.map(\.bytes) == expected.map { pattern($0, byteCount: 300) })
        }
        #expect(sender.statistics.sent == 20)
    }

    @Test("a datagram too large is dropped and counted; those after it go")
    func tooLarge() throws {
        let loopback = SocketAddress(127, 0, 0, 1, port: 0)
        let sender = try UDPSocket(bind: loopback)
        let receiver = try UDPSocket(bind: loopback)
        let target = loopback.with(port: receiver.port)
        let small = pattern(1, byteCount: 10)
        let large = pattern(2, byteCount: 65_508)
        sender.send(DatagramBatch([small, large, small], to: target))
        #expect(receive(2, from: receiver).map(\.bytes) == [small, small])
        #expect(sender.statistics.droppedTooLarge == 1)
        #expect(sender.statistics.sent == 2)
    }

    @Test("a destination without a route costs its own datagrams only")
    func noRoute() throws {
        let loopback = SocketAddress(127, 0, 0, 1, port: 0)
        let sender = try UDPSocket(bind: loopback)
        let receiver = try UDPSocket(bind: loopback)
        var batch = DatagramBatch()
        // Port 0 is refused by every kernel (EINVAL), as is a route that is not there.
        batch.append([1], to: .address(loopback))
        batch.append([2], to: .address(loopback.with(port: receiver.port)))
        sender.send(batch)
        #expect(receive(1, from: receiver).map(\.bytes) == [[2]])
        #expect(sender.statistics.droppedRefused == 1)
    }

    @Test("a port in use is told from other refusals")
    func inUse() throws {
        let loopback = SocketAddress(127, 0, 0, 1, port: 0)
        let first = try UDPSocket(bind: loopback)
        let error = #expect(throws: SystemError.self) {
            try UDPSocket(bind: loopback.with(port: first.port))
        }
        #expect(error?.isAddressInUse == true)
        #expect(error?.description.hasPrefix("bind: ") == true)
        #expect(throws: SystemError.self) { try DataPort(port: first.port, scope: .loopback) }
    }

    @Test("the data port is the same number in both families")
    func dataPort() throws {
        let node = try DataPort(scope: .loopback)
        #expect(node.port != 0)
        #expect(node.sockets.allSatisfy { $0.port == node.port })
        let other = try DataPort(scope: .loopback)
        var batch = DatagramBatch()
        for socket in node.sockets {
            let address =
                socket.family == .ipv4
                ? SocketAddress(127, 0, 0, 1, port: node.port)
                : SocketAddress(high: 0, low: 1, port: node.port)
            batch.append([9], to: .address(address))
        }
        other.send(batch)
        for socket in node.sockets {
            #expect(receive(1, from: socket).first?.from.port == other.port)
        }
    }

    @Test("the socket buffers granted can be read")
    func buffers() throws {
        let socket = try UDPSocket(bind: SocketAddress(127, 0, 0, 1, port: 0))
        #expect(socket.receiveBufferBytes >= 100_000)
        #expect(socket.sendBufferBytes >= 100_000)
    }
}
