import CLinux
package import MeshWire

/// The one clock of a node, `CLOCK_BOOTTIME`: it never steps and counts time asleep.
package enum SystemClock {
    /// The time of now.
    package static func now() -> Instant {
        Instant(nanoseconds: linux_clock())
    }

    /// Seconds since 1970 by the wall clock, for files and beacons; it can step.
    package static func unixSeconds() -> Int64 {
        linux_unix_time()
    }
}
