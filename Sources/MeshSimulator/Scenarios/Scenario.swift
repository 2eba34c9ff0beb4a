import MeshConsensus
import MeshFaults
import MeshSession
import MeshWire

/// A story of a room as text: what happens when, and what must hold (`30-consensus.md` §14).
///
/// Made by ``init(parsing:)``, told by ``run(observer:)``. The format is described in the article
/// "Simulation".
package struct Scenario: Sendable {
    /// The name that the first line gives it.
    package internal(set) var name = ""
    /// What all chance is drawn from.
    package internal(set) var seed: UInt64 = 1
    /// The rule that the room follows.
    var policy = PartitionPolicy.available
    /// Whether it takes so long that only a long run tells it.
    package internal(set) var isLong = false
    /// What stands under a node.
    package internal(set) var layer = SimulatedLayer.consensus
    /// The transcript that stands below `----`, if any; without a line end at its end.
    package internal(set) var transcript: String?
    /// The text above `----`, as it was written.
    package internal(set) var source = ""

    /// The nodes' names; their places are their numbers.
    var nodes: [String] = []
    /// The nodes without a process at the beginning.
    var down: [Int] = []
    /// The nodes that have another's identity, and whose.
    var clones: [Int: Int] = [:]
    /// The clocks that do not show the world's time.
    var clocks: [Int: VirtualClock] = [:]
    /// How fit nodes are to lead; others are the fitter the earlier they are named, from 200 down.
    var abilities: [Int: UInt8] = [:]
    /// What the links do at the beginning, in the order written.
    var links: [LinkRule] = []
    /// Whether messages are forged, so that the newest are kept.
    var forges = false
    var body: [Statement] = []
}

extension Scenario {
    /// A statement and where it stands.
    struct Statement: Sendable {
        var line: Int
        /// As it was written, without comments.
        var text: String
        var action: Action
    }

    indirect enum Action: Sendable {
        /// Moves the time to this, counted from the beginning.
        case at(Duration)
        /// Moves the time on by this, counted from the last `at`.
        case after(Duration)
        case command(who: Who, Verb, label: String?, answer: AnswerPattern?)
        case network(NetworkAction)
        case expect(Who, [Claim], within: Duration)
        case never(Who, [Claim])
        /// The body so many times, each time begun no earlier than `every` after the last.
        case repeated(Int, every: Duration, [Statement])
    }

    /// Of whom a statement speaks.
    enum Who: Hashable, Sendable {
        /// Every process that runs and has not left.
        case all
        case nodes([Int])
    }

    /// What an application asks of its node.
    enum Verb: Hashable, Sendable {
        case create
        /// `nil`: by whomever is heard first.
        case join(via: Int?)
        case leave
        case kick(String)
        /// A person says that the component of the node is the room.
        case adoptPrimary
        case put(key: String, value: String, Demands)
        case add(key: String, amount: Int64, Demands)
        case compareAndSet(key: String, expected: String, value: String, Demands)
        case read(key: String, isLocal: Bool)
        case startSession(String, activity: String, slot: String, LeadMode, Demands)
        case joinSession(String)
        case leaveSession(String)
        case endSession(String, Demands)
        case takeLead(String)
        case giveLead(String, to: String)
        /// The conflict about a value is seen.
        case acknowledgeConflict(key: String)
    }

    /// When a command counts as done.
    struct Demands: Hashable, Sendable {
        var level = WriteLevel.majority
        var requiresPrimary = false
    }

    /// What happens to machines and links.
    enum NetworkAction: Sendable {
        /// Groups that do not hear each other; replaces the groups cut before.
        case cut([[Int]])
        /// Directions in which nothing passes; added to those cut before.
        case cutLinks([Link])
        /// Ends every cut.
        case heal
        case link(LinkRule)
        case crash([Int], Trigger?)
        case restart([Int])
        case pause([Int], Duration, Trigger?)
        /// The node receives at a new address from now on, and nobody at the old one.
        case move(Int)
        case clock(Int, jump: Duration)
        /// Messages of these types vanish, on this link or on all.
        case drop([MessageType], LinkPattern)
        /// Messages of these types wait for a `release`.
        case hold([MessageType], LinkPattern)
        /// Ends `drop` and `hold`, and lets go what was held.
        case release
        case forge(Forgery)
    }

    /// A direction.
    struct Link: Hashable, Sendable {
        var from: Int
        var to: Int
    }

    /// Some directions; `nil` stands for every node.
    struct LinkPattern: Hashable, Sendable {
        var from: Int?
        var to: Int?

        func matches(_ from: Int, _ to: Int) -> Bool {
            (self.from ?? from) == from && (self.to ?? to) == to
        }
    }

    struct LinkRule: Sendable {
        var pattern: LinkPattern
        var conditions: LinkConditions
    }

    /// Waits for a node to send a message of this type.
    struct Trigger: Hashable, Sendable {
        var type: MessageType
        /// To whom; `nil`: to anybody.
        var to: Int?
        /// Whether the message still goes out.
        var isAfter: Bool
    }

    /// The newest message of a type that a node sent, sent once more with something changed.
    struct Forgery: Hashable, Sendable {
        enum Sender: Hashable, Sendable { case same, receiver, nobody }

        var type: MessageType
        var link: Link
        /// Whether the header names `link.to`; else the message keeps its receiver.
        var readdresses = true
        var sender = Sender.same
        /// For heartbeats, the commit they claim.
        var commit: UInt64?
    }
}

extension Scenario.Verb {
    /// The same with the number of a round of `repeat` for each `@` in its key.
    func numbered(_ round: Int) -> Self {
        func numbered(_ key: String) -> String {
            key.split(separator: "@", omittingEmptySubsequences: false)
                .joined(separator: "\(round)")
        }
        switch self {
        case .put(let key, let value, let demands):
            return .put(key: numbered(key), value: value, demands)
        case .add(let key, let amount, let demands):
            return .add(key: numbered(key), amount: amount, demands)
        case .compareAndSet(let key, let expected, let value, let demands):
            return .compareAndSet(
                key: numbered(key),
                expected: expected,
                value: value,
                demands
            )
        case .read(let key, let isLocal): return .read(key: numbered(key), isLocal: isLocal)
        case .create, .join, .leave, .kick, .adoptPrimary, .startSession, .joinSession,
            .leaveSession,
            .endSession, .takeLead, .giveLead, .acknowledgeConflict:
            return self
        }
    }
}
