import CLinux
package import MeshWire

/// A network interface of this machine with its addresses.
package struct Interface: Hashable, Sendable {
    /// One address of the interface.
    package struct Address: Hashable, Sendable {
        /// The address; its port is zero.
        package var address: SocketAddress
        /// The length of the network's prefix in bits.
        package var prefixBits: Int
        /// The directed broadcast address; `nil` for IPv6, /31, /32 and point-to-point links.
        package var broadcast: SocketAddress?
    }

    /// The name, as in `eth0`.
    package var name: String
    /// The kernel's number.
    package var index: UInt32
    /// Whether it is up and has a carrier.
    package var isUp: Bool
    /// Whether it is the machine's loopback.
    package var isLoopback: Bool
    /// Whether it carries multicast (Linux says no for `lo`, which does it nonetheless).
    package var isMulticast: Bool
    /// The addresses, in the kernel's order.
    package var addresses: [Address]

    /// The first IPv4 address.
    package var ipv4: Address? { addresses.first { $0.address.isIPv4 } }
    /// An IPv6 address: the link-local one where there is one.
    package var ipv6: Address? {
        let all = addresses.filter { !$0.address.isIPv4 }
        return all.first { $0.address.isLinkLocal } ?? all.first
    }
}

/// The network interfaces of this machine.
package enum Interfaces {
    /// The interfaces that have an address, ordered by index.
    package static func list() throws(SystemError) -> [Interface] {
        var found: [UInt32: Interface] = [:]
        for (name, raw) in try interfaceAddresses() {
            var interface =
                found[raw.index]
                ?? Interface(
                    name: name,
                    index: raw.index,
                    isUp: raw.up,
                    isLoopback: raw.loopback,
                    isMulticast: raw.multicast,
                    addresses: []
                )
            let broadcast = SocketAddress(raw.broadcast)
            let hasBroadcast =
                broadcast.isIPv4 && broadcast.ipv4 != 0 && raw.prefix_length < 31
                && !raw.point_to_point
            interface.addresses.append(
                Interface.Address(
                    address: SocketAddress(raw.address),
                    prefixBits: Int(raw.prefix_length),
                    broadcast: hasBroadcast ? broadcast : nil
                )
            )
            found[raw.index] = interface
        }
        return found.values.sorted { $0.index < $1.index }
    }
}
