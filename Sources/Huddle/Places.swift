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
    /// What can be had again: the bytes of attachments, in files without names.
    public var cache: String

    /// Places of this choice; without one for the cache, that is below `state`.
    public init(data: String, state: String, runtime: String, cache: String? = nil) {
        self.cache = cache ?? "\(state)/cache"
        self.data = data
        self.state = state
        self.runtime = runtime
    }

    /// All of them below one folder, for a node of a test or of the demo.
    public init(below folder: String) {
        self.init(
            data: "\(folder)/data/huddle",
            state: "\(folder)/state/huddle",
            runtime: "\(folder)/run/huddle",
            cache: "\(folder)/cache/huddle"
        )
    }

    /// The places of this user by the XDG rules; `nil` if the environment names no home.
    public static var ofUser: Places? { Directories().map(Places.init) }

    package init(_ directories: Directories) {
        self.init(
            data: directories.data,
            state: directories.state,
            runtime: directories.runtime,
            cache: directories.cache
        )
    }

    /// The key file.
    public var keyFile: String { data + "/identity.key" }
    /// The stored rooms.
    public var rooms: String { state + "/rooms" }
    /// Where the bytes of attachments are.
    ///
    /// Empty, which stands for memory, if there is no cache.
    public var contents: String { cache.isEmpty ? "" : cache + "/content" }
    /// The control socket of the node.
    public var controlSocket: String { runtime + "/node.sock" }
    /// What a detached node writes to stderr.
    public var log: String { state + "/node.log" }
}
