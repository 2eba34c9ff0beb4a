// The payloads of the log's commands (`30-consensus.md` §12). Varints and little-endian as
// everywhere; `text` and `blob` are a varint length and bytes; `participant` is 16 bytes.
//
//   0x01 setProfile     profile (see MemberProfile)
//   0x10 startSession   activity · lifetime u8 · leadMode u8 · options 13 · text slot · expected 16
//   0x11 setActivity    activity: text identifier · blob payload · blob metadata
//   0x12 endSession     isExpiry u8
//   0x13 join           nonce u64
//   0x14 leave, 0x19 takeLead, 0x1B requestState   empty
//   0x15 expire         participant
//   0x16 setOptions     options: capacity u8 · isLocked u8 · control u8 · rights u8: two bits
//                       each of mayEnd, mayReplace, mayKick, mayLock from the lowest on
//                       · attachmentLimit u64 · mayRemove u8
//   0x17 remove         participant · isBan u8 · text note
//   0x18 giveLead       participant
//   0x1A setLeadMode    leadMode u8
//   0x20 put            text key · blob value
//   0x21 compareAndSet  text key · expectation · blob value
//   0x22 delete         text key · expectation
//   0x23 add            text key · amount i64
//   0x24 insert, 0x25 withdraw   text key · blob element
//   0x28 append         draft: number u64 · answers u8 (· move) · blob payload
//   0x2A refuseMove     move: participant · number u64 · text note
//   0x30 addAttachment  entry (see JournalEntry), at most 2 KiB
//   0x31 removeAttachment   attachment 16
//   0x40 acknowledgeConflict   subject u8 · text key
//   expectation         0 anything | 1 absent | 2 version: position 24 | 3 value: blob

package import MeshWire

/// Why a type and a payload are no command of this version.
package enum RoomCommandError: Error, Hashable, Sendable {
    /// A type that this version does not know: whoever applies it must be newer.
    case unknownType(UInt16)
    /// The payload is not what the type demands.
    case malformed(WireError)
}

extension RoomCommand {
    /// The command with this type and payload.
    ///
    /// Throws ``RoomCommandError``. Sizes are bounded by the payload alone; ``validate()`` checks
    /// the limits, so that one place names them.
    package init(type number: UInt16, payload: [UInt8]) throws(RoomCommandError) {
        guard let type = CommandType(rawValue: number) else { throw .unknownType(number) }
        do throws(WireError) {
            guard payload.count <= Limits.commandBytes else {
                throw .overLimit(UInt64(payload.count), at: 0)
            }
            self = try Self.read(type, payload)
        } catch {
            throw .malformed(error)
        }
    }

    /// The payload of the command.
    package var payload: [UInt8] {
        var writer = ByteWriter()
        switch self {
        case .setProfile(let profile):
            profile.write(to: &writer)
        case .startSession(let blueprint):
            writer.write(blueprint.activity)
            writer.write(blueprint.lifetime.rawValue)
            writer.write(blueprint.leadMode.rawValue)
            writer.write(blueprint.options)
            writer.writeString(blueprint.slot)
            writer.write(blueprint.expected)
        case .setActivity(let activity):
            writer.write(activity)
        case .endSession(let isExpiry):
            writer.write(flag: isExpiry)
        case .join(let nonce):
            writer.write(nonce)
        case .leave, .takeLead, .requestState:
            break
        case .expire(let participant), .giveLead(let participant):
            writer.write(participant)
        case .setOptions(let options):
            writer.write(options)
        case .remove(let participant, let isBan, let note):
            writer.write(participant)
            writer.write(flag: isBan)
            writer.writeString(note)
        case .setLeadMode(let mode):
            writer.write(mode.rawValue)
        case .put(let key, let value):
            writer.writeString(key)
            writer.writeBlob(value)
        case .compareAndSet(let key, let expected, let value):
            writer.writeString(key)
            writer.write(expected)
            writer.writeBlob(value)
        case .delete(let key, let expected):
            writer.writeString(key)
            writer.write(expected)
        case .add(let key, let amount):
            writer.writeString(key)
            writer.write(amount)
        case .acknowledgeConflict(let subject, let key):
            writer.write(subject.rawValue)
            writer.writeString(key)
        case .append(let draft):
            writer.write(draft)
        case .refuseMove(let move, let note):
            writer.write(move)
            writer.writeString(note)
        case .addAttachment(let entry):
            writer.write(entry)
        case .removeAttachment(let attachment):
            writer.write(attachment)
        case .insert(let key, let element), .withdraw(let key, let element):
            writer.writeString(key)
            writer.writeBlob(element)
        }
        return writer.bytes
    }

