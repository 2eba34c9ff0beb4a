import CLinux
package import MeshWire

extension SocketAddress {
    /// The address as `CLinux` speaks of it.
    var raw: linux_address { linux_address(high: high, low: low, scope: scope, port: port) }

    init(_ raw: linux_address) {
        self.init(high: raw.high, low: raw.low, scope: raw.scope, port: raw.port)
    }

    /// The address of `family` that stands for every local one.
    package static func any(_ family: AddressFamily, port: UInt16 = 0) -> SocketAddress {
        switch family {
        case .ipv4: SocketAddress(0, 0, 0, 0, port: port)
        case .ipv6: SocketAddress(high: 0, low: 0, port: port)
        }
    }

    /// The family a socket needs to send here.
    package var family: AddressFamily { isIPv4 ? .ipv4 : .ipv6 }

    /// Whether this is an IPv6 address of one link only, which needs a scope (RFC 4291 §2.5.6).
    package var isLinkLocal: Bool { high >> 54 == 0x3fa }
}

/// The version of the Internet Protocol a socket speaks.
package enum AddressFamily: Hashable, Sendable, CaseIterable {
    /// Version 4.
    case ipv4
    /// Version 6.
    case ipv6

    var isIPv6: Bool { self == .ipv6 }
}
