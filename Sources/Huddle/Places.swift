package import MeshStore

/// Where a node keeps its files: the XDG directories of one user, or a folder of its own
/// (`00-overview.md`, "Files").
public struct Places: Hashable, Sendable {
    /// The key file's directory.
    public var data: String
    /// Rooms to resume, the log.
    public var state: String
    /// Control sockets; gone at reboot.
    public var runtime: String

    /// Places of this choice.
    public init(data: String, state: String, runtime: String) {
        self.data = data
        self.state = state
        self.runtime = runtime
    }

    /// All three below one folder, for a node of a test or of the demo.
    public init(below folder: String) {
        self.init(
            data: "\(folder)/data/huddle",
            state: "\(folder)/state/huddle",
            runtime: "\(folder)/run/huddle"
        )
    }

    /// The places of this user by the XDG rules; `nil` if the environment names no home.
    public static var ofUser: Places? { Directories().map(Places.init) }

    package init(_ directories: Directories) {
        self.init(
            data: directories.data,
            state: directories.state,
            runtime: directories.runtime
        )
    }

    /// The key file.
    public var keyFile: String { data + "/identity.key" }
    /// The stored rooms.
    public var rooms: String { state + "/rooms" }
    /// The control socket of the node.
    public var controlSocket: String { runtime + "/node.sock" }
    /// What a detached node writes to stderr.
    public var log: String { state + "/node.log" }
}
