/// What an endpoint counted; each reason to drop a datagram has its own counter.
package struct EndpointStatistics: Hashable, Sendable {
    /// Datagrams taken in.
    package var received: UInt64 = 0
    /// Datagrams handed out.
    package var sent: UInt64 = 0
    /// Bytes taken in.
    package var receivedBytes: UInt64 = 0
    /// Bytes handed out.
    package var sentBytes: UInt64 = 0

    /// Datagrams of a wrong length, version, mode, reserved byte or type.
    package var malformed: UInt64 = 0
    /// DATA, HS2 or HS3 of an index that names nothing here.
    package var unknownIndex: UInt64 = 0
    /// HELLO for an invite that is not open here.
    package var unknownInvite: UInt64 = 0
    /// Handshake messages whose mac1 fits no key.
    package var wrongMAC: UInt64 = 0
    /// Cookies that were not ours or too old; those of no cookie at all are not counted.
    package var wrongCookie: UInt64 = 0
    /// Handshake messages from another address than their handshake's.
    package var wrongSource: UInt64 = 0
    /// Initiations with the nonce of an own dial.
    package var reflected: UInt64 = 0
    /// Initiations above the bucket of their source.
    package var overSourceRate: UInt64 = 0
    /// Initiations above the budget of arithmetic.
    package var overBudget: UInt64 = 0
    /// Tries of an invite less than a second after the last.
    package var tooEarly: UInt64 = 0
    /// Handshake messages whose tag, point or signature was wrong.
    package var forgedHandshakes: UInt64 = 0
    /// Handshake messages that came again or fit no state.
    package var repeatedHandshakes: UInt64 = 0
    /// DATA whose tag was wrong.
    package var forgedData: UInt64 = 0
    /// DATA that was seen before or is too old to tell.
    package var replayedData: UInt64 = 0
    /// DATA under a key that is used up or too old.
    package var exhaustedData: UInt64 = 0
    /// DATA that opened before the peer had proved itself.
    package var unprovenData: UInt64 = 0
    /// Authenticated packets that broke the protocol.
    package var violations: UInt64 = 0

    /// Cookies handed out.
    package var retries: UInt64 = 0
    /// Handshakes finished, as either side.
    package var handshakes: UInt64 = 0
    /// Handshakes finished that replaced a key of a live pair.
    package var rekeys: UInt64 = 0
    /// Half-open handshakes that made room for newer ones.
    package var displaced: UInt64 = 0
    /// Wrong guesses counted against own invites.
    package var guesses: UInt64 = 0

    package init() {}
}
