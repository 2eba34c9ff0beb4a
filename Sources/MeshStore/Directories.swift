import CLinux

/// Where the files of this user are, by the XDG base directory specification.
///
/// A variable that is empty or no absolute path is ignored, as the specification demands. Nothing is
/// made here: who writes makes its directory (0700).
package struct Directories: Hashable, Sendable {
    /// `$XDG_CONFIG_HOME/huddle`, else `~/.config/huddle`.
    package var config: String
    /// `$XDG_DATA_HOME/huddle`, else `~/.local/share/huddle`.
    package var data: String
    /// `$XDG_STATE_HOME/huddle`, else `~/.local/state/huddle`.
    package var state: String
    /// `$XDG_CACHE_HOME/huddle`, else `~/.cache/huddle`.
    package var cache: String
    /// `$XDG_RUNTIME_DIR/huddle`, else `/run/user/UID/huddle` if there is one, else `/tmp/huddle-UID`.
    package var runtime: String

    /// The directories this process's environment names; `nil` if it names no home where one is
    /// needed.
    package init?() {
        let user = linux_effective_user()
        self.init(
            user: user,
            hasRuntimeDirectory: Self.isOwn("/run/user/\(user)", user),
            variable: { environmentVariable($0) }
        )
    }

    /// The directories that the variables name.
    package init?(
        user: UInt32,
        hasRuntimeDirectory: Bool,
        variable: (String) -> String?
    ) {
        func absolute(_ name: String) -> String? {
            variable(name).flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        func base(_ name: String, _ fallback: String) -> String? {
            (absolute(name) ?? absolute("HOME").map { "\($0)/\(fallback)" }).map { "\($0)/huddle" }
        }
        guard let config = base("XDG_CONFIG_HOME", ".config"),
            let data = base("XDG_DATA_HOME", ".local/share"),
            let state = base("XDG_STATE_HOME", ".local/state"),
            let cache = base("XDG_CACHE_HOME", ".cache")
        else { return nil }
        self.config = config
        self.data = data
        self.state = state
        self.cache = cache
        let given = absolute("XDG_RUNTIME_DIR") ?? (hasRuntimeDirectory ? "/run/user/\(user)" : nil)
        runtime = given.map { "\($0)/huddle" } ?? "/tmp/huddle-\(user)"
    }

    private static func isOwn(_ path: String, _ user: UInt32) -> Bool {
        do {
            return try Directory(path).intruders() == nil
        } catch {
            // Not there, or not to be opened: then it is of no use.
            return false
        }
    }

    /// `config.json5`.
    package var configFile: String { "\(config)/config.json5" }
    /// The key file of the default identity.
    package var keyFile: String { "\(data)/identity.key" }
    /// What is needed to resume rooms; see ``RoomStore``.
    package var rooms: String { "\(state)/rooms" }
    /// The socket of the node called `name`.
    package func controlSocket(_ name: String = "node") -> String { "\(runtime)/\(name).sock" }
}
