// swift-tools-version: 6.2
import PackageDescription

/// Settings of every target of ours. Warnings are errors; the language mode is Swift 6.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
]

/// The SDK's targets, on Linux: a package that an app names by its version may have no unsafe flags.
let sdk: Set = [
    "ChatModel", "Wire", "ClientCore", "ChatroomClient", "Deflate", "EventLoop", "HTTPWebSocket", "TLS", "Transport",
]

/// Release builds of the server do not check once more, at each access, what the compiler and all tests check: that took a
/// tenth of the instructions of a send (docs/DECISIONS.md, "Built for release").
func settings(of name: String) -> [SwiftSetting] {
    sdk.contains(name)
        ? strict : strict + [.unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))]
}

func core(
    _ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = [], resources: [Resource] = []
) -> Target {
    .target(
        name: name, dependencies: dependencies, exclude: exclude, resources: resources,
        swiftSettings: settings(of: name))
}

func program(_ name: String, _ dependencies: [Target.Dependency], path: String) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: path, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: strict)
}

/// What a target needs where there is no `URLSession`.
func onLinux(_ names: String...) -> [Target.Dependency] {
    names.map { .target(name: $0, condition: .when(platforms: [.linux])) }
}

/// What `--version` tells besides the number of Sources/BuildVersion.
let revision =
    Context.gitInformation.map { $0.currentCommit.prefix(12) + ($0.hasUncommittedChanges ? "+" : "") } ?? "unknown"

let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")

