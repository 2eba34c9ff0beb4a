import CLinux
package import MeshWire

/// A UDP socket of one address family: batches in, batches out, segmented by the kernel if it can.
///
/// Nothing here waits or throws after the bind: what cannot be sent now is loss with a counter
/// (`20-transport.md` §6), which transport recovers. Used by one thread at a time, its owner's.
package final class UDPSocket {
    /// How a socket is opened.
    package struct Options: Hashable, Sendable {
        /// Use `UDP_SEGMENT` and `UDP_GRO` where the kernel has them.
        package var isOffloadWanted = true
        /// Bytes asked for each of the two socket buffers: 4 MiB (`20-transport.md` §6).
        package var bufferBytes = 4 << 20

        package init(isOffloadWanted: Bool = true, bufferBytes: Int = 4 << 20) {
            self.isOffloadWanted = isOffloadWanted
            self.bufferBytes = bufferBytes
        }
    }

    /// The address family.
    package let family: AddressFamily
    /// The local port.
    package let port: UInt16
    /// Bytes the kernel granted for the receive buffer.
    package let receiveBufferBytes: Int
    /// Bytes the kernel granted for the send buffer.
    package let sendBufferBytes: Int
    /// Whether sends are segmented by the kernel; turns false for good at its first refusal.
    package var isSegmenting: Bool { sender.isSegmenting }
    /// Whether the kernel coalesces what we receive.
    package let isCoalescing: Bool
    /// What went in, out and wrong.
    package var statistics: UDPStatistics {
        var all = sender.statistics
        all.received = received
        all.receivedBytes = receivedBytes
        all.truncated = truncated
        all.receiveErrors = receiveErrors
        return all
    }

    private let socket: Descriptor
    private var sender: SegmentedSender
    private var received = 0
    private var receivedBytes = 0
    private var truncated = 0
    private var receiveErrors = 0

    /// Opens a socket and binds it to `address`; port 0 takes any free one.
    ///
    /// Throws what the kernel says; ``SystemError/isAddressInUse`` if the port is taken.
    package init(
        bind address: SocketAddress,
        options: Options = Options()
    ) throws(SystemError) {
        family = address.family
        let isIPv6 = family.isIPv6
        socket = try Descriptor("socket", linux_udp_socket(isIPv6))
        let number = socket.number
        linux_set_buffers(number, Int32(clamping: options.bufferBytes))
        receiveBufferBytes = Int(try checked("getsockopt", linux_receive_buffer(number)))
        sendBufferBytes = Int(try checked("getsockopt", linux_send_buffer(number)))
        try checked("setsockopt", linux_probe_path(number, isIPv6))
        isCoalescing = options.isOffloadWanted && linux_enable_gro(number) >= 0
        let isSegmenting = options.isOffloadWanted && linux_supports_segments(number) >= 0
        sender = SegmentedSender(family: family, isSegmenting: isSegmenting)
        try checked("bind", linux_bind(number, address.raw, isIPv6))
        port = UInt16(try checked("getsockname", linux_local_port(number)))
    }

    /// The descriptor, for ``EventLoop/register(_:readable:writable:handler:)``.
    package var descriptor: Int32 { socket.number }

    /// Receives what waits, at most one batch; empty if nothing does.
    ///
    /// Call again while ``ReceiveBatch/isFull``, within the caller's budget: readiness is
    /// level-triggered, so what is left is reported again.
    package func receive(into batch: inout ReceiveBatch) {
        let count = batch.receive(from: socket.number)
        guard count >= 0 else {
            if -count != SystemError.Code.again { receiveErrors += 1 }
            return
        }
        received += batch.datagrams.count
        receivedBytes += batch.datagrams.reduce(0) { $0 + $1.byteCount }
        truncated += batch.truncated
    }

    /// Sends the datagrams of `batch` that go to addresses of this family, the others not.
    package func send(_ batch: DatagramBatch) {
        sender.send(batch, entries: batch.entries[...]) { [number = socket.number, family] in
            sendMessages(number, isIPv6: family.isIPv6, storage: $0, messages: $1)
        }
    }
}

/// What a UDP socket did, in datagrams if nothing else is said.
package struct UDPStatistics: Hashable, Sendable {
    /// Handed to the kernel.
    package var sent = 0
    /// Bytes of those.
    package var sentBytes = 0
    /// Calls of `sendmmsg`.
    package var sendCalls = 0
    /// Sends of several segments at once.
    package var segmentedSends = 0
    /// Dropped because the socket's buffer was full (`EAGAIN`, `ENOBUFS`).
    package var droppedFull = 0
    /// Dropped because the link or path does not carry the size (`EMSGSIZE`).
    package var droppedTooLarge = 0
    /// Dropped for any other refusal, such as no route.
    package var droppedRefused = 0
    /// Times the kernel refused to segment and the socket went on without.
    package var segmentFallbacks = 0
    /// Received.
    package var received = 0
    /// Bytes of those.
    package var receivedBytes = 0
    /// Dropped because they did not fit a slot.
    package var truncated = 0
    /// Receive calls that failed for another reason than "nothing there".
    package var receiveErrors = 0

    package init() {}
}
