import MeshSession
import MeshWire

/// What a node shows of itself to the others of its room (`40-groupactivities.md` §9.6).
public struct Profile: Hashable, Sendable {
    /// What it is called, at most 64 bytes of UTF-8; empty if it says nothing.
    ///
    /// Of others it comes without control characters and marks that turn the direction of text. Two nodes
    /// may be called alike: only ``Participant/node`` and ``Participant/person`` tell who it is.
    public var name: String
    /// Its colour, for cursors and the like.
    public var colour: Colour?
    /// The kind of its device.
    public var device: Device

    /// A profile; nothing is checked before it is shown.
    public init(name: String = "", colour: Colour? = nil, device: Device = .unknown) {
        self.name = name
        self.colour = colour
        self.device = device
    }

    /// A colour in sRGB.
    public struct Colour: Hashable, Sendable {
        /// From 0, none of it, to 255.
        public var red: UInt8
        /// From 0, none of it, to 255.
        public var green: UInt8
        /// From 0, none of it, to 255.
        public var blue: UInt8

        /// The colour of these parts.
        public init(red: UInt8, green: UInt8, blue: UInt8) {
            self.red = red
            self.green = green
            self.blue = blue
        }
    }

    /// A kind of device.
    public enum Device: Hashable, Sendable, CaseIterable {
        /// It does not say, or says what this version does not know.
        case unknown
        /// A computer on a desk.
        case desktop
        /// A computer to carry.
        case laptop
        /// A telephone.
        case phone
        /// A tablet.
        case tablet
        /// A television, or what is plugged into one.
        case television
        /// What is worn on the head.
        case headset
        /// A machine that nobody sits at.
        case server

        private static let numbered: [Device] = [
            .unknown, .desktop, .laptop, .phone, .tablet, .television, .headset, .server,
        ]

        init(number: UInt8) {
            self =
                Self.numbered.indices.contains(Int(number)) ? Self.numbered[Int(number)] : .unknown
        }

        var number: UInt8 { UInt8(Self.numbered.firstIndex(of: self) ?? 0) }
    }

    /// Bytes of a name.
    public static let nameBytes = SessionLimits.nameBytes

    init(_ profile: MemberProfile) {
        name = SafeText.clean(profile.name, toBytes: Self.nameBytes)
        if profile.colour != 0 {
            colour = Colour(
                red: UInt8(truncatingIfNeeded: profile.colour >> 16),
                green: UInt8(truncatingIfNeeded: profile.colour >> 8),
                blue: UInt8(truncatingIfNeeded: profile.colour)
            )
        }
        device = Device(number: profile.device)
    }

    var inner: MemberProfile {
        var profile = MemberProfile(name: name)
        if let colour {
            profile.colour =
                1 << 24 | UInt32(colour.red) << 16 | UInt32(colour.green) << 8 | UInt32(colour.blue)
        }
        profile.device = device.number
        return profile
    }
}

/// A key that a person's nodes have in common: the same in every room and each time.
///
/// Only nodes whose ``NodeConfiguration/personKeyFile`` is set show one, and each proves that it has the
/// key. Whoever was in a room with it once knows it again.
public struct PersonKey: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The public key, 32 bytes.
    public let bytes: [UInt8]

    init(_ key: NodeID) { bytes = key.bytes }

    /// Orders by the bytes.
    public static func < (left: PersonKey, right: PersonKey) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }

    /// The bytes in hex.
    public var description: String {
        bytes.map { String(UInt16($0) | 0x100, radix: 16).dropFirst() }.joined()
    }
}

/// Text of others that people are shown.
package enum SafeText {
    /// The text without control characters and marks of direction, at most `count` bytes, no blanks at its ends.
    package static func clean(_ text: String, toBytes count: Int) -> String {
        var kept = String.UnicodeScalarView()
        for scalar in text.unicodeScalars where !isHidden(scalar) { kept.append(scalar) }
        var words = trimmed(String(kept))
        guard words.utf8.count > count else { return words }
        while words.utf8.count > count { words.removeLast() }
        return trimmed(words)
    }

    private static func trimmed(_ text: String) -> String {
        let isBlank = { (character: Character) in character.isWhitespace }
        guard let first = text.firstIndex(where: { !isBlank($0) }),
            let last = text.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return String(text[first...last])
    }

    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        // The marks, embeddings, overrides and isolates of Unicode's UAX #9.
        case 0x061c, 0x200e, 0x200f, 0x202a...0x202e, 0x2066...0x2069: return true
        default: break
        }
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: return true
        default: return false
        }
    }
}