    private static func read(
        _ type: CommandType,
        _ payload: [UInt8]
    ) throws(WireError) -> RoomCommand {
        var reader = ByteReader(payload.raw)
        let most = Limits.commandBytes
        let command: RoomCommand
        switch type {
        case .setProfile:
            command = .setProfile(try reader.readProfile(nameLimit: most))
        case .startSession:
            command = .startSession(
                SessionBlueprint(
                    activity: try reader.readActivity(),
                    lifetime: try reader.readCase(),
                    leadMode: try reader.readCase(),
                    options: try reader.readOptions(),
                    slot: try reader.readString(limit: most),
                    expected: try reader.read()
                )
            )
        case .setActivity:
            command = .setActivity(try reader.readActivity())
        case .endSession:
            command = .endSession(isExpiry: try reader.readFlag())
        case .join:
            command = .join(nonce: try reader.read())
        case .leave:
            command = .leave
        case .expire:
            command = .expire(try reader.read())
        case .setOptions:
            command = .setOptions(try reader.readOptions())
        case .remove:
            command = .remove(
                try reader.read(),
                isBan: try reader.readFlag(),
                note: try reader.readString(limit: most)
            )
        case .giveLead:
            command = .giveLead(to: try reader.read())
        case .takeLead:
            command = .takeLead
        case .setLeadMode:
            command = .setLeadMode(try reader.readCase())
        case .requestState:
            command = .requestState
        case .put:
            command = .put(
                key: try reader.readString(limit: most),
                value: try reader.readBlob(limit: most)
            )
        case .compareAndSet:
            command = .compareAndSet(
                key: try reader.readString(limit: most),
                expected: try reader.readExpectation(),
                value: try reader.readBlob(limit: most)
            )
        case .delete:
            command = .delete(
                key: try reader.readString(limit: most),
                expected: try reader.readExpectation()
            )
        case .add:
            command = .add(key: try reader.readString(limit: most), amount: try reader.read())
        case .insert:
            command = .insert(
                key: try reader.readString(limit: most),
                element: try reader.readBlob(limit: most)
            )
        case .append:
            command = .append(try reader.readDraft(limit: most))
        case .refuseMove:
            command = .refuseMove(try reader.readMove(), note: try reader.readString(limit: most))
        case .addAttachment:
            guard payload.count <= SessionLimits.entryBytes else {
                throw .overLimit(UInt64(payload.count), at: 0)
            }
            command = .addAttachment(try reader.readJournalEntry())
        case .removeAttachment:
            command = .removeAttachment(try reader.read())
        case .acknowledgeConflict:
            command = .acknowledgeConflict(
                try reader.readCase(),
                key: try reader.readString(limit: most)
            )
        case .withdraw:
            command = .withdraw(
                key: try reader.readString(limit: most),
                element: try reader.readBlob(limit: most)
            )
        }
        try reader.finish()
        return command
    }
}

extension ByteWriter {
    mutating func write(flag: Bool) {
        write(UInt8(flag ? 1 : 0))
    }

    mutating func write(_ activity: Activity) {
        writeString(activity.identifier)
        writeBlob(activity.payload)
        writeBlob(activity.metadata)
    }

    mutating func write(_ options: SessionOptions) {
        write(options.capacity)
        write(flag: options.isLocked)
        write(options.control.rawValue)
        write(
            options.mayEnd.rawValue | options.mayReplace.rawValue << 2
                | options.mayKick.rawValue << 4 | options.mayLock.rawValue << 6
        )
        write(options.attachmentLimit)
        write(options.mayRemove.rawValue)
    }

    mutating func write(_ expectation: Expectation) {
        switch expectation {
        case .anything:
            write(UInt8(0))
        case .absent:
            write(UInt8(1))
        case .version(let position):
            write(UInt8(2))
            write(position)
        case .value(let bytes):
            write(UInt8(3))
            writeBlob(bytes)
        }
    }
}

extension ByteReader {
    /// Reads a byte that is 0 or 1.
    @_lifetime(self: copy self)
    mutating func readFlag() throws(WireError) -> Bool {
        let start = offset
        switch try read(UInt8.self) {
        case 0: return false
        case 1: return true
        default: throw .invalid(at: start)
        }
    }

    /// Reads the byte of a case of a closed enumeration.
    @_lifetime(self: copy self)
    mutating func readCase<Value: RawRepresentable<UInt8>>(
        _: Value.Type = Value.self
    ) throws(WireError) -> Value {
        let start = offset
        guard let value = Value(rawValue: try read()) else { throw .invalid(at: start) }
        return value
    }

    @_lifetime(self: copy self)
    mutating func readActivity() throws(WireError) -> Activity {
        Activity(
            identifier: try readString(limit: Limits.commandBytes),
            payload: try readBlob(limit: Limits.commandBytes),
            metadata: try readBlob(limit: Limits.commandBytes)
        )
    }

    @_lifetime(self: copy self)
    mutating func readOptions() throws(WireError) -> SessionOptions {
        var options = SessionOptions(
            capacity: try read(),
            isLocked: try readFlag(),
            control: try readCase()
        )
        let start = offset
        let rights: UInt8 = try read()
        let parts = stride(from: 0, to: 8, by: 2).compactMap { shift in
            SessionRight(rawValue: rights >> UInt8(shift) & 3)
        }
        guard parts.count == 4 else { throw .invalid(at: start) }
        options.mayEnd = parts[0]
        options.mayReplace = parts[1]
        options.mayKick = parts[2]
        options.mayLock = parts[3]
        options.attachmentLimit = try read()
        options.mayRemove = try readCase()
        return options
    }

    @_lifetime(self: copy self)
    mutating func readExpectation() throws(WireError) -> Expectation {
        let start = offset
        switch try read(UInt8.self) {
        case 0: return .anything
        case 1: return .absent
        case 2: return .version(try readPosition())
        case 3: return .value(try readBlob(limit: Limits.commandBytes))
        default: throw .invalid(at: start)
        }
    }
}
