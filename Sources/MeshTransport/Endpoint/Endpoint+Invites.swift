package import MeshCrypto
package import MeshWire

extension Endpoint {
    /// What discovery must announce, in the order the invites were opened.
    package var openInvites: [InviteAnnouncement] { invites.map(\.announcement) }

    /// Opens an invite for one guest: a code and a link, for ten minutes; using one burns both.
    ///
    /// Throws `.noRoom` without a room to grant and `.tooMany` above four open invites.
    package mutating func openInvite(now: Instant) throws(InviteError) -> OpenInvite {
        guard room != nil else { throw .noRoom }
        expireInvites(now: now)
        guard invites.count < configuration.invitesMaximum else {
            throw .tooMany(limit: configuration.invitesMaximum)
        }
        // Two open invites of a node never share a slot.
        var slot: UInt8
        repeat {
            slot = UInt8(secrets.word() % 100)
        } while invites.contains { $0.slot == slot }
        let code = InviteCode(slot: slot, from: &secrets)
        let link = InviteLink(
            secret: secrets.secret(),
            isSingleUse: true,
            inviter: nodeID,
            addresses: []
        )
        let invite = Invite(
            code: code,
            link: link,
            codeKeys: .code(invite: secrets.identifier(), slot: slot),
            linkKeys: .link(link.secret),
            expires: now + configuration.inviteLife,
            nextTry: now
        )
        invites.append(invite)
        return OpenInvite(
            code: code,
            link: link,
            announcement: invite.announcement,
            expires: invite.expires
        )
    }

    /// Burns every open invite, without events.
    package mutating func closeInvites(now: Instant) {
        while let invite = invites.last { burn(invite.id, now: now) }
    }

    /// Forgets the tries spent on `code`, since a person typed it again.
    package mutating func allowTries(of code: InviteCode) {
        let text = code.text
        tries.removeAll { $0.code.text == text }
    }

    /// Spends a try of `code`; false if none is left.
    mutating func spendTry(of code: InviteCode) -> Bool {
        let text = code.text
        if let index = tries.firstIndex(where: { $0.code.text == text }) {
            guard tries[index].count < configuration.triesMaximum else { return false }
            tries[index].count += 1
            return true
        }
        if tries.count >= 16 { tries.removeFirst() }
        tries.append((code, 1))
        return true
    }

    /// Whether tries of `code` are left.
    func hasTries(of code: InviteCode) -> Bool {
        let text = code.text
        return tries.allSatisfy { $0.code.text != text || $0.count < configuration.triesMaximum }
    }

    /// The position of the invite that these keys are of, in either mode.
    func inviteIndex(of keys: ModeKeys) -> Int? {
        invites.firstIndex { invite in
            switch keys.mode {
            case .code: invite.codeKeys.invite == keys.invite
            case .link: invite.linkKeys.mac1Key.equals(keys.mac1Key)
            case .member, .trusted: false
            }
        }
    }

    /// A wrong confirmation of the right form: one guess; the fifth burns the invite.
    mutating func countGuess(of keys: ModeKeys, now: Instant) {
        guard keys.mode == .code, let index = inviteIndex(of: keys) else { return }
        statistics.guesses += 1
        invites[index].guesses += 1
        guard invites[index].guesses >= configuration.guessesMaximum else { return }
        let invite = invites[index]
        burn(invite.id, now: now)
        events.append(.inviteBurned(slot: invite.slot, reason: .guesses))
    }

    /// Takes an invite and its half-open handshakes away.
    mutating func burn(_ id: InviteID, now: Instant) {
        guard let index = invites.firstIndex(where: { $0.id == id }) else { return }
        let invite = invites.remove(at: index)
        for entry in halfOpen {
            let keys = entry.handshake.keys
            let isOfCode = keys.mode == .code && keys.invite == id
            let isOfLink = keys.mode == .link && keys.mac1Key.equals(invite.linkKeys.mac1Key)
            if isOfCode || isOfLink { drop(entry, now: now) }
        }
    }

    mutating func expireInvites(now: Instant) {
        while let invite = invites.first, invite.expires <= now {
            burn(invite.id, now: now)
            events.append(.inviteBurned(slot: invite.slot, reason: .expired))
        }
    }
}
