import Foundation
import MeshNet
import MeshWire

/// `huddle bench soak`: 64 connections for a long time while peers come and go, and what that costs in memory.
///
/// Whether anything is lost, doubled or out of order is checked all the time and ends it as a failure.
struct SoakBench {
    let isJSON: Bool
    let duration: Duration

    /// What was held at some time.
    private struct Sample {
        var connections: Double
        var heap: Double
        var resident: Double
    }

    func run() throws(Failure) -> Int32 {
        // A peer that goes takes an endpoint with it, with room for the keys of 64 others. Among small pieces these
        // would leave holes, and the resident memory would show the allocator's habits and not what is held.
        ProcessMemory.mapPieces(above: 128 << 10)
        do {
            return try measure(SoakRun())
        } catch {
            guard let failure = error as? Failure else {
                throw Failure("system", "the ends cannot be made: \(error)")
            }
            throw failure
        }
    }

    private func measure(_ run: SoakRun) throws -> Int32 {
        let start = SystemClock.now()
        run.run(until: start + .seconds(10), isSending: false) { run.live == SoakRun.peers }
        guard run.live == SoakRun.peers else {
            throw Failure("failed", "only \(run.live) of \(SoakRun.peers) connected within 10 s")
        }
        // Indices rest for 30 s and old keys live for 10, so that a steady state takes a while.
        let (begin, end) = (SystemClock.now(), SystemClock.now() + duration)
        let warm = begin + min(.seconds(60), duration / 4)
        var samples: [Sample] = []
        while SystemClock.now() < end {
            run.run(until: min(end, SystemClock.now() + .milliseconds(800)), isSending: true)
            // What is under way on a busy machine is not what a connection holds: it arrives before the look.
            run.run(until: SystemClock.now() + .milliseconds(200), isSending: false)
            try check(run)
            if SystemClock.now() >= warm { samples.append(sample(run)) }
            try run.change()
        }
        // What is under way arrives, and who was about to come is there.
        run.run(until: SystemClock.now() + .seconds(20), isSending: false) { run.isSettled }
        try check(run)
        guard run.isSettled else { throw Failure("failed", "a reliable message never arrived") }
        show(run.count, samples)
        return ExitCode.success
    }

    private func check(_ run: SoakRun) throws(Failure) {
        guard let fault = run.count.faults.first else { return }
        throw Failure("failed", "a promise of the lanes was broken: \(fault)")
    }

    private func sample(_ run: SoakRun) -> Sample {
        // /proc/PID/statm: the second number is the pages in memory.
        let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        let pages = text?.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0
        return Sample(
            connections: Double(run.count.connections),
            heap: Double(ProcessMemory.heapBytes),
            resident: pages * 4096
        )
    }

    private func show(_ count: SoakRun.Count, _ samples: [Sample]) {
        for (name, figure, unit) in [
            ("reliable messages, each once and in order", Double(count.reliable), ""),
            ("fast messages, none after a newer one", Double(count.fast), ""),
            ("connections made", Double(count.connections), ""),
            ("keys renewed", Double(count.rekeys), ""),
        ] {
            BenchRow(name: name, figure: figure, unit: unit, digits: 0).show(asJSON: isJSON)
        }
        memory("heap", samples.map(\.heap), of: samples)
        memory("resident", samples.map(\.resident), of: samples)
    }

    /// Memory at the end beside that after the warm-up, each a mean of a tenth of the time, and what it grew by.
    private func memory(_ name: String, _ values: [Double], of samples: [Sample]) {
        let tenth = max(1, values.count / 10)
        let first = values.prefix(tenth).reduce(0, +) / Double(tenth)
        let last = values.suffix(tenth).reduce(0, +) / Double(tenth)
        BenchRow(
            name: "\(name), at the end",
            figure: last / 1e6,
            unit: "MB",
            limit: BenchRow.Limit(name: "MB after the warm-up", figure: first / 1e6),
            goal: "≤ 1.05×",
            digits: 2
        ).show(asJSON: isJSON)
        BenchRow(
            name: "\(name), slope",
            figure: slope(values, over: samples.map(\.connections)),
            unit: "kB for 1,000 connections"
        ).show(asJSON: isJSON)
    }

    /// The slope of the line with the least squares.
    private func slope(_ values: [Double], over places: [Double]) -> Double {
        let count = Double(max(1, values.count))
        let (value, place) = (values.reduce(0, +) / count, places.reduce(0, +) / count)
        var (product, square) = (0.0, 0.0)
        for (own, at) in zip(values, places) {
            product += (own - value) * (at - place)
            square += (at - place) * (at - place)
        }
        return square > 0 ? product / square : 0
    }
}
