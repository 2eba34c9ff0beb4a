package import MeshCrypto
import MeshWire

/// The limits and times of an endpoint's handshakes and keys.
///
/// Every default is the figure of `10-security.md`; tests lower some of them to reach an edge soon.
package struct EndpointConfiguration: Sendable {
    /// Other members held at once, 63: a room has 64 (`10-security.md` §9).
    ///
    /// A further one is refused with CLOSE(2) after it has proved itself; nobody is displaced.
    package var peersMaximum = Limits.members - 1
    /// How long after a first sending the same bytes leave again (`10-security.md` §5).
    package var resendOffsets: [Duration] = [
        .milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2),
    ]
    /// How long after the last sending an unanswered message ends its dial.
    package var answerTimeout: Duration = .seconds(4)
    /// How long a pair may wait for its initiator's first packet, 10 s (`10-security.md` §5).
    package var confirmationTimeout: Duration = .seconds(10)
    /// How long a proven process outside the roster waits for its Join entry, 2 s.
    package var rosterHold: Duration = .seconds(2)
    /// How young an own dial must be to win over the larger identity's, 1 s (`10-security.md` §5).
    package var simultaneousWindow: Duration = .seconds(1)

    /// The lanes' part: idle time-out, grace, windows, sizes.
    package var transport = TransportConfiguration()

    /// Replaces the limits of the suite in use; `nil` for those of `10-security.md` §6.
    package var keyLimits: KeyLimits?
    /// The greatest jitter taken off the age at which a key is replaced.
    package var rekeyJitter: Duration = .seconds(10)
    /// How much later than the smaller identity the larger begins a rekey, 10 s.
    package var rekeyStagger: Duration = .seconds(10)
    /// How long the previous key still opens packets, 10 s.
    package var previousKeyLife: Duration = .seconds(10)
    /// How long a released index names nothing, 30 s.
    package var indexRest: Duration = .seconds(30)

    /// Invites open at once, 4 (`10-security.md` §7).
    package var invitesMaximum = 4
    /// How long an invite stays open, 10 min.
    package var inviteLife: Duration = .seconds(600)
    /// Wrong guesses that burn an invite, 5.
    package var guessesMaximum = 5
    /// The least time between two tries of one invite, 1 s; an earlier one is not looked at.
    package var guessSpacing: Duration = .seconds(1)
    /// Tries a joiner spends on one typed code, 3.
    package var triesMaximum = 3
    /// Answers RETRY an attempt follows, 3.
    package var retriesMaximum = 3

    /// Handshakes half open at once, 128 (`10-security.md` §9).
    package var halfOpenMaximum = 128
    /// Handshakes half open at once from one source, 4.
    package var halfOpenPerSource = 4
    /// How long a half-open handshake waits after its HS1 last came, 5 s.
    package var halfOpenLife: Duration = .seconds(5)
    /// Initiations a second and at once from a source whose cookie is valid.
    package var sourceRate = (perSecond: 10.0, burst: 20.0)
    /// Initiations in a second that are answered without a cookie, 32.
    package var cookielessRate = 32.0
    /// Initiations a second that cost a scalar multiplication, 100.
    package var arithmeticRate = 100.0
    /// The part of ``arithmeticRate`` that code mode may use.
    package var arithmeticShareOfCodes = 0.5
    /// Answers RETRY a second, 20,000.
    package var retryRate = 20_000.0
    /// Initiations a second from the address of a live peer, which no flood can starve.
    package var peerRate = 2.0
    /// Dials under way at once.
    package var dialsMaximum = 128
    /// The suite is ChaCha20-Poly1305 even where both machines have AES.
    package var prefersChaCha = false

    package init() {}
}
