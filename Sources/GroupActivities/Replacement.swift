import Huddle
import MeshWire
import Synchronization

/// Something else that others want to do in place of what this program takes part in.
public struct GroupActivityReplacement: Sendable {
    /// The session that changes or gives way.
    public let session: UUID
    /// The kind of the new activity.
    public let identifier: String
    /// What people are shown of it; empty if it cannot be read.
    public let metadata: GroupActivityMetadata
    /// Whether it comes as another session, so that this one ends; else this one goes on with it.
    public let isOtherSession: Bool
}

/// Holds replacements back for this program, while ``GroupActivityPolicy/willReplace`` asks a person.
///
/// One for a conversation: the session that ends and the one that comes are held by the same word.
@MainActor
final class ReplacementDesk: Sendable {
    /// The sessions that this program takes part in, and the word that is awaited.
    private var joined: [UUID: Task<Void, Never>?] = [:]

    nonisolated init() {}

    func joined(_ session: UUID) {
        if joined[session] == nil { joined[session] = .some(nil) }
    }

    func over(_ session: UUID) {
        joined[session] = nil
    }

    /// Waits until the program is ready for a new session, if it takes part in another one.
    func makeWay(for update: SessionUpdate, of node: Node) async {
        let id = update.session.id.uuid
        guard GroupActivityPolicy.willReplace != nil, !update.isLocallyInitiated else { return }
        // The slot has one session, so the program is in one other at the most.
        for old in joined.keys where old != id { await hold(old, of: node) }
    }

    /// Waits until the program is ready for the end of a session that another one replaced.
    func hold(_ session: UUID, of node: Node) async {
        guard GroupActivityPolicy.willReplace != nil, let known = joined[session] else { return }
        if let known { return await known.value }
        let word = Task { @MainActor in
            guard let next = await node.slotActivity(), !next.isLocallyInitiated else { return }
            await Self.ask(
                GroupActivityReplacement(
                    session: session,
                    identifier: next.activity.identifier,
                    metadata: Self.metadata(of: next.activity),
                    isOtherSession: true
                )
            )
        }
        joined[session] = word
        await word.value
    }

    /// Asks the program, for at most 10 s.
    static func ask(_ replacement: GroupActivityReplacement) async {
        guard let ask = GroupActivityPolicy.willReplace else { return }
        _ = await TimeLimit.value(within: TimeLimit.replacement) { await ask(replacement) }
    }

    static func metadata(of activity: SessionActivity) -> GroupActivityMetadata {
        let shown = try? ActivityPayload.decode(GroupActivityMetadata.self, activity.metadata)
        return shown ?? GroupActivityMetadata()
    }
}
