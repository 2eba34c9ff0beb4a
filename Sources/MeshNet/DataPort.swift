package import MeshWire

/// The data port of a node: one UDP port, an IPv4 socket and an IPv6 socket on it.
///
/// On a machine without one of the families the other serves alone.
package final class DataPort {
    /// Which local addresses a port listens at.
    package enum Scope: Hashable, Sendable {
        /// All of them.
        case everywhere
        /// The loopback addresses only, for nodes of one machine and for tests.
        case loopback
    }

    /// The UDP port, the same for both families.
    package let port: UInt16
    /// The socket of each family the machine has; never empty.
    package let sockets: [UDPSocket]

    /// Tries with ports the kernel chose, in case the other family has not the same one free.
    private static let attempts = 16

    /// Opens the sockets on `port`, or on any free one for port 0.
    ///
    /// Throws ``SystemError`` of `bind` if the port is taken in either family.
    package init(
        port: UInt16 = 0,
        scope: Scope = .everywhere,
        options: UDPSocket.Options = UDPSocket.Options()
    ) throws(SystemError) {
        for attempt in 1... {
            do {
                sockets = try Self.open(port: port, scope: scope, options: options)
                self.port = sockets[0].port
                return
            } catch {
                let mayRetry = port == 0 && error.isAddressInUse && attempt < Self.attempts
                guard mayRetry else { throw error }
            }
        }
        preconditionFailure("the attempts end by return or throw")
    }

    private static func open(
        port: UInt16,
        scope: Scope,
        options: UDPSocket.Options
    ) throws(SystemError) -> [UDPSocket] {
        var sockets: [UDPSocket] = []
        var missing: SystemError?
        for family in AddressFamily.allCases {
            let address: SocketAddress =
                switch (scope, family) {
                case (.everywhere, _): .any(family)
                case (.loopback, .ipv4): SocketAddress(127, 0, 0, 1, port: 0)
                case (.loopback, .ipv6): SocketAddress(high: 0, low: 1, port: 0)
                }
            do {
                let wanted = sockets.first?.port ?? port
                sockets.append(try UDPSocket(bind: address.with(port: wanted), options: options))
            } catch {
                // A kernel without the family, or with it switched off on every interface.
                let isMissing =
                    error.code == SystemError.Code.familyUnsupported
                    || error.code == SystemError.Code.addressUnavailable
                guard isMissing else { throw error }
                missing = error
            }
        }
        if sockets.isEmpty, let missing { throw missing }
        return sockets
    }

    /// Sends every datagram of `batch` that goes to an address; those for discovery are left out.
    ///
    /// Order is kept within a family. Refused datagrams are loss, counted in
    /// ``UDPSocket/statistics``.
    package func send(_ batch: DatagramBatch) {
        for socket in sockets { socket.send(batch) }
    }
}
