import Foundation
import Huddle
import MeshNet
import MeshWire
import MessageCoding

/// `huddle bench coding`: the message codec beside JSON, on the same values.
///
/// Ratios are what can be compared between machines; the bars of `40-groupactivities.md` §15 are of them.
struct CodingBench {
    private let isJSON: Bool

    /// How often each figure is taken; the best counts, since noise only adds.
    private static let rounds = 9
    /// How long one round lasts at least.
    private static let roundTime = Duration.milliseconds(20)

    init(_ invocation: Invocation) throws(Failure) {
        for option in ["--nodes", "--trials", "--loss", "--keep"] where invocation.has(option) {
            throw .usage("\(option) is of failover, not of coding", command: "bench")
        }
        isJSON = invocation.wantsJSON
    }

    /// Measures each value and prints its line; answers the exit code.
    func run() throws(Failure) -> Int32 {
        if !isJSON {
            Terminal.print("message codec beside JSON, µs and bytes")
        }
        do {
            try show("stroke", .stroke())
            try show("chat", .chat())
            try show("numbers", .numbers())
        } catch {
            throw Failure("failed", "a value did not come back: \(CodingProblem(error).reason)")
        }
        return ExitCode.success
    }

    private func show(_ name: String, _ load: Load) throws {
        let figures = try load.measure(self)
        guard !isJSON else { return Terminal.print(figures.object(name).description) }
        func pair(_ json: Double, _ own: Double) -> String {
            "\(decimals(json, 1)) / \(decimals(own, 1)) = \(decimals(json / own, 1))×"
        }
        Terminal.print(
            name.padded(9)
                + "encode \(pair(figures.json.encode, figures.own.encode))   "
                + "decode \(pair(figures.json.decode, figures.own.decode))   "
                + "size \(figures.own.size) of \(figures.json.size) "
                + "= \(decimals(figures.sizeRatio, 2))"
        )
    }

    /// The microseconds of one call of `body`.
    fileprivate func time(_ body: () throws -> Void) rethrows -> Double {
        var best = Double.infinity
        for _ in 0..<Self.rounds {
            let start = SystemClock.now()
            var count = 0
            var spent = Duration.zero
            while spent < Self.roundTime {
                try body()
                count += 1
                spent = SystemClock.now() - start
            }
            best = min(best, spent.milliseconds * 1000 / Double(count))
        }
        return best
    }
}

/// A value that is measured, whatever its type.
private struct Load {
    var measure: (CodingBench) throws -> CodingFigures

    init<T: Codable>(_ value: T) {
        measure = { bench in
            func side(
                _ encode: (T) throws -> Int,
                _ decode: () throws -> Void
            ) throws -> CodingFigures.Side {
                CodingFigures.Side(
                    encode: try bench.time { _ = try encode(value) },
                    decode: try bench.time(decode),
                    size: try encode(value)
                )
            }
            let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
            let json = try encoder.encode(value)
            let message = try MessageEncoder().encode(value)
            return CodingFigures(
                json: try side {
                    try encoder.encode($0).count
                } _: {
                    _ = try decoder.decode(T.self, from: json)
                },
                own: try side {
                    try MessageEncoder().encode($0).count
                } _: {
                    _ = try MessageDecoder().decode(T.self, from: message)
                }
            )
        }
    }

    /// A stroke of 200 points, as a drawing app sends.
    static func stroke() -> Load {
        struct Point: Codable {
            var x, y: Double
            var pressure: Float
            var time: Double
        }
        struct Stroke: Codable {
            var id: UUID
            var color: String
            var width: Double
            var points: [Point]
        }
        var chance = SeededGenerator(seed: 200)
        let points = (0..<200).map { index in
            Point(
                x: chance.unit() * 1000,
                y: chance.unit() * 1000,
                pressure: Float(chance.unit()),
                time: Double(index) / 120
            )
        }
        return Load(Stroke(id: UUID(), color: "#ff8800", width: 2.5, points: points))
    }

    /// A message of a chat: twelve fields of many types.
    static func chat() -> Load {
        struct Chat: Codable {
            var id = UUID()
            var text = "hello there, how are you"
            var sender = "someone"
            var number = 17
            var isEdited = false
            var date = Date(timeIntervalSinceReferenceDate: 800_000_000.5)
            var likes = ["a", "bb"]
            var reply: UUID?
            var line = -4
            var scale = 0.5
            var room = "xyz"
            var isPinned = true
        }
        return Load(Chat())
    }

    /// A thousand integers, whose elements pass the generic inlet.
    static func numbers() -> Load { Load(Array(0..<1000)) }
}

/// What was measured of one value.
private struct CodingFigures {
    /// One codec: microseconds and bytes.
    struct Side {
        var encode: Double
        var decode: Double
        var size: Int

        var object: JSON {
            .object([
                JSON.Member("encodeMicroseconds", .number(encode)),
                JSON.Member("decodeMicroseconds", .number(decode)),
                JSON.Member("bytes", .number(Double(size))),
            ])
        }
    }

    var json: Side
    var own: Side

    var sizeRatio: Double { Double(own.size) / Double(json.size) }

    func object(_ name: String) -> JSON {
        .object([
            JSON.Member("value", .string(name)),
            JSON.Member("json", json.object),
            JSON.Member("message", own.object),
            JSON.Member("encodeRatio", .number(json.encode / own.encode)),
            JSON.Member("decodeRatio", .number(json.decode / own.decode)),
            JSON.Member("sizeRatio", .number(sizeRatio)),
        ])
    }
}
