import MeshWire

/// The least reliable lane: fragments that are sent again until they are acknowledged.
///
/// Stands in for the transport where consensus is simulated alone.
struct LargeMessages {
    private struct Sending {
        var to: UInt64
        var number: UInt64
        var fragments: [[UInt8]]
        var missing: [Int]
        /// When the missing ones go out; never while earlier messages fill the window.
        var next: Instant
        var begun: Instant
        var interval = LargeMessages.resend
    }

    private struct Receiving {
        var from: UInt64
        var number: UInt64
        var fragments: [[UInt8]?]
    }

    private var sending: [Sending] = []
    private var receiving: [Receiving] = []
    private var finished: [(from: UInt64, number: UInt64)] = []
    private var number: UInt64 = 0
    /// Fragments and acknowledgments that came, again too: how often is this lane's affair.
    private(set) var pieces = 0

    private static let fragmentBytes = 1000
    /// As long as the transport's probe takes on a local network (RFC 9002 §6.2).
    private static let resend = Duration.milliseconds(15)
    private static let resendMaximum = Duration.milliseconds(320)
    /// How long a message is tried; then it is given up, as when a connection dies.
    private static let patience = Duration.seconds(10)
    /// Messages on their way to one receiver at once; the others wait, as behind any congestion window.
    private static let window = 8
    private static let remembered = 256

    /// When something must be sent or given up; the distant future if nothing waits.
    private(set) var deadline = Instant.distantFuture

    mutating func send(_ bytes: [UInt8], to tag: UInt64, now: Instant) {
        number += 1
        let fragments = stride(from: 0, to: max(1, bytes.count), by: Self.fragmentBytes).map {
            Array(bytes[$0..<min(bytes.count, $0 + Self.fragmentBytes)])
        }
        sending.append(
            Sending(
                to: tag,
                number: number,
                fragments: fragments,
                missing: Array(fragments.indices),
                next: .distantFuture,
                begun: now
            )
        )
        fillWindow(tag, now)
    }

    /// Lets the oldest messages to `tag` go, as many as the window holds.
    private mutating func fillWindow(_ tag: UInt64, _ now: Instant) {
        var count = 0
        for place in sending.indices where sending[place].to == tag {
            guard count < Self.window else { return }
            count += 1
            if sending[place].next == .distantFuture { sending[place].next = now }
            deadline = min(deadline, sending[place].next)
        }
    }

    /// Finds the deadline anew.
    ///
    /// By index, as all loops here: an element out of its array is a copy.
    private mutating func rearm() {
        deadline = .distantFuture
        for place in sending.indices { deadline = min(deadline, sending[place].next) }
    }

    /// The fragments due now: number u64 · index u32 · count u32 · bytes.
    mutating func due(_ now: Instant) -> [(tag: UInt64, bytes: [UInt8])] {
        guard deadline <= now else { return [] }
        var result: [(UInt64, [UInt8])] = []
        for place in sending.indices where sending[place].next <= now {
            sending[place].next = now + sending[place].interval
            sending[place].interval = min(sending[place].interval * 2, Self.resendMaximum)
            for index in sending[place].missing.prefix(32) {
                var writer = ByteWriter(capacity: Self.fragmentBytes + 16)
                writer.write(sending[place].number)
                writer.write(UInt32(index))
                writer.write(UInt32(sending[place].fragments.count))
                writer.write(sending[place].fragments[index])
                result.append((sending[place].to, writer.bytes))
            }
        }
        var dead: [UInt64] = []
        for place in sending.indices where now - sending[place].begun > Self.patience {
            dead.append(sending[place].to)
        }
        if !dead.isEmpty {
            sending.removeAll { now - $0.begun > Self.patience }
            for tag in dead { fillWindow(tag, now) }
        }
        rearm()
        return result
    }

    /// Takes a fragment; answers its acknowledgment, and the message if it is whole now.
    mutating func receive(
        _ reader: inout ByteReader,
        from tag: UInt64
    ) throws(WireError) -> (acknowledgment: [UInt8], message: [UInt8]?) {
        pieces += 1
        let number: UInt64 = try reader.read()
        let index = Int(try reader.read(UInt32.self))
        let count = Int(try reader.read(UInt32.self))
        guard index < count, count < 100_000 else { throw .invalid(at: 8) }
        let bytes = try reader.readBytes(reader.remaining)
        var writer = ByteWriter(capacity: 12)
        writer.write(number)
        writer.write(UInt32(index))
        guard !finished.contains(where: { $0.from == tag && $0.number == number }) else {
            return (writer.bytes, nil)
        }
        let place: Int
        if let known = receiving.firstIndex(where: { $0.from == tag && $0.number == number }) {
            place = known
        } else {
            // The oldest was given up, most likely: the rest of it would have come.
            if receiving.count == Self.remembered { receiving.removeFirst() }
            place = receiving.count
            let empty = [[UInt8]?](repeating: nil, count: count)
            receiving.append(Receiving(from: tag, number: number, fragments: empty))
        }
        guard index < receiving[place].fragments.count else {
            return (writer.bytes, nil)
        }
        receiving[place].fragments[index] = bytes
        guard receiving[place].fragments.allSatisfy({ $0 != nil }) else {
            return (writer.bytes, nil)
        }
        let message = receiving.remove(at: place).fragments.flatMap { $0 ?? [] }
        finished.append((tag, number))
        if finished.count > Self.remembered { finished.removeFirst() }
        return (writer.bytes, message)
    }

    mutating func acknowledge(
        _ reader: inout ByteReader,
        from tag: UInt64,
        now: Instant
    ) throws(WireError) {
        pieces += 1
        let number: UInt64 = try reader.read()
        let index = Int(try reader.read(UInt32.self))
        guard let place = sending.firstIndex(where: { $0.to == tag && $0.number == number }) else {
            return
        }
        sending[place].missing.removeAll { $0 == index }
        // The receiver answers, so what is missing was lost and not its whole path.
        sending[place].interval = Self.resend
        guard sending[place].missing.isEmpty else { return }
        sending.remove(at: place)
        fillWindow(tag, now)
        rearm()
    }
}
