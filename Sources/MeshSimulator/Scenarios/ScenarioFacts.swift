import MeshConsensus
import MeshWire

extension Scenario {
    /// A fact, and when it counts.
    struct Claim: Sendable {
        var fact: Fact
        /// For `never`: only between these times.
        var range: ClosedRange<Instant>?
    }

    /// What can be true of nodes.
    ///
    /// Names of processes are those of the transcript: `B`, and `B#2` for the second process of B.
    enum Fact: Sendable {
        /// The node's view is such a one.
        case view(ViewPattern)
        /// The node installed such a view, since the last `at` or, for `never`, from then on.
        case viewChange(ViewPattern)
        /// How many views the node installed, since the last `at` or the time given.
        case views(Comparison, since: Instant?)
        /// The counter of the node's view.
        case counter(Comparison)
        case role(Role)
        /// `nil`: nothing was ever written.
        case value(key: String, String?)
        /// All have the same log and the same state.
        case sameHash
        /// How many different views are held for primary.
        case primaries(Comparison)
        /// One of the counters of consensus.
        case count(String, Comparison)
        /// What the node sends to another goes through this helper; `nil`: it goes directly.
        case relay(to: String, via: String?)
        /// The command with this label was answered so.
        case answer(label: String, AnswerPattern)
        /// Something was told to the application since the last `at` or, for `never`, from then on.
        case event(String)
        /// The node was told of such a merge, since the last `at` or, for `never`, from then on.
        case merge(MergePattern)
        /// What the node was told last of the command at this position of a branch that lost.
        case outcome(String, MergeOutcome)
        /// A value on which two branches disagreed, not yet acknowledged; `nil`: it was absent.
        case conflict(key: String, kept: String?, lost: String?)
        /// Nothing is left to acknowledge.
        case noConflicts
        case session(String, isThere: Bool)
        case participants(session: String, [String], lead: String?)
        case away(session: String, [String])
        case lead(session: String, String?)
    }

    /// What a view must be like; `nil` where it does not matter.
    struct ViewPattern: Hashable, Sendable {
        /// `counter@leader`.
        var epoch: String?
        var members: [String]?
        var parents: [String]?
        var leader: String?
        var isPrimary: Bool?
        var isUsable: Bool?
    }

    /// What a merge must be like; `nil` where it does not matter.
    struct MergePattern: Hashable, Sendable {
        /// `counter@leader`.
        var winner: String?
        var loser: String?
        /// `counter@leader:index`, or `none` if the branches share nothing that is known.
        var fork: String?
    }

    /// How a command must be answered.
    enum AnswerPattern: Hashable, Sendable {
        /// Done, at this position if one is given.
        case ok(String?, within: Duration)
        /// Refused, for this reason if one is given.
        case refused(String?, within: Duration)
        /// Read; `nil`: nothing was ever written.
        case value(String?, isPrimary: Bool?, within: Duration)
        /// Not answered for so long.
        case unanswered(Duration)
    }

    /// A number and how another must compare with it.
    struct Comparison: Hashable, Sendable {
        enum Relation: String, CaseIterable, Sendable {
            case atMost = "<="
            case atLeast = ">="
            case equal = "="
        }

        var relation: Relation
        var number: UInt64

        func holds(_ value: UInt64) -> Bool {
            switch relation {
            case .atMost: value <= number
            case .atLeast: value >= number
            case .equal: value == number
            }
        }
    }
}

/// The messages of consensus by the names of `30-consensus.md` §4.
enum MessageType: UInt8, CaseIterable, Sendable {
    case beacon = 0x01
    case hb, hback, append, ack, nack, propose, reply, probe, probereq, probeack, probenack, head
    case relay
    case prevote = 0x10
    case would, prepare, promise, reject, fetch, entries, install, installed
    case handover, leave, leaveack, kicked, ended
    case join = 0x20
    case offer, chunk, chunkreq
    case mergeoffer = 0x28
    case forkpoints, branch, mergeend
    case readindex = 0x30
    case readack

    /// As the text names it.
    var name: String { "\(self)".uppercased() }

    init?(name: String) {
        guard let type = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = type
    }
}
