import MeshNet
import MeshWire

/// The networks that this machine is part of, looked up now and then.
struct NearbyNetworks {
    /// A network, by one of its addresses and how many bits all of them share.
    typealias Network = (address: SocketAddress, bits: Int)

    private var networks: [Network] = []
    private var looked: Instant?

    /// How long a look is good for: a machine changes its network seldom.
    private static let lifetime = Duration.seconds(10)

    /// Whether `address` is on this machine, on one link with it, or in a network of its interfaces.
    mutating func contain(_ address: SocketAddress, now: Instant) -> Bool {
        if Self.isOfOneLink(address) { return true }
        if looked.map({ now - $0 > Self.lifetime }) ?? true {
            looked = now
            networks = ((try? Interfaces.list()) ?? []).flatMap(\.addresses)
                .map { ($0.address, $0.prefixBits) }
        }
        return Self.contains(address, networks)
    }

    /// Loopback and link-local addresses, which lead nowhere else (RFC 3927, RFC 4291 §2.5.6).
    static func isOfOneLink(_ address: SocketAddress) -> Bool {
        address.isLoopback || address.isLinkLocal
            || address.isIPv4 && address.ipv4 >> 16 == 0xa9fe
    }

    /// Whether one of the networks has the address; a network of one address is a link to elsewhere.
    static func contains(_ address: SocketAddress, _ networks: [Network]) -> Bool {
        networks.contains { network in
            guard network.address.isIPv4 == address.isIPv4 else { return false }
            let bits = network.address.isIPv4 ? network.bits + 96 : network.bits
            guard bits > 0, bits < 128 else { return false }
            return prefix(network.address, bits) == prefix(address, bits)
        }
    }

    private static func prefix(_ address: SocketAddress, _ bits: Int) -> [UInt64] {
        // A shift by the whole width gives zero.
        [
            address.high & ~(UInt64.max >> UInt64(min(bits, 64))),
            address.low & ~(UInt64.max >> UInt64(max(bits - 64, 0))),
        ]
    }
}
