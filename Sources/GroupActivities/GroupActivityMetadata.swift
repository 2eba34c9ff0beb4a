/// What people are shown of an activity.
public struct GroupActivityMetadata: Equatable, Sendable, Codable {
    /// The kind of activity.
    public var type: ActivityType = .generic
    /// A title, at most 256 bytes of UTF-8.
    public var title: String?
    /// A subtitle, at most 256 bytes of UTF-8.
    public var subtitle: String?
    /// A picture; it stays on this machine.
    public var previewImage: CGImage? {
        get { nil }
        set { _ = newValue }
    }
    /// Where those go who lack the program, at most 2,048 bytes; never opened without their consent.
    public var fallbackURL: URL?
    /// Not used here.
    public var preferredBroadcastOptions = BroadcastOptions()
    /// Not used here.
    public var supportsContinuationOnTV = false
    /// Not used here.
    public var sceneAssociationBehavior = SceneAssociationBehavior.default
    /// How long a session of the activity lives.
    public var lifetimePolicy = LifetimePolicy.automatic

    /// Metadata of the generic type that says nothing.
    public init() {}

    private enum CodingKeys: String, CodingKey {
        case type, title, subtitle, fallbackURL, lifetimePolicy
    }
}

extension GroupActivityMetadata {
    /// A kind of activity; one that a newer peer names is kept and shown as generic.
    public struct ActivityType: Hashable, Sendable, Codable {
        let name: String

        /// Anything; the default.
        public static let generic = ActivityType(name: "generic")
        /// Sound.
        public static let listenTogether = ActivityType(name: "listenTogether")
        /// Films.
        public static let watchTogether = ActivityType(name: "watchTogether")
        /// Games.
        public static let playTogether = ActivityType(name: "playTogether")
        /// Exercise.
        public static let workoutTogether = ActivityType(name: "workoutTogether")
        /// Shopping.
        public static let shopTogether = ActivityType(name: "shopTogether")
        /// Reading.
        public static let readTogether = ActivityType(name: "readTogether")
        /// Looking around and planning.
        public static let exploreTogether = ActivityType(name: "exploreTogether")
        /// Learning.
        public static let learnTogether = ActivityType(name: "learnTogether")
        /// Making something.
        public static let createTogether = ActivityType(name: "createTogether")
    }

    /// How long a session lives.
    public struct LifetimePolicy: Hashable, Sendable, Codable {
        let name: String

        /// Until the last participant has left.
        public static let automatic = LifetimePolicy(name: "automatic")
        /// Until the participant that started it has left.
        public static let endsWhenInitiatorLeaves = LifetimePolicy(name: "endsWhenInitiatorLeaves")
    }

    /// The kinds of the first version.
    @available(*, deprecated, message: "use ActivityType")
    public enum Experience: Int, Codable, Sendable {
        /// Films.
        case watchTogether
        /// Sound.
        case listenTogether
    }

    /// The kind of activity, if it is one of the first version's.
    @available(*, deprecated, renamed: "type")
    public var experience: Experience? {
        get {
            switch type {
            case .watchTogether: .watchTogether
            case .listenTogether: .listenTogether
            default: nil
            }
        }
        set {
            type =
                switch newValue {
                case .watchTogether?: .watchTogether
                case .listenTogether?: .listenTogether
                case nil: .generic
                }
        }
    }

    /// The title.
    @available(*, deprecated, renamed: "title")
    public var localizedTitle: String? {
        get { title }
        set { title = newValue }
    }

    /// The subtitle.
    @available(*, deprecated, renamed: "subtitle")
    public var localizedSubtitle: String? {
        get { subtitle }
        set { subtitle = newValue }
    }

    /// The same, if every field is inside its limit.
    func checked() throws -> GroupActivityMetadata {
        func check(_ field: String, _ text: String?, _ limit: Int) throws {
            guard let size = text?.utf8.count, size > limit else { return }
            throw ActivationError.tooLarge(field: field, size: size, limit: limit)
        }
        try check("title", title, 256)
        try check("subtitle", subtitle, 256)
        try check("fallbackURL", fallbackURL?.absoluteString, 2048)
        return self
    }
}

/// A picture, as far as programs hand one over; nothing here looks into it.
public struct CGImage: Hashable, Sendable {
    /// A picture of nothing.
    public init() {}
}

/// What an activity would send to a screen; not used here.
public struct BroadcastOptions: OptionSet, Hashable, Sendable {
    /// The options as bits.
    public let rawValue: Int

    /// Options of these bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// The picture as it is seen.
    public static let mirroredVideo = BroadcastOptions(rawValue: 1)
}

/// Which window an activity belongs to; not used here.
public struct SceneAssociationBehavior: Hashable, Sendable {
    private let content: String?
    private let isNone: Bool

    /// Any window.
    public static let `default` = SceneAssociationBehavior(content: nil, isNone: false)
    /// No window.
    public static let none = SceneAssociationBehavior(content: nil, isNone: true)

    /// The window that shows `contentIdentifier`.
    public static func content(_ contentIdentifier: String) -> SceneAssociationBehavior {
        SceneAssociationBehavior(content: contentIdentifier, isNone: false)
    }
}
