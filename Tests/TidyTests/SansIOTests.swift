import Testing

@Suite("Sans-IO — 70-style §14") struct SansIOTests {
    /// What may not stand in a sans-IO module, and what stands there instead.
    struct Ban: CustomTestStringConvertible, Sendable {
        var testDescription: String
        /// A file without any of these words is spared the pattern.
        var words: [String]
        var pattern: String
        var instead: String
    }

    static let bans = [
        Ban(
            testDescription: "a clock",
            words: ["Clock", "clock_", "DispatchTime", "Date", ".now"],
            pattern:
                #"\b(ContinuousClock|SuspendingClock|UTCClock|clock_gettime|DispatchTime)\b|\bDate(\.now|\(\))|Clock(\(\))?\.now\b|[=(:,]\s*\.now\b"#,
            instead: "the argument now: Instant"
        ),
        Ban(
            testDescription: "a task",
            words: ["Task", "async", "await", "AsyncStream"],
            pattern: #"\bTask\s*[.{(<]|\bTaskGroup\b|\basync\b|\bawait\b|\bAsyncStream\b"#,
            instead: "an inlet that is handed the result"
        ),
        Ban(
            testDescription: "an actor",
            words: ["actor", "Actor"],
            pattern: #"\bactor\s+[A-Z]|@MainActor|@globalActor"#,
            instead: "a value that its driver owns"
        ),
        Ban(
            testDescription: "a lock",
            words: ["Mutex", "Atomic", "NSLock", "DispatchQueue", "Thread", "pthread_"],
            pattern: #"\b(Mutex|Atomic|NSLock|DispatchQueue|Thread)\b|pthread_"#,
            instead: "a value that its driver owns"
        ),
        Ban(
            testDescription: "chance of its own",
            words: ["andom", ".shuffle"],
            pattern:
                #"\bSystemRandomNumberGenerator\b|\.random\((?!.*using:)|\.randomElement\(\)|\.shuffled\(\)|\.shuffle\(\)"#,
            instead: "the generator that is injected: using:"
        ),
        Ban(
            testDescription: "a value that differs from run to run",
            words: ["hashValue", "ObjectIdentifier", "UUID", "ProcessInfo", "getenv"],
            pattern: #"\bhashValue\b|\bObjectIdentifier\b|\bUUID\(\)|ProcessInfo|getenv"#,
            instead: "a value derived from the arguments"
        ),
        Ban(
            testDescription: "a changing global",
            words: [
                "static var", "nonisolated(unsafe)", "\nvar", "private var", "package var",
                "internal var", "fileprivate var", "public var",
            ],
            pattern:
                #"\bstatic\s+var\s+\w+\s*(:[^{]*)?=|^(\w+\s+)?var\s+\w+\s*(:[^{]*)?=|nonisolated\(unsafe\)"#,
            instead: "a stored property of the machine"
        ),
        Ban(
            testDescription: "a proof by word of mouth",
            words: ["@unchecked"],
            pattern: #"@unchecked\s+Sendable"#,
            instead: "a value that is Sendable by its parts"
        ),
    ]

    /// Where a ban is lifted, and why.
    static let exceptions: [String: Set<String>] = [
        // The owner of locked memory; its doc has the proof.
        "a proof by word of mouth": [
            "Sources/MeshCrypto/SecretBytes.swift", "Sources/MeshCrypto/Sodium.swift",
        ]
    ]

    @Test("nothing stands in a sans-IO module that arguments do not decide", arguments: bans)
    func ban(ban: Ban) throws {
        let pattern = try plainRegex(ban.pattern)
        let excused = Self.exceptions[ban.testDescription] ?? []
        for file in SourceTree.core
        where !excused.contains(file.path) && file.mentions(ban.words) {
            for index in file.code.indices where file.code[index].contains(pattern) {
                Issue.record("\(ban.testDescription); instead \(ban.instead): \(file.hit(index))")
            }
        }
    }

