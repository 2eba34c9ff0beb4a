import MeshEngine
import MeshSession
import MeshWire

// What the members show of themselves, as far as their keys vouch for it.
extension Node {
    /// A profile that was looked at, and what of it may be shown.
    struct KnownProfile {
        var process: ProcessID
        var signed: MemberProfile
        var profile: Profile
        var person: PersonKey?
    }

    /// Shows this to the others, in this room and in those to come.
    ///
    /// It is signed with the node's key, and what the others see comes from that alone. In no room it is kept
    /// for the next one. Throws `tooLarge` if the name has more than 64 bytes once control characters and
    /// marks of direction are taken out; `tooFast` beyond 5 changes and one more a second; `timedOut`,
    /// `suspended` if the room does not take it, which it then learns with the next change.
    public func setProfile(_ profile: Profile) async throws(HuddleError) {
        guard !isStopped else { throw .stopped }
        var profile = profile
        profile.name = SafeText.clean(profile.name, toBytes: .max)
        guard profile.name.utf8.count <= Profile.nameBytes else {
            throw HuddleError(.tooLarge, "a name has at most \(Profile.nameBytes) bytes of UTF-8")
        }
        try take(CommandType.profilePace, \.profile, "the profile was changed")
        self.profile = profile
        let shown = profile.inner
        do {
            _ = try await committed(within: .seconds(20)) { .setProfile($0, shown) }
        } catch {
            // Who is in no room shows it in the next one.
            guard error.kind != .noRoom else { return }
            throw error
        }
    }

    /// What a member shows, and the person behind it; nothing of what its node did not sign.
    func shown(_ process: ProcessID) -> (profile: Profile, person: PersonKey?) {
        guard let member = engine.room?.member(process) else { return (Profile(), nil) }
        return shown(member)
    }

    func shown(_ member: RoomMember) -> (profile: Profile, person: PersonKey?) {
        guard !member.profile.isEmpty else { return (Profile(), nil) }
        if let known = knownProfiles[member.process.nodeID], known.process == member.process,
            known.signed == member.profile
        {
            return (known.profile, known.person)
        }
        let verified = engine.verifiedProfile(of: member)
        let known = KnownProfile(
            process: member.process,
            signed: member.profile,
            profile: verified.map { Profile($0) } ?? Profile(),
            person: verified?.person.map { PersonKey($0.key) }
        )
        // As many as the room has members, of whom some may have gone.
        if knownProfiles.count >= SessionLimits.members { knownProfiles = [:] }
        knownProfiles[member.process.nodeID] = known
        return (known.profile, known.person)
    }

    /// A member shows something else: all that it takes part in hears of it.
    func changedProfile(of process: ProcessID) {
        for session in standingOrder {
            guard let who = engine.room?.session(session)?.participant(of: process) else {
                continue
            }
            hubs[session]?.deliver(.profile(participant(who)))
        }
    }
}
