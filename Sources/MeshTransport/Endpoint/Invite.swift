internal import MeshCrypto
internal import MeshWire

/// An own invite for one guest: a code, a link, and the guesses that were wrong.
struct Invite {
    let code: InviteCode
    let link: InviteLink
    /// What handshakes of the code rest on.
    let codeKeys: ModeKeys
    /// What handshakes of the link rest on.
    let linkKeys: ModeKeys
    let expires: Instant
    /// Handshakes of the right form whose confirmation was wrong.
    var guesses = 0
    /// When the next try is looked at.
    var nextTry: Instant

    var id: InviteID { codeKeys.invite }
    var slot: UInt8 { codeKeys.slot }

    var announcement: InviteAnnouncement {
        InviteAnnouncement(inviteID: id, slot: slot, offersLink: true)
    }
}
