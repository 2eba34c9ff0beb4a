import MeshNet
import MeshWire

/// A connection to a running node's control socket, for programs that ask and wait.
///
/// It blocks its thread, never longer than the time given; commands and the demo use it from the main
/// thread, where nothing else runs.
package final class ControlClient {
    private let socket: UnixClient
    private var events: [JSON] = []
    /// Asked now and then during a wait; `true` ends it with a failure of code `stopped`.
    package var isInterrupted: () -> Bool = { false }
    /// Answers that came while another was waited for.
    private var answers: [Int64: JSON] = [:]
    private var nextID: Int64 = 1

    /// Connects to the socket at `path`.
    ///
    /// Throws `notRunning` if nobody listens there, with what to do about it.
    package init(path: String) throws(ControlFailure) {
        do {
            socket = try UnixClient(path: path)
        } catch {
            guard !error.isNobodyListening else {
                throw ControlFailure(
                    "notRunning",
                    "no node is running here",
                    hint: "start one with 'huddle up --detach' (looked at \(path))",
                    exit: 4
                )
            }
            throw ControlFailure("system", "the node at \(path) cannot be reached: \(error)")
        }
    }

    /// The descriptor, for a caller that also watches others.
    package var descriptor: Int32 { socket.descriptor }

    /// The node's process.
    package var process: Int32 { socket.process }

    /// Sends a request and waits for its answer; events that come meanwhile are kept.
    package func request(
        _ op: String,
        _ members: [JSON.Member] = [],
        within timeout: Duration = .seconds(15)
    ) throws(ControlFailure) -> JSON {
        let id = try send(op, members)
        return try answer(to: id, op, within: timeout)
    }

    /// Sends a request without waiting; ``answer(to:_:within:)`` takes its answer.
    package func send(_ op: String, _ members: [JSON.Member] = []) throws(ControlFailure) -> Int64 {
        defer { nextID += 1 }
        let head = [JSON.Member("op", .string(op)), JSON.Member("id", .integer(nextID))]
        let line = Array(JSON.object(head + members).description.utf8)
        guard line.count < ControlMessage.lineBytesMaximum else {
            throw ControlFailure(
                "tooLarge",
                "the request has \(line.count) bytes, the limit is "
                    + "\(ControlMessage.lineBytesMaximum)"
            )
        }
        do {
            try socket.send(line: line)
        } catch {
            throw Self.closed
        }
        return nextID
    }

    /// Waits for the answer to the request `id`.
    package func answer(
        to id: Int64,
        _ op: String,
        within timeout: Duration = .seconds(15)
    ) throws(ControlFailure) -> JSON {
        let deadline = SystemClock.now() + timeout
        while true {
            if let answer = answers.removeValue(forKey: id) {
                guard let error = answer["error"] else { return answer }
                throw ControlFailure(json: error)
            }
            guard let line = try receiveLine(until: deadline) else { break }
            if line["event"] != nil {
                events.append(line)
            } else if let other = line["id"]?.whole {
                answers[other] = line
            } else if let error = line["error"] {
                throw ControlFailure(json: error)
            }
        }
        throw ControlFailure(
            "timeOut",
            "the node did not answer '\(op)' within \(timeout.components.seconds) s",
            hint: "'huddle status' shows whether it has lost its peers",
            exit: 4
        )
    }

    /// The next event of a subscription, or `nil` if none comes within `timeout`.
    package func nextEvent(within timeout: Duration) throws(ControlFailure) -> JSON? {
        if !events.isEmpty { return events.removeFirst() }
        return try receiveLine(until: SystemClock.now() + timeout)
    }

    /// The next line from the node, or `nil` if none comes before `deadline`.
    private func receiveLine(until deadline: Instant) throws(ControlFailure) -> JSON? {
        var line: [UInt8]?
        while true {
            guard !isInterrupted() else { throw ControlFailure("stopped", "stopped") }
            // At least what the socket's own time-out can tell from "for ever".
            let left = max(deadline - SystemClock.now(), .microseconds(10))
            do {
                line = try socket.receiveLine(timeout: min(left, .milliseconds(100)))
                break
            } catch {
                guard error.isTimeout else { throw Self.closed }
                guard SystemClock.now() < deadline else { return nil }
            }
        }
        guard let line else { throw Self.closed }
        do {
            return try JSONReader.read(line)
        } catch {
            throw ControlFailure("protocol", "the node answered in another language")
        }
    }

    private static let closed = ControlFailure(
        "closed",
        "the node closed the connection",
        hint: "it may have been stopped; 'huddle up --detach' starts it again",
        exit: 4
    )
}
