package import MeshCrypto
import MeshEngine
package import MeshNet
package import MeshWire

/// What a simulation gives a node in place of a machine.
package struct SimulatedPlace: Sendable {
    /// Runs the node: its executor, clock and timers.
    package var loop: EventLoop
    /// The node's network.
    package var port: any SimulatedPort
    /// What the identity, all keys and all chance are drawn from; of this node alone.
    package var secrets: SeededSecrets
    /// Unix time at the loop's clock's origin, in seconds.
    package var unixOrigin: Int64

    package init(
        loop: EventLoop,
        port: any SimulatedPort,
        secrets: SeededSecrets,
        unixOrigin: Int64
    ) {
        self.loop = loop
        self.port = port
        self.secrets = secrets
        self.unixOrigin = unixOrigin
    }
}

/// What a node has begun and not ended, and how far it is; for a simulation that waits for rest.
package struct NodeProgress: Sendable {
    /// Commands that somebody waits for.
    package var requests: Int
    /// Messages whose outcome somebody waits for.
    package var messages: Int
    /// Whether it is getting into a room.
    package var isEntering: Bool
    /// The view it is in, if it takes writes there.
    package var epoch: Epoch?
    /// A digest of the replicated state.
    package var state: Digest?
}

extension Node {
    /// Starts a node in a simulation; it has no files and no sockets.
    package static func start(
        _ configuration: NodeConfiguration,
        in place: SimulatedPlace
    ) async throws(HuddleError) -> Node {
        let node = Node(parts: NodeParts(configuration, in: place))
        try await node.startDriving()
        return node
    }

    /// A datagram came from the simulated network.
    package func receive(_ datagram: RawSpan, from sender: SocketAddress) {
        guard !isStopped, !socket.swallows(sender, whose: knownAddresses) else { return }
        isDirty = true
        engine.handle(.datagram(datagram, from: sender), now: loop.turnInstant)
    }

    /// What is under way; `digests` asks for the state's digest too, which takes a moment.
    package func progress(digests: Bool) -> NodeProgress {
        NodeProgress(
            requests: waiting.count,
            messages: outcomes.count,
            isEntering: entering != nil,
            epoch: view?.isUsable == true ? view?.epoch : nil,
            state: digests ? stateDigest : nil
        )
    }
}
