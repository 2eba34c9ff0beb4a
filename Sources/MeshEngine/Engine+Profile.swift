import MeshCrypto
package import MeshSession
package import MeshWire

// What members show of themselves, and whether it is theirs (`40-groupactivities.md` §9.6).
extension Engine {
    /// Shows this node's profile in the room, signed for it; nothing if it shows nothing.
    mutating func showProfile(for request: RequestID?, now: Instant) {
        guard let room = membership.record?.secret.room else { return }
        var profile = configuration.profile
        profile.person = configuration.person.map { person in
            MemberProfile.Person(
                key: person.nodeID,
                proof: person.sign(.person, room: room, MemberProfile.proofBytes(of: process)).bytes
            )
        }
        guard request != nil || !profile.isEmpty else { return }
        profile.signature =
            identity.sign(.profile, room: room, profile.signedBytes(of: process)).bytes
        let failure = sequence(.setProfile(profile), session: .zero, for: request, now: now)
        if let failure, let request { events.append(.completed(request, .failure(failure))) }
    }

    /// The public key of the person behind this node, if it shows one.
    package var person: NodeID? { configuration.person?.nodeID }

    /// The profile of a member if its node has signed it, and with the person only if that has signed too.
    ///
    /// Costs some 40 µs a signature.
    package func verifiedProfile(of member: RoomMember) -> MemberProfile? {
        guard let room = membership.record?.secret.room else { return nil }
        var profile = member.profile
        let process = member.process
        let isSigned = Signature(profile.signature)?
            .isValid(.profile, room: room, profile.signedBytes(of: process), by: process.nodeID)
        guard isSigned == true else { return nil }
        if let person = profile.person {
            let isProven = Signature(person.proof)?
                .isValid(.person, room: room, MemberProfile.proofBytes(of: process), by: person.key)
            if isProven != true { profile.person = nil }
        }
        return profile
    }
}
