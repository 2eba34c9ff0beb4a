import MeshWire

// Sending: the header. Receiving: decode, the checks every message passes, and the way to its handler.
extension ConsensusCore {
    /// Queues a message for `process`, if a connection with it is up.
    ///
    /// `epoch` is that of my view unless the message belongs to an attempt.
    mutating func send(_ message: Message, to process: ProcessID, epoch: Epoch? = nil) {
        send(message, to: process, epoch: epoch, flags: 0)
    }

    mutating func send(_ message: Message, to process: ProcessID, epoch: Epoch?, flags: UInt16) {
        guard let index = links.index(of: process.tag) else { return }
        let helper = carrier(links.values[index])
        guard links.values[index].isReachable || helper != nil else { return }
        let bytes = encoded(message, to: process, epoch: epoch, flags: flags)
        if let helper, bytes.count <= ConsensusLimits.relayedBytes {
            return sendRelayed(bytes, to: process, through: helper)
        }
        queue(bytes, to: process)
    }

    /// The same without help, whatever is known of the way.
    mutating func sendDirectly(_ message: Message, to process: ProcessID) {
        guard links[process.tag]?.isReachable == true else { return }
        queue(encoded(message, to: process), to: process)
    }

    private mutating func queue(_ bytes: [UInt8], to process: ProcessID) {
        statistics.sent += 1
        output.messages.append(
            OutgoingMessage(
                to: process,
                bytes: bytes,
                isLarge: bytes.count > Limits.controlBytes
            )
        )
    }

    /// A message of mine with its header.
    func encoded(
        _ message: Message,
        to process: ProcessID,
        epoch: Epoch? = nil,
        flags: UInt16 = 0
    ) -> [UInt8] {
        message.encoded(
            MessageHeader(
                flags: flags,
                sender: me.tag,
                receiver: process.tag,
                epoch: epoch ?? view?.epoch ?? .zero,
                roomTag: roomTag
            )
        )
    }

    mutating func receive(_ bytes: RawSpan, from process: ProcessID, now time: Instant) {
        enter(time)
        guard role != .left else { return }
        let header: MessageHeader
        let message: Message
        do {
            (header, message) = try Message.decode(bytes)
        } catch {
            statistics.malformed += 1
            return
        }
        guard isAcceptable(header, message, from: process) else {
            statistics.misdirected += 1
            return answerBuried(header, process)
        }
        statistics.received += 1
        if links.index(of: process.tag) == nil { touchLink(process) }
        noteHeard(process, isDirect: true)
        counterSeen = max(counterSeen, header.epoch.counter)
        dispatch(message, header, process, isRelayed: false)
    }

    func isAcceptable(
        _ header: MessageHeader,
        _ message: Message,
        from process: ProcessID
    ) -> Bool {
        guard header.sender == process.tag, process.tag != 0, process.tag != me.tag,
            header.receiver == me.tag, !replica.isBuried(process.tag)
        else { return false }
        guard header.epoch.counter <= counterSeen &+ ConsensusLimits.counterLeap else {
            return false
        }
        switch message {
        case .join: return header.roomTag == 0 || header.roomTag == roomTag
        case .offer, .leaveAnswer, .kicked: return genesis == nil || header.roomTag == roomTag
        default: return genesis != nil && header.roomTag == roomTag
        }
    }

    /// Tells a process that leads a branch of its own under its tombstone that it is out.
    ///
    /// It was replaced or kicked while it was cut off, so no view told it; nobody talks with it again,
    /// and unless it hears why, it would wait for the others for ever. Nothing changes here.
    private mutating func answerBuried(_ header: MessageHeader, _ process: ProcessID) {
        guard isLeading, isUsable, replica.isBuried(process.tag), header.sender == process.tag,
            header.receiver == me.tag, header.roomTag == roomTag,
            header.epoch.proposer == process.tag, let link = links[process.tag],
            now - link.answeredAt > .milliseconds(100)
        else { return }
        links.update(process.tag) { $0.answeredAt = now }
        send(.kicked(.kicked, commitPosition), to: process)
    }

