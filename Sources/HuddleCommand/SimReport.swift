import Foundation
import MeshConsensus
import MeshFaults
import MeshSimulator
import MeshWire

/// How runs of the simulator are printed.
enum SimReport {
    /// One line for one seed.
    static func line(_ report: RunReport) -> String {
        let figures = report.figures
        let classes = report.classes.map(\.rawValue).joined(separator: " ")
        let verdict = report.violation == nil ? "ok" : "FAILED"
        return """
            seed \(report.seed)  \(verdict)  trace \(hexadecimal(report.traceHash))  \
            n=\(report.nodes)  \(Int(report.simulated.milliseconds / 1000)) s  \
            \(report.events) events  \(figures.views) views  \(figures.writes) writes  \(figures.reliable)+\(figures.fast) messages  \
            [\(classes)]
            """
    }

    /// What a failure needs: the invariant in words, the last events, and the line that replays it.
    static func failure(_ report: RunReport, _ options: SimOptions) -> String {
        guard report.violation != nil else { return "" }
        var replay = "huddle sim --replay \(report.seed)"
        if let nodes = options.nodes { replay += " --nodes \(nodes)" }
        if let time = options.time { replay += " --time \(FaultUnits.text(time))" }
        switch options.policy {
        case nil: break
        case .available?: replay += " --policy available"
        case .majority(survivor: nil)?: replay += " --policy majority"
        case .majority?: replay += " --policy survivor"
        }
        replay += " --layer \(options.layer.rawValue)"
        return """
            \(self.violation(report))
              replay it: \(replay)
            """
    }

    /// What was broken, by which code, and what happened last.
    static func violation(_ report: RunReport) -> String {
        guard let violation = report.violation else { return "" }
        return """
              seed \(report.seed) breaks the invariant: \(violation.invariant)
              seen: \(violation.detail)
              commit: \(SourceCommit.name)
              the last events:
            \(report.lastEvents.map { "    \($0)" }.joined(separator: "\n"))
            """
    }

    /// One JSON object for one seed.
    static func json(_ report: RunReport) -> String {
        var object: [String: Any] = [
            "seed": report.seed,
            "ok": report.violation == nil,
            "trace": hexadecimal(report.traceHash),
            "nodes": report.nodes,
            "faults": report.classes.map(\.rawValue),
            "simulatedSeconds": report.simulated.milliseconds / 1000,
            "events": report.events,
            "datagrams": report.figures.datagrams,
            "views": report.figures.views,
            "writes": report.figures.writes,
            "discarded": report.figures.discarded,
            "reads": report.figures.reads,
            "operations": report.figures.operations,
            "searches": report.figures.searches,
            "undecided": report.figures.undecided,
            "reliable": report.figures.reliable,
            "fast": report.figures.fast,
            "failoverMilliseconds": report.figures.failovers.map(\.milliseconds),
            "healMilliseconds": report.figures.heals.map(\.milliseconds),
        ]
        if let violation = report.violation {
            object["invariant"] = violation.invariant
            object["seen"] = violation.detail
        }
        let data = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys])
        // Only numbers, texts and arrays stand in the object, so this cannot fail.
        return data.flatMap { String(data: $0, encoding: .utf8) } ?? "{}"
    }
}
