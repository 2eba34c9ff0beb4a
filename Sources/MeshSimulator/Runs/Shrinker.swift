import MeshFaults
import MeshWire

/// Cuts a failing script down to what its failure needs.
///
/// Delta debugging (Zeller and Hildebrandt 2002): classes of faults first, then nodes, client
/// operations and single lines. A cut stays only if the same invariant fails without what it
/// removed.
package struct Shrinker {
    /// The smallest script so far that fails.
    package private(set) var script: RunScript
    /// How many scripts were played.
    package private(set) var trials = 0
    /// What the smallest script broke.
    package private(set) var violation: Violation

    private let isOver: () -> Bool
    private let play: (RunScript) -> Violation?

    /// Shrinks `script`, which breaks `violation`, until `isOver` says that its time is up.
    package init(
        _ script: RunScript,
        breaking violation: Violation,
        isOver: @escaping () -> Bool,
        play: @escaping (RunScript) -> Violation? = { $0.run().violation }
    ) {
        self.script = script
        self.violation = violation
        self.isOver = isOver
        self.play = play
    }

    /// Shrinks until nothing more can go; answers whether the script failed when played anew.
    package mutating func run() -> Bool {
        guard keep(script) else { return false }
        endEarly()
        dropClasses()
        dropNodes()
        var before = 0
        repeat {
            before = script.lines.count
            reduce { if case .work = $0 { true } else { false } }
            reduce { _ in true }
            endEarly()
            dropNodes()
            simplify()
        } while script.lines.count < before && !isOver()
        return true
    }

    /// Takes a smaller script if it breaks the same invariant.
    private mutating func keep(_ smaller: RunScript) -> Bool {
        guard !isOver() || trials == 0 else { return false }
        trials += 1
        guard let found = play(smaller), found.invariant == violation.invariant else {
            return false
        }
        script = smaller
        violation = found
        return true
    }

    /// Heals right after the last line.
    private mutating func endEarly() {
        var shorter = script
        let end = max(script.safety.lowerBound, script.lines.last?.time ?? .zero)
        guard end < script.safety.upperBound else { return }
        shorter.safety = script.safety.lowerBound...end
        _ = keep(shorter)
    }

    private mutating func dropClasses() {
        let kinds: [(FaultAction) -> Bool] = [
            { _ in true },
            { if case .partition = $0 { true } else { $0 == .heal } },
            {
                switch $0 {
                case .crash, .restart: true
                default: false
                }
            },
            { if case .pause = $0 { true } else { false } },
            { if case .leave = $0 { true } else { false } },
            {
                switch $0 {
                case .conditions, .link: true
                default: false
                }
            },
        ]
        // Of the others each kind by its word.
        let words = Set(
            script.lines.compactMap { line -> Substring? in
                guard case .fault(let fault) = line else { return nil }
                return fault.action.description.split(separator: " ").first
            }
        ).sorted()
        let others = words.map { word in
            { (action: FaultAction) in action.description.hasPrefix(word + " ") }
        }
        for isOfKind in kinds + others {
            var smaller = script
            smaller.lines.removeAll { line in
                if case .fault(let fault) = line { isOfKind(fault.action) } else { false }
            }
            if smaller.lines.count < script.lines.count { _ = keep(smaller) }
        }
        simplify()
    }

    /// Makes clocks true, links perfect, and leaves the dead where they are.
    private mutating func simplify() {
        var smaller = script
        smaller.clocks = script.clocks.map { _ in VirtualClock(offset: .seconds(1)) }
        if smaller != script { _ = keep(smaller) }
        smaller = script
        smaller.healed = .init()
        if smaller != script { _ = keep(smaller) }
        smaller = script
        smaller.returns = false
        if smaller != script { _ = keep(smaller) }
        for place in script.lines.indices { simplifyLinks(at: place) }
    }

    /// Takes from the conditions of one line whatever the failure does not need.
    private mutating func simplifyLinks(at place: Int) {
        typealias Change = (inout LinkConditions) -> Void
        let perfect = LinkConditions()
        let changes: [Change] = [
            { $0.loss = perfect.loss },
            { $0.duplicate = perfect.duplicate },
            { $0.corrupt = perfect.corrupt },
            { $0.rateBitsPerSecond = perfect.rateBitsPerSecond },
            {
                $0.reorder = perfect.reorder; $0.reorderBy = perfect.reorderBy
            },
            {
                $0.jitter = perfect.jitter; $0.distribution = perfect.distribution
            },
            { $0.delay = perfect.delay },
        ]
        for change in changes {
            guard place < script.lines.count, case .fault(var fault) = script.lines[place] else {
                return
            }
            switch fault.action {
            case .conditions(var conditions):
                change(&conditions)
                fault.action = .conditions(conditions)
            case .link(let from, let to, var conditions):
                change(&conditions)
                fault.action = .link(from: from, to: to, conditions)
            default: return
            }
            guard .fault(fault) != script.lines[place] else { continue }
            var smaller = script
            smaller.lines[place] = .fault(fault)
            _ = keep(smaller)
        }
    }

    private mutating func dropNodes() {
        var node = script.clocks.count - 1
        while node >= 0, !isOver() {
            if let smaller = script.without(node: node) { _ = keep(smaller) }
            node -= 1
        }
    }

    /// Zeller and Hildebrandt's ddmin over the lines that `isMeant`: without all of them, then
    /// without halves, quarters and so on down to single ones.
    private mutating func reduce(_ isMeant: (RunScript.Line) -> Bool) {
        var count = script.lines.count(where: isMeant)
        var size = count
        while size >= 1, count > 0, !isOver() {
            var start = 0
            while start < count, !isOver() {
                var smaller = script
                var ordinal = -1
                smaller.lines.removeAll { line in
                    guard isMeant(line) else { return false }
                    ordinal += 1
                    return (start..<start + size).contains(ordinal)
                }
                if keep(smaller) {
                    count = script.lines.count(where: isMeant)
                } else {
                    start += size
                }
            }
            size = size == 1 ? 0 : (size + 1) / 2
        }
    }
}
