package import MeshEngine
public import MeshFaults

/// What a node is told at its start.
public struct NodeConfiguration: Sendable {
    /// Which networks a node uses.
    public enum Reach: Hashable, Sendable {
        /// Every interface of the machine; discovery by multicast on each.
        case everywhere
        /// This machine alone: for tests and for `huddle demo`.
        case loopback
    }

    /// The name the others see, at most 64 bytes of UTF-8; longer ones are cut.
    ///
    /// Control characters and marks that turn the direction of text are taken out.
    public var name: String
    /// The colour that the others see.
    public var colour: Profile.Colour?
    /// The kind of device that the others see.
    public var device = Profile.Device.unknown
    /// A file with the key of the person behind this node, made if it is not there; `nil` shows nobody.
    ///
    /// Several nodes of a person may have the same file, in turn or at once. The others see the key's public
    /// half as ``Participant/person``, in every room; so it is for those who want to be known again.
    public var personKeyFile: String?
    /// Where the node keeps its files.
    public var places: Places
    /// The UDP port of the data socket; 0, the default, takes any free one.
    public var port: UInt16 = 0
    /// Which networks the node uses.
    public var reach: Reach = .everywhere
    /// Whether beacons are sent and heard; without them members are found by address alone.
    public var isDiscovering = true
    /// The UDP port of discovery, 18517 (`10-security.md` §8); all nodes that want to meet share it.
    public var discoveryPort: UInt16 = 18517
    /// What the node does to its own outgoing datagrams, if anything (`60-lab.md` §3).
    public var faults: LinkConditions?
    /// Makes the faults' draws the same from run to run.
    public var faultSeed: UInt64 = 1
    /// Adapts the engine's limits and times; for tests and experiments.
    package var adapt: @Sendable (inout EngineConfiguration) -> Void = { _ in }

    /// The configuration of a node called `name` that keeps its files in `places`.
    public init(name: String, places: Places) {
        self.name = name
        self.places = places
    }

    /// The name as the room takes it: clean, and at most 64 bytes, cut between characters.
    package var displayName: String { SafeText.clean(name, toBytes: Profile.nameBytes) }

    /// What the node shows at first.
    var profile: Profile { Profile(name: displayName, colour: colour, device: device) }
}
