import CLinux
package import MeshWire

/// A UDP socket that receives a group's datagrams on the interfaces it joins.
///
/// Several sockets of one machine share the port (`SO_REUSEADDR`) and each gets every multicast
/// and broadcast datagram.
package final class MulticastReceiver {
    /// The address family.
    package let family: AddressFamily
    private let socket: Descriptor
    private let group: SocketAddress
    /// The interfaces joined, with the address they were joined by.
    private var joined: [UInt32: SocketAddress] = [:]

    /// Opens a socket on the group's port; it hears nothing before ``join(_:)``.
    package init(group: SocketAddress) throws(SystemError) {
        self.group = group
        family = group.family
        let isIPv6 = family.isIPv6
        socket = try Descriptor("socket", linux_udp_socket(isIPv6))
        try checked("setsockopt", linux_reuse_address(socket.number))
        try checked("setsockopt", linux_multicast_prepare(socket.number, isIPv6))
        try checked("setsockopt", linux_enable_packet_info(socket.number, isIPv6))
        let any = SocketAddress.any(family, port: group.port)
        try checked("bind", linux_bind(socket.number, any.raw, isIPv6))
    }

    /// The descriptor, for ``EventLoop/register(_:readable:writable:handler:)``.
    package var descriptor: Int32 { socket.number }

    /// Receives what waits, at most one batch; empty if nothing does.
    package func receive(into batch: inout ReceiveBatch) {
        // An error of this socket is one datagram less; the next call tells if there are others.
        _ = batch.receive(from: socket.number)
    }

    /// Joins the group on `interface`; nothing if that was done with the same address.
    package func join(_ interface: Interface) throws(SystemError) {
        let local = family.address(of: interface)
        guard let local, joined[interface.index] != local else { return }
        leave(interface.index)
        try checked(
            "setsockopt",
            linux_multicast_join(
                socket.number,
                group.raw,
                interface.index,
                local.raw,
                family.isIPv6
            )
        )
        joined[interface.index] = local
    }

    /// Leaves the group on an interface; nothing if it was not joined or is gone.
    package func leave(_ index: UInt32) {
        guard let local = joined.removeValue(forKey: index) else { return }
        linux_multicast_leave(socket.number, group.raw, index, local.raw, family.isIPv6)
    }

    /// The interfaces joined, ordered.
    package var interfaces: [UInt32] { joined.keys.sorted() }
}

/// A UDP socket that sends to a group by one interface, with hop limit 1 and loop on.
package final class MulticastSender {
    /// The interface as it was when the socket was opened.
    package let interface: Interface
    /// The address family.
    package let family: AddressFamily
    private let socket: Descriptor
    private let group: SocketAddress
    private let broadcast: SocketAddress?

    /// Opens a sender of the group's family; the interface has an address of it.
    package init(interface: Interface, group: SocketAddress) throws(SystemError) {
        self.interface = interface
        family = group.family
        let isIPv6 = family.isIPv6
        self.group = SocketAddress(
            high: group.high,
            low: group.low,
            scope: isIPv6 ? interface.index : 0,
            port: group.port
        )
        broadcast = isIPv6 ? nil : interface.ipv4?.broadcast?.with(port: group.port)
        socket = try Descriptor("socket", linux_udp_socket(isIPv6))
        try checked("setsockopt", linux_multicast_prepare(socket.number, isIPv6))
        try checked("setsockopt", linux_allow_broadcast(socket.number))
        let local = family.address(of: interface) ?? .any(family)
        try checked(
            "setsockopt",
            linux_multicast_interface(socket.number, interface.index, local.raw, isIPv6)
        )
    }

    /// Sends one datagram to the group, and to the directed broadcast address if `alsoBroadcast`.
    ///
    /// Answers whether at least one left; a refusal is loss.
    package func send(_ bytes: [UInt8], alsoBroadcast: Bool) -> Bool {
        var targets = [group]
        if alsoBroadcast, let broadcast { targets.append(broadcast) }
        var isSent = false
        for target in targets {
            let message = linux_message(
                to: target.raw,
                offset: 0,
                byte_count: Int32(clamping: bytes.count),
                segment_bytes: 0
            )
            let result = sendMessages(
                socket.number,
                isIPv6: family.isIPv6,
                storage: bytes,
                messages: [message]
            )
            isSent = isSent || result > 0
        }
        return isSent
    }
}

extension AddressFamily {
    /// The address by which an interface takes part in this family's multicast.
    func address(of interface: Interface) -> SocketAddress? {
        switch self {
        case .ipv4: interface.ipv4?.address
        case .ipv6: interface.ipv6?.address
        }
    }
}
