import Foundation

/// Whether `HUDDLE_LONG=1` asks for the runs that take a minute.
func longRunVariable() -> Bool {
    ProcessInfo.processInfo.environment["HUDDLE_LONG"] == "1"
}

/// 2 to the power of `exponent`.
func exp2Table(_ exponent: Double) -> Double { exp2(exponent) }
