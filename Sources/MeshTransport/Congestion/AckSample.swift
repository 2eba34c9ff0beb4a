import MeshWire

/// What an acknowledgment told of all packets, and of those of the background class by themselves.
struct AckSamples: Sendable {
    var all = AckSample()
    var background = AckSample()

    /// The background's share, with what is measured of the path in common.
    func yielding(isFull: Bool, inFlight: Int) -> AckSample {
        var sample = background
        sample.lossRuns = all.lossRuns
        sample.roundTrip = all.roundTrip
        sample.rate = all.rate
        sample.roundEnded = all.roundEnded
        sample.isApplicationLimited = !isFull
        sample.isFull = isFull
        sample.inFlight = inFlight
        return sample
    }
}

/// What one acknowledgment, or the timer of one, told of the packets in flight.
struct AckSample: Sendable {
    /// Bytes that arrived.
    var acknowledged = 0
    /// Of these, bytes of packets of the current tag.
    var acknowledgedOfTag = 0
    /// Bytes declared lost.
    var lost = 0
    /// Bytes that had been declared lost and came after all.
    var undone = 0
    /// Packets that arrived, and of these those of the current tag.
    var packets = Tally()
    /// Packets declared lost.
    var lostPackets = Tally()
    /// Packets that came after all.
    var undonePackets = Tally()
    /// Runs of losses: packets lost whose predecessor was not.
    var lossRuns = 0
    /// The round-trip time, if the acknowledgment gave one.
    var roundTrip: Duration?
    /// Bytes a second between sending and arrival of the newest packet, if they can be told.
    var rate: Double?
    /// Whether that packet left while the application had nothing more to send.
    var isApplicationLimited = false
    /// Whether a packet sent since the last such sample arrived: a round ended.
    var roundEnded = false
    /// Whether window or pacer held data back during the round.
    var isFull = false
    /// Bytes in flight now.
    var inFlight = 0

    /// A packet arrived, or came after all if it `wasLost`.
    mutating func arrived(_ byteCount: Int, isTagged: Bool, wasLost: Bool) {
        if wasLost {
            undone += byteCount
            undonePackets.count(isTagged: isTagged)
        } else {
            acknowledged += byteCount
            if isTagged { acknowledgedOfTag += byteCount }
            packets.count(isTagged: isTagged)
        }
    }

    /// A packet is declared lost.
    mutating func lost(_ byteCount: Int, isTagged: Bool) {
        lost += byteCount
        lostPackets.count(isTagged: isTagged)
    }

    /// Packets, and of these those that belong to the experiment that runs.
    struct Tally: Hashable, Sendable {
        var all = 0
        var tagged = 0

        mutating func count(isTagged: Bool) {
            all += 1
            if isTagged { tagged += 1 }
        }
    }
}
