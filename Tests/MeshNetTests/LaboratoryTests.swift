import Glibc
import MeshNet
import MeshWire
import Testing

/// Runs lines of a shell in a network; whether all went well.
private func run(_ lines: String..., in network: NetworkNamespace) -> Bool {
    let text = lines.joined(separator: " && ")
    return system("nsenter --net=\(network.path) sh -c '\(text)' >/dev/null 2>&1") == 0
}

/// The kernel's name of the calling thread's network, as in `net:[4026531840]`.
private func currentNetwork() -> String {
    var buffer = [CChar](repeating: 0, count: 64)
    let count = readlink("/proc/thread-self/ns/net", &buffer, buffer.count)
    return String(decoding: buffer.prefix(max(0, count)).map(UInt8.init), as: UTF8.self)
}

/// A sender and a receiver whose cables end in a third network, with nothing between the two.
private struct Gap {
    let sender, receiver, middle: NetworkNamespace
    let from = SocketAddress(10, 78, 1, 1, port: 0)
    let to = SocketAddress(10, 78, 1, 2, port: 0)

    /// `nil`, with the reason printed, where namespaces are not allowed.
    init?() {
        guard let sender = try? NetworkNamespace(), let receiver = try? NetworkNamespace(),
            let middle = try? NetworkNamespace()
        else {
            print("skipped: network namespaces are not allowed here")
            return nil
        }
        (self.sender, self.receiver, self.middle) = (sender, receiver, middle)
        for (end, name, number) in [(sender, "left", 1), (receiver, "right", 2)] {
            let isMade = run(
                "ip link add mesh0 type veth peer name \(name) netns \(middle.path)",
                "ip link set mesh0 gso_max_segs 1",
                "ip addr add 10.78.1.\(number)/24 dev mesh0",
                "ip link set mesh0 up",
                in: end
            )
            guard isMade, run("ip link set \(name) up", in: middle) else {
                print("skipped: virtual cables are not allowed here")
                return nil
            }
        }
    }

    func packets(of interface: String) throws -> PacketSocket {
        try middle.perform { () throws(SystemError) in try PacketSocket(interface: interface) }
    }

    func socket(in network: NetworkNamespace, at address: SocketAddress) throws -> UDPSocket {
        try network.perform { () throws(SystemError) in try UDPSocket(bind: address) }
    }
}

@Suite("Networks of a laboratory — 60-lab.md §6", .serialized)
struct LaboratoryTests {
    @Test("frames cross a switch of ours whole, checksums that the cable left unfinished too")
    func frames() throws {
        guard let gap = Gap() else { return }
        let left = try gap.packets(of: "left")
        let right = try gap.packets(of: "right")
        let receiver = try gap.socket(in: gap.receiver, at: gap.to)
        let sender = try gap.socket(in: gap.sender, at: gap.from)
        let datagrams = (0..<40).map { pattern($0, byteCount: 1200) }
        sender.send(DatagramBatch(datagrams, to: gap.to.with(port: receiver.port)))
        // First each asks who has the other's address.
        while !waitReadable(receiver.descriptor, milliseconds: 0) {
            try #require(waitReadable(left.descriptor, right.descriptor))
            while let frame = left.receive() { right.send(frame) }
            while let frame = right.receive() { left.send(frame) }
        }
        while let frame = left.receive() { right.send(frame) }
        // Not one run of 48 kB: each datagram is a frame of its own.
        #expect(receive(40, from: receiver).map(\.bytes) == datagrams)
    }

    @Test("a queue says what waits in it and what found no room; another network's does not")
    func queue() throws {
        guard let gap = Gap() else { return }
        guard
            run("tc qdisc add dev mesh0 root tbf rate 800bit burst 1600 limit 5000", in: gap.sender)
        else { return print("skipped: no tbf in this kernel") }
        let meter = try gap.sender.perform { () throws(SystemError) in
            try QueueMeter(interface: "mesh0")
        }
        let empty = try meter.read()
        #expect(empty.backlogBytes == 0)
        // Nobody need be there: the address is known.
        #expect(run("ip neigh add 10.78.1.2 lladdr 2:0:0:0:0:1 dev mesh0", in: gap.sender))
        let sender = try gap.socket(in: gap.sender, at: gap.from)
        let datagrams = (0..<8).map { pattern($0, byteCount: 1000) }
        for datagram in datagrams {
            sender.send(DatagramBatch([datagram], to: gap.to.with(port: 9)))
        }
        let reading = try meter.read()
        // Of 8 × 1,042 bytes one leaves at once, four wait, ten seconds of the rate are one more.
        #expect(1042...5000 ~= reading.backlogBytes)
        #expect(2...3 ~= reading.drops)
        #expect(reading.sentBytes >= 1042)
        #expect(throws: SystemError.self) { try QueueMeter(interface: "mesh0").read() }
    }

    @Test("whoever worked in another network is back in its own, also after an error")
    func back() throws {
        guard let gap = Gap() else { return }
        let own = currentNetwork()
        #expect(throws: SystemError.self) {
            try gap.middle.perform { () throws(SystemError) in
                _ = try PacketSocket(interface: "absent")
            }
        }
        #expect(currentNetwork() == own)
        let there = try gap.middle.perform { () throws(SystemError) in currentNetwork() }
        #expect(there != own)
    }

    @Test("waiting ends at its time, or with the first descriptor that has something")
    func waiting() throws {
        let socket = try UDPSocket(bind: SocketAddress(127, 0, 0, 1, port: 0))
        let other = try UDPSocket(bind: SocketAddress(127, 0, 0, 1, port: 0))
        let list = [other.descriptor, socket.descriptor]
        let time = SystemClock.now() + .milliseconds(3)
        #expect(waitReadable(list, until: time) == [false, false])
        #expect(SystemClock.now() >= time)
        other.send(DatagramBatch([[1]], to: SocketAddress(127, 0, 0, 1, port: socket.port)))
        #expect(waitReadable(list, until: nil) == [false, true])
    }

    @Test("TCP between two networks: bytes arrive, and the end is seen")
    func connection() throws {
        let address = SocketAddress(127, 0, 0, 1, port: 17_001)
        guard let network = try? NetworkNamespace(), run("ip link set lo up", in: network) else {
            return print("skipped: network namespaces are not allowed here")
        }
        let listener = try network.perform { () throws(SystemError) in
            try TCPConnection.Listener(at: address)
        }
        let sent = try network.perform { () throws(SystemError) in
            let first = try TCPConnection(to: address, congestion: "cubic", patience: .seconds(2))
            return first.send([1, 2, 3][...])
        }
        #expect(sent == 3)
        #expect(waitReadable(listener.descriptor))
        let second = try listener.accept()
        #expect(waitReadable(second.descriptor))
        let counts = [second.receive(), second.receive()]
        #expect(counts == [3, -1])
    }
}
