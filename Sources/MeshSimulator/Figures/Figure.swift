import MeshFaults
import MeshWire

/// A figure of the design's goals that the simulator can measure (`30-consensus.md` §16).
package enum Figure: String, CaseIterable, Sendable {
    /// From the leader's death to the first write that is accepted anywhere; the survivors, at most 15
    /// of them, have asked for one at that instant.
    case failover
    /// The same at one survivor, drawn beforehand: what one application sees.
    case outage
    /// From the leader's wish to leave to the first write that is accepted anywhere.
    case leave
    /// From the end of a cut through the room to one usable view of all.
    case heal
    /// From the start of a process to its place in a usable view, with 1 MB of state to fetch.
    case join
    /// From a command at the leader to its answer, at a round trip of 2 ms.
    case commit
    /// The same for a command at another member; no goal speaks of it.
    case write
    /// How often a room in which nobody failed leaves the view of all, by the hour.
    case falseViews
    /// Control messages a second of a member in a quiet room: sent, and received.
    case memberPackets
    /// The same for the leader.
    case leaderPackets

    /// What the numbers are.
    package var unit: String {
        switch self {
        case .falseViews: "an hour"
        case .memberPackets, .leaderPackets: "/s"
        default: "ms"
        }
    }

    /// What must happen to a room so that this can be measured.
    package var trial: FigureTrial {
        switch self {
        case .failover, .outage, .leave: .turnover
        case .heal: .heal
        case .join: .join
        case .commit, .write: .commit
        case .falseViews, .memberPackets, .leaderPackets: .quiet
        }
    }
}

/// What happens to a room while figures are measured.
package enum FigureTrial: String, CaseIterable, Sendable {
    /// The leader is killed and comes back; then it leaves and comes back.
    case turnover
    /// The room is cut in two for some seconds.
    case heal
    /// Another process joins, and leaves again.
    case join
    /// The leader, then another member, writes.
    case commit
    /// Nothing.
    case quiet

    /// What it measures.
    package var figures: [Figure] { Figure.allCases.filter { $0.trial == self } }
}

/// What the links of a measured room do, besides delay.
package enum FigureNetwork: Hashable, Sendable {
    /// Each datagram is lost with this probability, in percent.
    case loss(Int)
    /// Each direction is out for a tenth of the time, 100 ms on average.
    case bursts

    /// Those of the table.
    package static let all: [FigureNetwork] = [
        .loss(0), .loss(1), .loss(10), .loss(30), .bursts,
    ]

    /// One way of the table's rooms: 0.5 to 4 ms.
    package static let delay = (
        mean: Duration.microseconds(2250), jitter: Duration.microseconds(1750)
    )

    /// What a link does that takes `delay` and strays by `jitter`.
    func conditions(delay: Duration, jitter: Duration) -> LinkConditions {
        var conditions = LinkConditions()
        conditions.delay = delay
        conditions.jitter = jitter
        if case .loss(let percent) = self, percent > 0 {
            conditions.loss = .independent(Double(percent) / 100)
        }
        return conditions
    }

    /// When its links carry nothing.
    var outages: Links.Outages? {
        self == .bursts ? .init(percent: 10, mean: .milliseconds(100)) : nil
    }
}

extension FigureNetwork: CustomStringConvertible {
    package var description: String {
        switch self {
        case .loss(let percent): "loss \(percent) %"
        case .bursts: "10 % bursts"
        }
    }
}

/// What a figure may be: the median and the 99th of 100, in the figure's unit.
package struct FigureGoal: Hashable, Sendable {
    /// The most that the median may be, if the design says so.
    package var median: Double?
    /// The most that 99 of 100 may be; of a rate, the rate.
    package var most: Double

    init(_ median: Double?, _ most: Double) {
        self.median = median
        self.most = most
    }

    /// The goal of the design's table for a room of `nodes`, if it names one.
    package init?(_ figure: Figure, nodes: Int, _ network: FigureNetwork) {
        // By column: at most 1 %, 10 %, 30 %, bursts.
        let column: Int
        switch network {
        case .loss(...1): column = 0
        case .loss(...10): column = 1
        case .loss: column = 2
        case .bursts: column = 3
        }
        let row: [FigureGoal?]
        switch figure {
        case .failover where nodes == 2:
            row = [.init(420, 500), .init(420, 600), .init(450, 700), .init(1000, 2000)]
        case .failover where nodes <= 16:
            row = [.init(260, 320), .init(280, 350), .init(320, 500), .init(450, 900)]
        case .failover:
            row = [.init(350, 500), .init(400, 600), .init(500, 800), nil]
        case .leave:
            row = [.init(nil, 20), .init(nil, 60), .init(nil, 120), .init(nil, 300)]
        case .heal where nodes <= 16:
            row = [.init(nil, 1500), .init(nil, 2000), .init(nil, 3000), .init(nil, 3000)]
        case .join:
            row = [.init(nil, 500), .init(nil, 800), .init(nil, 2000), .init(nil, 2000)]
        case .commit:
            let roundTrip = FigureRoom.roundTrip.milliseconds
            row = [
                .init(1.2 * roundTrip, 2.5 * roundTrip), .init(nil, 25), .init(nil, 60), nil,
            ]
        case .falseViews where nodes == 2:
            row = [.init(nil, 0.01), .init(nil, 0.05), .init(nil, 0.1), .init(nil, 1)]
        case .falseViews where nodes >= 5:
            row = [.init(nil, 0), .init(nil, 0.01), .init(nil, 0.1), .init(nil, 0.05)]
        case .memberPackets where nodes == 8: row = [.init(nil, 25), nil, nil, nil]
        case .leaderPackets where nodes == 8: row = [.init(nil, 160), nil, nil, nil]
        case .heal, .outage, .write, .falseViews, .memberPackets, .leaderPackets: return nil
        }
        guard let goal = row[column] else { return nil }
        self = goal
    }
}
