/// How a link loses datagrams (`60-lab.md` §2.3).
public enum LossModel: Hashable, Sendable {
    /// Nothing is lost.
    case none
    /// Each datagram is lost with this probability, whatever became of the others.
    case independent(Double)
    /// Two states, good and bad, with one transition a datagram (Gilbert 1960, Elliott 1963).
    case gilbertElliott(GilbertElliott)

    /// Loss with the probability `mean` in runs of the mean length `burst`, both kept exactly.
    ///
    /// `nil` if no chain has these figures: `mean` must not exceed burst / (1 + burst).
    public static func bursts(mean: Double, burst: Double) -> LossModel? {
        guard mean > 0 else { return LossModel.none }
        guard burst >= 1, mean < 1 else { return nil }
        let recover = 1 / burst
        let enter = recover * mean / (1 - mean)
        guard enter <= 1 else { return nil }
        return .gilbertElliott(GilbertElliott(enterBad: enter, leaveBad: recover))
    }

    /// The share of datagrams lost in the long run.
    public var mean: Double {
        switch self {
        case .none: 0
        case .independent(let probability): probability
        case .gilbertElliott(let chain): chain.mean
        }
    }
}

/// The four probabilities of a two-state loss chain.
public struct GilbertElliott: Hashable, Sendable {
    /// From good to bad, p.
    public var enterBad: Double
    /// From bad to good, r.
    public var leaveBad: Double
    /// Of loss in the bad state, h.
    public var lossInBad: Double
    /// Of loss in the good state, k.
    public var lossInGood: Double

    /// The chain with these probabilities; by default all is lost in bad and nothing in good.
    public init(
        enterBad: Double,
        leaveBad: Double,
        lossInBad: Double = 1,
        lossInGood: Double = 0
    ) {
        self.enterBad = enterBad
        self.leaveBad = leaveBad
        self.lossInBad = lossInBad
        self.lossInGood = lossInGood
    }

    /// The share of time spent in the bad state.
    public var badShare: Double {
        enterBad + leaveBad > 0 ? enterBad / (enterBad + leaveBad) : 0
    }

    /// The share of datagrams lost in the long run.
    public var mean: Double { lossInBad * badShare + lossInGood * (1 - badShare) }
}
