import MeshWire

/// The 42 bytes before every message's fields (`30-consensus.md` §4).
///
/// ```
///  0 type u8   1 version u8 (1)   2 flags u16   4 sender tag u64   12 receiver tag u64
/// 20 counter u64   28 proposer u64   36 room tag u48 (the first bytes of the genesis)
/// ```
/// Counter and proposer name the sender's view, or the view that is being formed.
struct MessageHeader: Hashable, Sendable {
    var flags: UInt16 = 0
    var sender: UInt64
    /// Zero: any process, for a JOIN alone.
    var receiver: UInt64
    var epoch: Epoch
    /// 48 bits; zero before the room is known.
    var roomTag: UInt64

    static let byteCount = 42
    /// The message was passed on once already.
    static let forwarded: UInt16 = 1
}

/// What one process tells another.
enum Message: Sendable {
    case beacon(Beacon)
    case heartbeat(Heartbeat)
    case heartbeatAnswer(Heartbeat)
    case append(Append)
    case acknowledgment(match: UInt64, durable: UInt64)
    case missing([ClosedRange<UInt64>])
    case propose(floor: UInt64, Command)
    case reply(Reply)
    case probe(Probe)
    case probeRequest(Probe)
    case probeAnswer(Probe)
    case probeFailure(Probe)
    case head(SignedHead)
    case relay(Relay)
    case prevote(head: Position)
    case would(Would)
    case prepare(Prepare)
    case promise(Promise)
    case reject(promised: Epoch, isVeto: Bool)
    case fetch(from: UInt64, previousHash: Digest)
    case entries(Append)
    case install(Install)
    case installed(head: UInt64, hash: Digest)
    case handover(to: UInt64, Position)
    case leave(LeaveReason, Position)
    case leaveAnswer(LeaveReason, Position)
    case kicked(LeaveReason, Position)
    case ended(LeaveReason, Position)
    case join(Join)
    case offer(Offer)
    case chunk(Chunk)
    case chunkRequest(ChunkRequest)
    case mergeOffer(MergeOffer)
    case branch(Branch)
    case mergeEnd(nonce: UInt64, isBusy: Bool)
    case readIndex(nonce: UInt64)
    case readAnswer(nonce: UInt64, Position)
}

extension Message {
    /// "My view exists": what separated components find each other by.
    struct Beacon: Hashable, Sendable {
        var epoch: Epoch
        var head: UInt64
        var hashPrefix: UInt64
        var size: UInt16
        var isPrimary: Bool
    }

    /// A sign of life of the leader, and its answer.
    struct Heartbeat: Hashable, Sendable {
        var sequence: UInt32
        var commit: UInt64
        var head: UInt64
        var hashPrefix: UInt64
        var hasQuorum: Bool
        var health: UInt8
        /// By rank in the view: whom the sender hears.
        var heardFrom: UInt64
        var promised: Epoch
        /// The sender's clock in nanoseconds; an answer repeats the one it answers in `echoed`.
        var sentAt: UInt64
        var echoed: UInt64
    }

    /// Entries that continue a point of the chain.
    struct Append: Sendable {
        var previous: UInt64
        var previousHash: Digest
        var commit: UInt64
        var entries: [Entry]
    }

    /// How a command ended.
    struct Reply: Hashable, Sendable {
        var sequence: UInt64
        var status: Status
        var view: Epoch
        var position: Position
        var isPrimary: Bool
        var result: [UInt8]

        enum Status: UInt8, Sendable {
            case done = 0
            case badSignature = 1
            case notMember = 2
            case busy = 3
            case notPrimary = 4
            case expired = 5
            case noStore = 6
        }
    }

    /// "Do you live?", asked directly or through a helper, and the answers.
    struct Probe: Hashable, Sendable {
        var nonce: UInt64
        var target: UInt64
        /// Milliseconds since the sender heard its leader; .max: never.
        var leaderAge: UInt16
        var hasQuorum: Bool
    }

    /// Whether the sender would promise.
    struct Would: Hashable, Sendable {
        var yes: Bool
        var lastView: Epoch
        var commit: UInt64
        var heardFrom: UInt64
        var promised: Epoch
    }

