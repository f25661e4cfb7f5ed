import ChatModel
import FoundationEssentials
import Gateway
import Logging
import Swim
import SwimDriver
import Rooms
import ServerAPI
import ShardPlacement
import Transport

/// How a node writes its log to standard error.
public enum LogFormat: String, Sendable, Hashable {
    /// A line for people.
    case text
    /// A line with one JSON object (`JSONLogHandler`).
    case json
}

/// All settings of a node. `docs/CONFIGURATION.md` lists them for operators.
public struct NodeConfiguration: Sendable {
    public var node: NodeID
    public var dataDirectory: String
    public var keysFile: String
    public var apiHost = "127.0.0.1"
    public var apiPort = 7401
    /// Connections of the API port, in all and of one address.
    public var apiConnectionsMax = APIServerConfiguration().connectionsMax
    public var apiConnectionsPerAddressMax = APIServerConfiguration().connectionsPerAddressMax
    public var probesHost = "127.0.0.1"
    /// The port of probes and metrics; nil: they are on the API port only.
    public var probesPort: Int?
    /// The TLS files of the client port; nil serves it without TLS.
    public var tls: TLSFiles?
    /// Whether the API port speaks TLS too, where there is a certificate.
    public var apiTLS = true
    public var linkHost = "127.0.0.1"
    public var linkPort = 7402
    /// The TLS files of the link; nil: only nodes on this machine are connected.
    public var linkTLS: LinkTLSFiles?
    /// Other nodes through which this one gets to know all, as host:port of their links.
    public var linkSeeds: [GossipAddress] = []
    /// Threads that carry connections and rooms.
    public var loops: Int
    /// Read only when a cluster is created; afterwards the stored number holds.
    public var shardCount = Int(ShardMap.shardCountDefault)
    public var gateway: GatewayConfiguration
    public var rooms = RoomPolicy()
    /// The place of the bytes of media.
    public var mediaStore = MediaStoreSettings.local
    /// Bytes of media that a user may send in a day, over all rooms.
    public var mediaBytesPerUserAndDay: Int64 = 1 << 30
    /// Transfers of content of one user, or of one address without a token, at this node at a time.
    public var mediaTransfersPerUser = 64
    /// The free space that the media store leaves on its disk.
    public var mediaReserveBytes: Int64 = 1 << 30
    /// Whether messages can be looked for; their indexes cost CPU and disk.
    public var isSearchEnabled = true
    /// Whether messages are indexed as they come, and not only where somebody has searched.
    public var isSearchAhead = false
    /// Between two looks of the media store through its content.
    public var mediaRoundPause = Duration.seconds(20)
    /// `enter`s that a room takes in a second.
    public var roomEntersPerSecond = RoomLimits.entersPerSecondDefault
    /// For measurements: how much slower a sync of the log shall be.
    public var syncDelayMicroseconds = 0
    /// Seconds between two checkpoints of a shard's catalogue and history, 1 to 3600. A shard that has applied
    /// `StorageConfiguration.checkpointEntries` entries has one earlier.
    public var checkpointSeconds = 10
    public var logLevel = Logger.Level.info
    public var logFormat = LogFormat.text
    /// How long the record of changing calls is kept.
    public var auditRetentionDays: Int64 = 90
    /// The only hosts that webhook and hook may be at; empty: any.
    public var callbackHosts: [String] = []
    /// The highest feature level that this node says it can do.
    public var levelMax = FeatureLevel.newest
    /// How long all nodes must have been able to do the next feature level before it is raised; nil: never by itself.
    public var raiseLevelAfterSeconds: Int? = 600
    /// The file that the node writes before the demo kills it, by which its supervisor knows that it is to be started again;
    /// nil: the demo kills nobody.
    public var demoKillFile: String?
    /// Whether callbacks go to no address that the internet does not route.
    public var refusesPrivateCallbacks = false
    /// The values of file and environment, by the settings' names.
    private var given: [String: String] = [:]

