import Foundation

/// The desktop that the program runs on, as far as it decides what a silent PipeWire means.
package struct DesktopSession: Hashable, Sendable {
    /// Whether whoever reads the screen does it by a stream of PipeWire's.
    ///
    /// So it is with Wayland on GNOME and KDE. On X11 every program reads the screen, and the compositors
    /// of wlroots hand out pictures by a protocol of their own (Waybar#3019, xdg-desktop-portal-wlr#201).
    package var hasNoOtherWay: Bool

    package init(hasNoOtherWay: Bool) {
        self.hasNoOtherWay = hasNoOtherWay
    }

    /// What these variables tell; a sandbox shows a program its own streams only.
    package init(environment: [String: String], isSandboxed: Bool) {
        let desktops = (environment["XDG_CURRENT_DESKTOP"] ?? "").split(separator: ":")
        hasNoOtherWay =
            !isSandboxed && environment["SNAP"] == nil
            && environment["XDG_SESSION_TYPE"] == "wayland"
            && desktops.contains { ["GNOME", "KDE"].contains($0) }
    }

    /// The desktop of this process.
    package static var current: DesktopSession {
        DesktopSession(
            environment: ProcessInfo.processInfo.environment,
            isSandboxed: FileManager.default.fileExists(atPath: "/.flatpak-info")
        )
    }
}
