package import MeshWire

extension RoomState {
    /// The view's members, its leader's tag and who left; what ``install(_:departed:at:)`` does.
    package mutating func install(
        members present: [ProcessID],
        leader: UInt64,
        departed: [ProcessID],
        at position: Position
    ) {
        begin(at: position)
        guard upgradeNeeded == nil else { return }
        self.leader = leader
        let present = present.sorted()
        let departed = departed.sorted()

        for member in members {
            let isDeparted = departed.contains(member.process)
            let isReplaced = present.contains {
                $0.nodeID == member.process.nodeID && $0 != member.process
            }
            let isGone = isDeparted || (isReplaced && !present.contains(member.process))
            if isGone { forget(member.process) }
        }
        for process in present where !departed.contains(process) {
            admit(process, at: position)
        }
        for index in members.indices where members[index].isPresent {
            let process = members[index].process
            guard !present.contains(process) else { continue }
            members[index].isPresent = false
            members[index].changedAt = position
            events.append(.memberAway(process))
            setPresence(of: process, false)
        }
        forgetLongestAbsent()
        for index in sessions.indices { assignLead(sessionAt: index, .first) }
    }

    private mutating func admit(_ process: ProcessID, at position: Position) {
        guard let index = memberIndex(process) else {
            let member = RoomMember(
                process: process,
                profile: MemberProfile(),
                isPresent: true,
                changedAt: position
            )
            let place = members.firstIndex { process < $0.process } ?? members.count
            members.insert(member, at: place)
            events.append(.memberJoined(process))
            return
        }
        guard !members[index].isPresent else { return }
        members[index].isPresent = true
        members[index].changedAt = position
        events.append(.memberBack(process))
        setPresence(of: process, true)
    }

    private mutating func setPresence(of process: ProcessID, _ isPresent: Bool) {
        for index in sessions.indices {
            let participants = sessions[index].participants
            guard let place = participants.firstIndex(where: { $0.process == process }) else {
                continue
            }
            sessions[index].participants[place].isPresent = isPresent
            let id = sessions[index].id
            let participant = sessions[index].participants[place]
            events.append(
                isPresent ? .participantBack(id, participant) : .participantAway(id, participant)
            )
        }
    }

    /// Takes a process and its participants out of the room.
    mutating func forget(_ process: ProcessID) {
        guard let member = memberIndex(process) else { return }
        // From the last: an end removes the session under the index.
        for index in sessions.indices.reversed() {
            guard let participant = sessions[index].participant(of: process) else { continue }
            remove(participant.id, fromSessionAt: index, .processLeft)
        }
        members.remove(at: member)
        events.append(.memberLeft(process))
    }

    /// Keeps the table of members bounded: processes that never come back go, oldest first.
    private mutating func forgetLongestAbsent() {
        var absent = members.filter { !$0.isPresent }
        absent.sort { ($0.changedAt, $0.process) < ($1.changedAt, $1.process) }
        for member in absent.dropLast(SessionLimits.absentMembers) { forget(member.process) }
    }
}
