import GroupActivities

// What the peers tell each other.

struct Note: Codable {
    var number: Int
    var text: String
}

/// Known to this file alone, as another program has one of the same name (`Tests/SharePlayStranger`).
private struct Whisper: Codable {
    var text: String
}

extension GroupSessionMessenger {
    func whisper(_ text: String) async throws {
        try await send(Whisper(text: text))
    }

    func hearWhispers() async {
        for await (whisper, context) in messages(of: Whisper.self) {
            say("whisper \(whisper.text) from \(context.source.id)")
        }
    }
}

/// Large messages, of which each byte is known.
enum Blob {
    static let size = 262_144

    static func make(_ number: Int) -> Data {
        Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number) })
    }
}

/// One value of a kind that a codec may get wrong, and how it is told that it arrived whole.
@MainActor
struct Specimen<Value: Codable> {
    var name: String
    var value: Value
    var isEqual: (Value, Value) -> Bool

    func send(by messenger: GroupSessionMessenger) async throws {
        // Generic here, so that bytes go as a value of their type too.
        try await messenger.send(value)
    }

    func hear(from messenger: GroupSessionMessenger) -> Task<Void, Never> {
        Task {
            for await (other, _) in messenger.messages(of: Value.self) {
                say("value \(name) \(isEqual(value, other) ? "equal" : "differs: \(other)")")
            }
        }
    }
}

extension Specimen where Value: Equatable {
    init(_ name: String, _ value: Value) {
        self.init(name: name, value: value, isEqual: { $0 == $1 })
    }
}

enum Suit: String, Codable { case hearts, spades }

enum Move: Codable, Equatable {
    case pass
    case step(by: Int, towards: CGPoint)
}

/// The values that every peer knows (`40-groupactivities.md` G9).
@MainActor
enum Specimens {
    static let text = Specimen("text", "t\u{e4}glich \u{1F3B2}\u{0}")
    static let nothing = Specimen("nothing", Int?.none)
    static let suit = Specimen("suit", Suit.spades)
    static let move = Specimen("move", [Move.pass, .step(by: -3, towards: CGPoint(x: 0.1, y: -2))])
    static let numbers = Specimen(
        name: "numbers",
        value: [Double.nan, -0.0, .infinity, .leastNonzeroMagnitude],
        isEqual: { $0.map(\.bitPattern) == $1.map(\.bitPattern) }
    )
    static let point = Specimen("point", CGPoint(x: 1.5, y: -2))
    static let bytes = Specimen("bytes", Data([0, 255, 7]))
    static let dates = Specimen(
        "dates",
        ["then": Date(timeIntervalSinceReferenceDate: 700_000_000.125), "": .distantFuture]
    )

    static func send(by messenger: GroupSessionMessenger) async throws {
        try await text.send(by: messenger)
        try await nothing.send(by: messenger)
        try await suit.send(by: messenger)
        try await move.send(by: messenger)
        try await numbers.send(by: messenger)
        try await point.send(by: messenger)
        try await bytes.send(by: messenger)
        try await dates.send(by: messenger)
    }

    static func hear(from messenger: GroupSessionMessenger) -> [Task<Void, Never>] {
        [
            text.hear(from: messenger), nothing.hear(from: messenger), suit.hear(from: messenger),
            move.hear(from: messenger), numbers.hear(from: messenger),
            point.hear(from: messenger), bytes.hear(from: messenger), dates.hear(from: messenger),
        ]
    }
}
