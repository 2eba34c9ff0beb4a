package import MeshWire

/// What a member shows of itself, signed by its node's key so that no leader can show anything else.
///
/// ```
/// text name ≤ 64 · colour u32 (0 none; else 0x01RRGGBB) · device u8 · avatar 32 (zero: none)
/// hasPerson u8 (· person 32 · proof 64) · signature 64
/// ```
///
/// At most 300 bytes. The state carries the signatures and does not judge them: who shows a profile asks
/// whether they hold. Nothing fetches an avatar yet; its place is kept.
package struct MemberProfile: Hashable, Sendable {
    /// What it is called; anything at all, so whoever shows it cleans it.
    package var name: String
    /// Its colour, 0x01RRGGBB; zero for none.
    package var colour: UInt32 = 0
    /// The kind of its device; numbers that this version does not know are kept.
    package var device: UInt8 = 0
    /// A picture of it; zero for none.
    package var avatar = ContentID.zero
    /// The person behind it, if it says so.
    package var person: Person?
    /// The node's signature of ``signedBytes(of:)``, 64 bytes; all zero until it is signed.
    package var signature = [UInt8](repeating: 0, count: signatureBytes)

    /// A key that a person's nodes have in common, and that key's word for the node.
    package struct Person: Hashable, Sendable {
        /// The public key.
        package var key: NodeID
        /// Its signature of ``MemberProfile/proofBytes(of:)``, 64 bytes.
        package var proof: [UInt8]

        package init(key: NodeID, proof: [UInt8]) {
            self.key = key
            self.proof = proof
        }
    }

    static let signatureBytes = 64

    /// A profile that nobody has signed.
    package init(name: String = "") {
        self.name = name
    }

    /// Whether it shows nothing.
    package var isEmpty: Bool {
        name.isEmpty && colour == 0 && device == 0 && avatar == .zero && person == nil
    }

    /// The bytes that the node signs, behind label and room: the life of the node, and every field.
    package func signedBytes(of process: ProcessID) -> [UInt8] {
        var writer = ByteWriter(capacity: 256)
        writer.write(process.incarnation)
        writeFields(into: &writer)
        return writer.bytes
    }

    /// The bytes that the person's key signs, behind label and room: the node that is the person's.
    package static func proofBytes(of process: ProcessID) -> [UInt8] {
        var writer = ByteWriter(capacity: 40)
        writer.write(process.nodeID)
        writer.write(process.incarnation)
        return writer.bytes
    }

    /// Throws unless every field is inside its limit and has a meaning.
    func validate() throws(CommandRefusal) {
        try RoomCommand.require(name.utf8.count, atMost: SessionLimits.nameBytes)
        guard colour == 0 || colour >> 24 == 1 else { throw .invalid }
    }

    private func writeFields(into writer: inout ByteWriter) {
        writer.writeString(name)
        writer.write(colour)
        writer.write(device)
        writer.write(avatar)
        writer.write(flag: person != nil)
        guard let person else { return }
        writer.write(person.key)
        writer.write(person.proof)
    }

    func write(to writer: inout ByteWriter) {
        writeFields(into: &writer)
        writer.write(signature)
    }
}

/// Equal by the bytes of their texts, so that equal states give equal snapshots.
extension MemberProfile {
    func isSame(as other: MemberProfile) -> Bool {
        name.utf8.elementsEqual(other.name.utf8) && self == other
    }
}

extension RoomCommand {
    /// Shows a name and nothing else, unsigned.
    package static func setProfile(name: String) -> RoomCommand {
        .setProfile(MemberProfile(name: name))
    }
}

extension ByteReader {
    @_lifetime(self: copy self)
    mutating func readProfile(nameLimit: Int) throws(WireError) -> MemberProfile {
        var profile = MemberProfile(name: try readString(limit: nameLimit))
        profile.colour = try read()
        profile.device = try read()
        profile.avatar = try read()
        if try readFlag() {
            profile.person = MemberProfile.Person(
                key: try read(),
                proof: try readBytes(MemberProfile.signatureBytes)
            )
        }
        profile.signature = try readBytes(MemberProfile.signatureBytes)
        return profile
    }

    /// Reads a profile of a snapshot or a patch, which must be inside its limits.
    @_lifetime(self: copy self)
    mutating func readKnownProfile() throws(WireError) -> MemberProfile {
        let start = offset
        let profile = try readProfile(nameLimit: SessionLimits.nameBytes)
        do {
            try profile.validate()
        } catch {
            throw .invalid(at: start)
        }
        return profile
    }
}
