/// How people would sit on Apple's spatial computers; kept, and used for nothing here.
public struct SpatialTemplatePreference: Sendable, CustomStringConvertible {
    /// What was asked for, in a word.
    public let description: String

    /// No wish.
    public static let none = SpatialTemplatePreference(description: "none")
    /// Beside each other.
    public static let sideBySide = SpatialTemplatePreference(description: "sideBySide")
    /// Towards each other.
    public static let conversational = SpatialTemplatePreference(description: "conversational")
    /// Around the middle.
    public static let surround = SpatialTemplatePreference(description: "surround")

    /// As the program says.
    public static func custom(_ template: any SpatialTemplate) -> SpatialTemplatePreference {
        SpatialTemplatePreference(description: "custom")
    }

    /// The same; how far the content reaches has no effect.
    public func contentExtent(_ extent: CGFloat) -> SpatialTemplatePreference { self }
}

/// Seats that a program lays out itself.
public protocol SpatialTemplate: Sendable {
    /// The seats.
    var elements: [any SpatialTemplateElement] { get }
    /// Who sits where at first.
    var configuration: SpatialTemplateConfiguration { get }
}

extension SpatialTemplate {
    /// The initiator sits anywhere.
    public var configuration: SpatialTemplateConfiguration { SpatialTemplateConfiguration() }
}

/// Who sits where at first.
public struct SpatialTemplateConfiguration: Sendable {
    /// The role of the participant that started the activity.
    public let defaultInitiatorRole: (any SpatialTemplateRole)?

    /// A configuration that gives the initiator this role.
    public init(defaultInitiatorRole: (any SpatialTemplateRole)? = nil) {
        self.defaultInitiatorRole = defaultInitiatorRole
    }
}

/// What somebody is there for, as a seat names it.
public protocol SpatialTemplateRole: Hashable, Sendable {
    /// The role's name.
    var roleIdentifier: String { get }
}

extension SpatialTemplateRole where Self: RawRepresentable, RawValue == String {
    /// The raw value.
    public var roleIdentifier: String { rawValue }
}

/// A thing of a template that has a place.
public protocol SpatialTemplateElement: Hashable, Sendable {
    /// Where it is.
    var position: SpatialTemplateElementPosition { get }
    /// Where it looks.
    var direction: SpatialTemplateElementDirection { get }
    /// Whom it is for.
    var role: (any SpatialTemplateRole)? { get }
}

extension SpatialTemplateElement where Self == SpatialTemplateSeatElement {
    /// A seat.
    public static func seat(
        position: SpatialTemplateElementPosition,
        direction: SpatialTemplateElementDirection = .lookingAt(.app),
        role: (any SpatialTemplateRole)? = nil
    ) -> Self {
        SpatialTemplateSeatElement(position: position, direction: direction, role: role)
    }
}

/// A seat.
public struct SpatialTemplateSeatElement: SpatialTemplateElement {
    /// Where it is.
    public let position: SpatialTemplateElementPosition
    /// Where it looks.
    public let direction: SpatialTemplateElementDirection
    /// Whom it is for.
    public let role: (any SpatialTemplateRole)?

    /// A seat for anybody, or for this role.
    public init(
        position: SpatialTemplateElementPosition,
        direction: SpatialTemplateElementDirection = .lookingAt(.app),
        role: (any SpatialTemplateRole)? = nil
    ) {
        self.position = position
        self.direction = direction
        self.role = role
    }

    /// Whether both are the same seat for the same role.
    public static func == (left: Self, right: Self) -> Bool {
        left.position == right.position && left.direction == right.direction
            && left.role?.roleIdentifier == right.role?.roleIdentifier
    }

    /// Feeds place and role to `hasher`.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(position)
        hasher.combine(role?.roleIdentifier)
    }
}

/// A place, counted from the content.
public struct SpatialTemplateElementPosition: Hashable, Sendable {
    let x: Double
    let z: Double

    /// The content's own place.
    public static var app: SpatialTemplateElementPosition {
        SpatialTemplateElementPosition(x: 0, z: 0)
    }

    /// The place so many metres to the right and behind.
    public func offsetBy(x: Double, z: Double) -> SpatialTemplateElementPosition {
        SpatialTemplateElementPosition(x: self.x + x, z: self.z + z)
    }
}

/// A direction to look in.
public struct SpatialTemplateElementDirection: Hashable, Sendable {
    private enum Aim: Hashable {
        case place(SpatialTemplateElementPosition)
        case axis(SpatialTemplateElementAxis)
    }

    private let aim: Aim
    private var turn = Angle2D()

    private init(aim: Aim) {
        self.aim = aim
    }

    /// Towards an element.
    public static func lookingAt(
        _ element: any SpatialTemplateElement
    ) -> SpatialTemplateElementDirection {
        lookingAt(element.position)
    }

    /// Towards a place.
    public static func lookingAt(
        _ position: SpatialTemplateElementPosition
    ) -> SpatialTemplateElementDirection {
        SpatialTemplateElementDirection(aim: .place(position))
    }

    /// Along an axis of the content.
    public static func alignedWith(
        appAxis: SpatialTemplateElementAxis
    ) -> SpatialTemplateElementDirection {
        SpatialTemplateElementDirection(aim: .axis(appAxis))
    }

    /// The same, turned.
    public func rotatedBy(_ angle: Angle2D) -> SpatialTemplateElementDirection {
        var turned = self
        turned.turn = Angle2D(radians: turn.radians + angle.radians)
        return turned
    }
}

/// An axis of the content.
public struct SpatialTemplateElementAxis: Hashable, Sendable {
    private let name: String

    /// To the right.
    public static let x = SpatialTemplateElementAxis(name: "x")
    /// To the back.
    public static let z = SpatialTemplateElementAxis(name: "z")
}

/// An angle.
public struct Angle2D: Hashable, Sendable, Codable {
    /// The angle in radians.
    public var radians = 0.0

    /// An angle of none.
    public init() {}

    /// An angle of so many radians.
    public init(radians: Double) {
        self.radians = radians
    }

    /// An angle of so many degrees.
    public init(degrees: Double) {
        radians = degrees * .pi / 180
    }
}

/// A place and a direction in space, as far as programs hand one on; nothing here looks into it.
public struct Pose3D: Hashable, Sendable, Codable {
    /// The origin.
    public init() {}
}
