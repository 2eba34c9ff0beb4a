/// The rank of a channel: strict, with a minimum share from `high` down (`20-transport.md` §4.1).
public enum TrafficClass: UInt8, CaseIterable, Comparable, Sendable {
    /// Bodies of the machines; never behind other data.
    case control = 0
    /// The fast lane.
    case fast = 1
    /// Reliable messages before the others.
    case high = 2
    /// Reliable messages; the default.
    case normal = 3
    /// Reliable messages after the others.
    case low = 4
    /// Content chunks and large snapshots.
    case background = 5

    /// Orders by rank; the smaller goes first.
    public static func < (left: TrafficClass, right: TrafficClass) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// Why a connection ends, as the CLOSE frame says it (`10-security.md` §6).
///
/// A reason of a later version is kept as its number.
public struct CloseReason: RawRepresentable, Hashable, Sendable {
    /// The number on the wire.
    public var rawValue: UInt8

    /// The reason with this number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The node leaves the room or stops.
    public static let leaving = CloseReason(rawValue: 1)
    /// The room has its 64 members.
    public static let roomFull = CloseReason(rawValue: 2)
    /// Another connection of the same pair took over.
    public static let superseded = CloseReason(rawValue: 3)
    /// The peer is a member no more.
    public static let evicted = CloseReason(rawValue: 4)
    /// The peer broke the protocol.
    public static let protocolError = CloseReason(rawValue: 5)
    /// Nothing was heard for the idle time-out.
    public static let idle = CloseReason(rawValue: 6)
}

/// A channel's number, given out by its sender; 0 and 1 exist from the start (`20-transport.md` §2).
public typealias ChannelNumber = UInt64

/// A typed piece of a packet's content (`20-transport.md` §2, `10-security.md` §6).
///
/// A frame that exists can be encoded: its parts keep the limits of the format. On the wire it is
/// `type u8`, then the fields of the type; a type with bit 7 set carries a varint length and is
/// skipped by who does not know it.
package enum Frame: Hashable, Sendable {
    /// 00: one byte that fills a packet.
    case padding
    /// 01: who the responder is, 112 bytes.
    case authentication([UInt8])
    /// 02: asks the address for its 16 bytes back.
    case pathChallenge([UInt8])
    /// 03: the 16 bytes of a challenge.
    case pathResponse([UInt8])
    /// 04: the connection ends; the text has at most 128 bytes of UTF-8.
    case close(CloseReason, text: String)
    /// 05: the room's secrets for a joiner, 68 bytes.
    case grant([UInt8])
    /// 10: asks for an acknowledgment.
    case ping
    /// 11 and 12: which packets of this key came.
    case acknowledgment(AcknowledgmentFrame)
    /// 13: what the sender of the frame can take; unknown ids are ignored.
    case settings([Setting])
    /// 14: a reliable message or a fragment of one.
    case message(MessageHeader, [UInt8])
    /// 15: a fast message or a fragment of one.
    case fast(FastHeader, [UInt8])
    /// 16: the sender gives these sequences up.
    case cancel(channel: ChannelNumber, first: UInt64, count: UInt64)
    /// 17: the next sequence expected in each channel, after a new handshake within the grace.
    case resume([ResumePoint])
    /// 18: a channel's class and name, at most 255 bytes.
    case channelOpen(channel: ChannelNumber, class: TrafficClass, name: [UInt8])
    /// 19: no sequence at or above `final` will come.
    case channelClose(channel: ChannelNumber, final: UInt64)
    /// 1A: bytes of one channel the receiver has room for; absolute.
    case window(channel: ChannelNumber, limit: UInt64)
    /// 1B: the same for the whole connection.
    case windowAll(limit: UInt64)
    /// 20: a datagram of a machine: 1 consensus, 2 clock.
    case control(machine: UInt8, [UInt8])
    /// 21: a whole datagram between two other processes, one hop.
    case relay(target: UInt64, origin: UInt64, [UInt8])
    /// 80–FF: an extension this version does not know.
    case unknown(type: UInt8, [UInt8])

    /// Whether the receiver of this frame owes an acknowledgment.
    package var elicitsAcknowledgment: Bool {
        switch self {
        case .padding, .acknowledgment, .control, .relay, .close: false
        case .authentication, .pathChallenge, .pathResponse, .grant, .ping, .settings, .message,
            .fast, .cancel, .resume, .channelOpen, .channelClose, .window, .windowAll, .unknown:
            true
        }
    }
}

extension Frame {
    /// The first byte of each frame.
    package enum Kind {
        package static let padding: UInt8 = 0x00
        package static let authentication: UInt8 = 0x01
        package static let pathChallenge: UInt8 = 0x02
        package static let pathResponse: UInt8 = 0x03
        package static let close: UInt8 = 0x04
        package static let grant: UInt8 = 0x05
        package static let ping: UInt8 = 0x10
        package static let acknowledgment: UInt8 = 0x11
        package static let acknowledgmentECN: UInt8 = 0x12
        package static let settings: UInt8 = 0x13
        package static let message: UInt8 = 0x14
        package static let fast: UInt8 = 0x15
        package static let cancel: UInt8 = 0x16
        package static let resume: UInt8 = 0x17
        package static let channelOpen: UInt8 = 0x18
        package static let channelClose: UInt8 = 0x19
        package static let window: UInt8 = 0x1a
        package static let windowAll: UInt8 = 0x1b
        package static let control: UInt8 = 0x20
        package static let relay: UInt8 = 0x21
    }

