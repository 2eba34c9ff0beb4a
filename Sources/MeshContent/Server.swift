import MeshWire

/// A holder of a content, as one fetch sees it: what it was asked for, and how fast it answers.
struct Server: Sendable {
    /// A chunk that was asked for.
    struct Asked: Sendable {
        var chunk: Int
        var at: Instant
    }

    let peer: NodeID
    var holding = Holding.none
    /// The chunks of one that holds a part; `nil` until it told.
    var chunks: ChunkSet?
    /// Chunks that it was asked for and has not answered, oldest first.
    private(set) var asked: [Asked] = []
    /// Chunks that it was asked for so long ago that others may be asked; they may still come.
    private var late: [Int] = []
    /// The same of parts of the tree.
    private var lateParts: [TreePart] = []
    /// Parts of the tree that it was asked for.
    private(set) var treeAsked: [(part: TreePart, at: Instant)] = []
    /// Chunks that may be outstanding.
    private(set) var window = Self.firstWindow
    /// It is not asked before this: it was busy.
    var pause: Instant?
    /// It is not asked before this, whatever it says: it lied too often.
    private var ban: Instant?
    private var lies = 0
    /// From the question to the answer, in seconds.
    private var latency = 0.0
    /// From one chunk to the next, in seconds.
    private var interval = 0.0
    private var lastArrival: Instant?
    /// How often in a row it did not answer in time.
    private var failures = 0

    static let firstWindow = 4
    private static let windows = 2...32
    /// What the window is worth at the measured rate, 250 ms.
    private static let windowSeconds = 0.25
    /// Parts of the tree that may be outstanding.
    static let treeParts = 2
    /// The least time that an answer is given.
    private static let patience: Duration = .seconds(2)
    /// How long a busy holder is left alone.
    static let busyPause: Duration = .milliseconds(250)
    /// How long a liar is left alone, after this many lies.
    private static let liarPause: Duration = .seconds(600)
    private static let liesAllowed = 3
    /// What a lie counts against the peer.
    static let lieCharge = 10
    /// Late chunks that are remembered.
    private static let lateMaximum = 256

    init(_ peer: NodeID) {
        self.peer = peer
    }

    func isAvailable(now: Instant) -> Bool {
        holding != .none && pause == nil && (ban.map { $0 <= now } ?? true)
    }

    /// Whether it says that it has the chunk.
    func has(_ chunk: Int) -> Bool {
        switch holding {
        case .none: false
        case .part: chunks?.contains(chunk) ?? false
        case .all: true
        }
    }

    /// Whether it must be known when it comes back.
    var isRemembered: Bool { lies > 0 || !late.isEmpty || !lateParts.isEmpty }

    func isAsked(_ chunk: Int) -> Bool { asked.contains { $0.chunk == chunk } }
    func isAsked(_ part: TreePart) -> Bool { treeAsked.contains { $0.part == part } }

    /// How long an answer may take: four times the usual, and twice as long after each failure.
    private var limit: Duration {
        let usual = Duration.nanoseconds(Int64(min(latency, 3600) * 4e9))
        return max(Self.patience, usual) * (1 << min(failures, 5))
    }

    /// When it must be looked at again.
    var deadline: Instant? {
        let answers = [asked.first?.at, treeAsked.first?.at].compactMap { $0.map { $0 + limit } }
        return (answers + (holding == .none ? [] : [pause, ban].compactMap(\.self))).min()
    }

    /// Ends the pauses that are over.
    mutating func resume(now: Instant) {
        if let end = pause, end <= now { pause = nil }
        if let end = ban, end <= now { ban = nil }
    }

    mutating func ask(_ chunk: Int, now: Instant) {
        asked.append(Asked(chunk: chunk, at: now))
    }

    mutating func ask(_ part: TreePart, now: Instant) {
        treeAsked.append((part, now))
    }

    /// Takes a part of the tree off the list; `false` if it was not asked for.
    mutating func answered(_ part: TreePart) -> Bool {
        if let place = treeAsked.firstIndex(where: { $0.part == part }) {
            treeAsked.remove(at: place)
        } else if let place = lateParts.firstIndex(of: part) {
            lateParts.remove(at: place)
        } else {
            return false
        }
        failures = 0
        return true
    }

    /// Takes a chunk off the lists; `false` if it was not asked for.
    mutating func answered(_ chunk: Int) -> Bool {
        if let place = asked.firstIndex(where: { $0.chunk == chunk }) {
            asked.remove(at: place)
            return true
        }
        guard let place = late.firstIndex(of: chunk) else { return false }
        late.remove(at: place)
        return true
    }

    /// A chunk came; `false` if it was not asked for.
    ///
    /// Adapts the window to the rate.
    mutating func arrived(_ chunk: Int, now: Instant) -> Bool {
        let question = asked.first { $0.chunk == chunk }?.at
        guard answered(chunk) else { return false }
        failures = 0
        guard let question else { return true }
        let start = max(question, lastArrival ?? question)
        latency = Self.average(latency, now - question)
        interval = Self.average(interval, now - start)
        lastArrival = now
        let chunks = interval > 0 ? Self.windowSeconds / interval : Double(window * 2)
        let wanted = Int(min(chunks, Double(Self.windows.upperBound)))
        // It grows no faster than by one for each that came.
        window = min(max(wanted, Self.windows.lowerBound), window + 1)
        return true
    }

    private static func average(_ old: Double, _ new: Duration) -> Double {
        let seconds = Double(new.wholeNanoseconds) / 1e9
        return old == 0 ? seconds : old * 0.75 + seconds * 0.25
    }

    /// Chunks that are asked for too long; the tree's parts are simply asked again.
    mutating func giveUpOld(now: Instant) -> [Int] {
        let limit = limit
        let oldParts = treeAsked.filter { $0.at + limit <= now }.map(\.part)
        treeAsked.removeAll { $0.at + limit <= now }
        let old = asked.filter { $0.at + limit <= now }.map(\.chunk)
        guard !oldParts.isEmpty || !old.isEmpty else { return [] }
        asked.removeAll { $0.at + limit <= now }
        lateParts = (lateParts + oldParts).suffix(Self.lateMaximum)
        late = (late + old).suffix(Self.lateMaximum)
        failures += 1
        window = max(window / 2, Self.windows.lowerBound)
        return old
    }

    /// Forgets all that it was asked for and answers with the chunks.
    mutating func giveUpAll() -> [Int] {
        let chunks = asked.map(\.chunk)
        late = (late + chunks).suffix(Self.lateMaximum)
        lateParts = (lateParts + treeAsked.map(\.part)).suffix(Self.lateMaximum)
        asked = []
        treeAsked = []
        return chunks
    }

    /// It sent what is not what it must be.
    mutating func lied(now: Instant) {
        lies += 1
        if lies >= Self.liesAllowed { ban = now + Self.liarPause }
    }
}
