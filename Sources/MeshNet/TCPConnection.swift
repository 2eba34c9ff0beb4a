import CLinux
package import MeshWire

/// A plain TCP connection over IPv4, for measurements of the transport beside one.
package struct TCPConnection: ~Copyable, Sendable {
    private let socket: Descriptor

    private init(_ socket: consuming Descriptor) { self.socket = socket }

    /// Connects under the kernel's congestion control of that name, such as `cubic`.
    ///
    /// Connecting and each ``send(_:)`` wait for `patience` at most.
    package init(
        to address: SocketAddress,
        congestion: String,
        patience: Duration
    ) throws(SystemError) {
        let number = connectTCP(address.raw, congestion: congestion, timeout: patience)
        socket = try Descriptor("connect", number)
    }

    /// The descriptor, to wait for.
    package var descriptor: Int32 { socket.number }

    /// Sends what finds room in time; answers how many bytes did, negative when the connection is over.
    package func send(_ bytes: ArraySlice<UInt8>) -> Int {
        let count = writeBytes(socket.number, bytes)
        return -count == Int(SystemError.Code.again) ? 0 : count
    }

    /// Takes what waits; answers how many bytes did, negative when the connection is over.
    package func receive(_ limit: Int = 256 << 10) -> Int {
        var bytes: [UInt8] = []
        let count = readBytes(socket.number, limit: limit, appendingTo: &bytes)
        if -count == Int(SystemError.Code.again) { return 0 }
        return count == 0 ? -1 : count
    }

    /// Waits for connections.
    package struct Listener: ~Copyable, Sendable {
        private let socket: Descriptor

        /// Listens at an address of IPv4.
        package init(at address: SocketAddress) throws(SystemError) {
            socket = try Descriptor("listen", linux_tcp_listen(address.raw))
        }

        /// The descriptor, to wait for.
        package var descriptor: Int32 { socket.number }

        /// The next connection; throws `EAGAIN` if there is none.
        package func accept() throws(SystemError) -> TCPConnection {
            TCPConnection(try Descriptor("accept", linux_unix_accept(socket.number)))
        }
    }
}
