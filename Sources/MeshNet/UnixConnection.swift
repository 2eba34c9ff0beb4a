import CLinux
import MeshWire

/// One connection of a Unix socket that carries lines, never waiting.
///
/// The owner watches ``descriptor`` with its loop, calls ``receive()`` when it is readable and
/// ``flush()`` when it is writable, and asks for writability while ``wantsToWrite``. Bounded: a line
/// of more than 1 MiB, or a reader more than 4 MiB behind, ends the connection.
package final class UnixConnection {
    /// What one ``receive()`` found.
    package struct Received: Sendable {
        /// Complete lines without their ends.
        package var lines: [[UInt8]] = []
        /// Whether the other end closed or the connection broke its bounds; nothing comes any more.
        package var isClosed = false
    }

    /// Bytes of one line.
    package static let lineBytes = 1 << 20
    /// Bytes that may wait for the other end to read.
    package static let waitingBytes = 4 << 20

    private let socket: Descriptor
    private var input: [UInt8] = []
    private var output: [UInt8] = []
    private var outputStart = 0
    private var isBroken = false

    init(_ socket: consuming Descriptor) {
        self.socket = socket
    }

    /// The descriptor, for ``EventLoop/register(_:readable:writable:handler:)``.
    package var descriptor: Int32 { socket.number }

    /// Whether bytes wait until the descriptor is writable.
    package var wantsToWrite: Bool { outputStart < output.count && !isBroken }

    /// Reads what waits, and cuts it into lines.
    package func receive() -> Received {
        var result = Received()
        guard !isBroken else { return Received(isClosed: true) }
        // A budget, so that one flood does not hold up the loop.
        for _ in 0..<16 {
            let searched = input.count
            let count = readBytes(socket.number, limit: 64 << 10, appendingTo: &input)
            if count == 0 || (count < 0 && -count != Int(SystemError.Code.again)) {
                result.isClosed = true
            }
            guard count > 0 else { break }
            cutLines(from: searched, into: &result.lines)
            guard input.count <= Self.lineBytes else {
                isBroken = true
                result.isClosed = true
                break
            }
        }
        return result
    }

    private func cutLines(from searched: Int, into lines: inout [[UInt8]]) {
        var start = 0
        var position = searched
        while let end = input[position...].firstIndex(of: UInt8(ascii: "\n")) {
            lines.append(Array(input[start..<end]))
            start = end + 1
            position = start
        }
        input.removeFirst(start)
    }

    /// Sends a line, to which its end is added; what does not go now waits for ``flush()``.
    ///
    /// Answers `false` if the connection is over, which it also is when the reader fell behind.
    @discardableResult
    package func send(line: some Collection<UInt8>) -> Bool {
        guard !isBroken else { return false }
        guard output.count - outputStart + line.count < Self.waitingBytes else {
            isBroken = true
            return false
        }
        output.append(contentsOf: line)
        output.append(UInt8(ascii: "\n"))
        return flush()
    }

    /// Sends what waits, as far as the kernel takes it; answers `false` if the connection is over.
    @discardableResult
    package func flush() -> Bool {
        while wantsToWrite {
            let count = writeBytes(socket.number, output[outputStart...])
            guard count > 0 else {
                isBroken = -count != Int(SystemError.Code.again)
                break
            }
            outputStart += count
        }
        if outputStart == output.count {
            output.removeAll(keepingCapacity: output.capacity < 1 << 16)
            outputStart = 0
        }
        return !isBroken
    }

    /// The process at the other end, for the log.
    package var process: Int32 { max(0, linux_peer_process(socket.number)) }
}

/// The blocking end of a Unix socket, for a command that asks a node and waits for the answer.
package final class UnixClient {
    private let socket: Descriptor
    private var input: [UInt8] = []

    /// Connects to the socket at `path`.
    ///
    /// Throws ``SystemError``; see ``SystemError/isNobodyListening``.
    package init(path: String) throws(SystemError) {
        socket = try Descriptor("connect", connectUnix(path))
    }

    /// The descriptor, for a caller that also watches others.
    package var descriptor: Int32 { socket.number }

    /// The process that listens.
    package var process: Int32 { max(0, linux_peer_process(socket.number)) }

    /// Sends a line, to which its end is added.
    package func send(line: some Collection<UInt8>) throws(SystemError) {
        var rest = (Array(line) + [UInt8(ascii: "\n")])[...]
        while !rest.isEmpty {
            let count = writeBytes(socket.number, rest)
            try checked("send", count)
            rest = rest.dropFirst(count)
        }
    }

    /// The next line without its end, or `nil` when the other end closed.
    ///
    /// Throws `EAGAIN` if no byte came within `timeout` (`nil` waits for ever).
    package func receiveLine(timeout: Duration? = nil) throws(SystemError) -> [UInt8]? {
        let limit = timeout.map { max(1, $0.wholeNanoseconds) } ?? 0
        try checked("setsockopt", linux_receive_timeout(socket.number, limit))
        var position = 0
        while true {
            if let end = input[position...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { input.removeFirst(end + 1) }
                return Array(input[..<end])
            }
            position = input.count
            let count = readBytes(socket.number, limit: 64 << 10, appendingTo: &input)
            try checked("read", count)
            guard count > 0 else { return nil }
        }
    }
}

extension SystemError {
    /// Whether nobody listens at a path: no socket there, or a dead one.
    package var isNobodyListening: Bool {
        code == Code.noEntry || code == Code.connectionRefused
    }

    /// Whether a wait ended by its time-out.
    package var isTimeout: Bool { code == Code.again }
}
