internal import MeshCrypto
internal import MeshWire

// What every message of a handshake must pass before it is looked at. Each answers with what is
// wanted or counts why not; whoever sent it hears nothing.
extension Endpoint {
    /// The message, if the datagram is one.
    mutating func wellFormed<Message>(_ message: Message?) -> Message? {
        if message == nil { statistics.malformed += 1 }
        return message
    }

    /// Whether `datagram` ends in the mac1 of whoever knows `key`.
    mutating func isKeyed(_ datagram: RawSpan, by key: Secret) -> Bool {
        guard Mac1.isValid(datagram, key: key) else {
            statistics.wrongMAC += 1
            return false
        }
        return true
    }

    /// Whether a message came from where its handshake is held with.
    mutating func isFrom(_ source: SocketAddress, expected: SocketAddress) -> Bool {
        guard source == expected else {
            statistics.wrongSource += 1
            return false
        }
        return true
    }

    /// The dial of ours that a RETRY or HS2 from `source` answers.
    mutating func dial(answeredAt index: UInt32, from source: SocketAddress) -> Dial? {
        guard case .dial(let dial)? = indices[index] else {
            statistics.unknownIndex += 1
            return nil
        }
        return isFrom(source, expected: dial.address) ? dial : nil
    }

    /// Whether a stranger's first message is not one of our own sent back; ends old invites.
    mutating func isForeign(_ clientNonce: ClientNonce, now: Instant) -> Bool {
        guard !isReflected(clientNonce) else { return false }
        expireInvites(now: now)
        return true
    }
}
