import Synchronization

/// Where Apple's spatial computers place people; there is none here, so no session has one.
///
/// It exists that programs which ask for it compile; `GroupSession.systemCoordinator` is `nil`.
public final class SystemCoordinator: Observable, Sendable {
    private let settings = Mutex(Configuration())

    init() {}

    /// What the program would like.
    public var configuration: Configuration {
        get { settings.withLock { $0 } }
        set { settings.withLock { $0 = newValue } }
    }

    /// Where this participant is: nowhere.
    public var localParticipantState: ParticipantState { ParticipantState() }

    /// Changes of that: none.
    public var localParticipantStates: ParticipantStates { ParticipantStates() }

    /// Where the others are: nowhere.
    public var remoteParticipantStates: [Participant: ParticipantState] { [:] }

    /// Has no effect.
    public func assignRole(_ role: some SpatialTemplateRole) {}

    /// Has no effect.
    public func resignRole() {}

    /// What a program would like of a space.
    public struct Configuration: Sendable {
        /// Whether people share an immersive space.
        public var supportsGroupImmersiveSpace = false
        /// How people sit.
        public var spatialTemplatePreference = SpatialTemplatePreference.none

        /// A configuration that asks for nothing.
        public init() {}
    }

    /// Where a participant is.
    public struct ParticipantState: Equatable, Sendable {
        /// Whether it is in the space.
        public let isSpatial = false
        /// Where it stands.
        public let pose: Pose3D? = nil
        /// Where it sits.
        public let seat: Seat? = nil
        /// What it is there for.
        public var role: (any SpatialTemplateRole)? { nil }

        /// A place to sit.
        public struct Seat: Hashable, Sendable {
            /// Where it is.
            public let pose: Pose3D
            /// Whom it is for.
            public var role: (any SpatialTemplateRole)? { nil }
        }
    }

    /// Changes of a participant's place: none, it ends at once.
    public struct ParticipantStates: AsyncSequence, Sendable {
        /// A participant's place.
        public typealias Element = ParticipantState
        /// It does not fail.
        public typealias Failure = Never

        /// A subscriber.
        public func makeAsyncIterator() -> Iterator { Iterator() }

        /// One subscriber's changes.
        public struct Iterator: AsyncIteratorProtocol {
            /// Always `nil`.
            public mutating func next() async -> ParticipantState? { nil }

            /// Always `nil`.
            ///
            /// - Parameter isolation: The caller's isolation.
            /// - Returns: `nil`.
            public mutating func next(isolation: isolated (any Actor)?) async -> ParticipantState? {
                nil
            }
        }
    }
}

extension GroupSession {
    /// Always `nil`: nobody has a place here.
    public var systemCoordinator: SystemCoordinator? {
        get async { nil }
    }
}
