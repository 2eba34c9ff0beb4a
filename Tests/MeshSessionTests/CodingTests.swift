import MeshSession
import MeshWire
import TestSupport
import Testing

@Suite("Commands and results in bytes") struct CodingTests {
    static let position = Position(epoch: Epoch(counter: 3, proposer: 9), index: 44)
    static let participant = ParticipantID(Array(1...16)) ?? .zero

    static let rights: SessionOptions = {
        var options = SessionOptions()
        (options.mayEnd, options.mayReplace) = (.initiator, .lead)
        (options.mayKick, options.mayLock) = (.everyone, .initiator)
        options.attachmentLimit = 64 << 30
        return options
    }()

    static let commands: [RoomCommand] = [
        .setProfile(name: "Åsa 🎬"),
        .startSession(
            SessionBlueprint(
                activity: .chess,
                lifetime: .endsWhenInitiatorLeaves,
                leadMode: .switchable,
                options: SessionOptions(capacity: 4, isLocked: true, control: .leadOnly),
                slot: "activity",
                expected: Bench.other
            )
        ),
        .setActivity(
            Activity(identifier: "x", payload: Array(repeating: 5, count: 300), metadata: [9])
        ),
        .endSession(isExpiry: false), .endSession(isExpiry: true),
        .join(nonce: 0x0102_0304_0506_0708), .leave,
        .expire(participant), .setOptions(SessionOptions(capacity: 64)), .setOptions(rights),
        .remove(participant, isBan: true, note: "bye"), .giveLead(to: participant), .takeLead,
        .setLeadMode(.none), .requestState, .put(key: "k", value: []),
        .compareAndSet(key: "k", expected: .absent, value: [1]),
        .compareAndSet(key: "k", expected: .version(position), value: [1]),
        .compareAndSet(key: "k", expected: .value([7, 8]), value: [1]),
        .delete(key: "k", expected: .anything), .add(key: "k", amount: .min),
        .insert(key: "k", element: [1]), .withdraw(key: "k", element: []),
        .append(LogDraft(number: 7, payload: [1, 2])),
        .append(
            LogDraft(
                number: .max,
                answers: MoveID(participant: participant, number: 9),
                payload: Array(repeating: 3, count: 400)
            )
        ),
        .refuseMove(MoveID(participant: participant, number: 3), note: "not your turn"),
        .addAttachment(JournalTests.entry(7, metadata: 20)),
        .removeAttachment(JournalTests.entry(7).id),
        .acknowledgeConflict(.value, key: "k"), .acknowledgeConflict(.ending, key: ""),
    ]

    static let results: [CommandResult] = [
        .done, .joined(participant, number: 9), .stored(version: position),
        .counted(-5, version: position), .refused(.malformed), .refused(.invalid),
        .refused(.upgradeNeeded(type: 0x38)), .refused(.tooLarge(limit: 16_384)),
        .refused(.full(.state, limit: 8_000_000)), .refused(.notMember),
        .refused(.noSuchSession), .refused(.sessionExists), .refused(.notJoined),
        .refused(.alreadyJoined(participant)), .refused(.locked), .refused(.banned),
        .refused(.noSuchParticipant(participant)), .refused(.participantAway(participant)),
        .refused(.notExpired), .refused(.notLead(holder: participant)),
        .refused(.notLead(holder: nil)), .refused(.notLeader), .refused(.noLead),
        .refused(.versionMismatch(current: position)), .refused(.versionMismatch(current: nil)),
        .refused(.wrongKind), .refused(.outOfRange), .refused(.noSuchConflict),
        .refused(.notInitiator), .refused(.noSuchAttachment),
        .refused(.moveDecided), .appended(index: 1 << 40, version: position),
        .refused(.full(.ownAttachments, limit: 512)), .refused(.tooLarge(limit: 64 << 30)),
        .merged(Bench.other),
    ]

    @Test("every command survives its bytes, and every cut of them is refused", arguments: commands)
    func commandRoundTrip(command: RoomCommand) throws {
        let payload = command.payload
        #expect(try RoomCommand(type: command.type.rawValue, payload: payload) == command)
        for count in 0..<payload.count {
            #expect(throws: RoomCommandError.self) {
                try RoomCommand(type: command.type.rawValue, payload: Array(payload.prefix(count)))
            }
        }
        #expect(throws: RoomCommandError.malformed(.trailing(at: payload.count))) {
            try RoomCommand(type: command.type.rawValue, payload: payload + [0])
        }
    }

    @Test("every result survives its bytes, and every cut of them is refused", arguments: results)
    func resultRoundTrip(result: CommandResult) throws {
        let bytes = result.encoded
        #expect(try CommandResult(decoding: bytes) == result)
        for count in 0..<bytes.count {
            #expect(throws: WireError.self) {
                try CommandResult(decoding: Array(bytes.prefix(count)))
            }
        }
    }

    @Test("the numbers of the commands are those of the table — 30-consensus §12") func numbers() {
        let numbers = CommandType.allCases.map(\.rawValue)
        #expect(
            numbers == [0x01] + Array(0x10...0x1b) + Array(0x20...0x25)
                + [0x28, 0x2a, 0x30, 0x31, 0x40]
        )
        #expect(Set(Self.commands.map(\.type)) == Set(CommandType.allCases))
    }

    @Test(
        "numbers of commands not built yet are unknown, not malformed",
        arguments: [
            0x00, 0x02, 0x03, 0x26, 0x27, 0x29, 0x32, 0x38, 0xffff,
        ] as [UInt16]
    )
    func reserved(type: UInt16) {
        #expect(throws: RoomCommandError.unknownType(type)) {
            try RoomCommand(type: type, payload: [])
        }
    }

    @Test("what decodes encodes to the same bytes, whatever 20,000 mutations made of it")
    func mutations() throws {
        var generator = SeededGenerator(seed: 0x5e55)
        var decoded = 0
        for _ in 0..<20_000 {
            let command = Self.commands.randomElement(using: &generator) ?? .join(nonce: 0)
            var payload = command.payload
            mutate(&payload, using: &generator)
            let type =
                generator.happens(0.2)
                ? UInt16.random(in: 0...0x42, using: &generator) : command.type.rawValue
            guard let again = try? RoomCommand(type: type, payload: payload) else { continue }
            decoded += 1
            #expect(again.payload == payload)
            #expect(again.type.rawValue == type)
        }
        #expect(decoded > 1000, "enough survive for the property to mean something: \(decoded)")
    }
}
