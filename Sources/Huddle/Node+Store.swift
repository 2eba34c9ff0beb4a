import MeshConsensus
import MeshEngine
import MeshNet
import MeshStore
import MeshWire

// What is stored to come back (`MeshStore.RoomStore`).
extension Node {
    /// Stores what the engine wants kept; a failure is reported, the node goes on.
    func keep(_ record: MeshEngine.RoomRecord) {
        self.record = record
        if !record.name.isEmpty { roomName = record.name }
        guard let store else { return }
        let stored = MeshStore.RoomRecord(
            secret: record.secret,
            name: currentRoomName,
            addresses: record.addresses,
            state: record.policy.map(Self.bytes) ?? [],
            savedSeconds: SystemClock.unixSeconds()
        )
        // The disk may take its time, and this thread keeps the room alive meanwhile.
        saving = Task.detached { [weak self, store, previous = saving] in
            await previous?.value
            do {
                try store.save(stored)
                await self?.saved(failure: nil)
            } catch {
                await self?.saved(failure: "\(error)")
            }
        }
    }

    /// The room's rule as the file's state holds it; files of before have none.
    static func bytes(_ policy: MeshConsensus.PartitionPolicy) -> [UInt8] {
        var writer = ByteWriter(capacity: 8)
        policy.encode(into: &writer)
        return writer.bytes
    }

    /// Throws at what this version does not know: another rule would make another room.
    static func policy(_ bytes: [UInt8]) throws(WireError) -> MeshConsensus.PartitionPolicy {
        guard !bytes.isEmpty else { return .available }
        var reader = ByteReader(bytes.raw)
        let policy = try MeshConsensus.PartitionPolicy(reading: &reader)
        try reader.finish()
        return policy
    }

    private func saved(failure: String?) {
        storeFailure = failure
    }

    /// The name of the room that the next start can resume, if one is stored.
    package func roomToResume() async -> String? {
        await saving?.value
        // What cannot be read brings nothing back.
        return (try? storedRoom())?.name
    }

    /// The room stored last, if any.
    func storedRoom() throws(HuddleError) -> MeshEngine.RoomRecord? {
        guard let store else { return nil }
        do {
            let contents = try store.load()
            if let failure = contents.failures.first, contents.records.isEmpty { throw failure }
            guard let stored = contents.records.first else { return nil }
            return MeshEngine.RoomRecord(
                secret: stored.secret,
                name: stored.name,
                addresses: stored.addresses,
                policy: try Self.policy(stored.state)
            )
        } catch let error as RoomStoreError {
            throw HuddleError(.roomFile, error.description)
        } catch is WireError {
            throw HuddleError(
                .roomFile,
                "the stored room follows a rule that this version does not know",
                hint: "update huddle, or forget the room: remove \(configuration.places.rooms)"
            )
        } catch {
            preconditionFailure("no other error is thrown: \(error)")
        }
    }
}