let package = Package(
    name: "chatroom-cluster",
    // Of the SDK. Its targets use nothing newer, which tools/apple/check sees to; everything else runs on Linux only.
    platforms: [.iOS(.v15), .macOS(.v12), .tvOS(.v15), .watchOS(.v8)],
    // Only the SDK: an app that names this package gets those packages of others that a product here needs. Programs are
    // products by themselves where this is the root: swift build --product chatroomd.
    products: [.library(name: "ChatroomClient", targets: ["ChatroomClient"])],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", exact: "0.2.0"),
    ],
    targets: [
        // Layer 0: vocabulary and C libraries.
        .systemLibrary(name: "CUV", path: "Sources/CUV", pkgConfig: "libuv", providers: [.apt(["libuv1-dev"])]),
        .systemLibrary(
            name: "CSQLite", path: "Sources/CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(
            name: "COpenSSL", path: "Sources/COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(
            name: "CCurl", path: "Sources/CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CZlib", path: "Sources/CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .target(name: "CShims", dependencies: ["CSQLite"]),
        // Only programs that run long depend on it: an app that embeds the SDK has its own allocator.
        .target(name: "CAllocator", linkerSettings: [.linkedLibrary("jemalloc")]),
        .target(
            name: "CBuildRevision", cSettings: [.define("CHATROOM_BUILD_REVISION", to: "\"\(revision)\"")]),
        core("BuildVersion", ["CBuildRevision"]),
        .target(name: "CWebFiles"),
        core("ChatModel"),

        // Layer 1: pure cores. None of them can import I/O.
        core("Wire", ["ChatModel"], exclude: ["chatroom.proto", "stored.proto"]),
        core("HTTPWebSocket", ["ChatModel", "Wire"]),
        core("RoomCore", ["ChatModel"]),
        core("Consensus", ["ChatModel"]),
        core("ShardPlacement", ["ChatModel", "Consensus"]),
        core("Swim", ["ChatModel"]),
        core("RoomProtocol", ["ChatModel", "Wire", "HTTPWebSocket", "RoomCore"]),
        core("Relay", ["ChatModel", "Wire", "RoomProtocol"]),
        core("SessionCore", ["ChatModel", "Wire", "RoomProtocol"]),
        core("NodeLinkCore", ["ChatModel", "Wire", "Consensus"]),
        core("Replication", ["ChatModel", "Wire", "Consensus"]),
        core("Moderation", ["ChatModel"]),
        core("ClientCore", ["ChatModel", "Wire"]),

        // Layer 2: drivers.
        core("EventLoop", ["CUV", "CShims"]),
        core("Cryptography", ["COpenSSL"]),
        core("TLS", ["COpenSSL"]),
        core("Deflate", ["CZlib"]),
        core("WebFiles", ["HTTPWebSocket", "Deflate", "CWebFiles"]),
        core("Transport", ["EventLoop", "TLS", "CUV", "CShims"]),
        core("SQLite", ["CSQLite", "CShims"]),
        core("LogStore", ["Consensus", "ChatModel", "SQLite"]),
        core("History", ["ChatModel", "Wire", "SQLite"]),
        core("SystemCalls"),
        core("Media", ["ChatModel", "Cryptography", "SQLite", "SystemCalls", "CShims"]),
        core("Telemetry"),
        core("HTTPClient", ["EventLoop", "Transport", "CCurl"]),
        core(
            "GroupDriver", ["ChatModel", "Consensus", "ShardPlacement", "EventLoop", "LogStore", "Telemetry", logging]),
        core(
            "ReplicationDriver", ["ChatModel", "Consensus", "Replication", "EventLoop", "History", "GroupDriver"]),
        core(
            "Webhooks",
            [
                "ChatModel", "Wire", "Moderation", "EventLoop", "History", "HTTPClient", "Cryptography", "Telemetry",
                logging,
            ]),

        // Layer 3: hosts. They meet through protocols and values that Node passes in.
        core("SwimDriver", ["ChatModel", "Swim", "Cryptography", "EventLoop", "Transport"]),
        core("NodeLink", ["ChatModel", "NodeLinkCore", "EventLoop", "TLS", "Transport"]),
        core(
            "SystemGroupHost",
            [
                "ChatModel", "Wire", "Consensus", "EventLoop", "SQLite", "LogStore", "History", "GroupDriver",
                "Replication", "ReplicationDriver", "Telemetry", logging,
            ]),
        core(
            "Rooms",
            [
                "ChatModel", "Wire", "RoomCore", "RoomProtocol", "SessionCore", "Consensus", "ShardPlacement",
                "Moderation", "EventLoop", "LogStore", "History", "GroupDriver", "Replication",
                "ReplicationDriver", "Telemetry", "Webhooks", logging,
            ]),
        core(
            "Gateway",
            [
                "ChatModel", "Wire", "HTTPWebSocket", "RoomCore", "RoomProtocol", "SessionCore", "ShardPlacement",
                "Moderation", "Cryptography", "EventLoop", "TLS", "Transport", "Deflate", "WebFiles", "Telemetry",
                "Media",
                logging,
            ], exclude: ["Web"]),
        core(
            "ServerAPI",
            [
                "ChatModel", "Wire", "HTTPWebSocket", "EventLoop", "TLS", "Transport", "WebFiles", "Telemetry",
                "BuildVersion", logging, lifecycle,
            ], exclude: ["Console"]),

        // The SDK: for apps, and no part of the node. On Apple's platforms it is these four targets and nothing else:
        // ChatModel, Wire, ClientCore, ChatroomClient.
        core(
            "ChatroomClient",
            ["ChatModel", "Wire", "ClientCore"] + onLinux("Deflate", "EventLoop", "HTTPWebSocket", "TLS", "Transport")),

        // Layer 4: the root that builds everything, and the programs.
        core(
            "ClusterRouting",
            [
                "ChatModel", "Wire", "Consensus", "NodeLinkCore", "RoomProtocol", "Relay", "Replication", "EventLoop",
                "Telemetry",
                "NodeLink", "GroupDriver", "ReplicationDriver", "SystemGroupHost", "Rooms", "Gateway", logging,
            ]),
        core(
            "Node",
            [
                "ChatModel", "Wire", "RoomProtocol", "NodeLinkCore", "Swim", "SwimDriver", "NodeLink",
                "GroupDriver", "SystemGroupHost", "Rooms", "Gateway", "ClusterRouting", "SessionCore", "ServerAPI",
                "EventLoop", "TLS", "Transport",
                "SQLite", "LogStore",
                "History", "ShardPlacement", "Consensus", "Moderation", "Webhooks", "Telemetry", "SystemCalls",
                "CShims",
                "BuildVersion", "Cryptography", "HTTPClient", "Media",
                logging, lifecycle,
            ]),
        program(
            "chatroomd",
            [
                "CAllocator", "Node", "SystemCalls", "BuildVersion", argumentParser, logging, lifecycle,
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ], path: "Sources/chatroomd"),
        .target(
            name: "ControlClient",
            dependencies: ["EventLoop", "TLS", "HTTPClient", "SystemCalls", argumentParser],
            path: "tools/chatroomctl/Client", swiftSettings: strict),
        .target(
            name: "Conformance",
            dependencies: [
                "ControlClient", "Wire", "HTTPWebSocket", "EventLoop", "TLS", "Transport", "Cryptography",
                argumentParser,
            ], path: "tools/chatroomctl/Conformance", swiftSettings: strict),
        program(
            "chatroomctl",
            ["ControlClient", "Conformance", "ChatModel", "SystemCalls", "BuildVersion", argumentParser],
            path: "tools/chatroomctl/Program"),
        .target(
            name: "BotSwarmCore",
            dependencies: [
                "ChatModel", "Wire", "HTTPWebSocket", "EventLoop", "Transport", "HTTPClient", "SystemCalls",
                "Cryptography",
                .product(name: "Histogram", package: "hdrhistogram-swift"),
            ], path: "tools/botswarm/Core", swiftSettings: strict),
        program(
            "botswarm", ["BotSwarmCore", "CAllocator", "ChatModel", "SystemCalls", "BuildVersion", argumentParser],
            path: "tools/botswarm/Program"),

        // Builds the three in one call: swift build --product programs.
        program("programs", ["chatroomd", "chatroomctl", "botswarm", "BuildVersion"], path: "tools/programs"),

        program("member-benchmark", ["ChatModel", "RoomCore"], path: "tools/benchmarks/members"),
        program("poll-benchmark", ["ChatModel", "RoomCore"], path: "tools/benchmarks/polls/voters"),
        program(
            "search-benchmark", ["ChatModel", "Wire", "SQLite", "History"], path: "tools/benchmarks/search/program"),
        .executableTarget(
            name: "core-operations", dependencies: ["ChatModel", "RoomCore", "RoomProtocol", "SessionCore", "Wire"],
            path: "tools/benchmarks/core", exclude: ["run.sh", "thresholds.txt"], swiftSettings: strict,
            // SessionCore rounds; nothing else here brings the C library's mathematics with it.
            linkerSettings: [.linkedLibrary("m")]),

        .executableTarget(
            name: "log-benchmark", dependencies: ["LogStore", "Consensus"], path: "tools/benchmarks/log",
            exclude: ["run.sh"], swiftSettings: strict),

        program(
            "gateway-alone",
            [
                "ChatModel", "Wire", "RoomProtocol", "SessionCore", "ShardPlacement", "EventLoop", "TLS", "Telemetry",
                "Gateway", "CAllocator",
                logging,
            ],
            path: "tools/benchmarks/fanout/gateway"),

        program("chat-example", ["ChatroomClient", argumentParser], path: "tools/examples/chat"),

        // Tests.
        .target(
            name: "SwimTestKit", dependencies: ["ChatModel", "Swim", "SwimDriver", "StorageTestKit"],
            path: "Tests/SwimTestKit", swiftSettings: strict),
        .target(name: "SimulatedSystem", dependencies: ["CUV"], path: "Tests/SimulatedSystem"),
        .target(
            name: "Simulator",
            dependencies: [
                "SimulatedSystem", "StorageTestKit", "Node", "BotSwarmCore", "ChatModel", "ChatroomClient", "Wire",
                "EventLoop", "Transport", logging, lifecycle,
            ], path: "Tests/Simulator", swiftSettings: strict),
        program("simulate", ["SwimTestKit", "Simulator", logging], path: "tools/simulate"),
        .executableTarget(
            name: "mutate", dependencies: ["simulate"], path: "tools/mutate", exclude: ["mutants.txt"],
            swiftSettings: strict),
        .target(name: "WaitTestKit", path: "Tests/WaitTestKit", swiftSettings: strict),
        tests("WaitTests", ["WaitTestKit"]),
        .target(
            name: "CertificateTestKit", dependencies: ["COpenSSL"], path: "Tests/CertificateTestKit",
            swiftSettings: strict),
        tests("BotSwarmCoreTests", ["BotSwarmCore", "ChatModel", "Wire"]),
        tests("EventLoopTests", ["EventLoop", "StorageTestKit"]),
        tests("SystemCallsTests", ["SystemCalls"]),
        tests("TransportTests", ["EventLoop", "TLS", "Transport", "WaitTestKit", "CertificateTestKit"]),
        tests("DeflateTests", ["Deflate"]),
        tests("TelemetryTests", ["Telemetry"]),
        tests("MediaTests", ["ChatModel", "Cryptography", "Media"], exclude: ["Vectors"]),
        tests("WebFilesTests", ["HTTPWebSocket", "WebFiles"]),
        tests(
            "GatewayTests",
            [
                "ChatModel", "Deflate", "EventLoop", "Gateway", "RoomProtocol", "SessionCore", "ShardPlacement",
                "Telemetry", "Transport", "WaitTestKit", "Wire", "HTTPWebSocket", logging,
            ]),
        tests("ConsensusTests", ["Consensus"], exclude: ["Transcripts"]),
        tests("ShardPlacementTests", ["ShardPlacement", "ChatModel", "Consensus"]),
        tests("ChatModelTests", ["ChatModel"]),
        tests("WireTests", ["ChatModel", "Wire", "RoomCore", "RoomProtocol", "WaitTestKit"]),
        tests("HTTPWebSocketTests", ["ChatModel", "HTTPWebSocket", "StorageTestKit", "WaitTestKit"]),
        tests("RoomCoreTests", ["ChatModel", "RoomCore"]),
        .target(name: "OpenAPITestKit", path: "Tests/OpenAPITestKit", swiftSettings: strict),
        tests(
            "ServerAPITests",
            ["ServerAPI", "ChatModel", "Wire", "Telemetry", "OpenAPITestKit", "WaitTestKit", logging, lifecycle]),
        tests(
            "ClusterRoutingTests",
            [
                "ClusterRouting", "ChatModel", "Consensus", "Gateway", "NodeLinkCore", "NodeLink", "RoomProtocol",
                "Relay",
                "Rooms", "Replication", "EventLoop", "Transport", "Telemetry", "WaitTestKit", logging,
            ]),
        tests(
            "NodeTests",
            [
                "Node", "Gateway", "Media", "ServerAPI", "ChatModel", "Consensus", "NodeLinkCore", "LogStore",
                "EventLoop", "Transport",
                "CertificateTestKit", "Cryptography", "CryptographyTestKit", "HTTPClient", "HTTPTestKit", "WaitTestKit",
                logging,
            ]),
        tests(
            "chatroomctlTests", ["chatroomctl", "ControlClient", "Conformance", "ChatModel", argumentParser]),
        .target(name: "CFaultVFS", dependencies: ["CSQLite"]),
        .target(
            name: "StorageTestKit", dependencies: ["CFaultVFS", "SQLite"], path: "Tests/StorageTestKit",
            swiftSettings: strict),
        tests("SQLiteTests", ["SQLite", "StorageTestKit"]),
        tests("LogStoreTests", ["LogStore", "Consensus", "SQLite", "StorageTestKit", "WaitTestKit"]),
        tests("HistoryTests", ["History", "ChatModel", "Wire", "SQLite", "StorageTestKit", "WaitTestKit"]),
        tests("ReplicationTests", ["Replication", "ChatModel", "Consensus", "StorageTestKit"]),
        tests(
            "GroupDriverTests",
            [
                "GroupDriver", "ChatModel", "Consensus", "EventLoop", "LogStore", "StorageTestKit", "WaitTestKit",
                logging,
            ]),
        tests("ReplicationDriverTests", ["ReplicationDriver", "Replication", "History", "ChatModel", "Consensus"]),
        tests(
            "SystemGroupHostTests",
            [
                "SystemGroupHost", "GroupDriver", "ChatModel", "Wire", "Consensus", "EventLoop", "LogStore",
                "StorageTestKit", logging,
            ]),
        tests(
            "RoomsTests",
            [
                "Rooms", "GroupDriver", "ReplicationDriver", "SystemGroupHost", "ChatModel", "Wire", "Consensus",
                "EventLoop", "LogStore", "History", "RoomCore", "RoomProtocol",
                "Replication", "ShardPlacement", "SQLite", "Telemetry", "Webhooks", "Moderation", "StorageTestKit",
                "WaitTestKit", logging,
            ]),
        tests("SwimTests", ["Swim", "SwimDriver", "ChatModel", "SwimTestKit"]),
        tests(
            "SwimDriverTests",
            ["SwimDriver", "Swim", "ChatModel", "EventLoop", "Transport", "WaitTestKit"]),
        tests("RoomProtocolTests", ["RoomProtocol", "ChatModel", "Wire"]),
        tests("RelayTests", ["Relay", "RoomProtocol", "ChatModel", "Wire"]),
        tests("NodeLinkCoreTests", ["NodeLinkCore", "ChatModel", "Consensus"]),
        tests(
            "NodeLinkTests",
            [
                "NodeLink", "NodeLinkCore", "SwimDriver", "Swim", "ChatModel", "EventLoop", "TLS",
                "Transport", "WaitTestKit", "CertificateTestKit",
            ]),
        tests("SessionCoreTests", ["ChatModel", "Wire", "RoomProtocol", "SessionCore", "StorageTestKit"]),
        tests("ModerationTests", ["ChatModel", "Moderation"]),
        tests("CryptographyTests", ["Cryptography"], exclude: ["Vectors"]),
        .target(
            name: "CryptographyTestKit", dependencies: ["Cryptography", "COpenSSL"],
            path: "Tests/CryptographyTestKit", swiftSettings: strict),
        .target(
            name: "HTTPTestKit", dependencies: ["EventLoop", "TLS", "Transport", "WaitTestKit"],
            path: "Tests/HTTPTestKit", swiftSettings: strict),
        tests("HTTPClientTests", ["HTTPClient", "HTTPTestKit", "EventLoop", "TLS", "Transport"]),
        tests(
            "WebhooksTests",
            [
                "Webhooks", "ChatModel", "Wire", "EventLoop", "History", "Telemetry", "HTTPTestKit", "StorageTestKit",
                "WaitTestKit", logging,
            ]),
        tests(
            "ChatroomClientTests",
            [
                "ChatroomClient", "ClientCore", "ChatModel", "Wire", "HTTPWebSocket", "EventLoop", "TLS", "Transport",
                "WaitTestKit",
                "CertificateTestKit",
            ]),
        // Runs the programs as processes; naming them here gets them built.
        tests(
            "IntegrationTests",
            [
                "ChatModel", "Wire", "HTTPWebSocket", "EventLoop", "TLS", "Transport", "ChatroomClient", "ClientCore",
                "OpenAPITestKit",
                "WaitTestKit", "CertificateTestKit", "Deflate", "ShardPlacement", "Consensus", "Cryptography",
                "CryptographyTestKit",
                "WebFiles", "Media", "chatroomd", "chatroomctl",
            ], exclude: ["Web", "Transcripts", "Fixtures"]),
    ]
)
