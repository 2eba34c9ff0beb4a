package import MeshWire

/// The version of a room's secret: a counter and a tag, ordered; not the consensus epoch.
package struct Generation: Hashable, Comparable, Sendable {
    package var counter: UInt32
    /// The first 8 bytes of H("huddle/1 gen", RS), little-endian.
    package var tag: UInt64

    package init(counter: UInt32, tag: UInt64) {
        self.counter = counter
        self.tag = tag
    }

    /// Orders by counter, then by tag.
    package static func < (left: Generation, right: Generation) -> Bool {
        (left.counter, left.tag) < (right.counter, right.tag)
    }
}

/// What makes a member: the room, the generation's counter and its secret RS.
package struct RoomSecret: Sendable {
    package let room: RoomID
    package let counter: UInt32
    /// RS, 32 bytes.
    package let secret: Secret
    /// The generation: counter and tag.
    package let generation: Generation

    /// The secret of a generation; 32 bytes.
    package init(room: RoomID, counter: UInt32, secret: Secret) {
        precondition(secret.count == 32, "a room secret has 32 bytes")
        self.room = room
        self.counter = counter
        self.secret = secret
        generation = Generation(
            counter: counter,
            tag: Hash.tag(.generation, secret.bytes)
        )
    }

    /// A new room of generation 1.
    package init(from source: inout some SecretSource) {
        self.init(room: source.identifier(), counter: 1, secret: source.secret())
    }

    /// Whether both are the same secret of the same room and counter; constant time.
    package func isEqual(to other: RoomSecret) -> Bool {
        room == other.room && counter == other.counter && secret.equals(other.secret)
    }

    /// LC = RoomID ‖ counter.
    var context: [UInt8] {
        var writer = ByteWriter(capacity: 36)
        writer.write(room)
        writer.write(counter)
        return writer.bytes
    }

    func derive(_ label: Label) -> Secret {
        Secret(Hash.derive(label, key: secret.bytes, context.raw))
    }
}

extension RoomSecret: CustomReflectable {
    /// Shows nothing.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// What a handshake of one mode rests on: psk, the key of mac1, and the binding in the prologue.
///
/// Make it once and keep it: the keys are derived, and the mac1 key is tried on every HS1.
package struct ModeKeys: Sendable {
    package let mode: HandshakeMode
    /// The psk; nil in code mode, where the password exchange makes it.
    package let psk: Secret?
    /// The key of mac1, alike for HELLO, HS1, HS2 and HS3.
    package let mac1Key: Secret
    /// 32 bytes of the prologue.
    package let bind: [UInt8]
    /// What AUTH must say: the secret's counter in member mode, else zero.
    package let generationCounter: UInt32
    /// The invite in code mode.
    package let invite: InviteID
    /// The slot in code mode.
    package let slot: UInt8

    private init(
        mode: HandshakeMode,
        psk: Secret?,
        mac1Key: Secret,
        bind: [UInt8],
        generationCounter: UInt32 = 0,
        invite: InviteID = .zero,
        slot: UInt8 = 0
    ) {
        self.mode = mode
        self.psk = psk
        self.mac1Key = mac1Key
        self.bind = bind
        self.generationCounter = generationCounter
        self.invite = invite
        self.slot = slot
    }

    /// Between members of one generation.
    package static func member(_ room: RoomSecret) -> ModeKeys {
        var context = ByteWriter()
        context.write(room.context)
        context.write(room.generation.tag)
        return ModeKeys(
            mode: .member,
            psk: room.derive(.meshPSK),
            mac1Key: room.derive(.mac1),
            bind: Hash.digest(.bindMember, context.bytes.raw),
            generationCounter: room.counter
        )
    }

    /// With a link's secret.
    package static func link(_ secret: Secret) -> ModeKeys {
        ModeKeys(
            mode: .link,
            psk: Secret(Hash.derive(.linkPSK, key: secret.bytes, RawSpan())),
            mac1Key: Secret(Hash.derive(.mac1Link, key: secret.bytes, RawSpan())),
            bind: Hash.digest(.bindLink, secret.bytes)
        )
    }

    /// With a short code for `invite`.
    package static func code(invite: InviteID, slot: UInt8) -> ModeKeys {
        ModeKeys(
            mode: .code,
            psk: nil,
            mac1Key: mac1Key(invite: invite),
            bind: Hash.digest(.bindInvite, (invite.bytes + [slot]).raw),
            invite: invite,
            slot: slot
        )
    }

    /// The key of mac1 in code mode; of sixteen zero bytes in a HELLO that names no invite.
    package static func mac1Key(invite: InviteID) -> Secret {
        Secret(Hash.secret(.mac1Invite, invite.bytes.raw))
    }

    /// The Noise prologue, 74 bytes.
    func prologue(clientNonce: ClientNonce, cookie: Cookie) -> [UInt8] {
        var writer = ByteWriter(capacity: 74)
        writer.write(Array("huddle/1".utf8))
        writer.write(MessageType.version)
        writer.write(mode.rawValue)
        writer.write(clientNonce)
        writer.write(cookie)
        writer.write(bind)
        return writer.bytes
    }
}

extension ModeKeys: CustomReflectable {
    /// Shows the mode alone.
    package var customMirror: Mirror { Mirror(self, children: ["mode": mode]) }
}
