public import Foundation

/// A publisher that publishes nothing before it is connected.
public protocol ConnectablePublisher<Output, Failure>: Publisher {
    /// Starts to publish, until the result is cancelled.
    func connect() -> any Cancellable
}

extension ConnectablePublisher {
    /// Connects at the first subscriber and disconnects after the last.
    public func autoconnect() -> Publishers.Autoconnect<Self> {
        Publishers.Operator(upstream: self) { upstream, outlet in
            outlet.forward(upstream)
            outlet.hold(AnyCancellable(upstream.connect()))
        }
        .share()
    }
}

extension Publishers {
    /// The publisher of `autoconnect`.
    public typealias Autoconnect<Upstream: ConnectablePublisher> = Share<Filter<Upstream>>
}

extension Timer {
    /// Publishes the date each `interval` seconds on `runLoop`, once connected.
    ///
    /// The tolerance, the mode and the options change nothing: see `Scheduler` of the run loop.
    public static func publish(
        every interval: TimeInterval,
        tolerance: TimeInterval? = nil,
        on runLoop: RunLoop,
        in mode: RunLoop.Mode,
        options: RunLoop.SchedulerOptions? = nil
    ) -> Timer.TimerPublisher {
        TimerPublisher(interval: interval, runLoop: runLoop, mode: mode)
    }

    /// A publisher of the date at regular intervals; it never ends.
    public final class TimerPublisher: ConnectablePublisher {
        /// What is published.
        public typealias Output = Date
        /// It cannot fail.
        public typealias Failure = Never

        /// In seconds.
        public let interval: TimeInterval
        /// Where the dates arrive.
        public let runLoop: RunLoop
        /// The mode that was asked for.
        public let mode: RunLoop.Mode
        private let audience = Audience<Date, Never>()

        /// Publishes on `runLoop`, once connected.
        public init(interval: TimeInterval, runLoop: RunLoop, mode: RunLoop.Mode) {
            (self.interval, self.runLoop, self.mode) = (interval, runLoop, mode)
        }

        /// Hands `subscriber` the dates while connected.
        public func receive<S: Subscriber>(subscriber: S)
        where S.Input == Date, S.Failure == Never {
            Outlet.open(for: subscriber) { [audience] in _ = audience.add($0) }
        }

        /// Starts the timer, until the result is cancelled; each call starts one more.
        public func connect() -> any Cancellable {
            let stride = SchedulerInterval.seconds(interval)
            return runLoop.schedule(
                after: runLoop.now.advanced(by: stride),
                interval: stride
            ) { [audience] in audience.send(Date()) }
        }
    }
}
