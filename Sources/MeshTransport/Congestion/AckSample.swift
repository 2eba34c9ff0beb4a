import MeshWire

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
