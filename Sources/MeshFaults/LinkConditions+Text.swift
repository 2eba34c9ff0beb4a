/// Why a text names no conditions; says which word, why, and what to write instead.
public struct FaultSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The key the trouble is at.
    public var key: String
    /// What is wrong, and what to try.
    public var reason: String

    /// One sentence for the user.
    public var description: String { key.isEmpty ? reason : "\(key): \(reason)" }
}

extension LinkConditions {
    /// Reads conditions written in the words of the laboratory, such as `loss 5% delay 20ms`.
    ///
    /// Words stand apart by spaces or commas; `loss=5%` is the same as `loss 5%`. Every quantity
    /// has a unit, since a bare number has meant different things in different tools.
    public init(parsing text: some StringProtocol) throws(FaultSyntaxError) {
        self.init()
        let separators: [Character] = [" ", ",", "=", "\t", "\n"]
        let pieces = String(text).split(whereSeparator: { separators.contains($0) })
        var words = pieces.map(String.init)[...]
        var burst: Double?
        var seen: Set<String> = []
        while let key = words.popFirst() {
            guard seen.insert(key).inserted else {
                throw FaultSyntaxError(key: key, reason: "given twice")
            }
            if try readFlag(key) { continue }
            guard Self.keys.contains(key) else {
                throw FaultSyntaxError(key: key, reason: Self.unknown(key))
            }
            guard let value = words.popFirst() else {
                throw FaultSyntaxError(
                    key: key,
                    reason: "needs a value, such as \(Self.example(key))"
                )
            }
            if key == "loss_burst" {
                burst = try FaultUnits.count(value, key, in: 1...1_000_000)
            } else {
                try read(value, of: key)
            }
        }
        guard let burst else { return }
        guard case .independent(let mean) = loss,
            let chain = LossModel.bursts(mean: mean, burst: burst)
        else {
            throw FaultSyntaxError(
                key: "loss_burst",
                reason: "needs `loss` of at most burst / (1 + burst), such as loss 5% loss_burst 3"
            )
        }
        loss = chain
    }

    private mutating func readFlag(_ key: String) throws(FaultSyntaxError) -> Bool {
        switch key {
        case "down": isDown = true
        case "keep_order": keepsOrder = true
        default: return false
        }
        return true
    }

    private mutating func read(_ value: String, of key: String) throws(FaultSyntaxError) {
        switch key {
        case "loss": loss = try Self.independent(FaultUnits.probability(value, key))
        case "ge": loss = try Self.chain(value)
        case "preset": loss = try Self.preset(value)
        case "duplicate": duplicate = try FaultUnits.probability(value, key)
        case "copies": copies = try Int(FaultUnits.count(value, key, in: 1...8))
        case "corrupt": corrupt = try FaultUnits.probability(value, key)
        case "bits": corruptedBits = try Int(FaultUnits.count(value, key, in: 1...64))
        case "reorder": reorder = try FaultUnits.probability(value, key)
        case "by": reorderBy = try FaultUnits.time(value, key)
        case "delay": delay = try FaultUnits.time(value, key)
        case "rtt": delay = try FaultUnits.time(value, key) / 2
        case "jitter": jitter = try FaultUnits.time(value, key)
        case "dist":
            guard let known = DelayDistribution(rawValue: value) else {
                throw FaultSyntaxError(key: key, reason: "`\(value)`: uniform, normal or pareto")
            }
            distribution = known
        case "rate": rateBitsPerSecond = try FaultUnits.rate(value, key)
        case "queue": queue = try FaultUnits.queue(value, key)
        case "mtu": mtuBytes = try FaultUnits.size(value, key)
        default: throw FaultSyntaxError(key: key, reason: Self.unknown(key))
        }
    }

    private static func independent(_ probability: Double) -> LossModel {
        probability == 0 ? .none : .independent(probability)
    }

    /// `p/r/h/k`, four probabilities; h and k may be left out.
    private static func chain(_ value: String) throws(FaultSyntaxError) -> LossModel {
        var numbers: [Double] = []
        for part in value.split(separator: "/") {
            numbers.append(try FaultUnits.probability(String(part), "ge"))
        }
        guard (2...4).contains(numbers.count), numbers[0] + numbers[1] > 0 else {
            throw FaultSyntaxError(key: "ge", reason: "needs p/r/h/k, such as 1%/25%/100%/0%")
        }
        return .gilbertElliott(
            GilbertElliott(
                enterBad: numbers[0],
                leaveBad: numbers[1],
                lossInBad: numbers.count > 2 ? numbers[2] : 1,
                lossInGood: numbers.count > 3 ? numbers[3] : 0
            )
        )
    }

