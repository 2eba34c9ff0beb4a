package import MeshConsensus
package import MeshCrypto
package import MeshSession
package import MeshTransport
import MeshWire

/// What an engine is told at its start.
package struct EngineConfiguration: Sendable {
    /// What other members see, to be signed yet.
    package var profile: MemberProfile
    /// The key of the person behind the node, who is shown by it; `nil` for nobody.
    package var person: Identity?
    /// Random, new at each start; a node never repeats one.
    package var incarnation: UInt64
    /// Of the chance that needs no secrecy: jitter, staggering.
    package var seed: UInt64
    /// Whether this machine has AES in hardware; asked once, outside.
    package var hardwareAES: Bool
    /// The UDP port of the data socket, which beacons announce.
    package var dataPort: UInt16
    /// Unix time at the clock's origin, in seconds: what beacons tell the time by.
    package var unixOrigin: Int64 = 0
    /// How fit this machine is to lead, 0 to 255: mains, wired, memory.
    package var ability: UInt8 = 128
    /// The transport's limits and times.
    package var endpoint = EndpointConfiguration()
    /// Adapts the consensus of a room, whose identifier stands in it already.
    package var consensus: @Sendable (inout ConsensusConfiguration) -> Void = { _ in }

    /// How long a typed code or a link is tried before `notFound` (`10-security.md` §7).
    package var joinTimeout: Duration = .seconds(10)
    /// How long an admitted guest may take to become a member.
    package var admissionTimeout: Duration = .seconds(15)
    /// How long a node that comes back looks for members before it goes on alone.
    ///
    /// Beacons are sent every 200 ms then, so a room in reach is found well within.
    package var resumeWindow: Duration = .milliseconds(2500)
    /// How long an absent participant is kept (`30-consensus.md` §5).
    package var grace: Duration = Limits.grace
    /// How long a session lives that nobody joins (`40-groupactivities.md` §4).
    package var unjoinedLifetime: Duration = .seconds(60)

    package init(
        displayName: String = "",
        incarnation: UInt64,
        seed: UInt64,
        hardwareAES: Bool = false,
        dataPort: UInt16
    ) {
        profile = MemberProfile(name: displayName)
        self.incarnation = incarnation
        self.seed = seed
        self.hardwareAES = hardwareAES
        self.dataPort = dataPort
    }
}
