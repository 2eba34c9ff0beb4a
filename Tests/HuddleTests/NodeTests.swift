import Foundation
import MeshConsensus
import MeshEngine
import MeshWire
import Synchronization
import Testing

@testable import Huddle

/// Nodes of one process on loopback, with homes of their own; no discovery, addresses are given.
struct Stage {
    let folder: String

    init() throws {
        var template = Array("/tmp/huddle-test-XXXXXX".utf8CString)
        _ = try #require(mkdtemp(&template))
        folder = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    func configuration(_ name: String) -> NodeConfiguration {
        var configuration = NodeConfiguration(
            name: name,
            places: Places(below: "\(folder)/\(name)")
        )
        configuration.reach = .loopback
        configuration.isDiscovering = false
        return configuration
    }

    func start(_ name: String) async throws -> Node {
        try await Node.start(configuration(name))
    }

    func remove() {
        try? FileManager.default.removeItem(atPath: folder)
    }
}

extension Node {
    /// The channels of a session whose senders this node makes wait.
    fileprivate func pausedChannels(of session: Session) -> Set<String> {
        hubs[session.id]?.paused ?? []
    }

    /// The addresses in the room file, once what is being written is.
    fileprivate func storedAddresses() async throws -> [SocketAddress]? {
        await saving?.value
        return try storedRoom()?.addresses
    }

    nonisolated var address: SocketAddress { SocketAddress(127, 0, 0, 1, port: port) }

    /// Joins the room of `host` with a new code of it.
    func join(_ room: Room) async throws -> Room {
        let invite = try await room.invite()
        return try await join(try Invitation(invite.code, near: room.node.address))
    }
}

extension Session {
    /// Waits until the session has `count` participants here, by its own news.
    func waitForParticipants(_ count: Int) async {
        let changes = await participantChanges()
        guard await participants.count != count else { return }
        for await _ in changes where await participants.count == count {
            return
        }
    }
}

@Suite("Node, Room, Session", .serialized, .timeLimit(.minutes(1)))
struct NodeTests {
    @Test("a stored room's rule is read as it was written; one of a later version is an error")
    func storedPolicy() throws {
        #expect(try Node.policy([]) == .available)
        for policy in [.available, .majority, .majority(survivor: .seconds(30))]
            as [MeshConsensus.PartitionPolicy]
        {
            #expect(try Node.policy(Node.bytes(policy)) == policy)
        }
        for wrong in [[9], [1, 0], [0, 0]] as [[UInt8]] {
            #expect(throws: WireError.self, "\(wrong)") { try Node.policy(wrong) }
        }
    }

    @Test("a guest joins by code, both talk on both lanes, and the guest leaves")
    func meet() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let (anna, ben) = (try await stage.start("anna"), try await stage.start("ben"))
        let hall = try await anna.createRoom(named: "hall")
        let room = try await ben.join(hall)
        #expect(await ben.room?.name == "hall" || room.name == "hall")
        let view = try #require(await room.view)
        #expect(view.members.count == 2)
        #expect(view.leader == anna.id)

        let started = try await hall.start("chess")
        let session = try #require(await room.sessions.first { $0.id == started.id })
        let own = try await session.join()
        let inbox = await session.messages(on: "moves")
        let fast = await session.messages(on: "cursor", mode: .unreliable)
        await started.waitForParticipants(2)
        try await started.send(Array("e4".utf8), on: "moves")
        try await started.send(Array("e5".utf8), on: "moves")
        try await started.sendFast([1, 2, 3], on: "cursor", key: 9)
        var moves = inbox.makeAsyncIterator()
        #expect(await moves.next()?.payload == Array("e4".utf8))
        #expect(await moves.next()?.payload == Array("e5".utf8))
        var cursor = fast.makeAsyncIterator()
        let point = try #require(await cursor.next())
        #expect(point.key == 9)
        #expect(point.payload == [1, 2, 3])
        #expect(await started.participants.map(\.name).sorted() == ["anna", "ben"])
        #expect(await session.lead?.node == anna.id)
        try await started.giveLead(to: own.participantID)
        #expect(await started.lead?.id == own.id)

