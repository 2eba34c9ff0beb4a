/// The layers of the package: who may import whom, and what else each may hold.
///
/// The table of the overview's chapter; `Package.swift` says the same to the compiler, and this
/// says it to the reader of a change.
enum Layers {
    /// For each module the modules of the package that it may import.
    static let imports: [String: Set<String>] = [
        "CLinux": [],
        "CSodium": [],
        "MeshWire": [],
        "MeshCrypto": ["CSodium", "MeshWire"],
        "MeshTransport": ["MeshCrypto", "MeshWire"],
        "MeshConsensus": ["MeshWire"],
        "MeshSession": ["MeshConsensus", "MeshWire"],
        "MeshContent": ["MeshWire"],
        "MeshPlayback": ["MeshWire"],
        "MeshEngine": [
            "MeshCrypto", "MeshTransport", "MeshConsensus", "MeshSession", "MeshContent",
            "MeshPlayback", "MeshWire",
        ],
        "MeshFaults": ["MeshWire"],
        "MessageCoding": ["MeshWire"],
        "MeshSimulator": [
            "MeshEngine", "MeshFaults", "MeshCrypto", "MeshTransport", "MeshConsensus",
            "MeshSession", "MeshContent", "MeshPlayback", "MeshWire",
        ],
        "MeshStore": ["CLinux", "MeshCrypto", "MeshContent", "MeshWire"],
        "MeshNet": ["CLinux", "MeshWire"],
        "Huddle": [
            "MeshEngine", "MeshNet", "MeshStore", "MeshFaults", "MeshCrypto", "MeshTransport",
            "MeshConsensus", "MeshSession", "MeshContent", "MeshPlayback", "MessageCoding",
            "MeshWire",
        ],
        "HuddleCommand": [
            "Huddle", "GroupActivities", "MeshSimulator", "MeshEngine", "MeshNet", "MeshStore",
            "MeshFaults",
            "MeshCrypto", "MeshTransport", "MeshConsensus", "MeshSession", "MeshContent",
            "MeshPlayback", "MessageCoding", "MeshWire",
        ],
        "HuddleMedia": ["Huddle"],
        "Examples": ["GroupActivities", "Huddle"],
        "Combine": [],
        "GroupActivities": ["Huddle", "Combine", "CoreTransferable", "MessageCoding", "MeshWire"],
        "CoreTransferable": [],
        "CConcurrency": [],
        "HuddleTesting": [
            "CConcurrency", "Huddle", "MeshSimulator", "MeshNet", "MeshFaults", "MeshCrypto",
            "MeshWire",
        ],
    ]

    /// For each module the modules of the system that it may import.
    static let foreignImports: [String: Set<String>] = [
        "MeshNet": ["Glibc", "Synchronization"],
        "MeshStore": ["Glibc"],
        "MessageCoding": ["FoundationEssentials"],
        "Huddle": ["FoundationEssentials", "Synchronization"],
        "HuddleCommand": ["Foundation", "FoundationEssentials", "Glibc", "Synchronization"],
        "HuddleMedia": ["Foundation", "Observation", "Synchronization"],
        "Combine": ["Dispatch", "Foundation", "Synchronization"],
        "GroupActivities": ["Foundation", "Observation", "Synchronization"],
        "CoreTransferable": ["Foundation"],
        "HuddleTesting": ["Dispatch", "Synchronization"],
    ]

    /// The modules whose values only their arguments may decide.
    static let sansIO: Set<String> = [
        "MeshWire", "MeshCrypto", "MeshTransport", "MeshConsensus", "MeshSession", "MeshContent",
        "MeshPlayback", "MeshEngine", "MeshFaults", "MeshSimulator", "MessageCoding",
    ]

    /// The files that may import a C library where their module's rule is one file, not all.
    static let wrappers: [String: Set<String>] = [
        "CConcurrency": ["Sources/HuddleTesting/GlobalJobs.swift"],
        "CSodium": ["Sources/MeshCrypto/Sodium.swift", "Sources/MeshCrypto/SecretBytes.swift"],
        "Glibc": [
            "Sources/MeshNet/LinuxCalls.swift", "Sources/MeshStore/FileCalls.swift",
            "Sources/HuddleCommand/",
        ],
    ]

    /// The files that may say `unsafe`; each is short and says why it is safe.
    static let unsafeFiles: Set<String> = [
        "Sources/MeshWire/RawBytes.swift",
        "Sources/MeshCrypto/SecretBytes.swift",
        "Sources/MeshCrypto/Sodium.swift",
        "Sources/MeshNet/LinuxCalls.swift",
        "Sources/MeshNet/EventLoop+Executor.swift",
        "Sources/MeshStore/FileCalls.swift",
        "Sources/HuddleTesting/GlobalJobs.swift",
        // The command's own calls of the system: processes, signals, terminal.
        "Sources/HuddleCommand/System/ChildProcess.swift",
        "Sources/HuddleCommand/System/Signals.swift",
        "Sources/HuddleCommand/System/SystemCalls.swift",
    ]

    /// The folders and files whose declarations may be public.
    static let fronts: [String] = [
        "Sources/Huddle/",
        "Sources/Combine/",
        "Sources/GroupActivities/",
        "Sources/CoreTransferable/",
        "Sources/HuddleTesting/",
        "Sources/HuddleMedia/",
        "Sources/MeshFaults/",
        "Sources/MeshSimulator/",
        // The values of the wire that the public API shows.
        "Sources/MeshWire/Epoch.swift",
        "Sources/MeshWire/Frame.swift",
        "Sources/MeshWire/Identifiers.swift",
        "Sources/MeshWire/Instant.swift",
        "Sources/MeshWire/Limits.swift",
        "Sources/MeshWire/SocketAddress.swift",
        "Sources/MeshWire/WireError.swift",
        // What a node is configured with and what its statistics are.
        "Sources/MeshTransport/Connection/TransportConfiguration.swift",
        "Sources/MeshTransport/Connection/TransportStatistics.swift",
        "Sources/MeshTransport/Connection/TransportTypes.swift",
    ]
}
