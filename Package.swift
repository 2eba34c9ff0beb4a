// swift-tools-version: 6.3
import PackageDescription

/// The language settings every target shares.
///
/// `HUDDLE_STRICT=1` turns warnings into errors: `Tools/check` and CI set it.
let common: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .enableExperimentalFeature("Lifetimes"),
    ] + (Context.environment["HUDDLE_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)])

/// The settings of the sources; tests leave strict memory safety out, since there
/// `array.span.bytes` counts as unsafe.
let house = common + [.strictMemorySafety()]

/// A library target of the house; `dependencies` are the only modules it may import.
func layer(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: house)
}

/// A test target; it may reach every module it names.
///
/// `files` are folders of data that its tests open where they stand.
func tests(_ name: String, _ dependencies: [Target.Dependency], files: [String] = []) -> Target {
    .testTarget(
        name: name,
        dependencies: dependencies + ["TestSupport"],
        exclude: files,
        swiftSettings: common
    )
}

/// A program made of a document's code: without our settings, in the language mode of its time.
func sample(
    _ name: String,
    at path: String? = nil,
    exclude: [String] = [],
    _ settings: [SwiftSetting] = []
) -> Target {
    .executableTarget(
        name: String(name.split(separator: "/").last ?? ""),
        dependencies: ["GroupActivities", "HuddleMedia", "SampleDriver"],
        path: path ?? "Tests/SeedSamples/\(name)",
        exclude: exclude,
        swiftSettings: settings
    )
}

let package = Package(
    name: "huddle",
    products: [
        .library(name: "Huddle", targets: ["Huddle"]),
        .library(name: "Combine", targets: ["Combine"]),
        .library(name: "GroupActivities", targets: ["GroupActivities"]),
        .library(name: "CoreTransferable", targets: ["CoreTransferable"]),
        .library(name: "HuddleTesting", targets: ["HuddleTesting"]),
        .library(name: "HuddleMedia", targets: ["HuddleMedia"]),
        .executable(name: "huddle", targets: ["HuddleCommand"]),
    ],
    targets: [
        // C: the two foreign libraries.
        .systemLibrary(
            name: "CSodium",
            pkgConfig: "libsodium",
            providers: [.apt(["libsodium-dev"])]
        ),
        .target(name: "CLinux"),

        // The sans-IO core: arrows point only downward.
        layer("MeshWire"),
        layer("MeshCrypto", ["CSodium", "MeshWire"]),
        layer("MeshTransport", ["MeshCrypto", "MeshWire"]),
        layer("MeshConsensus", ["MeshWire"]),
        layer("MeshSession", ["MeshConsensus", "MeshWire"]),
        layer("MeshContent", ["MeshWire"]),
        layer(
            "MeshEngine",
            ["MeshTransport", "MeshConsensus", "MeshSession", "MeshCrypto", "MeshWire"]
        ),
        layer("MeshFaults", ["MeshWire"]),
        layer("MessageCoding", ["MeshWire"]),
        layer(
            "MeshSimulator",
            [
                "MeshEngine", "MeshFaults", "MeshTransport", "MeshConsensus", "MeshSession",
                "MeshCrypto", "MeshWire",
            ]
        ),

        // What touches the machine.
        layer("MeshStore", ["CLinux", "MeshCrypto", "MeshContent", "MeshWire"]),
        layer("MeshNet", ["CLinux", "MeshWire"]),
        layer(
            "Huddle",
            [
                "MeshEngine", "MeshNet", "MeshStore", "MeshFaults", "MeshTransport",
                "MeshConsensus", "MeshSession", "MeshContent", "MeshCrypto", "MeshWire",
            ]
        ),
        .executableTarget(
            name: "HuddleCommand",
            dependencies: [
                "Huddle", "GroupActivities", "MeshSimulator", "MeshEngine", "MeshFaults", "MeshNet",
                "MeshStore",
                "MeshTransport", "MeshConsensus", "MeshSession", "MeshCrypto", "MessageCoding",
                "MeshWire",
            ],
            swiftSettings: house
        ),

        // What the machine shows and plays.
        layer("HuddleMedia", ["Huddle"]),

        // Apple's names; nothing above imports them.
        layer("Combine"),
        layer("CoreTransferable"),
        layer(
            "GroupActivities",
            ["Huddle", "Combine", "CoreTransferable", "MessageCoding", "MeshWire"]
        ),

        // Several participants in one process, for the tests of those who use the package.
        .target(name: "CConcurrency"),
        layer(
            "HuddleTesting",
            [
                "CConcurrency", "Huddle", "MeshSimulator", "MeshNet", "MeshFaults", "MeshCrypto",
                "MeshWire",
            ]
        ),

        // Small programs, each run by a test; they use what everybody may.
        .executableTarget(
            name: "SharedCanvas",
            dependencies: ["GroupActivities", "Huddle"],
            path: "Sources/Examples/SharedCanvas"
        ),
        .executableTarget(
            name: "TurnGame",
            dependencies: ["GroupActivities", "Huddle"],
            path: "Sources/Examples/TurnGame"
        ),

        // Tests.
        .target(
            name: "TestSupport",
            dependencies: ["MeshWire"],
            path: "Tests/TestSupport",
            swiftSettings: common
        ),
        tests("MeshWireTests", ["MeshWire"]),
        tests("MeshCryptoTests", ["MeshCrypto", "MeshWire"]),
        tests("MeshTransportTests", ["MeshTransport", "MeshCrypto", "MeshFaults", "MeshWire"]),
        tests("MeshConsensusTests", ["MeshConsensus", "MeshWire"]),
        tests("MeshSessionTests", ["MeshSession", "MeshConsensus", "MeshWire"]),
        tests("MeshContentTests", ["MeshContent", "MeshWire"]),
        tests(
            "MeshEngineTests",
            [
                "MeshEngine", "MeshTransport", "MeshConsensus", "MeshSession", "MeshContent",
                "MeshCrypto", "MeshFaults", "MeshWire",
            ]
        ),
        tests("MeshFaultsTests", ["MeshFaults", "MeshWire"]),
        tests("MessageCodingTests", ["MessageCoding", "MeshCrypto", "MeshWire"]),
        tests(
            "MeshSimulatorTests",
            [
                "MeshSimulator", "MeshEngine", "MeshFaults", "MeshTransport", "MeshConsensus",
                "MeshSession", "MeshCrypto", "MeshWire",
            ]
        ),
        tests("ScenarioTests", ["MeshSimulator"], files: ["Scenarios"]),
        tests("MeshStoreTests", ["MeshStore", "MeshContent", "MeshCrypto", "MeshWire"]),
        tests("MeshNetTests", ["MeshNet", "CLinux", "MeshWire"]),
        tests(
            "HuddleTests",
            [
                "Huddle", "MeshEngine", "MeshNet", "MeshStore", "MeshTransport", "MeshSession",
                "MeshConsensus", "MeshContent", "MeshCrypto", "MeshFaults", "MeshWire",
            ]
        ),
        tests("CommandTests", ["HuddleCommand", "Huddle", "MeshTransport", "MeshWire"]),
        // A SharePlay program as others write them, which the tests run as processes of their own.
        .executableTarget(
            name: "SharePlayPeer",
            dependencies: ["GroupActivities", "Huddle", "MeshFaults"],
            path: "Tests/SharePlayPeer"
        ),
        // Another such program, with types of its own by the same names.
        .executableTarget(
            name: "SharePlayStranger",
            dependencies: ["GroupActivities", "Huddle"],
            path: "Tests/SharePlayStranger"
        ),
        // Code of tutorials of Apple's API as it stands, and what it takes for granted in second files.
        .target(
            name: "SampleDriver",
            dependencies: ["GroupActivities"],
            path: "Tests/SeedSamples/SampleDriver",
            swiftSettings: [.swiftLanguageMode(.v5)]
        ),
        sample("Seed000", [.swiftLanguageMode(.v5)]),
        sample(
            "SeedSamples",
            at: "Tests/SeedSamples",
            exclude: ["SampleDriver", "Seed000", "Seed002", "Seed003", "Seed004", "Modes"]
        ),
        sample("Seed002"),
        sample("Seed003", [.swiftLanguageMode(.v5)]),
        sample("Seed004"),
        // The same files in the other language modes that people's projects have.
        sample("Modes/Seed001Swift5", [.swiftLanguageMode(.v5)]),
        sample("Modes/Seed001MainActor", [.defaultIsolation(MainActor.self)]),
        sample("Modes/Seed002Swift5", [.swiftLanguageMode(.v5)]),
        sample("Modes/Seed003MainActor", [.defaultIsolation(MainActor.self)]),
        sample("Modes/Seed004Swift5", [.swiftLanguageMode(.v5)]),
        tests(
            "GroupActivitiesTests",
            [
                "SharePlayPeer", "SharePlayStranger", "HuddleCommand", "SeedSamples", "Seed000",
                "Seed002", "Seed003", "Seed004", "SharedCanvas", "TurnGame",
            ]
        ),
        tests(
            "HuddleTestingTests",
            [
                "HuddleTesting", "GroupActivities", "Huddle", "MeshEngine", "MeshFaults",
                "MeshSession", "MeshWire",
            ]
        ),
        tests("HuddleMediaTests", ["HuddleMedia", "Huddle"]),
        tests("CombineTests", ["Combine"]),
        tests("CoreTransferableTests", ["CoreTransferable"]),
        // A client as most are: in Swift 5 language mode, without our settings.
        .testTarget(
            name: "CombineClientTests",
            dependencies: ["Combine", "CoreTransferable"],
            swiftSettings: [.swiftLanguageMode(.v5)]
        ),
        tests("TidyTests", []),
    ]
)
