import MeshWire

extension Message {
    /// A message that goes through a member which reaches both, because the direct way is broken.
    ///
    /// The origin signs what the helper can neither change nor forge nor send a second time; that
    /// nobody else reads it is the business of both connections, and the helper, a member of the same
    /// view, may.
    struct Relay: Hashable, Sendable {
        /// Tags of who made the message and of whom it is for.
        var origin: UInt64
        var target: UInt64
        /// Ascends with each RELAY that this process makes, whoever it is for.
        var counter: UInt64
        /// Whether the origin does not hear the target: the answers must take this way too.
        var isDeaf: Bool
        /// The message, header included.
        var inner: [UInt8]
        /// The origin's, over ``signedBytes(genesis:)``.
        var signature: [UInt8] = []

        /// What is signed behind label and room: genesis 32, origin, target, counter u64, deaf flag,
        /// inner message.
        func signedBytes(genesis: Digest) -> [UInt8] {
            var writer = ByteWriter(capacity: 64 + inner.count)
            writer.write(genesis)
            writer.write(origin)
            writer.write(target)
            writer.write(counter)
            writer.write(UInt8(isDeaf ? 1 : 0))
            writer.write(inner)
            return writer.bytes
        }
    }
}

/// Counters of one origin that came: the highest, and which of the 64 up to it (RFC 6479's idea).
struct RelayWindow: Sendable {
    private(set) var highest: UInt64 = 0
    private var seen: UInt64 = 0

    /// Whether `counter` has not come and is not too old to tell.
    func accepts(_ counter: UInt64) -> Bool {
        if counter > highest { return true }
        let age = highest - counter
        return age < 64 && seen & (1 << age) == 0
    }

    /// Notes one that ``accepts(_:)``.
    mutating func note(_ counter: UInt64) {
        if counter > highest {
            let step = counter - highest
            seen = step < 64 ? seen << step | 1 : 1
            highest = counter
        } else {
            seen |= 1 << (highest - counter)
        }
    }
}

/// What one process keeps for messages that take a way through a helper.
struct Relaying: Sendable {
    /// The counter of the last RELAY made here.
    var counter: UInt64 = 0
    /// By origin; at most ``ConsensusLimits/links``.
    var windows = TagMap<RelayWindow>()
    /// By who sent it: kibibytes begun, since `since`.
    var spent = TagMap<Int>()
    var since: Instant
    /// When the broken ways are tried again; distant while there is none.
    var nextTry = Instant.distantFuture

    /// Between two tries of a broken way.
    static let retry: Duration = .milliseconds(100)
    /// For how long one word that I am not heard holds: two tries and a bit.
    static let hold: Duration = .milliseconds(250)
    /// Direct probes in vain before a helper is used: a burst of loss is no broken way.
    static let probes = 5

    /// Whether `tag` may send `bytes` more within this second.
    mutating func admits(_ tag: UInt64, bytes: Int, limit: Int, now: Instant) -> Bool {
        if now - since >= .seconds(1) {
            since = now
            spent = TagMap()
        }
        let units = (spent[tag] ?? 0) + 1 + bytes / 1024
        guard units <= limit else { return false }
        spent[tag] = units
        return true
    }
}
