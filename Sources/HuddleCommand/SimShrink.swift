import Foundation
import MeshFaults
import MeshSimulator

/// What a failing run is cut down to, and how to play that.
enum SimShrink {
    /// The shrunk script of a failing run with the line that plays it; says so if it fails no more.
    static func text(_ report: RunReport, _ options: SimOptions) -> String {
        guard let script = report.script, let violation = report.violation else { return "" }
        guard options.shrinkLimit > .zero else { return "" }
        let clock = ContinuousClock()
        let end = clock.now + options.shrinkLimit
        var shrinker = Shrinker(script, breaking: violation, isOver: { clock.now >= end })
        guard shrinker.run() else {
            return "  the script of this run breaks nothing: the failure needs more than it says"
        }
        let count = "\(shrinker.script.lines.count) of \(script.lines.count)"
        return """
              shrunk to \(count) lines in \(shrinker.trials) runs; it breaks: \(shrinker.violation)
              play it: huddle sim --script - <<'END'
            \(shrinker.script.text)END
            """
    }
}
