import MeshWire

/// This process on its way out.
struct Departure: Sendable {
    var reason: LeaveReason
    var since: Instant
    var resendAt: Instant
    /// The member that was handed the lead.
    var successor: ProcessID?
}

// Leaving and handover (`30-consensus.md` §11).
extension ConsensusCore {
    mutating func leave(now time: Instant) {
        enter(time)
        depart(.requested)
    }

    private mutating func depart(_ reason: LeaveReason) {
        guard role != .left, departure == nil else { return }
        guard isMember, let view, view.members.count > 1 else { return end(.left(reason)) }
        if !isLeading { attempt = nil }
        talk = nil
        failPending(.notJoined)
        departure = Departure(reason: reason, since: now, resendAt: now)
        tickDeparture()
    }

    private mutating func finishLeaving() {
        end(.left(departure?.reason ?? .requested))
    }

    mutating func tickDeparture() {
        guard let leaving = departure, let view else { return }
        guard view.contains(me) else {
            // The view without me is installed here; its commit needs me no longer than a moment.
            if isViewCommitted || now - leaving.since > .milliseconds(300) {
                finishLeaving()
            }
            return
        }
        if now - leaving.since > .seconds(1) { return finishLeaving() }
        guard now >= leaving.resendAt else { return }
        if isLeading {
            if attempt == nil { handOver() }
        } else if let leader = view.leader {
            departure?.resendAt = now + .milliseconds(40)
            send(.leave(.requested, log.headPosition), to: leader)
        }
    }

    /// Names the best successor once it holds the log; after a moment, whoever holds most.
    private mutating func handOver() {
        guard let leaving = departure, let leader = leading, let view else { return }
        let caughtUp = view.members.map(\.process).filter { process in
            guard let progress = leader.progress[process.tag] else { return false }
            return progress.isInstalled && progress.match == log.head
                && now - progress.respondedAt < .milliseconds(150)
        }
        let successor: ProcessID?
        if let named = leaving.successor, caughtUp.contains(named),
            now - leaving.since < .milliseconds(150)
        {
            successor = named
        } else {
            // Another one, if the first did not take over.
            successor = caughtUp.first { $0 != leaving.successor } ?? caughtUp.first
        }
        guard let successor else { return }
        departure?.successor = successor
        departure?.resendAt = now + .milliseconds(15)
        send(.handover(to: successor.tag, log.headPosition), to: successor)
    }

    mutating func receiveHandover(_ to: UInt64, _ position: Position, _ process: ProcessID) {
        guard to == me.tag, let view, process.tag == view.epoch.proposer, attempt == nil,
            isActive, !isLeading, departure == nil
        else { return }
        begin(
            .handover,
            members: view.members.filter { $0.process != process },
            leavers: [process],
            departed: [process],
            proof: [view.epoch]
        )
    }

    mutating func receiveLeave(_ process: ProcessID) {
        guard let view, view.contains(process) else { return }
        guard isLeading else { return }
        if leading?.leaving.contains(process) == false { leading?.leaving.append(process) }
    }

    /// Tells those that left with this view that it has committed.
    mutating func dismissLeavers() {
        guard let leader = leading, !leader.outside.isEmpty else { return }
        for process in leader.outside {
            send(.leaveAnswer(.requested, commitPosition), to: process)
        }
        if now - leader.startedAt > .milliseconds(200)
            || leader.outside.allSatisfy({ leader.outsideInstalled.contains($0.tag) })
        {
            leading?.outside = []
        }
    }

    mutating func receiveLeaveAnswer(_ process: ProcessID) {
        guard departure != nil else { return }
        finishLeaving()
    }

    mutating func expel(_ process: ProcessID, now time: Instant) {
        enter(time)
        guard isLeading, process != me, view?.contains(process) == true,
            leading?.expelled.contains(process) == false
        else { return }
        leading?.expelled.append(process)
        send(.kicked(.kicked, commitPosition), to: process)
    }

    mutating func receiveKicked(_ epoch: Epoch, _ process: ProcessID) {
        guard let view else { return }
        if view.contains(process) {
            if process.tag == view.epoch.proposer { end(.left(.kicked)) }
        } else if isLeading, epoch.proposer == process.tag {
            // The leader of another branch, where I was buried while I was away. It never talks with
            // me, so those I lead are better off without; who does not lead is judged by the merge.
            depart(.kicked)
        }
    }
}
