import MeshEngine
import MeshSession
import MeshTransport
import MeshWire

/// One session's part in handing states to newcomers: what this node is asked, and what it asks for.
///
/// A value without time and sockets; `Node+State.swift` brings both. The rule is told in the decision
/// "The state for who comes late": a request stands at one place of the log, every participant marks
/// its streams there, the lead's state holds what came before the marks, and the newcomer drops that.
struct StateExchange {
    /// A request that this node, the lead, is to answer.
    struct Serving {
        let request: StateRequest
        /// The others that are to mark their streams.
        var musters: [ParticipantID: StateMuster] = [:]
        /// Those whose messages may be missing.
        var incomplete: Set<ParticipantID> = []
        /// Since when it has been the first that waits.
        var since: Instant?
        /// Whether the closure runs.
        var isClosing = false

        /// Whether all that the state shall hold has come.
        var isMustered: Bool { musters.values.allSatisfy(\.isComplete) }
    }

    /// The request that this node made last, until nothing of it is missing.
    struct Asked {
        let request: StateRequest
        /// Those of whose streams the marks are missing; what they send without is dropped.
        var gates: [ParticipantID: StateMuster] = [:]
        var marked: Set<StateStreams.Key> = []
        var isAnswered = false
    }

    /// What became of this node's request.
    enum Answer: Hashable {
        case state(SharedState.Content, incomplete: [ParticipantID])
        /// The lead has been silent for too long.
        case silence
        /// The wait was cancelled.
        case cancelled
        /// The participation is over.
        case over
    }

    /// What is to be done with a message.
    enum Verdict: Equatable {
        case deliver
        /// It is kept, dropped or understood; its channel's senders may have to wait.
        case keep(mustWait: Bool)
        /// It is dropped, since the state has it.
        case covered
        /// The lead answered.
        case answered(Answer)
    }

    private(set) var serving: [Serving] = []
    private(set) var asked: Asked?
    private(set) var streams = StateStreams()
    private(set) var statistics = StateStatistics()
    /// Requests that are over, whose last marks may still come; oldest first.
    private var finished: [Position] = []

    /// Requests that the lead keeps waiting at a time; a further newcomer asks again.
    static let requests = 16
    private static let rememberedRequests = 64

    /// Whether messages must be looked at.
    var isIdle: Bool { asked == nil && serving.isEmpty && streams.isEmpty }

    // MARK: Requests

    /// Takes a request that this node is to answer as the lead; `false` if it does not.
    mutating func serve(_ request: StateRequest, as own: ParticipantID) -> Bool {
        // Who waits for a state itself has none to give; who waits here asks no second time.
        let isFree = asked?.isAnswered ?? true
        guard isFree, serving.count < Self.requests else {
            finish(request.position)
            return false
        }
        var new = Serving(request: request, incomplete: Set(request.away))
        for other in request.present where other != own && other != request.requester {
            new.musters[other] = StateMuster()
        }
        new.incomplete.remove(request.requester)
        serving.append(new)
        return true
    }

    /// This node's request is in the log: from here on what others sent before it is dropped.
    ///
    /// What is held because of a request before it goes too: the state to come has it.
    mutating func ask(_ request: StateRequest, as own: ParticipantID) {
        if let old = asked {
            for _ in streams.release(old.request.position) { statistics.dropped += 1 }
            finish(old.request.position)
        }
        var new = Asked(request: request)
        for other in request.present where other != own { new.gates[other] = StateMuster() }
        asked = new
    }

    /// The request of this node has its answer, or gets none; answers with what may be read now.
    ///
    /// Of those whose messages the state may lack, nothing is dropped any more.
    mutating func close(incomplete: [ParticipantID]?) -> [InboundMessage] {
        guard var asked, !asked.isAnswered else { return [] }
        asked.isAnswered = true
        if let incomplete {
            for participant in incomplete { asked.gates[participant] = nil }
            asked.gates = asked.gates.filter { !$0.value.isComplete }
        } else {
            asked.gates = [:]
        }
        self.asked = asked
        let released = streams.release(asked.request.position)
        tidy()
        return released
    }

    /// Gives up waiting for the last marks of this node's request.
    mutating func openGates() {
        asked?.gates = [:]
        tidy()
    }

    /// The lead's closure begins, with who is missing; `nil` unless it is time.
    ///
    /// - Parameters:
    ///   - isDrained: Whether the readers have taken all that was handed to them.
    ///   - isLate: Whether nobody is waited for any more.
    /// - Returns: The request whose state is to be made now.
    mutating func begin(isDrained: Bool, isLate: Bool) -> StateRequest? {
        guard let first = serving.first, !first.isClosing else { return nil }
        guard first.isMustered && isDrained || isLate else { return nil }
        let missing = first.musters.filter { !isDrained || !$0.value.isComplete }
        serving[0].incomplete.formUnion(missing.keys)
        serving[0].isClosing = true
        return first.request
    }

    /// The first request becomes the one that is waited for; since when it is.
    mutating func beginWaiting(now: Instant) -> Instant? {
        guard !serving.isEmpty, serving[0].since == nil else { return nil }
        serving[0].since = now
        return now
    }

    /// A request has its answer, or nobody wants one any more; answers with what was held.
    mutating func end(_ position: Position) -> (Serving, [InboundMessage])? {
        guard let index = serving.firstIndex(where: { $0.request.position == position }) else {
            return nil
        }
        let over = serving.remove(at: index)
        finish(position)
        return (over, streams.release(position))
    }

    /// A participant is gone; the requests of it that end by that.
    mutating func gone(_ participant: ParticipantID) -> [Position] {
        for index in serving.indices {
            guard let muster = serving[index].musters.removeValue(forKey: participant),
                !muster.isComplete
            else { continue }
            serving[index].incomplete.insert(participant)
        }
        asked?.gates[participant] = nil
        tidy()
        return serving.filter { $0.request.requester == participant }.map(\.request.position)
    }

