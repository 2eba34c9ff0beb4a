import GroupActivities
import Huddle

/// Holds the canvas together: strokes arrive once and in order, cursors as fast as they can.
@MainActor
final class CanvasManager {
    private(set) var strokes: [Stroke] = []
    private var cursors: [ParticipantID: (name: String, point: Point)] = [:]
    private var session: GroupSession<Canvas>?
    private var messenger: GroupSessionMessenger?
    private var subscriptions = Set<AnyCancellable>()
    private var tasks: [Task<Void, Never>] = []

    /// Takes part in a session, and hears what the others draw.
    func join(_ session: GroupSession<Canvas>) {
        leave()
        let messenger = GroupSessionMessenger(session: session)
        self.session = session
        self.messenger = messenger

        session.$state
            .sink { [weak self] state in
                guard case .invalidated(let reason) = state else { return }
                say("canvas closed: \(reason)")
                self?.leave()
            }
            .store(in: &subscriptions)
        session.$activeParticipants
            .sink { [weak self] participants in
                let newcomers = participants.subtracting(session.activeParticipants)
                say("people \(participants.count)")
                Task { await self?.welcome(newcomers) }
            }
            .store(in: &subscriptions)

        tasks = [
            Task { [weak self] in
                for await (stroke, _) in messenger.messages(of: Stroke.self) { self?.add(stroke) }
            },
            Task { [weak self] in
                for await (drawing, _) in messenger.messages(of: Drawing.self) {
                    for stroke in drawing.strokes { self?.add(stroke) }
                }
            },
            // Only the newest place of each counts, and the last one arrives whatever is lost.
            Task { [weak self] in
                for await change in await session.session.latest("cursor").changes() {
                    self?.hear(change)
                }
            },
        ]
        session.join()
    }

    /// Draws a stroke here and at everybody else's.
    func draw(_ points: [Point]) async throws {
        let stroke = Stroke(points: points)
        add(stroke)
        try await messenger?.send(stroke)
    }

    /// Shows the others where one points.
    func point(at point: Point) async throws {
        try await session?.session.latest("cursor").set([UInt8(point.column), UInt8(point.row)])
    }

    var picture: String {
        let marks = cursors.values.map { ($0.point, $0.name.first ?? "?") }
        return Drawing(strokes: strokes).rendered(Dictionary(marks) { $1 })
    }

    private func add(_ stroke: Stroke) {
        guard !strokes.contains(where: { $0.id == stroke.id }) else { return }
        strokes.append(stroke)
        say("strokes \(strokes.count)")
    }

    private func hear(_ change: LatestChange) {
        let id = change.participant.participantID
        guard let value = change.value, value.count == 2 else {
            cursors[id] = nil
            return
        }
        let point = Point(column: Int(value[0]), row: Int(value[1]))
        cursors[id] = ("\(change.participant)", point)
        say("cursor \(change.participant) \(point.column),\(point.row)")
    }

    /// Whoever comes later gets all there is, from the one who leads and nobody else.
    private func welcome(_ newcomers: Set<Participant>) async {
        guard let session, let messenger, !strokes.isEmpty,
            await session.session.lead == session.localParticipant
        else { return }
        let others = newcomers.subtracting([session.localParticipant])
        guard !others.isEmpty else { return }
        do {
            try await messenger.send(Drawing(strokes: strokes), to: .only(others))
        } catch {
            say("a newcomer has no drawing: \(error)")
        }
    }

    private func leave() {
        for task in tasks { task.cancel() }
        tasks = []
        subscriptions = []
        messenger = nil
        session = nil
        cursors = [:]
    }
}
