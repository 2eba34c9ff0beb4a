/// Whether others see this screen.
public enum CaptureState: Hashable, Sendable {
    /// Something reads the picture of the screen now.
    case captured
    /// Nothing does.
    case notCaptured
    /// It cannot be told: this desktop has other ways to read the screen, or nobody could be asked.
    case unknown

    /// Whether a program should hide what only this person may see.
    ///
    /// - Parameter whenUnknown: What to do where nobody knows.
    /// - Returns: `true` while captured.
    public func hidesContent(whenUnknown: Bool) -> Bool {
        switch self {
        case .captured: true
        case .notCaptured: false
        case .unknown: whenUnknown
        }
    }
}