    /// Why a view is being formed.
    enum Reason: UInt8, Sendable {
        /// The leader fell silent.
        case suspicion = 0
        /// The leader changes its own view.
        case change = 1
        /// The leader handed over.
        case handover = 2
        /// Two branches met.
        case merge = 3
    }

    /// A proposer asks: "promise me this epoch".
    struct Prepare: Hashable, Sendable {
        var tags: [UInt64]
        var head: Position
        var reason: Reason
        /// Views whose leaders consent.
        var proof: [Epoch]
    }

    /// "I promise": where the sender's log stands.
    struct Promise: Hashable, Sendable {
        var lastView: Epoch
        var head: Position
        var headHash: Digest
        var commit: UInt64
        var heardFrom: UInt64
        var ability: UInt8
        /// Whether ``lastView`` goes on without the weight: a branch of its own, never a source.
        var isForced: Bool
        var required: [PrimaryConfiguration]
    }

    /// "This is the view": its entry, and the point of the chain that it continues.
    ///
    /// Where branches met, a merge entry stands behind it; both are taken or neither.
    struct Install: Sendable {
        var previous: Position
        var previousHash: Digest
        var entry: Entry
        var merge: Entry?

        /// The last entry's index.
        var head: UInt64 { (merge ?? entry).position.index }

        /// Whether it travels on the reliable lane.
        var isLarge: Bool {
            entry.bytes.count + (merge?.bytes.count ?? 0) + 128 > Limits.controlBytes
        }

        /// What the merge entry says.
        var mergeRecord: MergeRecord? {
            if case .merge(let record)? = merge?.body { record } else { nil }
        }
    }

    /// "Let me in", or "bring me up to date": where my log stands, best first.
    struct Join: Hashable, Sendable {
        var ability: UInt8
        var policy: UInt8
        var heads: [Head]
    }

    /// A point of a chain.
    struct Head: Hashable, Sendable {
        var index: UInt64
        var hash: Digest
    }

    /// How a learner gets the log.
    enum Offer: Hashable, Sendable {
        /// From this point of the learner's on, by FETCH.
        case delta(genesis: Digest, index: UInt64)
        /// By a snapshot in chunks.
        case manifest(Manifest)
        /// Ask this process, the leader.
        case redirect(ProcessID)
        /// Never.
        case refusal(JoinRefusal)
    }

    /// What a snapshot is.
    struct Manifest: Hashable, Sendable {
        var genesis: Digest
        var policy: PartitionPolicy
        var position: Position
        var hash: Digest
        var byteCount: UInt32
        var chunkBytes: UInt32
        var digest: Digest
    }

    struct Chunk: Hashable, Sendable {
        var position: Position
        var index: UInt32
        var bytes: [UInt8]
    }

    struct ChunkRequest: Hashable, Sendable {
        var position: Position
        var first: UInt32
        var count: UInt8
    }

    /// A leader's pinned summary of its branch.
    struct MergeOffer: Hashable, Sendable {
        var nonce: UInt64
        /// The other side's nonce, once known.
        var echoed: UInt64
        var summary: BranchSummary
    }

    /// A losing leader says: "take my members, and this is what they did".
    struct Branch: Sendable {
        var nonce: UInt64
        var echoed: UInt64
        var epoch: Epoch
        var head: Position
        var members: [Member]
        /// The views that the winner does not have, the present one last.
        var views: [LineageView]
        /// Tags of processes that left for good, ascending.
        var buried: [UInt64]
        /// Processes that the branch itself lost.
        var estranged: [ProcessID]
        /// Origins that were active since the fork.
        var origins: [Origins.Record]
        /// The commands since the fork, those it took in itself among them; `.applied` but for what
        /// already lost in its own merges.
        var commands: [MergedCommand]
        /// Whether the log reached back to the fork.
        var isComplete: Bool
        /// The state at the fork, if it was kept.
        var base: State?
        /// The state at `head`.
        var state: [UInt8]

        /// About how many bytes it takes.
        var byteCount: Int {
            let payloads = commands.reduce(0) {
                $0 + $1.command.payload.count + Command.overheadBytes + 25
            }
            return 512 + state.count + (base?.bytes.count ?? 0) + payloads + members.count * 73
                + views.count * (64 + 8 * members.count) + origins.count * 128
        }

        struct State: Hashable, Sendable {
            var position: Position
            var bytes: [UInt8]
        }
    }
}
