import MeshWire

/// What is known of a sequence at or above the next expected one.
struct IncomingSlot: Sendable {
    enum State: UInt8, Sendable {
        /// Fragments are missing.
        case partial
        /// All there; it waits for its turn.
        case whole
        /// Delivered out of order, or given up by the sender.
        case done
    }

    var state = State.partial
    var isUnordered = false
    var message: Reassembly
}

/// The room a receiver grants: absolute limits that only grow.
struct ReceiveWindow: Hashable, Sendable {
    /// Bytes that came, each offset once.
    var received: UInt64 = 0
    /// Bytes the layers above took, or that were given up.
    var released: UInt64 = 0
    /// What the peer was told.
    var limit: UInt64
    /// How far the limit stands above the released bytes.
    var size: Int
    var isUpdateQueued = false
    private var updated: Instant

    init(size: Int, now: Instant) {
        self.size = size
        limit = UInt64(size)
        updated = now
    }

    /// Whether half of the window is used up, so that the peer should hear a new limit.
    var wantsUpdate: Bool {
        !isUpdateQueued && released + UInt64(size) >= limit + UInt64(size / 2)
    }

    /// Makes room for a message of `bytes`.
    ///
    /// Twice its size, since a limit is renewed when half of the window is used up: so the peer can
    /// always send the rest of a message whose predecessors were released.
    mutating func fit(_ bytes: Int) {
        size = max(size, bytes * 2)
    }

    /// The new limit to tell; the window doubles if the last one lasted less than two round trips.
    mutating func update(roundTrip: Duration, maximum: Int, mayGrow: Bool, now: Instant) -> UInt64 {
        let isUsed = released + UInt64(size) >= limit + UInt64(size / 2)
        if mayGrow, isUsed, now - updated < roundTrip * 2, released > 0 {
            size = min(size * 2, max(maximum, size))
        }
        updated = now
        limit = max(limit, released + UInt64(size))
        return limit
    }
}

/// A channel of the peer.
struct IncomingChannel: NumberedChannel {
    /// How far a sequence may stand ahead of the next one.
    static let aheadMaximum: UInt64 = 16_384
    /// Keys of the fast lane whose newest sequence is remembered.
    static let keyMaximum = 4096

    let number: ChannelNumber
    var name: [UInt8] = []
    var isOpen: Bool
    /// The sequence to deliver next.
    var next: UInt64 = 0
    var slots: [UInt64: IncomingSlot] = [:]
    /// Whole unordered messages that wait for the channel's name.
    var early: [UInt64] = []
    /// No sequence at or above this one comes.
    var final: UInt64?
    var window: ReceiveWindow
    var isHeld = false
    /// Bytes delivered while held.
    var owed = 0
    /// The newest sequence delivered of each key of the fast lane.
    var fastNewest: [UInt64: UInt64] = [:]
    var fastOrder = Queue<UInt64>()

    init(number: ChannelNumber, isOpen: Bool, window: Int, now: Instant) {
        self.number = number
        self.isOpen = isOpen
        self.window = ReceiveWindow(size: window, now: now)
    }

    /// Whether a fast message is newer than all delivered ones of its key; notes it if so.
    mutating func acceptFast(key: UInt64, sequence: UInt64) -> Bool {
        guard key != 0 else { return true }
        if let newest = fastNewest[key] {
            guard sequence > newest else { return false }
        } else {
            if fastNewest.count >= Self.keyMaximum, let oldest = fastOrder.popFirst() {
                fastNewest[oldest] = nil
            }
            fastOrder.append(key)
        }
        fastNewest[key] = sequence
        return true
    }

    func isStaleFast(key: UInt64, sequence: UInt64) -> Bool {
        key != 0 && fastNewest[key].map { sequence <= $0 } ?? false
    }
}