    /// Reads file and environment.
    public init(path: String, environment: [String: String]) throws(NodeError) {
        var settings = try SettingsReader(path: path, environment: environment)
        guard let node = NodeID(try settings.required("nodeId")) else {
            throw NodeError(.configuration, "nodeId must be 1-64 bytes of letters, digits and _.@:#|+~!$-")
        }
        self.node = node
        dataDirectory = try settings.required("dataDirectory")
        keysFile = try settings.required("keysFile")
        loops = try settings.int("loops", default: ProcessInfo.processInfo.activeProcessorCount, in: 1...256)
        shardCount = try settings.int("shards", default: shardCount, in: 1...1024)
        if let level = try settings.string("log.level") {
            guard let known = Logger.Level(rawValue: level) else {
                let all = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
                throw NodeError(.configuration, "log.level must be one of \(all)")
            }
            logLevel = known
        }
        if let format = try settings.string("log.format") {
            guard let known = LogFormat(rawValue: format) else {
                throw NodeError(.configuration, "log.format must be text or json")
            }
            logFormat = known
        }
        syncDelayMicroseconds = try settings.int("log.syncDelayMicroseconds", default: 0, in: 0...1_000_000)
        checkpointSeconds = try settings.int("log.checkpointSeconds", default: checkpointSeconds, in: 1...3600)

        let newest = FeatureLevel.newest.number
        levelMax = FeatureLevel(
            try settings.int("featureLevel.max", default: newest, in: FeatureLevel.first.number...newest))
        let patience = try settings.int(
            "featureLevel.raiseAfterSeconds", default: raiseLevelAfterSeconds ?? 0, in: 0...604_800)
        raiseLevelAfterSeconds = patience == 0 ? nil : patience

        auditRetentionDays = Int64(
            try settings.int("audit.retentionDays", default: Int(auditRetentionDays), in: 1...3650))

        gateway = GatewayConfiguration(node: node)
        gateway.host = try settings.string("client.host") ?? gateway.host
        gateway.port = try settings.int("client.port", default: gateway.port, in: 0...65_535)
        apiHost = try settings.string("api.host") ?? apiHost
        apiPort = try settings.int("api.port", default: apiPort, in: 0...65_535)
        apiConnectionsMax = try settings.int("api.connections", default: apiConnectionsMax, in: 1...100_000)
        apiConnectionsPerAddressMax = try settings.int(
            "api.connectionsPerAddress", default: apiConnectionsPerAddressMax, in: 1...100_000)
        probesHost = try settings.string("probes.host") ?? probesHost
        let probesPort = try settings.int("probes.port", default: -1, in: 0...65_535)
        self.probesPort = probesPort < 0 ? nil : probesPort
        linkHost = try settings.string("link.host") ?? linkHost
        linkPort = try settings.int("link.port", default: linkPort, in: 0...65_535)
        for text in try settings.strings("link.seeds") {
            guard let seed = GossipAddress(text), seed.hostAndPort != nil else {
                throw NodeError(.configuration, "link.seeds: \(text) is not host:port")
            }
            linkSeeds.append(seed)
        }
        linkTLS = try Self.linkTLS(&settings)
        let proxyTerminatesTLS = try settings.bool("proxyTerminatesTls", default: false)
        let certificateFile = try settings.string("tls.certificateFile")
        let keyFile = try settings.string("tls.keyFile")
        guard (certificateFile == nil) == (keyFile == nil) else {
            throw NodeError(.configuration, "tls.certificateFile and tls.keyFile belong together")
        }
        if let certificateFile, let keyFile { tls = TLSFiles(certificateFile: certificateFile, keyFile: keyFile) }
        apiTLS = try settings.bool("api.tls", default: true)
        for (key, host, isSecure) in [
            ("client.host", gateway.host, tls != nil), ("api.host", apiHost, tls != nil && apiTLS),
            ("probes.host", probesHost, tls != nil && apiTLS),
        ] where !isSecure && !Self.isLoopback(host) && !proxyTerminatesTLS {
            throw NodeError(
                .configuration,
                "\(key) \(host) is reachable from outside without TLS: keep 127.0.0.1, set tls.certificateFile and "
                    + "tls.keyFile, or put a proxy that terminates TLS before it and set proxyTerminatesTls to true")
        }
        guard Self.isLoopback(linkHost) || linkTLS != nil else {
            throw NodeError(
                .configuration,
                "link.host \(linkHost) is reachable from outside: keep 127.0.0.1, or set link.tls.certificateFile, "
                    + "link.tls.keyFile and link.tls.caFile")
        }
        guard IPAddress(linkHost)?.isUnspecified != true else {
            throw NodeError(
                .configuration,
                "link.host \(linkHost) is no address that other nodes could call: give one of this machine")
        }

        for (index, one) in ports.enumerated() where one.port > 0 {
            let same = ports[..<index].first { other in
                let hosts = [one.host, other.host].map { $0 == "localhost" ? "127.0.0.1" : $0 }
                let meet = hosts[0] == hosts[1] || hosts.contains { IPAddress($0)?.isUnspecified == true }
                return other.port == one.port && meet
            }
            if let same {
                throw NodeError(.configuration, "\(same.name).port and \(one.name).port are both \(one.port)")
            }
        }
        if let url = try settings.string("advertiseUrl") {
            guard url.hasPrefix("wss://") || url.hasPrefix("ws://") && tls == nil else {
                throw NodeError(
                    .configuration, "advertiseUrl must begin with \(tls == nil ? "ws:// or wss://" : "wss://")")
            }
            gateway.advertiseURLs = [url]
        }
        gateway.trustedProxies = []
        for text in try settings.strings("trustedProxies") {
            guard let range = IPRange(text) else {
                throw NodeError(
                    .configuration, "trustedProxies: \(text) is neither an IP address nor a range such as 10.0.0.0/8")
            }
            gateway.trustedProxies.append(range)
        }
        callbackHosts = try settings.strings("callbacks.allowedHosts")
        refusesPrivateCallbacks = try settings.bool("callbacks.refusePrivateAddresses", default: false)
        gateway.isBehindProxy = proxyTerminatesTLS || !gateway.trustedProxies.isEmpty
        gateway.allowedOrigins = try settings.strings("allowedOrigins")
        for origin in gateway.allowedOrigins where !GatewayConfiguration.isOrigin(origin) {
            throw NodeError(
                .configuration,
                "allowedOrigins: \(origin) is no origin: give https://app.example, https://*.app.example for any one label, "
                    + "or null; without a path, and without a star elsewhere")
        }
        gateway.isCompressing = try settings.bool("client.compression", default: false)
        gateway.allowAnonymous = try settings.bool("allowAnonymous", default: false)
        gateway.hasDemo = try settings.bool("demo", default: false)
        guard !gateway.hasDemo || gateway.isOnLoopback else {
            throw NodeError(
                .configuration,
                "demo gives rooms and tokens to everybody who asks, so client.host must be 127.0.0.1, not \(gateway.host)"
            )
        }
        if gateway.hasDemo { try Self.requireNoProxy(gateway) }
        demoKillFile = try settings.string("demoKillFile")
        gateway.heartbeatSeconds = Int64(
            try settings.int("session.heartbeatSeconds", default: Int(gateway.heartbeatSeconds), in: 1...3600))
        gateway.drainSeconds = Int64(
            try settings.int("session.drainSeconds", default: Int(gateway.drainSeconds), in: 0...3600))
        gateway.graceSeconds = Int64(
            try settings.int("session.graceSeconds", default: Int(gateway.graceSeconds), in: 0...3600))
        gateway.connectSeconds = Int64(
            try settings.int("session.connectSeconds", default: Int(gateway.connectSeconds), in: 1...600))
        gateway.roomsPerSessionMax = try settings.int(
            "session.rooms", default: gateway.roomsPerSessionMax, in: 1...1000)
        gateway.changesPerSecond = Double(
            try settings.int("session.changesPerSecond", default: Int(gateway.changesPerSecond), in: 1...1_000_000_000))
        gateway.changesBurst = Double(
            try settings.int("session.changesBurst", default: Int(gateway.changesBurst), in: 1...1_000_000_000))
        gateway.readsPerSecond = Double(
            try settings.int("session.readsPerSecond", default: Int(gateway.readsPerSecond), in: 1...1_000_000_000))
        gateway.readsBurst = gateway.readsPerSecond
        gateway.requestsPerFrameMax = try settings.int(
            "session.requestsPerFrame", default: gateway.requestsPerFrameMax, in: 1...65_536)
        gateway.changeBytesPerSecond = Double(
            try settings.int(
                "session.changeBytesPerSecond", default: Int(gateway.changeBytesPerSecond), in: 1...1 << 40))
        gateway.changeBytesBurst = Double(
            try settings.int("session.changeBytesBurst", default: Int(gateway.changeBytesBurst), in: 1...1 << 40))
        gateway.sendQueueBytesMax = try settings.int(
            "session.sendQueueBytes", default: gateway.sendQueueBytesMax, in: 4096...1 << 30)
        gateway.connections.connectionsMax = try settings.int(
            "limits.connections", default: gateway.connections.connectionsMax, in: 1...10_000_000)
        // A number that an operator has chosen holds for this machine too.
        let perAddressMax = try settings.int("limits.connectionsPerAddress", default: 0, in: 1...10_000_000)
        if perAddressMax > 0 {
            gateway.connections.perAddressMax = perAddressMax
            gateway.connections.exemptsLoopback = false
        }
        gateway.connections.bufferBytesMax = try settings.int(
            "limits.bufferBytes", default: gateway.connections.bufferBytesMax, in: 1 << 20...1 << 50)
        gateway.connections.perUserMax = try settings.int(
            "limits.connectionsPerUser", default: gateway.connections.perUserMax, in: 1...10_000_000)
        gateway.admission.handshakesPerSecond = try settings.int(
            "limits.handshakesPerSecond", default: gateway.admission.handshakesPerSecond, in: 1...1_000_000)
        gateway.admission.connectsPerSecond = try settings.int(
            "limits.connectsPerSecond", default: gateway.admission.connectsPerSecond, in: 1...1_000_000)
        gateway.admission.entersPerSecond = try settings.int(
            "limits.entersPerSecond", default: gateway.admission.entersPerSecond, in: 1...1_000_000)
        roomEntersPerSecond = try settings.int(
            "limits.roomEntersPerSecond", default: roomEntersPerSecond, in: 1...1_000_000)

        rooms.graceSeconds = gateway.graceSeconds
        rooms.retentionDays = Int64(
            try settings.int("rooms.retentionDays", default: Int(rooms.retentionDays), in: 1...Int(Limits.historyDays)))
        rooms.fixedMembersMax = try settings.int(
            "rooms.fixedMembers", default: rooms.fixedMembersMax, in: 1...10_000_000)
        rooms.blacklistedMax = try settings.int("rooms.blacklisted", default: rooms.blacklistedMax, in: 1...10_000_000)
        rooms.queueElementsMax = try settings.int(
            "rooms.queueElements", default: rooms.queueElementsMax, in: 1...1_000_000)
        rooms.robotsMax = try settings.int("rooms.robots", default: rooms.robotsMax, in: 0...100_000)
        rooms.anonymousBarSeconds = Int64(
            try settings.int("rooms.anonymousBarSeconds", default: Int(rooms.anonymousBarSeconds), in: 0...86_400))
        rooms.undeleteSeconds = Int64(
            try settings.int("rooms.undeleteSeconds", default: Int(rooms.undeleteSeconds), in: 0...2_592_000))
        rooms.recallWindowSeconds = Int64(
            try settings.int("rooms.recallSeconds", default: Int(rooms.recallWindowSeconds), in: 0...864_000))
        rooms.digestAboveOnline = try settings.int(
            "rooms.digestAboveOnline", default: rooms.digestAboveOnline, in: 0...10_000_000)
        rooms.onlinePushSeconds = Int64(
            try settings.int("rooms.onlinePushSeconds", default: Int(rooms.onlinePushSeconds), in: 1...3600))
        rooms.tallyPushMilliseconds = try settings.int(
            "rooms.tallyPushMs", default: rooms.tallyPushMilliseconds, in: 100...60_000)
        rooms.viewerBudgetPerSecond = try settings.int(
            "rooms.viewerBudget", default: rooms.viewerBudgetPerSecond, in: 1...1_000_000)
        rooms.viewerBudgetAboveOnline = try settings.int(
            "rooms.viewerBudgetAboveOnline", default: rooms.viewerBudgetAboveOnline, in: 0...10_000_000)
        rooms.barragePerViewerPerSecond = try settings.int(
            "rooms.barragePerViewer", default: rooms.barragePerViewerPerSecond, in: 1...1_000_000)
        rooms.highPerSecondMax = try settings.int(
            "rooms.highPerSecond", default: rooms.highPerSecondMax, in: 0...100_000)
        gateway.barragePerViewerPerSecond = rooms.barragePerViewerPerSecond
        gateway.highPerSecondMax = rooms.highPerSecondMax
        if let policy = try settings.string("rooms.conflictPolicy") {
            guard let known = ConflictPolicy(rawValue: policy) else {
                throw NodeError(
                    .configuration, "rooms.conflictPolicy must be kickOlder, perDevice, rejectNewer or allow")
            }
            rooms.conflictPolicy = known
        }
        mediaStore = try MediaStoreSettings.read(&settings)
        gateway.mediaOrigin = mediaStore.origin
        mediaBytesPerUserAndDay =
            Int64(
                try settings.int(
                    "media.megabytesPerUserAndDay", default: Int(mediaBytesPerUserAndDay >> 20), in: 0...1_048_576))
            << 20
        mediaReserveBytes =
            Int64(try settings.int("media.reserveMegabytes", default: Int(mediaReserveBytes >> 20), in: 0...1_048_576))
            << 20
        mediaRoundPause = .seconds(
            try settings.int("media.roundSeconds", default: Int(mediaRoundPause.components.seconds), in: 1...3600))
        gateway.transfersMax = try settings.int("media.transfers", default: gateway.transfersMax, in: 1...65_536)
        mediaTransfersPerUser = try settings.int(
            "media.transfersPerUser", default: mediaTransfersPerUser, in: 1...65_536)
        isSearchEnabled = try settings.bool("search.enabled", default: true)
        isSearchAhead = try settings.bool("search.ahead", default: false)
        try settings.refuseUnknownKeys()
        given = settings.given
    }

    /// Settings that have other values in `new`, which a reload does not take over.
    func waitingForStart(_ new: NodeConfiguration) -> [String] {
        var taken = Self.takenByReload
        // TLS itself is not switched by a reload.
        if tls != nil, new.tls != nil { taken += ["tls."] }
        if linkTLS != nil, new.linkTLS != nil { taken += ["link.tls."] }
        return Set(given.keys).union(new.given.keys)
            .filter { name in given[name] != new.given[name] && !taken.contains { name.hasPrefix($0) } }.sorted()
    }

    /// How their names begin (CONFIGURATION.md, "SIGHUP").
    private static let takenByReload = [
        "limits.", "session.rooms", "session.changesPerSecond", "session.changesBurst", "session.changeBytesPerSecond",
        "session.changeBytesBurst", "session.readsPerSecond", "session.requestsPerFrame", "session.sendQueueBytes",
        "keysFile", "media.s3.accessKey", "media.s3.secretKeyFile",
    ]

    /// The ports that the node listens on, by the settings' names; 0: one that the system chooses.
    var ports: [(name: String, host: String, port: Int)] {
        let all = [
            ("client", gateway.host, gateway.port), ("api", apiHost, apiPort), ("probes", probesHost, probesPort ?? 0),
            // A node without cluster keys does not bind it, and these are read later; one with seeds has some.
            ("link", linkHost, linkSeeds.isEmpty ? 0 : linkPort),
        ]
        return all.map { (name: $0.0, host: $0.1, port: $0.2) }
    }

    /// All three files or none.
    private static func linkTLS(_ settings: inout SettingsReader) throws(NodeError) -> LinkTLSFiles? {
        let certificateFile = try settings.string("link.tls.certificateFile")
        let keyFile = try settings.string("link.tls.keyFile")
        let caFile = try settings.string("link.tls.caFile")
        if let certificateFile, let keyFile, let caFile {
            return LinkTLSFiles(certificateFile: certificateFile, keyFile: keyFile, caFile: caFile)
        }
        guard certificateFile == nil, keyFile == nil, caFile == nil else {
            throw NodeError(
                .configuration, "link.tls.certificateFile, link.tls.keyFile and link.tls.caFile belong together")
        }
        return nil
    }

    /// Behind a proxy everybody comes from this machine.
    private static func requireNoProxy(_ gateway: GatewayConfiguration) throws(NodeError) {
        let demand: String
        if !gateway.trustedProxies.isEmpty {
            demand = "trustedProxies must be empty"
        } else if gateway.isBehindProxy {
            demand = "proxyTerminatesTls must be false"
        } else if let url = gateway.foreignURL {
            demand = "advertiseUrl must name 127.0.0.1, not \(url)"
        } else {
            return
        }
        throw NodeError(.configuration, "demo gives rooms and tokens to everybody who asks, so \(demand)")
    }

    static func isLoopback(_ host: String) -> Bool {
        // A name that begins like a loopback address need not be one.
        host == "localhost" || IPAddress(host)?.isLoopback == true
    }
}
