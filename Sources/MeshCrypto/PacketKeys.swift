package import MeshWire

/// The key that seals one direction, and the only owner of its counter.
///
/// A counter is never used twice: counting and sealing are one synchronous step, and a value of this
/// type cannot be copied.
package struct SealingKey: ~Copyable, Sendable {
    private let cipher: PacketCipher
    private let limits: KeyLimits
    private let stop: Instant
    private var isClosed = false
    /// The counter of the next packet: how many were sealed.
    package private(set) var counter: UInt64 = 0

    init(_ cipher: consuming PacketCipher, limits: KeyLimits, stop: Instant) {
        self.limits = limits
        self.stop = stop
        self.cipher = cipher
    }

    /// A key that begins at `counter`: for tests of the limits.
    package mutating func skip(to counter: UInt64) {
        precondition(counter >= self.counter, "a counter never falls")
        self.counter = counter
    }

    /// Whether nothing more can be sealed.
    package func isSpent(now: Instant) -> Bool {
        isClosed || counter >= limits.hardPackets || now >= stop
    }

    /// Seals the datagram that starts at `offset` and ends with the buffer: header, then plaintext.
    ///
    /// The header's counter is set, the plaintext sealed in place and the tag appended (16 bytes).
    /// Answers the counter. Throws, with the buffer unchanged, if the key is spent or no header
    /// stands at `offset`.
    package mutating func seal(
        from offset: Int,
        in buffer: inout [UInt8],
        now: Instant
    ) throws(KeyError) -> UInt64 {
        guard offset >= 0, buffer.count - offset >= DataHeader.byteCount else { throw .tooShort }
        guard !isClosed, now < stop else { throw .expired }
        guard counter < limits.hardPackets else { throw .exhausted }
        let number = counter
        counter += 1
        for index in 0..<8 {
            buffer[offset + 8 + index] = UInt8(truncatingIfNeeded: number >> UInt64(8 * index))
        }
        cipher.seal(from: offset, counter: number, in: &buffer)
        return number
    }

    /// Seals nothing more: after a jump of the clock, an eviction.
    package mutating func close() { isClosed = true }
}

/// What came of a datagram.
package enum Opened: Hashable, Sendable {
    /// The plaintext stands at the front of the scratch buffer.
    case packet(byteCount: Int)
    /// The counter was seen, or is too old.
    case replay
    /// The tag is wrong, or the datagram is no DATA.
    case forged
    /// The counter or the key's age is beyond the hard stop, or the key is closed.
    case exhausted
}

/// The key that opens one direction, with its replay window.
package struct OpeningKey: ~Copyable, Sendable {
    private let cipher: PacketCipher
    private let limits: KeyLimits
    private let stop: Instant
    private var window = ReplayWindow()
    private var isClosed = false
    /// Datagrams refused because their tag was wrong.
    package private(set) var failures: UInt64 = 0
    /// Datagrams refused because their counter was seen or too old.
    package private(set) var replays: UInt64 = 0
    /// Datagrams refused untried: no DATA, or the key was beyond a hard stop.
    package private(set) var refusals: UInt64 = 0

    init(_ cipher: consuming PacketCipher, limits: KeyLimits, stop: Instant) {
        self.limits = limits
        self.stop = stop
        self.cipher = cipher
    }

    /// The highest counter opened, if any.
    package var highest: UInt64? { window.highest }

    /// Opens a datagram into the front of `scratch`, which grows if it must.
    ///
    /// The order is check, open, update. A failed open leaves zeros in `scratch` and everything else
    /// but a count as it was; the datagram is only borrowed.
    package mutating func open(
        _ datagram: RawSpan,
        into scratch: inout [UInt8],
        now: Instant
    ) -> Opened {
        guard let header = DataHeader(datagram) else {
            // No tag was tried, so this is no failure the key must answer for.
            refusals &+= 1
            return .forged
        }
        guard !isClosed, now < stop, header.counter < limits.hardPackets,
            failures < limits.failures
        else {
            refusals &+= 1
            return .exhausted
        }
        guard window.isFresh(header.counter) else {
            replays &+= 1
            return .replay
        }
        guard cipher.open(datagram, counter: header.counter, into: &scratch) else {
            failures &+= 1
            return .forged
        }
        window.note(header.counter)
        return .packet(byteCount: datagram.byteCount - DataHeader.datagramMinimum)
    }

    /// Opens nothing more.
    package mutating func close() { isClosed = true }
}
