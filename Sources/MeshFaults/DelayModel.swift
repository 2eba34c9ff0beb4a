import MeshWire

extension LinkConditions {
    /// The one-way time of the datagram `ordinal`, never below zero nor above 24 hours.
    func oneWayDelay(_ stream: DrawStream, _ ordinal: UInt64) -> Duration {
        guard jitter > .zero else { return delay }
        let mean = Double(delay.wholeNanoseconds)
        let spread = Double(jitter.wholeNanoseconds)
        let unit = stream.unit(ordinal)
        let nanoseconds =
            switch distribution {
            case .uniform: mean + spread * (2 * unit - 1)
            case .normal: mean + spread * standardNormal(unit)
            // X = (1 - u)^(-1/3) is Pareto with α = 3: mean 1.5, deviation 0.866.
            case .pareto: mean + spread * (inverseCubeRoot(1 - unit) - 1.5) / 0.866
            }
        return .nanoseconds(Int64(min(max(0, nanoseconds), 86_400e9)))
    }
}

/// The quantile of the standard normal distribution at `unit`, by Acklam's rational approximation
/// with a relative error below 1.2e-9 in the centre; the tails, where it would need a logarithm,
/// are clamped at ± 2.33 (1 % on each side).
///
/// Only the four basic operations, so every machine gets the same bits.
private func standardNormal(_ unit: Double) -> Double {
    let q = min(max(unit, 0.01), 0.99)
    if q < 0.024_25 || q > 0.975_75 {
        // A straight line from the centre's edge (1.97) to the clamp (2.33).
        let isLow = q < 0.5
        let tail = isLow ? q : 1 - q
        let value = 1.9725 + (0.024_25 - tail) / (0.024_25 - 0.01) * (2.3263 - 1.9725)
        return isLow ? -value : value
    }
    let s = q - 0.5
    let r = s * s
    let numerator =
        ((((-3.969683028665376e+01 * r + 2.209460984245205e+02) * r - 2.759285104469687e+02) * r
            + 1.383577518672690e+02) * r - 3.066479806614716e+01) * r + 2.506628277459239
    let denominator =
        ((((-5.447609879822406e+01 * r + 1.615858368580409e+02) * r - 1.556989798598866e+02) * r
            + 6.680131188771972e+01) * r - 1.328068155288572e+01) * r + 1
    return s * numerator / denominator
}

/// 1 / ∛x by Newton's method, for x in (0, 1]; basic operations only.
private func inverseCubeRoot(_ x: Double) -> Double {
    // y ← y · (4 − x·y³) / 3 converges from any 0 < y ≤ x^(-1/3); start below and double up.
    var y = 1.0
    while x * (y * 2) * (y * 2) * (y * 2) < 1 { y *= 2 }
    for _ in 0..<8 { y = y * (4 - x * y * y * y) / 3 }
    return y
}
