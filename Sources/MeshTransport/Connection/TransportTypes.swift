package import MeshWire

/// How a message travels.
public enum Lane: UInt8, Sendable {
    /// Acknowledged, retried, ordered in its channel.
    case reliable
    /// Sent once, newest first, droppable.
    case fast
}

/// What a send asks for besides its bytes.
package struct SendOptions: Hashable, Sendable {
    /// The lane.
    package var lane: Lane
    /// Whether the message waits for the earlier ones of its channel at the receiver.
    package var isOrdered: Bool
    /// When the message loses its worth; `nil` for never.
    package var expires: Instant?
    /// The stream inside the channel of which only the newest matters; fast lane, 0 for none.
    package var key: UInt64
    /// Whether the last value of the key must arrive; fast lane, needs a key.
    package var isLatest: Bool
    /// Whether this `latest` value is the last one of its key, so that it need not stand still first.
    package var isFinal: Bool
    /// Whether the receiver should answer at once, because somebody waits.
    package var acknowledgesAtOnce: Bool
    /// Whether an outcome is reported for the token.
    package var reportsOutcome: Bool

    package init(
        lane: Lane = .reliable,
        isOrdered: Bool = true,
        expires: Instant? = nil,
        key: UInt64 = 0,
        isLatest: Bool = false,
        isFinal: Bool = false,
        acknowledgesAtOnce: Bool = false,
        reportsOutcome: Bool = true
    ) {
        self.lane = lane
        self.isOrdered = isOrdered
        self.expires = expires
        self.key = key
        self.isLatest = isLatest
        self.isFinal = isFinal
        self.acknowledgesAtOnce = acknowledgesAtOnce
        self.reportsOutcome = reportsOutcome
    }

    /// A reliable, ordered message.
    package static let reliable = SendOptions()
    /// An unkeyed fast message.
    package static let fast = SendOptions(lane: .fast)
}

/// Names one send of one connection.
package struct SendToken: Hashable, Comparable, Sendable {
    package var channel: ChannelNumber
    /// Counts the sends of the connection.
    package var number: UInt64

    package static func < (left: SendToken, right: SendToken) -> Bool {
        (left.number, left.channel) < (right.number, right.channel)
    }
}

/// How a send ended.
package enum SendOutcome: Hashable, Sendable {
    /// The peer stored all of it.
    case delivered
    /// Its deadline came first, or a fast message found no room in time or a newer one.
    case expired
    /// It was called back in time.
    case cancelled
    /// The connection ended first; whether the peer has it is not known.
    case peerLost
}

/// Why a message was not taken; nothing was queued.
package enum SendError: Error, Hashable, Sendable {
    /// The message has `size` bytes, the lane takes `limit`.
    case tooLarge(size: Int, limit: Int)
    /// The channel's queue is full; `windowOpened` tells when to try again.
    case wouldBlock
    /// The channel or the connection is closed, or the channel was never opened.
    case closed
    /// 1,024 channels are open, or the name has more than 255 bytes.
    case channelLimit
}

/// How an authenticated peer broke the protocol; the connection closes with `protocolError`.
package enum ProtocolViolation: Error, Hashable, Sendable {
    /// A frame that is none.
    case malformed(WireError)
    /// An acknowledgment of a packet never sent.
    case unsentAcknowledged(UInt64)
    /// Bytes beyond a channel's or the connection's limit.
    case windowExceeded(ChannelNumber)
    /// More channels than 1,024, or numbers scattered too widely.
    case channelLimit(ChannelNumber)
    /// A sequence too far ahead, beyond the channel's end, or within 2^32 of the last.
    case sequence(ChannelNumber, UInt64)
    /// Two frames that contradict each other: sizes, names, ends.
    case contradiction(ChannelNumber)
    /// A RESUME of what was never sent.
    case resume(ChannelNumber)
    /// More fragments of one message than any sender makes.
    case fragments(ChannelNumber)
}

/// One message that arrived whole.
package struct ReceivedMessage: Hashable, Sendable {
    package var bytes: [UInt8]
    /// The sender's number of the channel.
    package var channel: ChannelNumber
    /// The channel's name; empty for channels 0 and 1.
    package var name: [UInt8]
    package var lane: Lane
    /// The fast lane's key; 0 for none.
    package var key: UInt64
    /// Counts the messages of the channel, or of the channel and key.
    package var sequence: UInt64
    /// Whether the message is a value of which the last one arrives in any case.
    package var isLatest: Bool

    package init(
        bytes: [UInt8],
        channel: ChannelNumber,
        name: [UInt8],
        lane: Lane,
        key: UInt64 = 0,
        sequence: UInt64,
        isLatest: Bool = false
    ) {
        self.bytes = bytes
        self.channel = channel
        self.name = name
        self.lane = lane
        self.key = key
        self.sequence = sequence
        self.isLatest = isLatest
    }
}

/// What a connection tells the layer above.
package enum ConnectionEvent: Hashable, Sendable {
    /// A message arrived; reliable ones once each, in order in their channel.
    case received(ReceivedMessage)
    /// A datagram of a machine arrived: 1 consensus, 2 clock.
    case control(machine: UInt8, [UInt8])
    /// A send ended.
    case outcome(SendToken, SendOutcome)
    /// A channel that refused a message has room again.
    case windowOpened(ChannelNumber)
    /// The peer opened a channel of its own.
    case channelOpened(ChannelNumber, name: [UInt8], class: TrafficClass)
    /// The peer closed a channel and all of its messages were delivered.
    case channelClosed(ChannelNumber)
    /// Nothing was heard for a second.
    case quiet
    /// The first packet after a silence came.
    case heard
    /// A frame that concerns the endpoint: AUTH, GRANT, PATH_CHALLENGE, PATH_RESPONSE, RELAY.
    case endpointFrame(Frame)
    /// The peer ended the connection.
    case closedByPeer(CloseReason, text: String)
}
