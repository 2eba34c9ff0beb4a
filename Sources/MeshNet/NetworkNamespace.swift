import CLinux

/// A network of its own: interfaces, addresses and routes that the machine's do not meet.
///
/// It is gone with its last descriptor, socket and process, so that nothing has to be removed. Making one
/// needs the right to administer the network: root's, or that of a user namespace's first user.
package final class NetworkNamespace: Sendable {
    private let descriptor: Descriptor

    /// An empty one; ``SystemError/isForbidden`` if this process may not.
    package init() throws(SystemError) {
        descriptor = try Descriptor("unshare", linux_new_network())
    }

    /// Where other processes find it while this value lives, as an argument of `nsenter --net=`.
    package var path: String { "/proc/\(processID())/fd/\(descriptor.number)" }

    /// Runs `body` there: sockets and meters that it makes stay there.
    package func perform<Result: ~Copyable>(
        _ body: () throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        let own = try Descriptor("open", linux_own_network())
        try checked("setns", linux_set_network(descriptor.number))
        do {
            let result = try body()
            try checked("setns", linux_set_network(own.number))
            return result
        } catch {
            try checked("setns", linux_set_network(own.number))
            throw error
        }
    }
}

/// What the queue before an interface holds and did, as its root discipline counts.
///
/// It looks at the network of the thread that made it, from wherever it is asked.
package struct QueueMeter: ~Copyable, Sendable {
    /// Counters of the queue.
    package struct Reading: Hashable, Sendable {
        /// Bytes that left so far, headers of the link included.
        package var sentBytes: UInt64
        /// Bytes that wait.
        package var backlogBytes: Int
        /// Packets that found no room so far.
        package var drops: Int
    }

    private let socket: Descriptor
    private let interface: String

    /// A meter of the interface of that name.
    package init(interface: String) throws(SystemError) {
        socket = try Descriptor("socket", linux_route_socket())
        self.interface = interface
    }

    /// What the queue says now; throws if there is no such interface or queue.
    package func read() throws(SystemError) -> Reading {
        let raw = try queueStatus(socket.number, of: interface)
        return Reading(
            sentBytes: raw.bytes,
            backlogBytes: Int(raw.backlog),
            drops: Int(raw.drops)
        )
    }
}
