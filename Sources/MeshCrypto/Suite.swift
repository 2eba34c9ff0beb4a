/// What seals the packets of a pair.
package enum Suite: UInt8, Sendable {
    case chacha20Poly1305 = 1
    case aes256GCM = 2

    /// The suite of two capability words: AES only if both sides announce hardware for it.
    package init(_ initiator: Capabilities, _ responder: Capabilities) {
        let both = initiator.intersection(responder)
        self = both.contains(.hardwareAES) ? .aes256GCM : .chacha20Poly1305
    }
}

/// A word of capabilities; unknown bits are kept, since signatures and keys take the word as it came.
package struct Capabilities: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The machine seals AES-256-GCM in hardware.
    package static let hardwareAES = Capabilities(rawValue: 1)
    /// Datagrams above 1,500 bytes may be sent to it.
    package static let jumboReceive = Capabilities(rawValue: 2)
}

/// When a key must be replaced and when it stops (`10-security.md` §6).
package struct KeyLimits: Hashable, Sendable {
    /// Packets after which a rekey is due.
    package var softPackets: UInt64
    /// Packets after which nothing is sealed, and the first counter that is not opened.
    package var hardPackets: UInt64
    /// Failed opens after which the key closes.
    package var failures: UInt64 = 1 << 36
    /// The age at which a rekey is due, before jitter.
    package var softAge: Duration = .seconds(120)
    /// The age at which nothing is sealed or opened.
    package var hardAge: Duration = .seconds(180)

    /// The limits of a suite: RFC 9001 §6.6 for AES.
    package init(_ suite: Suite) {
        switch suite {
        case .chacha20Poly1305: (softPackets, hardPackets) = (1 << 32, 1 << 40)
        case .aes256GCM: (softPackets, hardPackets) = (1 << 22, 1 << 23)
        }
    }
}
