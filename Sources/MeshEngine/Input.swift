package import MeshWire

/// What can happen to an engine.
package enum Input: ~Copyable, ~Escapable {
    /// A datagram came; its bytes are borrowed from the receive batch, never copied.
    case datagram(RawSpan, from: SocketAddress)
    /// The deadline that `poll` gave has come.
    case timer
    /// The application wants something.
    case command(Command)
}

/// What an engine hands out; the caller sends, delivers and empties it.
package struct Outlets: Sendable {
    /// Datagrams to send, in order.
    package var batch = DatagramBatch()
    /// What the application should hear, in order.
    package var events: [Event] = []

    package init() {}

    /// Forgets what was handed out and keeps the memory.
    package mutating func removeAll() {
        batch.removeAll()
        events.removeAll(keepingCapacity: true)
    }
}