    /// A request is over; what still comes of it is late.
    mutating func finish(_ position: Position) {
        finished.append(position)
        if finished.count > Self.rememberedRequests { finished.removeFirst() }
    }

    /// Forgets the request of this node once nothing of it is missing.
    private mutating func tidy() {
        guard let asked, asked.isAnswered, asked.gates.isEmpty else { return }
        finish(asked.request.position)
        self.asked = nil
    }

    mutating func takeOpened() -> [String] { streams.takeOpened() }

    // MARK: Messages

    /// Says what is to be done with a message; `joinedAt` is the place of its sender's join.
    mutating func take(_ message: InboundMessage, joinedAt: Position?) -> Verdict {
        if let mark = message.mark, message.channel == StateNote.channel, !message.payload.isEmpty {
            return hear(message, mark)
        }
        guard message.lane == .reliable else { return .deliver }
        if let mustWait = streams.hold(message) {
            statistics.held += 1
            return .keep(mustWait: mustWait)
        }
        let key = StateStreams.Key(from: message.from, number: message.stream)
        if let mark = message.mark {
            note(mark, of: message, key)
            return .keep(mustWait: false)
        }
        if let asked, asked.gates[message.from] != nil, !asked.marked.contains(key) {
            statistics.dropped += 1
            return .covered
        }
        // Who joined after the request was never asked for a mark, and all it sends comes after.
        guard let joinedAt, let later = openRequest(before: joinedAt) else { return .deliver }
        streams.block(key, by: later)
        return take(message, joinedAt: nil)
    }

    private func openRequest(before position: Position) -> Position? {
        let own = asked.flatMap { $0.isAnswered ? nil : $0.request.position }
        let open = serving.map(\.request.position) + (own.map { [$0] } ?? [])
        return open.filter { $0 < position }.max()
    }

    private mutating func note(
        _ mark: StateMark,
        of message: InboundMessage,
        _ key: StateStreams.Key
    ) {
        guard message.payload.isEmpty, mark.stream < UInt64(StateNote.streams) else {
            statistics.malformed += 1
            return
        }
        if let index = serving.firstIndex(where: { $0.request.position == mark.position }) {
            guard serving[index].musters[message.from] != nil else {
                return refuse(of: message.from, to: serving[index].request)
            }
            serving[index].musters[message.from]?.mark(mark.stream)
            streams.block(key, by: mark.position)
        } else if let asked, asked.request.position == mark.position {
            guard asked.request.present.contains(message.from) else { return refuse() }
            self.asked?.gates[message.from]?.mark(mark.stream)
            self.asked?.marked.insert(key)
            if !asked.isAnswered { streams.block(key, by: mark.position) }
            closeGate(of: message.from)
        } else {
            refuse(mark.position)
        }
    }

    private mutating func hear(_ message: InboundMessage, _ mark: StateMark) -> Verdict {
        let nothing = Verdict.keep(mustWait: false)
        let note: StateNote
        do {
            note = try StateNote(decoding: message.payload)
        } catch {
            statistics.malformed += 1
            return nothing
        }
        if case .streams(let count) = note,
            let index = serving.firstIndex(where: { $0.request.position == mark.position })
        {
            if serving[index].musters[message.from] != nil {
                serving[index].musters[message.from]?.expect(count)
            } else {
                refuse(of: message.from, to: serving[index].request)
            }
            return nothing
        }
        guard let asked, asked.request.position == mark.position else {
            refuse(mark.position)
            return nothing
        }
        let isLead = message.from == asked.request.provider
        switch note {
        case .streams(let count):
            guard asked.request.present.contains(message.from) else {
                refuse()
                return nothing
            }
            self.asked?.gates[message.from]?.expect(count)
            closeGate(of: message.from)
            return nothing
        case .busy, .state, .nothing:
            guard isLead else {
                refuse()
                return nothing
            }
        }
        guard !asked.isAnswered else {
            statistics.late += 1
            return nothing
        }
        switch note {
        case .state(let bytes, let incomplete):
            return .answered(.state(.bytes(bytes), incomplete: incomplete))
        case .nothing(let reason, let incomplete):
            return .answered(.state(.empty(reason.absence), incomplete: incomplete))
        case .streams, .busy: return nothing
        }
    }

    private mutating func closeGate(of participant: ParticipantID) {
        // Until the answer it stays, so that what came before the mark is known for what it is.
        guard let asked, asked.isAnswered else { return }
        if asked.gates[participant]?.isComplete == true { self.asked?.gates[participant] = nil }
        tidy()
    }

    private mutating func refuse() { statistics.refused += 1 }

    /// Who was there and has left since was right to mark.
    private mutating func refuse(of participant: ParticipantID, to request: StateRequest) {
        if request.present.contains(participant), participant != request.requester {
            statistics.late += 1
        } else {
            refuse()
        }
    }

    private mutating func refuse(_ position: Position) {
        if finished.contains(position) { statistics.late += 1 } else { refuse() }
    }
}

/// What became of marks, notes and messages around requests for the state.
package struct StateStatistics: Hashable, Sendable {
    /// Marks and states that nobody asked for, or of somebody who was not asked.
    package var refused: UInt64 = 0
    /// Marks and notes that made no sense.
    package var malformed: UInt64 = 0
    /// Marks and notes of a request that is over.
    package var late: UInt64 = 0
    /// Messages that were held until a state was there.
    package var held: UInt64 = 0
    /// Messages that were dropped, since the state has them.
    package var dropped: UInt64 = 0

    package init() {}
}