    private static func preset(_ value: String) throws(FaultSyntaxError) -> LossModel {
        switch value {
        case "wifi-busy": .gilbertElliott(GilbertElliott(enterBad: 0.01, leaveBad: 0.25))
        case "lte-handover": .gilbertElliott(GilbertElliott(enterBad: 0.001, leaveBad: 0.05))
        default:
            throw FaultSyntaxError(key: "preset", reason: "`\(value)`: wifi-busy or lte-handover")
        }
    }

    /// Every key, in the order of the pipeline, with an example of its value.
    package static let vocabulary: [(key: String, example: String)] = [
        ("down", ""), ("mtu", "1280B"), ("loss", "5%"), ("loss_burst", "3"),
        ("ge", "1%/25%/100%/0%"), ("preset", "wifi-busy"), ("duplicate", "5%"), ("copies", "1"),
        ("corrupt", "2%"), ("bits", "1"), ("rate", "10Mbit/s"), ("queue", "25pkt"),
        ("delay", "20ms"), ("rtt", "40ms"), ("jitter", "5ms"), ("dist", "normal"),
        ("keep_order", ""), ("reorder", "10%"), ("by", "5ms"),
    ]

    private static var keys: [String] { vocabulary.map(\.key) }

    private static func example(_ key: String) -> String {
        vocabulary.first { $0.key == key }.map { "\(key) \($0.example)" } ?? key
    }

    private static func unknown(_ key: String) -> String {
        if key == "loss_corr" {
            return "refused: netem's correlation destroys the mean; write loss 5% loss_burst 3"
        }
        let nearest = keys.min { distance($0, key) < distance($1, key) }
        guard let nearest, distance(nearest, key) <= 2 else {
            return "unknown word; known are \(keys.joined(separator: " "))"
        }
        return "unknown word; did you mean \(nearest)?"
    }

    /// The number of letters to change, add or drop (Levenshtein).
    private static func distance(_ left: String, _ right: String) -> Int {
        let right = Array(right.utf8)
        var row = Array(0...right.count)
        for (i, letter) in left.utf8.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for j in right.indices {
                let change = diagonal + (letter == right[j] ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(change, row[j] + 1, row[j + 1] + 1)
            }
        }
        return row[right.count]
    }
}

extension LinkConditions: CustomStringConvertible {
    /// The text that ``init(parsing:)`` reads back; empty for a perfect link.
    public var description: String {
        var words: [String] = []
        if isDown { words.append("down") }
        if let mtuBytes { words.append("mtu \(mtuBytes)B") }
        switch loss {
        case .none: break
        case .independent(let probability): words.append("loss \(FaultUnits.percent(probability))")
        case .gilbertElliott(let chain):
            let numbers = [chain.enterBad, chain.leaveBad, chain.lossInBad, chain.lossInGood]
            words.append("ge \(numbers.map(FaultUnits.percent).joined(separator: "/"))")
        }
        if duplicate > 0 { words.append("duplicate \(FaultUnits.percent(duplicate))") }
        if copies != 1 { words.append("copies \(copies)") }
        if corrupt > 0 { words.append("corrupt \(FaultUnits.percent(corrupt))") }
        if corruptedBits != 1 { words.append("bits \(corruptedBits)") }
        if let rateBitsPerSecond { words.append("rate \(rateBitsPerSecond)bit/s") }
        switch queue {
        case .automatic: break
        case .bytes(let bytes): words.append("queue \(bytes)B")
        case .packets(let count): words.append("queue \(count)pkt")
        case .time(let time): words.append("queue \(FaultUnits.text(time))")
        }
        if delay > .zero { words.append("delay \(FaultUnits.text(delay))") }
        if jitter > .zero { words.append("jitter \(FaultUnits.text(jitter))") }
        if distribution != .uniform { words.append("dist \(distribution.rawValue)") }
        if keepsOrder { words.append("keep_order") }
        if reorder > 0 { words.append("reorder \(FaultUnits.percent(reorder))") }
        if reorderBy != .milliseconds(5) { words.append("by \(FaultUnits.text(reorderBy))") }
        return words.joined(separator: " ")
    }
}
