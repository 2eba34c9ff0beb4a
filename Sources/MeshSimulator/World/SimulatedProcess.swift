package import MeshWire

/// What the world asks of the program that runs on a simulated node.
///
/// The product's engine is one (``EngineProcess``); tests bring toys of their own. The contract is
/// that of the engine: after every `handle` the process is polled until it has nothing to send.
package protocol SimulatedProcess: AnyObject {
    /// What the application can ask of the process.
    associatedtype Command
    /// What the process tells the application.
    associatedtype Event

    /// What kind of message a datagram carries, so that a fault can take one kind alone; `nil` where
    /// that cannot be seen from outside.
    static func messageCode(in datagram: [UInt8]) -> UInt8?

    /// Takes a datagram that arrived from `sender`.
    func handle(datagram: RawSpan, from sender: SocketAddress, now: Instant)
    /// Takes notice that the deadline it was given has come.
    func handleTimer(now: Instant)
    /// Takes a command of the application.
    func handle(command: Command, now: Instant)
    /// Fills `batch` and `events`, and answers the next deadline.
    func poll(now: Instant, into batch: inout DatagramBatch, events: inout [Event]) -> Instant?
}

extension SimulatedProcess {
    /// Sealed datagrams show nothing.
    package static func messageCode(in datagram: [UInt8]) -> UInt8? { nil }
}
