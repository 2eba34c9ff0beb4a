package import MeshWire

/// The sockets of discovery: receivers of the two groups and a sender per interface and family.
///
/// `10-security.md` §8. ``rescan()`` follows the machine's interfaces: call it at start, then every
/// few seconds. An interface that refuses (no route, no rights) is left out and counted.
package final class DiscoverySockets {
    /// What discovery speaks and where.
    package struct Options: Hashable, Sendable {
        /// The port of both groups.
        package var port: UInt16 = 18517
        /// The interfaces to use by name; `nil` for all.
        package var interfaceNames: Set<String>?
        /// The families to use.
        package var families: Set<AddressFamily> = [.ipv4, .ipv6]

        package init(
            port: UInt16 = 18517,
            interfaceNames: Set<String>? = nil,
            families: Set<AddressFamily> = [.ipv4, .ipv6]
        ) {
            self.port = port
            self.interfaceNames = interfaceNames
            self.families = families
        }
    }

    /// The receivers, to be watched by the loop; fixed for the life of this object.
    package let receivers: [MulticastReceiver]
    /// The senders of now, ordered by interface, then family.
    package private(set) var senders: [MulticastSender] = []
    /// The last refusal of each interface that could not be used, by name and family.
    package private(set) var refusals: [String: SystemError] = [:]

    private let options: Options
    /// When another machine was heard last; before that, when the first datagram left.
    private var lastHeard: Instant?

    /// The time without a word of another machine after which broadcast is tried as well.
    package static let silence: Duration = .seconds(3)

    /// The group of IPv4, 239.255.72.85.
    package static func groupIPv4(port: UInt16) -> SocketAddress {
        SocketAddress(239, 255, 72, 85, port: port)
    }
    /// The group of IPv6, ff12::4855:444c.
    package static func groupIPv6(port: UInt16) -> SocketAddress {
        SocketAddress(high: 0xff12 << 48, low: 0x4855_444c, port: port)
    }

    /// Opens the receivers and scans the interfaces once.
    ///
    /// Throws only if no family can be received; `huddle join ADDRESS` needs no discovery.
    package init(options: Options = Options()) throws(SystemError) {
        self.options = options
        var receivers: [MulticastReceiver] = []
        var failure: SystemError?
        for family in AddressFamily.allCases where options.families.contains(family) {
            do {
                receivers.append(try MulticastReceiver(group: family.group(port: options.port)))
            } catch {
                failure = error
            }
        }
        if receivers.isEmpty, let failure { throw failure }
        self.receivers = receivers
        rescan()
    }

    /// Follows the interfaces of now; answers whether anything changed.
    @discardableResult
    package func rescan() -> Bool {
        let all: [Interface]
        do { all = try Interfaces.list() } catch { return false }
        let usable = all.filter { interface in
            interface.isUp && (interface.isMulticast || interface.isLoopback)
                && options.interfaceNames?.contains(interface.name) ?? true
        }
        refusals = [:]
        var next: [MulticastSender] = []
        for interface in usable {
            for receiver in receivers where receiver.family.address(of: interface) != nil {
                do {
                    try receiver.join(interface)
                    next.append(try sender(for: interface, family: receiver.family))
                } catch {
                    refusals["\(interface.name)/\(receiver.family)"] = error
                }
            }
        }
        for receiver in receivers {
            let present = next.lazy.filter { $0.family == receiver.family }.map(\.interface.index)
            for index in receiver.interfaces where !present.contains(index) {
                receiver.leave(index)
            }
        }
        let isChanged =
            next.map(\.interface) != senders.map(\.interface)
            || next.map(\.family) != senders.map(\.family)
        senders = next
        return isChanged
    }

    /// The open sender of an unchanged interface, or a new one.
    private func sender(
        for interface: Interface,
        family: AddressFamily
    ) throws(SystemError) -> MulticastSender {
        let open = senders.first { $0.family == family && $0.interface == interface }
        if let open { return open }
        return try MulticastSender(interface: interface, group: family.group(port: options.port))
    }

    /// Sends one datagram by every interface; answers how many senders it left by.
    ///
    /// With `alsoBroadcast` also to the directed broadcast addresses, for networks that swallow
    /// multicast and may pass those.
    @discardableResult
    package func send(_ bytes: [UInt8], alsoBroadcast: Bool = false) -> Int {
        senders.count { $0.send(bytes, alsoBroadcast: alsoBroadcast) }
    }

    /// Sends the datagrams of `batch` that go to everybody near; those to addresses are left out.
    ///
    /// After ``silence`` they go to the directed broadcast addresses too.
    package func send(_ batch: DatagramBatch, now: Instant) {
        for entry in batch.entries where entry.destination == .discovery {
            let since = lastHeard ?? now
            lastHeard = since
            send(batch.bytes(of: entry), alsoBroadcast: now - since > Self.silence)
        }
    }

    /// Receives what waits at the receiver `index`, at most one batch.
    ///
    /// What this machine sent comes back, from this node and from its neighbours; it says nothing
    /// of the network, so only other machines end the silence.
    package func receive(from index: Int, into batch: inout ReceiveBatch, now: Instant) {
        receivers[index].receive(into: &batch)
        if batch.datagrams.contains(where: { !isHere($0.from) }) { lastHeard = now }
    }

    /// Whether `address` is one of this machine's, as of the last scan.
    private func isHere(_ address: SocketAddress) -> Bool {
        address.isLoopback
            || senders.contains { sender in
                sender.interface.addresses.contains {
                    $0.address.high == address.high && $0.address.low == address.low
                }
            }
    }
}

extension AddressFamily {
    fileprivate func group(port: UInt16) -> SocketAddress {
        switch self {
        case .ipv4: DiscoverySockets.groupIPv4(port: port)
        case .ipv6: DiscoverySockets.groupIPv6(port: port)
        }
    }
}