        try await room.leave()
        #expect(await ben.room == nil)
        #expect(await moves.next() == nil)
        await started.waitForParticipants(1)
        await ben.stop()
        await anna.stop()
    }

    @Test("a message that came before the first reader is kept for it — 40-groupactivities.md D13")
    func early() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let (anna, ben) = (try await stage.start("anna"), try await stage.start("ben"))
        let hall = try await anna.createRoom(named: "hall")
        let room = try await ben.join(hall)
        let started = try await hall.start("notes")
        let session = try #require(await room.sessions.first { $0.id == started.id })
        try await session.join()
        await started.waitForParticipants(2)
        try await started.send([7], on: "early")
        var inbox = await session.messages(on: "early").makeAsyncIterator()
        #expect(await inbox.next()?.payload == [7])
        await ben.stop()
        await anna.stop()
    }

    @Test("compare-and-set writes only over what was seen")
    func values() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let (anna, ben) = (try await stage.start("anna"), try await stage.start("ben"))
        let hall = try await anna.createRoom(named: "hall")
        let room = try await ben.join(hall)
        let first = try await hall.standingSession("room").values
        let second = try await room.standingSession("room").values
        let changes = await second.changes()
        let revision = try await first.set("seat", to: [1], if: .absent)
        #expect(try await second.current("seat")?.revision == revision)
        await #expect(throws: ValueError.conflict(current: revision)) {
            try await second.set("seat", to: [2], if: .absent)
        }
        let next = try await second.set("seat", to: [2], if: .revision(revision))
        await #expect(throws: ValueError.conflict(current: next)) {
            try await first.set("seat", to: [3], if: .revision(revision))
        }
        #expect(Revision(next.description) == next)
        try await first.delete("seat", if: .value([2]))
        #expect(try await second.current("seat") == nil)
        await #expect(throws: ValueError.tooLarge(limit: Limits.valueBytes)) {
            try await first.set("big", to: Array(repeating: 0, count: Limits.valueBytes + 1))
        }
        var seen: [[UInt8]?] = []
        for await change in changes.prefix(3) { seen.append(change.value?.bytes) }
        #expect(seen == [[1], [2], nil])
        await ben.stop()
        await anna.stop()
    }

    @Test("a message above the limit is refused with size and limit, and nothing is sent")
    func tooLarge() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let anna = try await stage.start("anna")
        let session = try await anna.createRoom(named: "hall").start("big")
        let payload = [UInt8](repeating: 0, count: Limits.messageBytes + 1)
        let error = await #expect(throws: MessengerError.self) {
            try await session.send(payload, on: "big")
        }
        guard case .tooLarge(let size, let limit)? = error else {
            Issue.record("it is \(String(describing: error))")
            return
        }
        #expect(size == payload.count)
        #expect(limit < payload.count)
        await #expect(throws: MessengerError.badChannel(limit: 239)) {
            try await session.send([1], on: String(repeating: "x", count: 240))
        }
        await anna.stop()
        await #expect(throws: MessengerError.sessionInvalidated) { try await session.send([1]) }
    }

    @Test("a reader that does not read makes the sender wait, and loses nothing")
    func backPressure() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let (anna, ben) = (try await stage.start("anna"), try await stage.start("ben"))
        let hall = try await anna.createRoom(named: "hall")
        let room = try await ben.join(hall)
        let started = try await hall.start("bulk")
        let session = try #require(await room.sessions.first { $0.id == started.id })
        try await session.join()
        await started.waitForParticipants(2)
        let inbox = await session.messages(on: "bulk")
        let accepted = Mutex(0)
        let count = 400
        let sender = Task {
            for number in 0..<count {
                var payload = [UInt8](repeating: 0, count: 64 << 10)
                payload[0] = UInt8(number & 255)
                try await started.send(payload, on: "bulk", confirm: .accepted)
                accepted.withLock { $0 += 1 }
            }
        }
        try await waitUntil { await ben.pausedChannels(of: session) == ["bulk"] }
        // 25 MiB do not fit the reader's 4, the windows and the sender's 8.
        #expect(accepted.withLock { $0 } < count)
        var received = 0
        for await message in inbox {
            #expect(message.payload[0] == UInt8(received & 255))
            received += 1
            if received == count { break }
        }
        #expect(received == count)
        try await sender.value
        await ben.stop()
        await anna.stop()
    }

    @Test("a channel nobody reads yet makes its sender wait, holds up no other, and loses nothing")
    func firstReaderComesLate() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let (anna, ben) = (try await stage.start("anna"), try await stage.start("ben"))
        let hall = try await anna.createRoom(named: "hall")
        let room = try await ben.join(hall)
        let started = try await hall.start("bulk")
        let session = try #require(await room.sessions.first { $0.id == started.id })
        try await session.join()
        await started.waitForParticipants(2)
        let accepted = Mutex(0)
        let count = 400
        let sender = Task {
            for number in 0..<count {
                var payload = [UInt8](repeating: 0, count: 64 << 10)
                payload[0] = UInt8(number & 255)
                try await started.send(payload, on: "bulk", confirm: .accepted)
                accepted.withLock { $0 += 1 }
            }
        }
        try await waitUntil { await ben.pausedChannels(of: session) == ["bulk"] }
        // What fits the windows and the sender's queues is accepted, and then no more.
        try await waitUntil { accepted.withLock { $0 } > 64 }
        try await started.send([1], on: "talk", deadline: .seconds(10))
        #expect(accepted.withLock { $0 } < count)
        var received = 0
        for await message in await session.messages(on: "bulk") {
            #expect(message.payload[0] == UInt8(received & 255))
            received += 1
            if received == count { break }
        }
        #expect(received == count)
        try await sender.value
        // Small ones wait too: beyond 128, not beyond 256.
        let small = Task {
            for number in 0..<2000 {
                try await started.send(
                    [UInt8(number & 255)] + [UInt8](repeating: 0, count: 99),
                    on: "small",
                    confirm: .accepted
                )
            }
        }
        try await waitUntil { await ben.pausedChannels(of: session) == ["small"] }
        received = 0
        for await message in await session.messages(on: "small") {
            #expect(message.payload[0] == UInt8(received & 255))
            received += 1
            if received == 2000 { break }
        }
        #expect(received == 2000)
        try await small.value
        await ben.stop()
        await anna.stop()
    }

    @Test("who left a channel's last reader behind makes nobody wait: the newest are kept")
    func lettingGo() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let (anna, ben) = (try await stage.start("anna"), try await stage.start("ben"))
        let hall = try await anna.createRoom(named: "hall")
        let room = try await ben.join(hall)
        let started = try await hall.start("notes")
        let session = try #require(await room.sessions.first { $0.id == started.id })
        try await session.join()
        await started.waitForParticipants(2)
        try await started.send([0], on: "news")
        for await _ in await session.messages(on: "news") { break }
        for number in 1...600 {
            try await started.send([UInt8(number & 255), UInt8(number >> 8)], on: "news")
        }
        #expect(await ben.pausedChannels(of: session).isEmpty)
        var late = await session.messages(on: "news").makeAsyncIterator()
        let first = try #require(await late.next()?.payload)
        #expect(Int(first[0]) + Int(first[1]) << 8 == 600 - 255)
        await ben.stop()
        await anna.stop()
    }

    @Test("a room file keeps the addresses by which a member is found again without discovery")
    func addresses() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let (anna, first) = (try await stage.start("anna"), try await stage.start("ben"))
        let hall = try await anna.createRoom(named: "hall")
        _ = try await first.join(hall)
        #expect(try await first.storedAddresses() == [anna.address])
        await first.stop()
        let second = try await stage.start("ben")
        let room = try #require(try await second.resumeRoom())
        #expect(await room.view?.members.count == 2)
        // The new process tells its name once it is in.
        try await waitUntil { await second.members.map(\.name) == ["anna", "ben"] }
        await second.stop()
        await anna.stop()
    }

    @Test("an attempt to join that is left is said to be stopped, and the node is free again")
    func leaveWhileJoining() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let ben = try await stage.start("ben")
        // Port 9 is "discard": nobody answers there.
        let nobody = SocketAddress(127, 0, 0, 1, port: 9)
        let attempt = Task { () -> JoinError? in
            do throws(JoinError) {
                _ = try await ben.join(try Invitation("07-4K9QXMC", near: nobody))
                return nil
            } catch {
                return error
            }
        }
        try await waitUntil { await ben.entry == .joining }
        try await ben.leaveRoom()
        #expect(await attempt.value == .cancelled)
        #expect(await ben.entry == nil)
        await #expect(throws: HuddleError.self) { try await ben.leaveRoom() }
        #expect(try await ben.createRoom(named: "own").name == "own")
        await ben.stop()
    }

    @Test("a room that is left while it is resumed is forgotten")
    func leaveWhileResuming() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let first = try await stage.start("ben")
        _ = try await first.createRoom(named: "hall")
        await first.stop()
        let second = try await stage.start("ben")
        #expect(await second.roomToResume() == "hall")
        let attempt = Task { try await second.resumeRoom() }
        try await waitUntil { await second.entry == .resuming }
        try await second.leaveRoom()
        let error = await #expect(throws: HuddleError.self) { try await attempt.value }
        #expect(error?.kind == .cancelled)
        #expect(await second.roomToResume() == nil)
        #expect(try await second.resumeRoom() == nil)
        await second.stop()
    }

    @Test("a delete says whether there was anything, and every failure of a send has words")
    func words() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let anna = try await stage.start("anna")
        let values = try await anna.createRoom(named: "hall").standingSession("room").values
        #expect(try await values.deletePresent("seat") == false)
        try await values.set("seat", to: [1])
        #expect(try await values.deletePresent("seat"))
        await #expect(throws: ValueError.conflict(current: nil)) {
            try await values.set("seat", to: [2], if: .value([1]))
        }
        #expect("\(ValueError.conflict(current: nil))" == "there is no such value")
        let full = DeliveryFailure(.tooManyChannels(limit: 1022))
        #expect(full == .tooManyChannels(limit: 1022))
        #expect("\(full)".contains("1022 channels open, the most they can"))
        await anna.stop()
    }

    @Test("a wrong code is not confirmed, and the right one still works")
    func wrongCode() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let (anna, ben) = (try await stage.start("anna"), try await stage.start("ben"))
        let hall = try await anna.createRoom(named: "hall")
        let invite = try await hall.invite()
        #expect(throws: JoinError.mistyped) { try Invitation("00-0000001") }
        let guess = try #require(
            "0123456789ABCDEFGHJKMNPQRSTVWXYZ".lazy.compactMap { symbol -> Invitation? in
                let text = "\(invite.code.prefix(3))000000\(symbol)"
                return text == invite.code ? nil : try? Invitation(text, near: anna.address)
            }.first
        )
        await #expect(throws: JoinError.unconfirmed) { try await ben.join(guess) }
        _ = try await ben.join(try Invitation(invite.code, near: anna.address))
        #expect(await ben.room != nil)
        await #expect(throws: JoinError.busy) {
            try await ben.join(try Invitation(invite.code, near: anna.address))
        }
        await ben.stop()
        await anna.stop()
    }

    @Test("nobody at the address is said, with the address")
    func unreachable() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        var configuration = stage.configuration("ben")
        configuration.adapt = { $0.joinTimeout = .milliseconds(700) }
        let ben = try await Node.start(configuration)
        // Port 9 is "discard": nobody answers there.
        let nobody = SocketAddress(127, 0, 0, 1, port: 9)
        await #expect(throws: JoinError.unreachable(address: nobody)) {
            try await ben.join(try Invitation("07-4K9QXMC", near: nobody))
        }
        await ben.stop()
    }

    @Test("a port in use, a second instance and an open key file each say so")
    func refusals() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let anna = try await stage.start("anna")
        let second = await #expect(throws: HuddleError.self) { try await stage.start("anna") }
        #expect(second?.kind == .identityInUse)
        #expect(second?.description.contains("\(getpid())") == true)
        var configuration = stage.configuration("ben")
        configuration.port = anna.port
        let taken = await #expect(throws: HuddleError.self) { try await Node.start(configuration) }
        #expect(taken?.kind == .portInUse)
        #expect(taken?.description.contains("\(anna.port)") == true)
        await anna.stop()
        chmod(configuration.places.keyFile, 0o640)
        configuration.port = 0
        let open = await #expect(throws: HuddleError.self) { try await Node.start(configuration) }
        #expect(open?.kind == .keyFile)
        #expect(open?.description.contains("chmod 600") == true)
    }

    @Test("a split heals: both nodes tell one conflict, and settling it on one settles it on both")
    func conflict() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let (anna, ben) = (try await stage.start("anna"), try await stage.start("ben"))
        let hall = try await anna.createRoom(named: "hall")
        let room = try await ben.join(hall)
        let rooms = [hall, room]
        for room in rooms { try await room.standingSession("room").join() }
        try await hall.shared.values.set("colour", to: [0])
        try await waitUntil { await room.shared.values["colour"] != nil }

        await anna.cut([.port(ben.port)])
        await ben.cut([.port(anna.port)])
        for room in rooms {
            try await waitUntil {
                let view = await room.view
                return view?.members.count == 1 && view?.isUsable == true
            }
        }
        try await hall.shared.values.set("colour", to: [1])
        try await room.shared.values.set("colour", to: [2])
        try await hall.shared.values.set("of anna", to: [1])
        try await room.shared.values.set("of ben", to: [2])
        #expect(await hall.conflicts.isEmpty)
        let updates = [await hall.updates(), await room.updates()]
        await anna.heal()
        await ben.heal()
        for room in rooms { try await waitUntil { await !room.conflicts.isEmpty } }

        let found = await hall.conflicts
        #expect(await room.conflicts == found)
        let conflict = try #require(found.first)
        #expect(found.count == 1)
        #expect(conflict.session == hall.shared.id)
        #expect(conflict.subject == .value && conflict.key == "colour")
        #expect(conflict.base == .bytes([0]))
        #expect(
            Set([conflict.kept.content, conflict.lost.first?.content]) == [
                .bytes([1]), .bytes([2]),
            ]
        )
        let authors = await hall.shared.participants.filter {
            conflict.authors.contains($0.participantID)
        }
        #expect(Set(authors.map(\.node)) == [anna.id, ben.id])
        for room in rooms {
            let values = room.shared.values
            #expect(await values["colour"].map { .bytes($0.bytes) } == conflict.kept.content)
            #expect(await values["of anna"]?.bytes == [1])
            #expect(await values["of ben"]?.bytes == [2])
        }

        try await room.acknowledge(conflict)
        for room in rooms { try await waitUntil { await room.conflicts.isEmpty } }
        let again = await #expect(throws: HuddleError.self) { try await hall.acknowledge(conflict) }
        #expect(again?.kind == .noConflict)
        await anna.stop()
        await ben.stop()
        for sequence in updates {
            var all: [RoomUpdate] = []
            for await update in sequence { all.append(update) }
            let summary = all.lazy.compactMap { update in
                if case .merged(let summary) = update { summary } else { nil }
            }.first
            #expect(summary?.conflicting == 1)
            #expect((summary?.applied ?? 0) >= 1)
            #expect(all.count { $0 == .conflictFound(conflict) } == 1)
            let settled = RoomUpdate.conflictSettled(conflict.session, .value, key: "colour")
            #expect(all.count { $0 == settled } == 1)
            #expect(!all.contains { if case .writesDiscarded = $0 { true } else { false } })
        }
    }

    @Test("a node that stops ends every wait and every sequence")
    func stop() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let anna = try await stage.start("anna")
        let room = try await anna.createRoom(named: "hall")
        let session = try await room.start("notes")
        let inbox = await session.messages()
        let updates = await room.updates()
        await anna.stop()
        await anna.stop()
        var messages = inbox.makeAsyncIterator()
        #expect(await messages.next() == nil)
        for await _ in updates {}
        await #expect(throws: HuddleError.self) { try await room.invite() }
        await #expect(throws: HuddleError.self) { try await session.join() }
    }

    /// Polls until `condition` holds, for at most 5 s.
    private func waitUntil(_ condition: () async -> Bool) async throws {
        for _ in 0..<250 {
            if await condition() { return }
            try await Task.sleep(for: .milliseconds(20))
        }
        Issue.record("it did not happen within 5 s")
    }
}
