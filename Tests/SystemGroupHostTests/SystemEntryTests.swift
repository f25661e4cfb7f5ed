import ChatModel
import Testing
import Wire

struct SystemEntryTests {
    /// The entry that creates a cluster as version 0 wrote it: cluster "c", 16 shards, node "n1", store 2^64 - 1.
    private static let versionZero: [UInt8] =
        [0x0A, 1, 0x63, 0x10, 16, 0x1A, 2, 0x6E, 0x31, 0x20] + [UInt8](repeating: 0xFF, count: 9) + [1]

    private static func commands() throws -> [SystemCommand] {
        let (user, node) = (try #require(UserID("ann")), try #require(NodeID("n1")))
        return [
            .createCluster(id: "c", shardCount: 16, node: node, store: .max, level: .first), .revoke(user),
            .put(setting: .webhook, value: [1, 2, 3]), .put(setting: .moderation, value: []),
            .put(setting: .webhook, value: nil), .begin, .nonce, .finish(answer: [9]), .finish(answer: nil),
            .addNode(
                NodeRecord(
                    node: node, store: .max, linkAddress: "10.0.0.1:7402", clientURLs: ["wss://a", "wss://b"],
                    role: .gateway, isDraining: true, takenInAt: Timestamp(7))),
            .addNode(NodeRecord(node: node, store: 0)), .removeNode(node, certificate: nil),
            .removeNode(node, certificate: [7]), .readmitNode(node), .setDraining(node, true),
            .setDraining(node, false), .raiseLevel(FeatureLevel(3), stores: [1, .max]),
            .createCluster(id: "c", shardCount: 16, node: node, store: 1, level: FeatureLevel(2)),
        ]
    }

    @Test func `the entry of version 0 is read, and still written byte for byte`() throws {
        let entry = try SystemCodec.decode(Self.versionZero)
        #expect(entry.command == (try Self.commands()[0]))
        #expect(SystemCodec.encode(entry) == Self.versionZero)
    }

    @Test func `every command is read as it was written`() throws {
        for command in try Self.commands() {
            let entry = SystemEntry(time: Timestamp(1_795_241_874_688), key: "k", command: command)
            #expect(try SystemCodec.decode(SystemCodec.encode(entry)) == entry)
        }
    }

    @Test func `every cut is refused or reads as something shorter`() throws {
        for command in try Self.commands() {
            let bytes = SystemCodec.encode(SystemEntry(time: Timestamp(5), key: "key", command: command))
            for count in 0..<bytes.count {
                guard let entry = try? SystemCodec.decode(Array(bytes[..<count])) else { continue }
                #expect(SystemCodec.encode(entry).count <= count)
            }
        }
    }

    @Test func `an entry of no known command is refused`() {
        // Field 99, which no version has.
        #expect(throws: WireError.self) { try SystemCodec.decode([0x28, 5, 0x9A, 0x06, 0]) }
        #expect(throws: WireError.self) { try SystemCodec.decode([]) }
    }
}
