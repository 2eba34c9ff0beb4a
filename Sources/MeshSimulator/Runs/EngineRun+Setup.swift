import MeshConsensus
import MeshEngine
import MeshSession
import MeshTransport
import MeshWire

/// The room of all nodes and its session, before the faults begin.
extension EngineRun {
    /// Makes the room, by short codes or by the stored record, and the session with all in it.
    func makeRoom() throws(Violation) {
        let founder = Int(draw.next() % UInt64(swarm.nodes))
        let create = takeRequest(founder, .control)
        try perform(.createRoom(create, name: "room", policy: policy), on: founder)
        try wait("a room is created within 1 s", .seconds(1)) { answers[create] != nil }
        try wait("the room's record comes within 1 s", .seconds(1)) { records[founder] != nil }
        let usesCodes = draw.happens(0.5)
        for index in 0..<swarm.nodes where index != founder {
            if usesCodes {
                try joinByCode(index, of: founder)
            } else if var record = records[founder] {
                if draw.happens(0.5) { record.addresses = [world.nodes[founder].address] }
                records[index] = record
                try rejoin(index)
            }
        }
        try wait("everybody is in one view within 3 s on a perfect network", .seconds(3)) {
            core().count == swarm.nodes && Convergence().obstacle(core()) == nil
        }
        try makeSession(founder)
    }

    private func joinByCode(_ index: Int, of founder: Int) throws(Violation) {
        let invite = takeRequest(founder, .control)
        try perform(.openInvite(invite), on: founder)
        guard case .inviteOpened(_, let open)? = answers[invite] else {
            throw Violation("a member can open an invitation", "\(life(founder)) could not")
        }
        let join = takeRequest(index, .control)
        let near = draw.happens(0.3) ? world.nodes[founder].address : nil
        try perform(.join(join, .code(open.code, near: near)), on: index)
        try wait("a short code lets a guest in within 3 s", .seconds(3)) { answers[join] != nil }
        guard case .joined? = answers[join] else {
            throw Violation("a short code lets a guest in", "\(life(index)) was refused")
        }
    }

    private func makeSession(_ founder: Int) throws(Violation) {
        let blueprint = SessionBlueprint(activity: Activity(identifier: "sim"))
        let start = takeRequest(founder, .control)
        try perform(
            .submit(start, .startSession(blueprint), session: session, level: .majority),
            on: founder
        )
        try wait("a session starts within 1 s", .seconds(1)) {
            world.nodes.allSatisfy { $0.process?.room?.session(session) != nil }
        }
        for index in 0..<swarm.nodes { try joinSession(index) }
        try wait("everybody is in the session within 1 s", .seconds(1)) {
            world.nodes.allSatisfy {
                $0.process?.room?.session(session)?.participants.count == swarm.nodes
            }
        }
        try advance(to: Self.start)
    }

    /// Lets a node's process become a participant.
    func joinSession(_ index: Int) throws(Violation) {
        let request = takeRequest(index, .control)
        joining[index] = request
        try perform(
            .submit(request, .join(nonce: request), session: session, level: .majority),
            on: index
        )
    }

    private func wait(
        _ claim: String,
        _ limit: Duration,
        _ condition: () -> Bool
    ) throws(Violation) {
        let end = world.time + limit
        while !condition() {
            guard world.time < end else {
                let obstacle = Convergence().obstacle(core())
                throw Violation(claim, obstacle ?? "\(core().count) of \(swarm.nodes) are in")
            }
            try advance(to: world.time + .milliseconds(5))
        }
    }
}
