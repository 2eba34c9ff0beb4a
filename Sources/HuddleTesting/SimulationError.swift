/// Why a simulation did not come to where a test wanted it.
public enum SimulationError: Error, Hashable, Sendable {
    /// Time was over and something was under way still.
    case unsettled(after: Duration, [InFlight])
    /// The closure of ``SimulatedParticipant/run(within:_:)`` had not returned when its time was over.
    case unfinished(participant: String, after: Duration, [InFlight])
    /// The simulation was let go while its participant was still used: a test keeps it to its end.
    case over(participant: String)
    /// The participant could not enter the room; the words say why.
    case notAdmitted(participant: String, String)
}

/// One thing that a participant has begun and not ended.
public struct InFlight: Hashable, Sendable {
    /// What it is.
    public enum Kind: Hashable, Sendable {
        /// A closure of ``SimulatedParticipant/run(within:_:)`` has not returned.
        case closure
        /// It is getting into the room.
        case entry
        /// This many commands to the room wait for their answer.
        case commands(Int)
        /// This many messages wait for the word that they arrived, or did not.
        case messages(Int)
        /// It is in no view that takes writes.
        case noView
        /// It is in another view than this participant, which it can reach.
        case otherView(than: String)
        /// Its state of the room differs from that of this participant, which it can reach.
        case otherState(than: String)
    }

    /// Whose it is.
    public let participant: String
    /// What it is.
    public let kind: Kind

    /// Something of this kind, of the participant of this name.
    public init(participant: String, kind: Kind) {
        self.participant = participant
        self.kind = kind
    }
}

extension InFlight: CustomStringConvertible {
    /// A clause for a failure's text.
    public var description: String {
        switch kind {
        case .closure: "\(participant) is running a closure"
        case .entry: "\(participant) is entering the room"
        case .commands(let count): "\(participant) waits for \(count) answers of the room"
        case .messages(let count): "\(participant) waits for \(count) messages to arrive"
        case .noView: "\(participant) is in no view"
        case .otherView(let other): "\(participant) and \(other) are in two views"
        case .otherState(let other): "\(participant) and \(other) differ in the room's state"
        }
    }
}

extension SimulationError: CustomStringConvertible {
    /// One sentence that says what is missing.
    public var description: String {
        switch self {
        case .unsettled(let duration, let flights):
            "after \(duration) of virtual time there is still under way: \(Self.list(flights))"
        case .unfinished(let participant, let duration, let flights):
            "\(participant)'s closure has not returned after \(duration) of virtual time; "
                + "under way: \(Self.list(flights))"
        case .over(let participant):
            "\(participant)'s simulation is gone, since nobody kept it: hold the `Simulation` to the end of "
                + "the test, by a property or `withExtendedLifetime`"
        case .notAdmitted(let participant, let why):
            "\(participant) could not enter the simulated room: \(why)"
        }
    }

    private static func list(_ flights: [InFlight]) -> String {
        flights.isEmpty ? "nothing known" : flights.map(\.description).joined(separator: "; ")
    }
}
