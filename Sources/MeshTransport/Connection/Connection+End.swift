package import MeshWire

// The end of a connection, said to the peer or not.
extension Connection {
    /// Ends the connection: CLOSE leaves now and twice more while the peer still talks.
    package mutating func close(reason: CloseReason, text: String) {
        guard life == .open else { return }
        abandon()
        var text = text
        while text.utf8.count > Frame.closeTextBytes { text.removeLast() }
        life = .closing(reason, text: text, left: 3, isOwed: true)
    }

    /// Ends every open send with `peerLost` and frees everything, without a word to the peer.
    package mutating func abandon() {
        guard life == .open else { return }
        life = .closed
        for index in outgoing.indices {
            let number = outgoing[index].number
            for queue in [outgoing[index].sent, outgoing[index].unsent] {
                for place in 0..<queue.count {
                    guard let message = queue[place], message.state == .live else { continue }
                    let token = SendToken(channel: number, number: message.token)
                    report(token, .peerLost, wanted: message.reportsOutcome)
                }
            }
            for key in outgoing[index].latest.keys.sorted() {
                guard let value = outgoing[index].latest[key], !value.isWhole else { continue }
                let token = SendToken(channel: number, number: value.token)
                report(token, .peerLost, wanted: value.reportsOutcome)
            }
        }
        for message in fast.pending where !message.header.isLatest {
            let token = SendToken(channel: message.header.channel, number: message.token)
            report(token, .peerLost, wanted: message.reportsOutcome)
        }
        outgoing.removeAll()
        incoming.removeAll()
        scheduler.removeAll()
        expiries.removeAll()
        urgent.removeAll()
        urgentWaiting.removeAll()
        controls.removeAll()
        onceFrames.removeAll()
        endpointFrames.removeAll()
        fast.removeAll()
        fastAwaited.removeAll()
        latestTimers.removeAll()
        heldFast.removeAll()
        fastReassembly = FastReassembly()
        for index in spaces.indices {
            spaces[index].sent.removeAll()
            spaces[index].inFlightCount = 0
            spaces[index].lossTime = nil
        }
        inFlightBytes = 0
        queuedCost = 0
        heldSlots = 0
    }
}
