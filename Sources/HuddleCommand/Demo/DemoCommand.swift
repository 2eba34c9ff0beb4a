import Huddle
import MeshFaults
import MeshNet
import MeshWire

/// `huddle demo`: the whole story on one machine.
enum DemoCommand {
    @MainActor
    static func run(_ invocation: Invocation) async throws(Failure) -> Int32 {
        let fault = invocation.value("--fault") ?? "loss 5% delay 20ms"
        let conditions: LinkConditions
        do {
            conditions = try LinkConditions(parsing: fault)
        } catch {
            throw .usage("--fault: \(error.description)", command: "demo")
        }
        let report = DemoReport(isQuiet: invocation.wantsJSON)
        let stage = try DemoStage(fault: fault, keepsFolder: invocation.has("--keep"))
        let story = DemoStory(stage: stage, report: report, conditions: conditions.description)
        let began = SystemClock.now()
        do {
            try story.play()
        } catch {
            report.fail(error)
            stage.clear()
            guard error.code != "stopped" else {
                if !invocation.wantsJSON {
                    Terminal.log(
                        stage.keepsFolder
                            ? "stopped; no process is left" : "stopped; nothing is left behind"
                    )
                }
                return error.exit
            }
            if invocation.wantsJSON {
                Terminal.print(report.json(took: SystemClock.now() - began, error).description)
            }
            Terminal.log("huddle: the demo failed: \(error.message)")
            return ExitCode.failure
        }
        stage.clear()
        let took = SystemClock.now() - began
        if invocation.wantsJSON {
            Terminal.print(report.json(took: took, nil).description)
        } else {
            report.finish(took: took, keepsFolder: stage.keepsFolder)
        }
        return ExitCode.success
    }
}

/// What the demo shows and keeps: scenes, claims that were checked, figures.
@MainActor
final class DemoReport {
    /// One number of the table at the end.
    private struct Figure {
        var key: String
        var label: String
        var value: Double
        var unit: String
        var text: String
    }

    private let isQuiet: Bool
    private var scene = 0
    private var claims: [String] = []
    private var figures: [Figure] = []

    init(isQuiet: Bool) {
        self.isQuiet = isQuiet
    }

    /// Opens the story.
    func open(_ lines: [String]) {
        guard !isQuiet else { return }
        for line in lines { Terminal.print(line) }
    }

    /// Begins a scene.
    func begin(_ title: String) {
        scene += 1
        guard !isQuiet else { return }
        Terminal.print()
        Terminal.print("\(Style.cyan("\(scene)")) \(Style.bold(title))")
    }

    /// A claim that was checked and holds.
    func holds(_ claim: String, _ figure: String = "") {
        claims.append(claim)
        guard !isQuiet else { return }
        let text = "  \(Style.green("✓")) \(claim)"
        Terminal.print(
            figure.isEmpty ? text : "\(text.padded(66 + text.count - claim.count - 4)) \(figure)"
        )
    }

    /// Something to know that claims nothing.
    func tell(_ text: String) {
        guard !isQuiet else { return }
        Terminal.print("    \(Style.dim(text))")
    }

    /// A number for the table, in milliseconds.
    func figure(_ key: String, _ label: String, _ duration: Duration) {
        figures.append(
            Figure(
                key: key + "Milliseconds",
                label: label,
                value: (duration.milliseconds * 100).rounded() / 100,
                unit: "ms",
                text: shown(duration)
            )
        )
    }

    /// A number for the table, in percent.
    func figure(_ key: String, _ label: String, percent: Double) {
        figures.append(
            Figure(
                key: key + "Percent",
                label: label,
                value: (percent * 10).rounded() / 10,
                unit: "%",
                text: "\(decimals(percent, 1)) %"
            )
        )
    }

    /// The claim that did not hold.
    func fail(_ failure: Failure) {
        guard !isQuiet, failure.code != "stopped" else { return }
        Terminal.print("  \(Style.red("✗")) \(failure.message)")
    }

    /// Closes the story with the table.
    func finish(took: Duration, keepsFolder: Bool) {
        Terminal.print()
        let width = figures.map(\.label.count).max() ?? 0
        for figure in figures {
            Terminal.print("  \(figure.label.padded(width))  \(Style.bold(figure.text.leading(9)))")
        }
        Terminal.print()
        Terminal.print(
            "\(Style.green("✓")) \(claims.count) claims checked, all hold; \(shown(took)); "
                + (keepsFolder ? "no process is left." : "no process and no file is left.")
        )
        Terminal.print(Style.dim("  Now for real: 'huddle up --detach', then 'huddle invite'."))
    }

    /// The whole as one object.
    func json(took: Duration, _ failure: Failure?) -> JSON {
        var members: [JSON.Member] = [
            JSON.Member("ok", .bool(failure == nil)),
            JSON.Member("seconds", .number((took.milliseconds / 10).rounded() / 100)),
            JSON.Member("claims", .array(claims.map(JSON.string))),
            JSON.Member(
                "figures",
                .object(figures.map { JSON.Member($0.key, .number($0.value)) })
            ),
        ]
        if let failure { members.append(JSON.Member("failed", .string(failure.message))) }
        return .object(members)
    }
}
