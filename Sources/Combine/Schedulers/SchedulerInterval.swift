public import Dispatch

/// The interval of the schedulers of queues and run loops, in nanoseconds.
///
/// A literal counts seconds. Nothing overflows: it stays at the longest interval, 292 years.
public struct SchedulerInterval: SchedulerTimeIntervalConvertible, SignedNumeric, Comparable,
    ExpressibleByFloatLiteral, Codable, Hashable, Sendable
{
    /// The length.
    public let nanoseconds: Int

    /// So many nanoseconds.
    public init(nanoseconds: Int) {
        self.nanoseconds = nanoseconds
    }

    /// So many seconds, as a whole number or as a literal.
    public init(integerLiteral value: Int) {
        self = .seconds(value)
    }

    /// So many seconds as a literal.
    public init(floatLiteral value: Double) {
        self = .seconds(value)
    }

    /// So many seconds, if they fit.
    public init?<T: BinaryInteger>(exactly source: T) {
        guard let seconds = Int(exactly: source) else { return nil }
        self = .seconds(seconds)
    }

    /// The length as Dispatch has it.
    public var timeInterval: DispatchTimeInterval { .nanoseconds(nanoseconds) }

    /// The length in seconds.
    public var seconds: Double { Double(nanoseconds) / 1e9 }

    /// The length without its sign.
    public var magnitude: SchedulerInterval { nanoseconds < 0 ? .zero - self : self }

    /// So many seconds.
    public static func seconds(_ count: Int) -> SchedulerInterval {
        SchedulerInterval(count, times: 1_000_000_000)
    }

    /// So many seconds; not a number counts as 0.
    public static func seconds(_ count: Double) -> SchedulerInterval {
        let nanoseconds = (count * 1e9).rounded()
        if nanoseconds.isNaN { return .zero }
        let fitting = Int(exactly: nanoseconds) ?? (nanoseconds < 0 ? .min : .max)
        return SchedulerInterval(nanoseconds: fitting)
    }

    /// So many milliseconds.
    public static func milliseconds(_ count: Int) -> SchedulerInterval {
        SchedulerInterval(count, times: 1_000_000)
    }

    /// So many microseconds.
    public static func microseconds(_ count: Int) -> SchedulerInterval {
        SchedulerInterval(count, times: 1_000)
    }

    /// So many nanoseconds.
    public static func nanoseconds(_ count: Int) -> SchedulerInterval {
        SchedulerInterval(nanoseconds: count)
    }

    private init(_ count: Int, times unit: Int) {
        let (product, isOver) = count.multipliedReportingOverflow(by: unit)
        nanoseconds = isOver ? (count < 0 ? .min : .max) : product
    }

    /// The sum.
    public static func + (left: SchedulerInterval, right: SchedulerInterval) -> SchedulerInterval {
        let (sum, isOver) = left.nanoseconds.addingReportingOverflow(right.nanoseconds)
        return .nanoseconds(isOver ? (left.nanoseconds < 0 ? .min : .max) : sum)
    }

    /// The difference.
    public static func - (left: SchedulerInterval, right: SchedulerInterval) -> SchedulerInterval {
        let (rest, isOver) = left.nanoseconds.subtractingReportingOverflow(right.nanoseconds)
        return .nanoseconds(isOver ? (left.nanoseconds < 0 ? .min : .max) : rest)
    }

    /// The product of the seconds, so that an interval times a literal is a multiple.
    public static func * (left: SchedulerInterval, right: SchedulerInterval) -> SchedulerInterval {
        .seconds(left.seconds * right.seconds)
    }

    /// Multiplies by the seconds of `right`.
    public static func *= (left: inout SchedulerInterval, right: SchedulerInterval) {
        left = left * right
    }

    /// Whether the left one is shorter.
    public static func < (left: SchedulerInterval, right: SchedulerInterval) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}
