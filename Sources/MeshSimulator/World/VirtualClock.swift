package import MeshWire

/// One node's clock: the world's time with an offset and a drift.
package struct VirtualClock: Hashable, Sendable {
    /// What the clock shows at the world's beginning.
    package var offset: Duration
    /// How much too fast the clock runs, in parts per million.
    package var driftPartsPerMillion: Int64

    /// The clock with this offset and drift; by default it shows the world's time.
    package init(offset: Duration = .zero, driftPartsPerMillion: Int64 = 0) {
        self.offset = offset
        self.driftPartsPerMillion = driftPartsPerMillion
    }

    /// What the clock shows at the world's `now`.
    package func local(_ now: Instant) -> Instant {
        if driftPartsPerMillion == 0 { return now + offset }
        // Split so that the product cannot overflow within 292 years.
        let millions = now.nanoseconds / 1_000_000
        let rest = now.nanoseconds % 1_000_000
        let drift = millions &* driftPartsPerMillion &+ rest &* driftPartsPerMillion / 1_000_000
        return now + .nanoseconds(drift) + offset
    }

    /// The earliest instant of the world at which the clock shows `deadline` or more.
    package func world(_ deadline: Instant) -> Instant {
        guard deadline < .distantFuture else { return .distantFuture }
        if driftPartsPerMillion == 0 { return deadline - offset }
        let shown = (deadline - offset).nanoseconds
        let millions = shown / (1_000_000 + driftPartsPerMillion)
        let rest = shown % (1_000_000 + driftPartsPerMillion)
        var instant = Instant(
            nanoseconds: millions &* 1_000_000
                &+ rest &* 1_000_000 / (1_000_000 + driftPartsPerMillion)
        )
        // Integer division rounds: step to the first instant that satisfies the promise.
        while local(instant) < deadline { instant += .nanoseconds(1) }
        return instant
    }
}
