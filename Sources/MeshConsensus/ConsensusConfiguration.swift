package import MeshWire

/// The tunable figures of consensus (`30-consensus.md` §5).
package struct ConsensusConfiguration: Sendable {
    /// The room; it enters the genesis hash, never a message.
    package var room: RoomID
    /// The quorum rule that this process demands of a room; `nil` founds ``PartitionPolicy/available``
    /// and joins any.
    package var policy: PartitionPolicy?
    /// h: the time between two heartbeats of the leader; shorter finds a crash earlier, costs packets.
    package var heartbeat: Duration = .milliseconds(50)
    /// D for three and more members: silence after which a member is suspect.
    package var detection: Duration = .milliseconds(250)
    /// D for two members; a pair has no helpers, so a burst of loss must fit in.
    package var detectionPair: Duration = .milliseconds(400)
    /// The cap of D, however often it was raised.
    package var detectionMaximum: Duration = .seconds(3)
    /// The time between two proposers of neighbouring rank, at least.
    package var stagger: Duration = .milliseconds(15)
    /// Many joins within this time make one view.
    package var joinBatching: Duration = .milliseconds(20)
    /// The time between beacons to processes out of the view.
    package var beacon: Duration = .seconds(1)
    /// Entries above which the log is compacted.
    package var compactionEntries = 4096
    /// Bytes above which the log is compacted.
    package var compactionBytes = 1 << 20
    /// Entries kept behind the slowest live member.
    package var keptEntries = 1024
    /// Bytes of the log at which a laggard is left to a snapshot.
    package var logBytesMaximum = 8 << 20
    /// Bytes of a snapshot's chunk.
    package var chunkBytes = 16 << 10

    /// How often a node's commands of some types may enter the log; those of equal paces count as one.
    ///
    /// The leader puts no more into the log, whoever asks; what comes too early is taken when its time has
    /// come. It forgives half of the burst, since what was spread in time may arrive at once.
    package var paces: [UInt16: Pace] = [:]

    /// The defaults for `room`.
    package init(room: RoomID) { self.room = room }
}

/// Counters of one process.
package struct ConsensusStatistics: Sendable, Hashable {
    /// Messages taken.
    package var received = 0
    /// Messages made.
    package var sent = 0
    /// Messages that did not decode.
    package var malformed = 0
    /// Messages dropped for their header: receiver, room, own tag, tombstone, far counter.
    package var misdirected = 0
    /// Views installed.
    package var views = 0
    /// Attempts to form a view begun.
    package var attempts = 0
    /// Members that were suspected and heard again within 10 s.
    package var falseSuspicions = 0
    /// Merges this process took part in as a losing member.
    package var branchesLost = 0
    /// Branches merged into this process's history.
    package var merges = 0
    /// Snapshots made for others.
    package var snapshotsServed = 0
    /// Snapshots taken.
    package var snapshotsTaken = 0
    /// Commands applied.
    package var applied = 0
    /// Commands whose signature failed.
    package var badSignatures = 0
    /// Leaders caught with two histories.
    package var equivocations = 0
    /// Direct ways found broken, where a helper stepped in.
    package var relaysBegun = 0
    /// Messages carried for others.
    package var relaysCarried = 0
    /// Messages that came through a helper.
    package var relaysReceived = 0
    /// Relayed messages dropped: forged, sent a second time, or on a second hop.
    package var relaysRefused = 0
    /// Relayed messages dropped for their number.
    package var relaysOverBound = 0
    /// Pauses of the process noticed.
    package var pauses = 0

    /// All zero.
    package init() {}
}
