package import MeshWire

/// What the log drives: equal entries in equal order give equal states on every process.
///
/// A value: the core copies it cheaply for checkpoints and never applies what is not committed.
package protocol StateMachine: Sendable {
    /// Applies a committed command and answers with the bytes its origin gets back, at most 1 KiB.
    ///
    /// Called once for each (origin, sequence), in log order, with a verified signature.
    mutating func apply(_ command: Command, at position: Position) -> [UInt8]

    /// Takes note of a committed view; `departed` left by LEAVE or kick, others not listed are absent.
    mutating func install(_ view: View, departed: [ProcessID], at position: Position)

    /// Whether what the first result promised the origin of `command` holds with the second.
    ///
    /// Both branches ran the command and the second's won; if not, the first is reported as
    /// discarded. A result that was trimmed is `nil`: say no if the two might differ.
    func isSameOutcome(of command: Command, _ left: [UInt8]?, _ right: [UInt8]?) -> Bool

    /// The canonical bytes of the state: equal states give equal bytes.
    func snapshot() -> [UInt8]

    /// Replaces the state by the one these bytes describe; called on a pristine machine.
    mutating func restore(from bytes: RawSpan) throws(WireError)
}

extension StateMachine {
    /// Equal bytes mean the same.
    package func isSameOutcome(of command: Command, _ left: [UInt8]?, _ right: [UInt8]?) -> Bool {
        left == right
    }
}
