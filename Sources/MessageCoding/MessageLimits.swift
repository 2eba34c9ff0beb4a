/// Bounds of the codec, equal on both sides.
package enum MessageLimits {
    /// How deep containers may stand in each other (`40-groupactivities.md` §6).
    package static let depth = 256
    /// The most bytes of a routing name (`40-groupactivities.md` §6).
    package static let nameBytes = 255
    /// The most bytes of a payload, unless a room has negotiated another limit (D10).
    package static let payloadBytes = 262_144
    /// Entries up to which a map's keys are compared each with each, which is faster than a table.
    static let fewKeys = 16
}
