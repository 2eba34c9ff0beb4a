import Huddle
import HuddleTesting
import MeshWire

/// A participant's program whose state is a count for each sender: it sends numbers, and applies its own.
actor Tally {
    /// What came of one sender.
    struct Line: Hashable, Sendable {
        var count = 0
        var sum = 0
    }

    let session: Session
    let own: ParticipantID
    private(set) var lines: [ParticipantID: Line] = [:]
    /// Numbers that came twice or too early, of whoever is not the lead that gave the state.
    private(set) var faults: [String] = []
    private(set) var state: SharedState?
    /// Messages that did not reach somebody, as their sender was told.
    private(set) var unreached = 0
    /// The lead whose numbers up to this are in the state; they may come once more.
    private var covered: (by: ParticipantID, count: Int)?
    private var readers: [Task<Void, Never>] = []

    static let channels = ["a", "b"]

    init(_ session: Session, _ own: ParticipantID) {
        self.session = session
        self.own = own
    }

    /// Joins as a newcomer, takes the state, and goes on as the others do.
    func enter() async throws {
        let state = try await session.state()
        self.state = state
        load(state)
        await begin()
    }

    /// Reads and provides.
    func begin() async {
        await session.provideState { await self.encoded }
        for channel in Self.channels {
            let messages = await session.messages(on: channel)
            readers.append(Task { for await message in messages { self.apply(message) } })
        }
    }

    /// Lets go of its readers.
    func end() async {
        for reader in readers { reader.cancel() }
        for reader in readers { await reader.value }
        readers = []
    }

    /// Sends `numbers` one after the other; its own counts before it is sent.
    func send(_ numbers: [Int], every pause: Duration, _ clock: SimulationClock) async {
        for number in numbers {
            lines[own, default: Line()].add(number)
            let count = lines[own]?.count ?? 0
            let channel = Self.channels[number % Self.channels.count]
            await begin(Self.encode(count, number), on: channel)
            try? await clock.sleep(for: pause)
        }
    }

    /// Sends, and keeps in mind who was out of reach: that is told, and no fault of a state.
    private func begin(_ payload: [UInt8], on channel: String) async {
        guard let sent = try? await session.beginSend(payload, on: channel, to: .all) else {
            return
        }
        Task {
            do {
                try await sent.outcome(inPart: {})
            } catch MessengerError.notDelivered(let failures) {
                unreached += failures.values.count { $0 == .unreachable }
            } catch {}
        }
    }

    private func apply(_ message: Message) {
        guard let (count, number) = Self.decode(message.payload) else {
            faults.append("a payload of \(message.payload.count) bytes")
            return
        }
        if let covered, message.from == covered.by, count <= covered.count { return }
        lines[message.from, default: Line()].add(number)
    }

    private func load(_ state: SharedState) {
        guard let bytes = state.bytes else { return }
        for start in stride(from: 0, to: bytes.count, by: 32) {
            let line = Array(bytes[start..<start + 32])
            guard let id = ParticipantID(line[..<16]),
                let (count, sum) = Self.decode(Array(line[16...]))
            else { continue }
            lines[id] = Line(count: count, sum: sum)
            if id == state.from?.participantID { covered = (id, count) }
        }
    }

    var encoded: [UInt8] {
        lines.sorted { $0.key < $1.key }.flatMap {
            $0.key.bytes + Self.encode($0.value.count, $0.value.sum)
        }
    }

    private static func encode(_ first: Int, _ second: Int) -> [UInt8] {
        [first, second].flatMap { value in
            (0..<8).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
        }
    }

    private static func decode(_ bytes: [UInt8]) -> (Int, Int)? {
        guard bytes.count == 16 else { return nil }
        func value(_ part: ArraySlice<UInt8>) -> Int {
            part.reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        return (value(bytes[..<8]), value(bytes[8...]))
    }
}

extension Tally.Line {
    mutating func add(_ number: Int) {
        count += 1
        sum += number
    }
}
