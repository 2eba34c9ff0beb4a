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

    /// The canonical bytes of the state: equal states give equal bytes.
    func snapshot() -> [UInt8]

    /// Replaces the state by the one these bytes describe; called on a pristine machine.
    mutating func restore(from bytes: RawSpan) throws(WireError)
}
