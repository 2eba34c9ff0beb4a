import MeshCrypto
package import MeshEngine
public import MeshWire

/// What opens a room to a guest: a short code or a link.
public struct Invitation: Sendable {
    package let target: JoinTarget

    package init(_ target: JoinTarget) {
        self.target = target
    }

    /// The invitation that `text` writes: `07-4K9QXMC` or `huddle:?v=1&…`.
    ///
    /// Throws ``JoinError/mistyped`` if it is none of these; a code with a typing error dies here, sends
    /// nothing and costs no guess. `near` is an address to ask besides what discovery finds.
    public init(_ text: String, near: SocketAddress? = nil) throws(JoinError) {
        if text.hasPrefix("huddle:") {
            guard let link = InviteLink(text) else { throw .mistyped }
            target = .link(link)
        } else {
            guard let code = InviteCode(text) else { throw .mistyped }
            target = .code(code, near: near)
        }
    }
}

/// An open invitation: a code and a link that admit one guest together.
public struct Invite: Hashable, Sendable {
    /// The short code, `SS-XXXXXXC`.
    public let code: String
    /// The same as a link, with address hints.
    public let link: String
    /// The code's public slot, 0 to 99.
    public let slot: Int
    /// How long it stays open unless it is used.
    public let lifetime: Duration
}
