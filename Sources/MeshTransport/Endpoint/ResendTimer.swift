internal import MeshWire

/// When the same bytes leave again: at fixed times after they left first (`10-security.md` §5).
struct ResendTimer {
    private let offsets: [Duration]
    private let timeout: Duration
    private var first: Instant
    private var step = 0

    /// A timer of bytes that leave now.
    init(offsets: [Duration], timeout: Duration, now: Instant) {
        self.offsets = offsets
        self.timeout = timeout
        first = now
    }

    /// When to send again; `nil` after the last time.
    var next: Instant? { step < offsets.count ? first + offsets[step] : nil }
    /// When no answer is expected any more.
    var end: Instant { first + (offsets.last ?? .zero) + timeout }
    /// When to look again.
    var deadline: Instant { next ?? end }

    /// Whether the bytes leave again now; counts the sending.
    mutating func fire(now: Instant) -> Bool {
        guard let next, next <= now else { return false }
        // After a pause of the driver one sending stands for all that were due.
        while step < offsets.count, first + offsets[step] <= now { step += 1 }
        return true
    }

    /// Starts anew with other bytes.
    mutating func restart(now: Instant) {
        first = now
        step = 0
    }
}