    /// Bytes of an AUTH frame after its type (`10-security.md` §4).
    package static let authenticationBytes = 112
    /// Bytes of a GRANT frame after its type: RoomID, counter, secret (`10-security.md` §7).
    package static let grantBytes = 68
    /// Bytes of a challenge and of its response.
    package static let pathBytes = 16
    /// Bytes of a CLOSE text.
    package static let closeTextBytes = 128
    /// Ranges after the first one in an acknowledgment; 64 with it.
    package static let acknowledgmentRanges = 63
    /// Entries of a SETTINGS frame; six are known.
    package static let settings = 64
    /// Entries of a RESUME frame: every channel.
    package static let resumePoints = Limits.channels
}

/// One entry of a SETTINGS frame.
package struct Setting: Hashable, Sendable {
    /// What is set; ids this version does not know are kept and ignored.
    package enum Identifier {
        /// The largest acknowledgment delay, in microseconds.
        package static let acknowledgmentDelay: UInt64 = 1
        /// The first limit of a channel, in bytes.
        package static let channelWindow: UInt64 = 2
        /// The first limit of the connection, in bytes.
        package static let connectionWindow: UInt64 = 3
        /// The idle time-out, in milliseconds.
        package static let idleTimeout: UInt64 = 4
        /// The largest datagram the sender of the frame receives, in bytes.
        package static let datagramBytes: UInt64 = 5
        /// The largest message the sender of the frame receives, in bytes.
        package static let messageBytes: UInt64 = 6
    }

    /// The number of the setting.
    package var identifier: UInt64
    /// Its value, below 2^62.
    package var value: UInt64

    package init(_ identifier: UInt64, _ value: UInt64) {
        self.identifier = identifier
        self.value = value
    }
}

/// The next sequence one side expects in a channel of the other.
package struct ResumePoint: Hashable, Sendable {
    package var channel: ChannelNumber
    package var next: UInt64

    package init(channel: ChannelNumber, next: UInt64) {
        self.channel = channel
        self.next = next
    }
}

/// The fields of an ACK: ranges of packet numbers, the highest first (RFC 9000 §19.3).
package struct AcknowledgmentFrame: Hashable, Sendable {
    /// The counts of the ECN form (RFC 9000 §19.3.2).
    package struct Congestion: Hashable, Sendable {
        package var ect0: UInt64
        package var ect1: UInt64
        package var experienced: UInt64

        package init(ect0: UInt64, ect1: UInt64, experienced: UInt64) {
            self.ect0 = ect0
            self.ect1 = ect1
            self.experienced = experienced
        }
    }

    /// The ranges, highest first, apart by at least one number; 1 to 64.
    package var ranges: [ClosedRange<UInt64>]
    /// How long the highest packet waited for this frame, in microseconds.
    package var delay: UInt64
    /// The ECN counts, where they are read.
    package var congestion: Congestion?

    package init(ranges: [ClosedRange<UInt64>], delay: UInt64, congestion: Congestion? = nil) {
        self.ranges = ranges
        self.delay = delay
        self.congestion = congestion
    }
}

/// The fields of a MESSAGE before its bytes.
package struct MessageHeader: Hashable, Sendable {
    /// Where a fragment stands in its message.
    package struct Fragment: Hashable, Sendable {
        /// Bytes of the whole message.
        package var total: Int
        /// Where this fragment starts.
        package var offset: Int

        package init(total: Int, offset: Int) {
            self.total = total
            self.offset = offset
        }
    }

    package var channel: ChannelNumber
    /// Counts the messages of the channel from 0.
    package var sequence: UInt64
    /// `nil` for a whole message.
    package var fragment: Fragment?
    /// Whether the message may be delivered before earlier ones.
    package var isUnordered: Bool
    /// Whether somebody waits for the delivery.
    package var acknowledgesAtOnce: Bool

    package init(
        channel: ChannelNumber,
        sequence: UInt64,
        fragment: Fragment? = nil,
        isUnordered: Bool = false,
        acknowledgesAtOnce: Bool = false
    ) {
        self.channel = channel
        self.sequence = sequence
        self.fragment = fragment
        self.isUnordered = isUnordered
        self.acknowledgesAtOnce = acknowledgesAtOnce
    }
}

/// The fields of a FAST frame before its bytes.
package struct FastHeader: Hashable, Sendable {
    /// Which fragment of how many.
    package struct Fragment: Hashable, Sendable {
        package var index: UInt8
        package var count: UInt8

        package init(index: UInt8, count: UInt8) {
            self.index = index
            self.count = count
        }
    }

    package var channel: ChannelNumber
    /// The stream inside the channel whose newest value counts; 0 for none.
    package var key: UInt64
    /// Counts the messages of one channel and key from 0.
    package var sequence: UInt64
    /// `nil` for a whole message.
    package var fragment: Fragment?
    /// Whether somebody waits for the delivery.
    package var acknowledgesAtOnce: Bool
    /// Whether the final value of the key arrives in any case.
    package var isLatest: Bool

    package init(
        channel: ChannelNumber,
        key: UInt64,
        sequence: UInt64,
        fragment: Fragment? = nil,
        acknowledgesAtOnce: Bool = false,
        isLatest: Bool = false
    ) {
        self.channel = channel
        self.key = key
        self.sequence = sequence
        self.fragment = fragment
        self.acknowledgesAtOnce = acknowledgesAtOnce
        self.isLatest = isLatest
    }
}