    mutating func dispatch(
        _ message: Message,
        _ header: MessageHeader,
        _ process: ProcessID,
        isRelayed: Bool
    ) {
        switch message {
        // Of an attempt or of none: the header's epoch is not the sender's view.
        case .prevote: return receivePrevote(header.epoch, process)
        case .would(let would): return receiveWould(would, header.epoch, process)
        case .prepare(let prepare): return receivePrepare(prepare, header.epoch, process)
        case .promise(let promise): return receivePromise(promise, header.epoch, process)
        case .reject(let promised, let isVeto):
            return receiveReject(promised, isVeto, header.epoch, process)
        case .install(let install): return receiveInstall(install, header.epoch, process)
        case .installed(let head, let hash):
            return receiveInstalled(head, hash, header.epoch, process)
        case .join(let join): return receiveJoin(join, process)
        case .offer(let offer): return receiveOffer(offer, process)
        case .chunk(let chunk): return receiveChunk(chunk, process)
        case .chunkRequest(let request): return receiveChunkRequest(request, process)
        case .fetch(let from, let hash): return receiveFetch(from, hash, process)
        case .entries(let entries): return receiveEntries(entries, process)
        case .propose(let floor, let command):
            return receivePropose(floor, command, header, process)
        case .reply(let reply): return receiveReply(reply)
        case .leave: return receiveLeave(process)
        case .leaveAnswer: return receiveLeaveAnswer(process)
        case .kicked: return receiveKicked(header.epoch, process)
        case .ended: return
        case .mergeOffer(let offer): return receiveMergeOffer(offer, process)
        case .branch(let branch): return receiveBranch(branch, process)
        case .mergeEnd(let nonce, let isBusy): return receiveMergeEnd(nonce, isBusy, process)
        case .beacon(let beacon): return receiveBeacon(beacon, process)
        case .head(let head): return receiveHead(head)
        case .relay(let relay): return receiveRelay(relay, process)
        default: break
        }
        guard let view, header.epoch == view.epoch, view.member(tag: process.tag) != nil else {
            return receiveForeign(message, header.epoch, process, isRelayed: isRelayed)
        }
        if process.tag == view.epoch.proposer { links.update(process.tag) { $0.inView = now } }
        switch message {
        case .heartbeat(let beat): receiveHeartbeat(beat, process)
        case .heartbeatAnswer(let beat): receiveHeartbeatAnswer(beat, process)
        case .append(let append): receiveAppend(append, process)
        case .acknowledgment(let match, _): receiveAcknowledgment(match, process)
        case .missing(let ranges): receiveMissing(ranges, process)
        case .probe(let probe): receiveProbe(probe, process, isRelayed: isRelayed)
        case .probeRequest(let probe): receiveProbeRequest(probe, process)
        case .probeAnswer(let probe):
            receiveProbeAnswer(probe, process, isRelayed: isRelayed)
        case .probeFailure: break
        case .handover(let to, let position): receiveHandover(to, position, process)
        case .readIndex(let nonce): receiveReadIndex(nonce, process)
        case .readAnswer(let nonce, let position): receiveReadAnswer(nonce, position, process)
        default: break
        }
    }

    /// A message of another view: its sender may be a separated component, or one that lags.
    private mutating func receiveForeign(
        _ message: Message,
        _ epoch: Epoch,
        _ process: ProcessID,
        isRelayed: Bool
    ) {
        switch message {
        case .heartbeat(let beat):
            // The leader of the view I promised keeps me while I catch up.
            if let target = catchUp?.target, epoch == target.epoch, promised == epoch {
                answerHeartbeat(beat, process, epoch: epoch)
                return
            }
        case .heartbeatAnswer:
            // A member that is catching up answers in the epoch it promised; else it is elsewhere.
            break
        case .probe(let probe) where probe.target == me.tag:
            if talk?.peer == process, talk?.theirNonce == probe.nonce { talk?.progressAt = now }
            receiveProbe(probe, process, isRelayed: isRelayed)
            return
        default: break
        }
        guard isMember, view?.member(tag: process.tag) == nil, let link = links[process.tag],
            now - link.answeredAt > .milliseconds(100)
        else { return }
        links.update(process.tag) { $0.answeredAt = now }
        sendBeacon(process)
    }
}
