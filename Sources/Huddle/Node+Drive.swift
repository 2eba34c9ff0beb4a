import MeshEngine
import MeshNet
import MeshWire

// The run loop, in the numbers of `Engine.swift` and `SimulatedNode.swift`. `EventLoop` does (1) and
// (2); handlers that it calls within the turn, and the actor's own jobs, do (3); the handler of the
// turn's end does (4) and (5). Nothing is handled between (4) and its end.

extension Node {
    /// Opens the loop's registrations; from here on the node lives.
    func startDriving() throws(HuddleError) {
        do {
            for (index, socket) in socket.sockets.enumerated() {
                try watch(socket.descriptor) { $0.receiveData(from: index) }
            }
            for (index, receiver) in (discovery?.receivers ?? []).enumerated() {
                try watch(receiver.descriptor) { $0.receiveDiscovery(from: index) }
            }
        } catch {
            throw HuddleError(.system, "cannot watch the node's sockets: \(error)")
        }
        let deadline = timer { $0.deadlineCame() }
        let due = timer { $0.sendDue() }
        let rescan = timer { $0.rescanInterfaces() }
        let contents = timer { $0.contentsDue() }
        timers = [deadline, due, rescan, contents]
        turnHandler = loop.addTurnHandler { [weak self] in
            self?.assumeIsolated { $0.endTurn() }
        }
        rescanInterfaces()
        endTurn()
    }

    /// Drops every registration and gives up whoever waits.
    func stopDriving() {
        for registration in registrations { loop.remove(registration) }
        for timer in timers { loop.remove(timer) }
        if let turnHandler { loop.remove(turnHandler) }
        registrations = []
        timers = []
        turnHandler = nil
        abandonAll()
    }

    // (3) Inputs of the turn.

    /// Hands the datagrams that wait at a data socket to the engine, at most four batches a turn.
    private func receiveData(from index: Int) {
        for _ in 0..<4 {
            socket.sockets[index].receive(into: &received)
            handleReceived()
            guard received.isFull else { return }
        }
    }

    private func receiveDiscovery(from index: Int) {
        guard let discovery else { return }
        discovery.receive(from: index, into: &received, now: loop.turnInstant)
        handleReceived()
    }

    private func handleReceived() {
        guard !received.isEmpty else { return }
        let now = loop.turnInstant
        isDirty = true
        received.forEach { bytes, from in
            guard !socket.swallows(from, whose: knownAddresses) else { return }
            engine.handle(.datagram(bytes, from: from), now: now)
        }
    }

    private func deadlineCame() {
        isDirty = true
        engine.handle(.timer, now: loop.turnInstant)
    }

    /// Hands a command of the application to the engine.
    func handle(_ command: MeshEngine.Command) {
        isDirty = true
        engine.handle(.command(command), now: loop.turnInstant)
    }

    // (4) Drain, (5) send, hand out, arm.

    private func endTurn() {
        // Handing out events can make a command, such as that a reader is full.
        for _ in 0..<4 where isDirty { drain() }
        if isDirty { loop.arm(timers[0], at: loop.turnInstant) }
    }

    private func drain() {
        isDirty = false
        let now = loop.turnInstant
        let deadline = engine.poll(now: now, into: &outlets)
        if !outlets.batch.isEmpty {
            socket.send(outlets.batch, now: now, whose: knownAddresses)
            discovery?.send(outlets.batch, now: now)
        }
        if !outlets.events.isEmpty {
            deliver(outlets.events)
            loop.spoke()
        }
        outlets.removeAll()
        loop.arm(timers[0], at: deadline)
        loop.arm(timers[1], at: socket.deadline)
    }

    private func sendDue() {
        socket.sendDue(now: loop.turnInstant)
        loop.arm(timers[1], at: socket.deadline)
    }

    /// Follows interfaces that come and go.
    private func rescanInterfaces() {
        if discovery?.rescan() == true { handle(.networkChanged) }
        loop.arm(timers[2], at: loop.turnInstant + .seconds(3))
    }

    private func watch(
        _ descriptor: Int32,
        _ body: @escaping @Sendable (isolated Node) -> Void
    ) throws(SystemError) {
        let registration = try loop.register(descriptor) { [weak self] _ in
            self?.assumeIsolated { body($0) }
        }
        registrations.append(registration)
    }

    private func timer(_ body: @escaping @Sendable (isolated Node) -> Void) -> LoopTimer {
        loop.makeTimer { [weak self] in
            self?.assumeIsolated { body($0) }
        }
    }

    /// Where a node was seen in this life.
    func knownAddresses(_ node: NodeID) -> [SocketAddress] { addresses[node] ?? [] }
}
