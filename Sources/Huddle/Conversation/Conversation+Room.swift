import FoundationEssentials

extension Conversation {
    /// The room of the conversation's node, if there is one: its members, notices and invitations.
    public var room: Room? {
        get async { await currentNode?.room }
    }

    /// The room of the conversation's node; if it is in none, a new one of this name.
    ///
    /// A process without a node goes into the room of the node that `huddle up` runs for this user, or gets a
    /// node of its own. Throws ``HuddleError`` if neither can be had.
    package func room(orNew name: String) async throws(HuddleError) -> Room {
        if let node = currentNode { return try await room(of: node, orNew: name) }
        // Not the folder of a node that is on its way into that room already, or of another conversation.
        let number = UInt32.random(in: .min ... .max)
        let folder = "\(ProcessInfo.processInfo.processIdentifier).\(number)"
        let node: Node
        do throws(EligibilityDiagnosis) {
            guard self === Self.process else { throw .noRoom }
            node = try await LocalRoom.enter(folder)
        } catch {
            node = try await LocalRoom.start(folder)
        }
        if let other = currentNode {
            await node.stop()
            return try await room(of: other, orNew: name)
        }
        let room = try await room(of: node, orNew: name)
        await use(node)
        return room
    }

    /// Ends `duration` later by the clock of the conversation's node, or when the task is cancelled.
    package func sleep(for duration: Duration) async {
        if let node = currentNode {
            await node.sleep(for: duration)
        } else {
            try? await Task.sleep(for: duration)
        }
    }

    private func room(of node: Node, orNew name: String) async throws(HuddleError) -> Room {
        if let room = await node.room { return room }
        return try await node.createRoom(named: name)
    }
}
