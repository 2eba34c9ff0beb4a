public import FoundationEssentials
import MeshCrypto
import MeshEngine
import MeshNet
import MeshSession
public import MeshWire

// What the module of Apple's names needs beside the public interface.
extension Node {
    /// Who is in a session now, and each change of it from then on.
    package func presence(
        of session: SessionID
    ) -> (present: Set<Participant>, changes: MailboxSequence<ParticipantChange>) {
        (Set(participants(of: session)), participantChanges(of: session))
    }

    /// What runs in the slot of which the room has one, and whether this process started it.
    package func slotActivity() -> (activity: SessionActivity, isLocallyInitiated: Bool)? {
        engine.room?.session(inSlot: Self.activitySlot).map { session in
            (SessionActivity(session.activity), session.initiator == engine.process)
        }
    }

    /// This node's participant of a session, as it is or will be called once it has joined; `nil` if there
    /// is no such session.
    package func localParticipantToBe(of session: SessionID) -> Participant? {
        if let participant = localParticipant(of: session) { return participant }
        guard let id = localParticipantID(of: session) else { return nil }
        return Participant(
            participantID: id,
            node: self.id,
            profile: profile,
            person: engine.person.map(PersonKey.init),
            number: 0,
            isPresent: true,
            isNearbyWithLocalParticipant: true
        )
    }
}

// The node's clock, by which everything waits that waits for the node: virtual in a simulation.
extension Node {
    /// The clock of now, from anywhere.
    package nonisolated var instant: Instant { loop.now }

    /// Ends `duration` later by the node's clock, or when the task is cancelled.
    package nonisolated func sleep(for duration: Duration) async {
        await loop.sleep(for: duration)
    }
}

extension SessionID {
    /// The identifier as Foundation has it.
    public var uuid: UUID { UUID(bytes) }
}

extension ParticipantID {
    /// The identifier as Foundation has it.
    public var uuid: UUID { UUID(bytes) }
}

extension UUID {
    init(_ bytes: [UInt8]) {
        func byte(_ index: Int) -> UInt8 { index < bytes.count ? bytes[index] : 0 }
        self.init(
            uuid: (
                byte(0), byte(1), byte(2), byte(3), byte(4), byte(5), byte(6), byte(7), byte(8),
                byte(9), byte(10), byte(11), byte(12), byte(13), byte(14), byte(15)
            )
        )
    }
}

extension AttachmentID {
    /// The identifier as Foundation has it.
    public var uuid: UUID { UUID(bytes) }
}

/// The hash that names of message types are told by.
package enum MessageHash {
    /// BLAKE2b-256.
    package static func blake2b256(_ bytes: RawSpan) -> [UInt8] {
        Hash.plain(bytes, outputBytes: 32)
    }
}
