import MeshWire

/// The quantities of fault texts and how they are written (`60-lab.md` §2.1).
package enum FaultUnits {
    /// A time with its unit, `40ms` or `1.5s`; at most 24 h.
    package static func time(_ text: String, _ key: String) throws(FaultSyntaxError) -> Duration {
        let units = ["ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9]
        let nanoseconds = try number(text, key, units, "a time such as 40ms")
        guard nanoseconds <= 86_400e9 else {
            throw FaultSyntaxError(key: key, reason: "`\(text)` is over 24h")
        }
        return .nanoseconds(whole(nanoseconds))
    }

    /// A share with its percent sign, `0.5%`.
    package static func probability(
        _ text: String,
        _ key: String
    ) throws(FaultSyntaxError) -> Double {
        let value = try number(text, key, ["%": 1], "a share such as 2%")
        guard value <= 100 else {
            throw FaultSyntaxError(key: key, reason: "`\(text)` is over 100%")
        }
        return value / 100
    }

    /// A rate in bits or bytes per second, decimal; above zero.
    static func rate(_ text: String, _ key: String) throws(FaultSyntaxError) -> Int64 {
        let units = [
            "bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9,
            "B/s": 8, "kB/s": 8e3, "MB/s": 8e6,
        ]
        let value = try number(text, key, units, "a rate such as 10Mbit/s")
        guard value >= 1, value <= 1e12 else {
            throw FaultSyntaxError(
                key: key,
                reason: "`\(text)`: from 1bit/s on; use `down` for none"
            )
        }
        return whole(value)
    }

    /// A size in bytes, at most 64 MiB.
    static func size(_ text: String, _ key: String) throws(FaultSyntaxError) -> Int {
        let units = ["B": 1.0, "kB": 1e3, "MB": 1e6, "KiB": 1024, "MiB": 1_048_576]
        let value = try number(text, key, units, "a size such as 1280B")
        guard value <= 67_108_864 else {
            throw FaultSyntaxError(key: key, reason: "`\(text)` is over 64MiB")
        }
        return Int(whole(value))
    }

    /// A queue limit: a size, a number of datagrams (`25pkt`) or a time.
    static func queue(_ text: String, _ key: String) throws(FaultSyntaxError) -> QueueLimit {
        if text.hasSuffix("pkt") {
            let count = try number(text, key, ["pkt": 1], "a number of datagrams such as 25pkt")
            guard count >= 1, count <= 100_000 else {
                throw FaultSyntaxError(key: key, reason: "`\(text)`: from 1pkt to 100000pkt")
            }
            return .packets(Int(count))
        }
        if text.hasSuffix("B") { return .bytes(try size(text, key)) }
        return .time(try time(text, key))
    }

    /// A plain number within `range`.
    static func count(
        _ text: String,
        _ key: String,
        in range: ClosedRange<Double>
    ) throws(FaultSyntaxError) -> Double {
        guard let value = Double(text), range.contains(value) else {
            let low = Int(range.lowerBound)
            let high = Int(range.upperBound)
            throw FaultSyntaxError(
                key: key,
                reason: "`\(text)` is no number from \(low) to \(high)"
            )
        }
        return value
    }

    /// The time in the largest unit that shows it whole.
    package static func text(_ time: Duration) -> String {
        let nanoseconds = time.wholeNanoseconds
        for (unit, size) in [("s", Int64(1_000_000_000)), ("ms", 1_000_000), ("us", 1000)]
        where nanoseconds % size == 0 {
            return "\(nanoseconds / size)\(unit)"
        }
        return "\(nanoseconds)ns"
    }

    /// The share in percent, without a needless fraction.
    package static func percent(_ probability: Double) -> String {
        // Ten digits after the point bring the same double back in all but the last bits, and show
        // no 7.000000000000001 %.
        let scaled = Double(whole(probability * 1e12)) / 1e10
        return scaled == Double(Int(scaled)) ? "\(Int(scaled))%" : "\(scaled)%"
    }

    /// The nearest whole number of one that is not negative and far below 2^63; `rounded()` would
    /// need the C mathematics library, which this layer does not link.
    private static func whole(_ value: Double) -> Int64 { Int64(value + 0.5) }

    private static func number(
        _ text: String,
        _ key: String,
        _ units: [String: Double],
        _ wanted: String
    ) throws(FaultSyntaxError) -> Double {
        let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let unit = String(text.dropFirst(digits.count))
        guard let value = Double(digits), let size = units[unit] else {
            throw FaultSyntaxError(key: key, reason: "`\(text)` is not \(wanted)")
        }
        return value * size
    }
}
