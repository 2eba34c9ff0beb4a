import Huddle
import MeshFaults

extension SimulationCore {
    /// What these participants have begun and not ended.
    func inFlight(
        of participants: [SimulatedParticipant],
        digests: Bool
    ) async -> [InFlight] {
        await withCheckedContinuation { continuation in
            add(
                .call { [self] in
                    continuation.resume(
                        returning: flights(of: participants, digests: digests)
                    )
                }
            )
        }
    }

    /// The same, in the simulation's turn.
    func flights(of participants: [SimulatedParticipant], digests: Bool) -> [InFlight] {
        let present = participants.filter { !$0.isGone }
        let all = present.map { participant in
            participant.node.assumeIsolated { $0.progress(digests: digests) }
        }
        var flights: [InFlight] = []
        for (index, progress) in all.enumerated() {
            let participant = present[index]
            func add(_ kind: InFlight.Kind) {
                flights.append(InFlight(participant: participant.name, kind: kind))
            }
            if participant.running > 0 { add(.closure) }
            if progress.isEntering { add(.entry) }
            if progress.requests > 0 { add(.commands(progress.requests)) }
            if progress.messages > 0 { add(.messages(progress.messages)) }
            if progress.epoch == nil { add(.noView) }
            // Compared with the first of those in reach, as all others are.
            let other = present[..<index].firstIndex { reach($0, participant) }
            guard let other else { continue }
            if all[other].epoch != progress.epoch {
                add(.otherView(than: present[other].name))
            } else if all[other].state != progress.state {
                add(.otherState(than: present[other].name))
            }
        }
        return flights
    }

    /// Whether two participants can hear each other.
    private func reach(_ one: SimulatedParticipant, _ other: SimulatedParticipant) -> Bool {
        network.faults { faults in
            faults.partition.permits(from: one.index, to: other.index)
                && faults.partition.permits(from: other.index, to: one.index)
        }
    }
}