    @Test(
        "every ban finds what it bans and spares its replacement",
        arguments: [
            ("a clock", "let t = ContinuousClock.now", "mutating func advance(to now: Instant) {"),
            ("a clock", "started = .now", "created = parameters.now"),
            ("a task", "Task { run() }", "case handshaking(TaskKind)"),
            ("an actor", "actor Node {", "let factor = 2"),
            ("a lock", "let lock = Mutex(0)", "let unlocked = 1"),
            (
                "chance of its own", "Int.random(in: 0..<4)",
                "Int.random(in: 0..<4, using: &generator)"
            ),
            ("a value that differs from run to run", "name.hashValue", "name.hash(into: &hasher)"),
            ("a changing global", "    static var count = 0", "    static let count = 0"),
            ("a changing global", "var count: Int = 0", "    var count: Int = 0"),
            ("a proof by word of mouth", "class A: @unchecked Sendable {", "struct A: Sendable {"),
        ]
    )
    func mutants(name: String, bad: String, good: String) throws {
        let ban = try #require(Self.bans.first { $0.testDescription == name })
        let pattern = try plainRegex(ban.pattern)
        #expect(bad.contains(pattern))
        #expect(SourceFile(path: "Sources/MeshWire/X.swift", text: "\n" + bad).mentions(ban.words))
        #expect(!good.contains(pattern))
    }

    @Test("nothing iterates a Dictionary or a Set where the order can reach an output")
    func unorderedIteration() throws {
        for file in SourceTree.core {
            for hit in try UnorderedIteration.hits(in: file) {
                Issue.record("sort it, or say // order: why it does not matter: \(hit)")
            }
        }
    }

    @Test("iteration is found by the declaration and excused by its remark") func iterationMutants()
        throws
    {
        let bad = SourceFile(
            path: "Sources/MeshWire/X.swift",
            text: """
                var peers: [UInt64: Peer] = [:]
                var names = Set<String>()
                for (tag, peer) in peers { }
                for name in names.filter({ $0 > "" }) { }
                let all = peers.values.map(\\.name)
                """
        )
        #expect(try UnorderedIteration.hits(in: bad).count == 3)
        let good = SourceFile(
            path: "Sources/MeshWire/X.swift",
            text: """
                var peers: [UInt64: Peer] = [:]
                var list: [Peer] = []
                var table: [(key: String, row: Int)] = []
                for (key, row) in table { }
                for (tag, peer) in peers.sorted(by: { $0.key < $1.key }) { }
                // order: a sum is the same in any.
                let all = peers.values.reduce(0, +)
                for peer in list { }
                let first = peers.values.min()
                """
        )
        #expect(try UnorderedIteration.hits(in: good).isEmpty)
    }
}

/// Finds iterations over names that the same file declares as a dictionary or a set.
enum UnorderedIteration {
    static func hits(in file: SourceFile) throws -> [String] {
        let declaration =
            /\b(?:var|let)\s+(\w+)\s*(?::\s*(?:\[[^\[\](]+\s*:\s*[^\]]+\]|Set<)|=\s*(?:\[[^\[\](]+:[^\]]+\]\(|Set<|\[:\]))/
        guard file.mentions(["Set<", "[:]", ": [", "= ["]) else { return [] }
        var names: Set<String> = []
        for line in file.code where line.holds("[") || line.holds("Set<") {
            for match in line.matches(of: declaration) { names.insert(String(match.1)) }
        }
        guard !names.isEmpty else { return [] }
        let any = names.sorted().joined(separator: "|")
        // Walks; a lookup, a count or an ordered minimum is none.
        let walk = try plainRegex(
            #"\bin\s+(?:self\.)?(?:\#(any))\b(?:\.(?:keys|values|filter|map|lazy))?(?!\w|\[|\.sorted|\.s)"#
                + #"|\b(?:\#(any))\.(?:keys|values)\.(?:map|compactMap|flatMap|filter|forEach|first|reduce|joined)\b"#
                + #"|\b(?:\#(any))\.(?:map|compactMap|flatMap|filter|forEach|first|reduce|randomElement)\b"#
                + #"|Array\((?:self\.)?(?:\#(any))(?:\.keys|\.values)?\)"#,

        )
        return file.code.indices.compactMap { index in
            let line = file.code[index]
            guard names.contains(where: line.holds) else { return nil }
            // What is put back where it came from, and what any order gives, is no walk.
            let isHarmless =
                line.contains(/\.sorted|\.min\(|\.max\(|\.contains/)
                || line.contains(/\b(\w+) = \1\.filter\b/)
            guard line.contains(walk), !isHarmless else { return nil }
            let before = index > 0 ? file.lines[index - 1] : ""
            let after = index + 1 < file.code.count ? file.code[index + 1] : ""
            guard !file.lines[index].contains("order:"), !before.contains("order:"),
                !after.contains(/^\s*\.sorted/)
            else { return nil }
            return file.hit(index)
        }
    }
}

/// A pattern whose word boundaries are those of programs: a dot ends a word.
func plainRegex(_ pattern: String) throws -> Regex<AnyRegexOutput> {
    try Regex(pattern, as: AnyRegexOutput.self).wordBoundaryKind(.simple)
}
