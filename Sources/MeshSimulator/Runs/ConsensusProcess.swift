package import MeshConsensus
package import MeshWire

/// Consensus alone on the simulated network, with the least transport it can stand on.
///
/// Datagrams carry who sent them and a checksum instead of a seal; large messages go through
/// ``LargeMessages``. Processes find each other, and rooms, by a hello to the discovery groups. Runs
/// many times faster than the whole engine, so that the rules of views and logs see many more faults.
package final class ConsensusProcess: MeshProcess {
    /// What the workload asks for.
    package enum Command {
        /// Found the room.
        case create
        /// Become a member as soon as somebody is heard.
        case join
        /// Become a member by this process.
        case joinVia(ProcessID)
        /// Leave gracefully.
        case leave
        /// Do something to a register; answered by `.completed` with this number as the ticket.
        case submit(
            RegisterMachine.Operation,
            register: UInt64,
            request: UInt64,
            level: WriteLevel = .majority,
            requiresPrimary: Bool = false
        )
        /// Read; answered by `.read`.
        case read(request: UInt64, ReadLevel = .linearizable)
        /// A person says that the component of this process is the room.
        case adoptPrimary
        /// Remove a process, as the leader does for a kick.
        case expel(ProcessID)
    }

    /// What the process tells the workload.
    package enum Event {
        case consensus(ConsensusEvent)
        case completed(request: UInt64, Result<Completion, SubmitError>)
        case read(request: UInt64, Position)
        /// A read could not be answered.
        case refused(request: UInt64)
    }

    enum Kind: UInt8 { case hello = 0, welcome, control, fragment, acknowledgment }

    /// This process.
    package let process: ProcessID
    /// One value, so that a call is one access: the checks that no two accesses to a class's property
    /// overlap were a fifth of a run.
    private var endpoint: ConsensusEndpoint

    /// The process number `incarnation` of `node`; all chance comes from `seed`.
    ///
    /// `identity` is another node whose identity it claims; `ability` ranks it among leaders;
    /// `registers` are filled from the beginning.
    package init(
        node: Int,
        incarnation: UInt32,
        seed: UInt64,
        planted: PlantedBug? = nil,
        registers: Int = 0,
        policy: PartitionPolicy = .available,
        now: Instant,
        identity other: Int? = nil,
        ability: UInt8 = 0
    ) {
        endpoint = ConsensusEndpoint(
            node: node,
            incarnation: incarnation,
            seed: seed,
            planted: planted,
            registers: registers,
            policy: policy,
            now: now,
            identity: other,
            ability: ability
        )
        process = endpoint.process
    }

    /// The state machine under test.
    package var consensus: Consensus<RegisterMachine> { _read { yield endpoint.consensus } }
    package var marks: ConsensusMarks? { endpoint.consensus.marks }
    package var transfers: Int { endpoint.transfers }

    package func handle(command: Command, now: Instant) { endpoint.handle(command, now: now) }

    package func handleTimer(now: Instant) { endpoint.handleTimer(now: now) }

    package func handle(datagram: RawSpan, from sender: SocketAddress, now: Instant) {
        // What is damaged or foreign is dropped, as an unauthentic packet would be.
        try? endpoint.receive(datagram, from: sender, now: now)
    }

    package func poll(
        now: Instant,
        into batch: inout DatagramBatch,
        events: inout [Event]
    ) -> Instant? {
        endpoint.poll(now: now, into: &batch, events: &events)
    }

    package func observation(of life: Life, hashingState: Bool) -> Observation? {
        var seen = Observation(
            endpoint.consensus,
            tag: process.tag,
            life: life,
            hashingState: hashingState
        )
        seen.misacknowledged = endpoint.misacknowledged
        return seen
    }

    package var required: [PrimaryConfiguration]? {
        endpoint.consensus.view == nil ? nil : endpoint.consensus.required
    }

    /// A fast digest of 32 bytes; a run needs no resistance against people.
    static func digest(_ bytes: [UInt8]) -> Digest {
        var hash = SipHash()
        hash.update(bytes.raw)
        func next() -> UInt64 {
            hash.update(0 as UInt64)
            return hash.finish()
        }
        return Digest(words: (next(), next(), next(), next()))
    }
}
