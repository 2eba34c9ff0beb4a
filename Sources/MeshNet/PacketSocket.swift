import CLinux

/// The frames that cross one interface, for a switch in this process (`60-lab.md` §6).
///
/// A frame is a blob: it begins with the kernel's note about its checksum, which a virtual cable leaves
/// unfinished, and is written elsewhere just as it was read.
package struct PacketSocket: ~Copyable, Sendable {
    /// Bytes of the largest frame, its note included: what the kernel may have put together.
    private static let frameBytes = (64 << 10) + 64

    private let socket: Descriptor

    /// Opens the interface of that name in the calling thread's network.
    package init(interface: String, bufferBytes: Int = 4 << 20) throws(SystemError) {
        socket = try Descriptor("socket", openPackets(interface))
        linux_set_buffers(socket.number, Int32(clamping: bufferBytes))
    }

    /// The descriptor, to wait for.
    package var descriptor: Int32 { socket.number }

    /// The next frame that came in by the interface; `nil` if none waits.
    package func receive() -> [UInt8]? {
        var frame: [UInt8] = []
        return readBytes(socket.number, limit: Self.frameBytes, appendingTo: &frame) > 0
            ? frame : nil
    }

    /// Lets a frame leave by the interface; `false` if it did not, which is loss.
    @discardableResult
    package func send(_ frame: [UInt8]) -> Bool { writeBytes(socket.number, frame[...]) > 0 }
}
