package import MeshWire

/// One thing that happened in the world.
package struct TraceEvent: Sendable {
    /// What kind of thing.
    package enum Kind: UInt8, Sendable {
        case datagram = 1
        case timer, command, start, crash, pause, resume, conditions, partition, event, note
    }

    /// When, on the world's clock.
    package var time: Instant
    /// On which node; `nil` for the network and the run.
    package var node: Int?
    /// What kind of thing.
    package var kind: Kind
    /// How many bytes, for a datagram.
    package var byteCount = 0
    /// Where a datagram came from.
    package var from: Int?
    /// What people read.
    package var text = ""
}

extension TraceEvent: CustomStringConvertible {
    /// One line: time, node, kind and what else there is.
    package var description: String {
        let place = node.map { "n\($0)" } ?? "--"
        let source = from.map { " from n\($0)" } ?? ""
        let size = kind == .datagram ? " \(byteCount) B" : ""
        return "t=\(time) \(place) \(kind)\(source)\(size)\(text.isEmpty ? "" : " ")\(text)"
    }
}

/// A quick hash of 64 bits over words, for traces and for the checksums of simulated datagrams.
///
/// Each step can be undone, so two inputs of one length that differ in one word never collide; a run
/// needs no resistance against people, and hashing was a tenth of its time.
struct TraceHash {
    private var state: UInt64 = 0x6a09_e667_f3bc_c908

    mutating func update(_ word: UInt64) {
        state = (state ^ word) &* 0x9e37_79b9_7f4a_7c15
        state ^= state >> 29
    }

    mutating func update(_ span: RawSpan) {
        var reader = ByteReader(span)
        while reader.remaining >= 8 {
            // Eight bytes are there, so the read cannot fail.
            guard let word = try? reader.read(UInt64.self) else { return }
            update(word)
        }
        var tail = UInt64(reader.remaining) << 56
        while let byte = try? reader.read(UInt8.self) { tail = tail << 8 ^ UInt64(byte) }
        update(tail)
    }

    func finish() -> UInt64 {
        var word = state
        word = (word ^ (word >> 32)) &* 0xbf58_476d_1ce4_e5b9
        return word ^ (word >> 29)
    }
}

/// The record of a run: a hash over everything that happened and the last events.
///
/// Two runs of one seed have the same hash, byte for byte of every datagram; that is what makes a
/// seed a bug report.
package struct Trace {
    /// The last events, oldest first when read through ``recent``.
    private var ring: [TraceEvent] = []
    private var nextSlot = 0
    private var hash = TraceHash()
    /// How many events were recorded.
    package private(set) var count: UInt64 = 0
    /// How many events are kept.
    package static let kept = 64
    /// Sees each event, for a replay that prints them.
    package var observer: ((TraceEvent) -> Void)?

    package init() {}

    /// The hash of everything recorded so far.
    package var digest: UInt64 { hash.finish() }

    /// The events kept, oldest first.
    package var recent: [TraceEvent] {
        Array(ring[nextSlot...] + ring[..<nextSlot])
    }

    /// Records an event, and the bytes it is about.
    package mutating func record(_ event: TraceEvent, bytes: [UInt8] = []) {
        hash.update(UInt64(bitPattern: event.time.nanoseconds))
        hash.update(
            UInt64(event.kind.rawValue) << 32 | UInt64(truncatingIfNeeded: event.node ?? -1)
        )
        if !bytes.isEmpty {
            hash.update(UInt64(bytes.count))
            hash.update(bytes.raw)
        }
        if !event.text.isEmpty { hash.update(Array(event.text.utf8).raw) }
        count &+= 1
        if ring.count < Self.kept {
            ring.append(event)
        } else {
            ring[nextSlot] = event
            nextSlot = (nextSlot + 1) % Self.kept
        }
        observer?(event)
    }
}
