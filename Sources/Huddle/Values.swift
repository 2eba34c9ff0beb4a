import MeshSession
import MeshWire

/// The shared values of a session: an ordered map in the room's log, with compare-and-set.
///
/// A write is known to every member in the same order; late joiners read them all. Keys have 1 to 256
/// bytes, values at most 16 KiB, a session 1,024 keys and 1 MiB.
public struct Values: Sendable {
    let session: SessionID
    let node: Node

    /// What must hold for a write to happen.
    public enum Expectation: Hashable, Sendable {
        /// Nothing: the write happens whatever is there.
        case anything
        /// There is no value yet.
        case absent
        /// The value has this revision.
        case revision(Revision)
        /// The value is this one.
        case value([UInt8])
    }

    /// Writes a value, and answers with its revision.
    ///
    /// Throws ``ValueError/conflict(current:)``, having changed nothing, if the value is not as `expected`.
    @discardableResult
    public func set(
        _ key: String,
        to value: [UInt8],
        if expected: Expectation = .anything
    ) async throws(ValueError) -> Revision {
        let command: RoomCommand =
            expected == .anything
            ? .put(key: key, value: value)
            : .compareAndSet(key: key, expected: expected.inner, value: value)
        return try await write(command)
    }

    /// Deletes a value if it is as `expected`.
    public func delete(_ key: String, if expected: Expectation = .anything) async throws(ValueError)
    {
        _ = try await write(.delete(key: key, expected: expected.inner))
    }

    /// Deletes whatever value there is; `false`, having changed nothing, if there is none.
    package func deletePresent(_ key: String) async throws(ValueError) -> Bool {
        while true {
            let present: Value?
            do {
                present = try await current(key)
            } catch {
                throw .failed(error)
            }
            guard let present else { return false }
            do throws(ValueError) {
                try await delete(key, if: .revision(present.revision))
                return true
            } catch {
                // Somebody wrote in between: look again. Each round is somebody else's success.
                guard case .conflict = error else { throw error }
            }
        }
    }

    /// The value of a key, from this node's own state; `nil` if there is none.
    ///
    /// ``current(_:)`` asks the leader first, so it also sees what was just written elsewhere.
    public subscript(key: String) -> Value? {
        get async { await node.value(key, in: session) }
    }

    /// The value of a key, no older than this call (linearizable).
    public func current(_ key: String) async throws(HuddleError) -> Value? {
        try await node.catchUp()
        return await node.value(key, in: session)
    }

    /// Every key and value of this node's own state, sorted by key.
    public var all: [(key: String, value: Value)] {
        get async { await node.values(in: session) }
    }

    /// Changes from now on, in the order of the room's log.
    ///
    /// A reader more than 4,096 changes behind loses the oldest; ``all`` has the whole.
    public func changes() async -> MailboxSequence<ValueChange> {
        await node.valueChanges(of: session)
    }

    private func write(_ command: RoomCommand) async throws(ValueError) -> Revision {
        let result = await node.write(command, session: session)
        return try result.get()
    }
}

extension Values.Expectation {
    var inner: Expectation {
        switch self {
        case .anything: .anything
        case .absent: .absent
        case .revision(let revision): .version(revision.position)
        case .value(let bytes): .value(bytes)
        }
    }
}
