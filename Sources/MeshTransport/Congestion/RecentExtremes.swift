import MeshWire

/// The greatest of the last ten rounds.
struct RecentMaximum: Sendable {
    private var values: InlineArray<10, Double> = .init(repeating: 0)
    private var place = 0

    /// The greatest value of this round and the nine before it.
    private(set) var value = 0.0

    mutating func note(_ sample: Double) {
        values[place] = max(values[place], sample)
        value = max(value, sample)
    }

    mutating func endRound() {
        place = (place + 1) % 10
        values[place] = 0
        value = 0
        for index in values.indices { value = max(value, values[index]) }
    }

    /// Forgets what was; `sample` is all that is known.
    mutating func reset(to sample: Double) {
        values = .init(repeating: 0)
        values[place] = sample
        value = sample
    }
}

/// The least or greatest of a window of time, kept in two halves: exact to half the window.
struct HalvedExtreme: Sendable {
    private var current: Double
    private var previous: Double
    private var began: Instant
    private let isLeast: Bool

    static func least(from now: Instant) -> HalvedExtreme { HalvedExtreme(isLeast: true, now) }

    static func greatest(from now: Instant) -> HalvedExtreme { HalvedExtreme(isLeast: false, now) }

    private init(isLeast: Bool, _ now: Instant) {
        self.isLeast = isLeast
        current = isLeast ? .infinity : 0
        previous = current
        began = now
    }

    private func isBefore(_ left: Double, _ right: Double) -> Bool {
        isLeast ? left < right : left > right
    }

    /// The extreme of the last half to whole window.
    var value: Double { isBefore(current, previous) ? current : previous }

    mutating func note(_ sample: Double, window: Double, now: Instant) {
        let half = window / 2
        let age = now.seconds(since: began)
        if age >= half {
            let none = isLeast ? Double.infinity : 0
            previous = age >= window ? none : current
            current = none
            began = now
        }
        if isBefore(sample, current) { current = sample }
    }
}

extension Instant {
    /// The seconds from `earlier` to this instant.
    func seconds(since earlier: Instant) -> Double {
        Double((self - earlier).wholeNanoseconds) / 1e9
    }
}

extension Duration {
    /// The time in seconds.
    var inSeconds: Double { Double(wholeNanoseconds) / 1e9 }
}
