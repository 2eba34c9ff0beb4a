/// What the trials of one figure gave.
package struct FigureSamples: Sendable {
    /// The figure of each trial, in its unit; of false views nothing.
    package var values: [Double] = []
    /// How often what must not be was, where that is the figure.
    package var count = 0
    /// In how much time, where the figure is a rate.
    package var hours = 0.0

    package init() {}

    package mutating func add(_ other: FigureSamples) {
        values += other.values
        count += other.count
        hours += other.hours
    }

    /// The value that `percent` of 100 do not exceed; 0 of none.
    package func percentile(_ percent: Int) -> Double {
        guard !values.isEmpty else { return 0 }
        let place = (values.count * percent + 99) / 100 - 1
        return values.sorted()[max(0, min(place, values.count - 1))]
    }

    /// How often in an hour.
    package var rate: Double { hours > 0 ? Double(count) / hours : 0 }

    /// The largest distance between the shares of values up to any number, of these and of `other`:
    /// the statistic of Kolmogorov and Smirnov, 0 for equal ones, 1 for such as overlap nowhere.
    package func distance(from other: FigureSamples) -> Double {
        let left = values.sorted()
        let right = other.values.sorted()
        guard !left.isEmpty, !right.isEmpty else { return 1 }
        var (i, j, most) = (0, 0, 0.0)
        while i < left.count, j < right.count {
            let value = min(left[i], right[j])
            while i < left.count, left[i] == value { i += 1 }
            while j < right.count, right[j] == value { j += 1 }
            let gap = Double(i) / Double(left.count) - Double(j) / Double(right.count)
            most = max(most, abs(gap))
        }
        return most
    }
}

/// One line of the table: a figure of rooms of one size on one network.
package struct FigureRow: Sendable {
    package var figure: Figure
    package var nodes: Int
    package var network: FigureNetwork
    package var samples: FigureSamples
    /// Trials that came to no end.
    package var stuck: Int

    package init(
        _ figure: Figure,
        nodes: Int,
        _ network: FigureNetwork,
        _ samples: FigureSamples,
        stuck: Int
    ) {
        self.figure = figure
        self.nodes = nodes
        self.network = network
        self.samples = samples
        self.stuck = stuck
    }

    /// What the design wants, if it says.
    package var goal: FigureGoal? { FigureGoal(figure, nodes: nodes, network) }

    /// Whether the goal is reached; a trial without an end breaks it, and where there is no goal too.
    package var isKept: Bool {
        guard stuck == 0 else { return false }
        guard let goal else { return true }
        if figure == .falseViews { return samples.rate <= goal.most }
        if let median = goal.median, samples.percentile(50) > median { return false }
        return samples.percentile(99) <= goal.most
    }
}
