import Foundation
import Glibc
import MeshWire
import Synchronization

/// The three streams of the process, and whether a person with a colour screen looks at them.
enum Terminal {
    /// Whether stdout takes colours: a terminal, `NO_COLOR` unset, not dumb.
    static let hasColor =
        isatty(1) == 1 && environment("NO_COLOR") == nil
        && environment("TERM") != "dumb"

    /// Whether stdin is a terminal.
    static let isInteractive = isatty(0) == 1

    /// Writes a line to stdout at once.
    static func print(_ line: String = "") {
        writeAll((line + "\n").utf8, to: 1)
    }

    /// Writes text without a newline to stdout at once.
    static func show(_ text: String) {
        writeAll(text.utf8, to: 1)
    }

    /// Whether stderr is a node's log, read by nobody now and by somebody later.
    private static let isLogFile = Atomic(false)

    /// Whether ``log(_:)`` writes into a node's log.
    static var isLog: Bool { isLogFile.load(ordering: .relaxed) }

    /// Begins every further line of ``log(_:)`` with the time.
    static func stampLog() {
        isLogFile.store(true, ordering: .relaxed)
    }

    /// Writes a line to stderr at once; into a node's log with the time before it (ISO 8601, UTC).
    static func log(_ line: String) {
        let stamp = isLogFile.load(ordering: .relaxed) ? "\(timestamp(Date())) " : ""
        writeAll("\(stamp)\(line)\n".utf8, to: 2)
    }
}

/// A moment as a log tells it, in UTC with milliseconds: `2026-03-01T09:05:07.042Z`.
func timestamp(_ moment: Date) -> String {
    moment.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
}

/// How a piece of text looks on a terminal with colours; elsewhere it is plain.
enum Style: String {
    case bold = "1"
    case dim = "2"
    case red = "31"
    case green = "32"
    case yellow = "33"
    case blue = "34"
    case magenta = "35"
    case cyan = "36"

    func callAsFunction(_ text: String) -> String {
        Terminal.hasColor ? "\u{1b}[\(rawValue)m\(text)\u{1b}[0m" : text
    }
}

extension String {
    /// The text without what could move a terminal's cursor or turn its direction.
    ///
    /// Names and messages of others pass through here before a terminal sees them (`10-security.md` §9).
    var printable: String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate:
                        "\u{fffd}"
                    default: scalar
                    }
                }
            )
        )
    }

    /// The text with spaces behind it up to `width` columns.
    func padded(_ width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }

    /// The text with spaces before it up to `width` columns.
    func leading(_ width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }
}

/// A duration as a person reads it: `340 µs`, `12.3 ms`, `2.41 s`.
func shown(_ duration: Duration) -> String {
    let milliseconds = duration.milliseconds
    if abs(milliseconds) < 1 { return "\(Int((milliseconds * 1000).rounded())) µs" }
    if abs(milliseconds) < 100 { return "\(decimals(milliseconds, 1)) ms" }
    if abs(milliseconds) < 1000 { return "\(Int(milliseconds.rounded())) ms" }
    if abs(milliseconds) < 100_000 { return "\(decimals(milliseconds / 1000, 2)) s" }
    let seconds = Int(milliseconds / 1000)
    if seconds < 7200 { return "\(seconds / 60) min" }
    return "\(seconds / 3600) h"
}

/// `value` with `count` decimals, a point between.
func decimals(_ value: Double, _ count: Int) -> String {
    let scale = (0..<count).reduce(1.0) { power, _ in power * 10 }
    let whole = Int((abs(value) * scale).rounded())
    let sign = value < 0 && whole > 0 ? "-" : ""
    guard count > 0 else { return "\(sign)\(whole)" }
    let fraction = String(whole % Int(scale))
    let zeros = String(repeating: "0", count: count - fraction.count)
    return "\(sign)\(whole / Int(scale)).\(zeros)\(fraction)"
}
