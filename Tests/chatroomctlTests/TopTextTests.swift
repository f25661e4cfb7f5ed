import FoundationEssentials
import Testing

@testable import ControlClient
@testable import chatroomctl

/// `top` fits a screen, and faults stand at its top.
@Suite struct TopTextTests {
    private static func tree(_ json: String) throws -> JSONTree { try JSONTree(parsing: Data(json.utf8)) }

    /// A cluster of n1 to n3 and 128 shards.
    private static func look(
        applied: [Int: Int] = [:], leaderless: Int? = nil, dead: String? = nil, isDeadListed: Bool = true
    ) throws -> TopText {
        let shards = (0..<128).map { shard in
            let leader = shard == leaderless ? "" : #""leader":"n1","#
            let replicas = shard < 100 ? #"["n1","n2","n3"]"# : #"["n1","n2"]"#
            return #"{"shard":\#(shard),\#(leader)"replicas":\#(replicas),"term":2,"applied":\#(applied[shard] ?? 5)}"#
        }
        let nodes = ["n1", "n2", "n3"].map {
            #"{"id":"\#($0)","alive":\#($0 != dead),"state":"alive","startedAt":1795786951977,"leads":43}"#
        }
        let missing = isDeadListed ? dead.map { #""\#($0)""# } ?? "" : ""
        return TopText(
            stats: try tree(#"{"time":1795787071977,"sessions":300,"missing":[\#(missing)]}"#),
            nodes: try tree(#"{"nodes":[\#(nodes.joined(separator: ","))]}"#),
            shards: try tree(#"{"shards":[\#(shards.joined(separator: ","))]}"#),
            figures: try tree(
                #"{"nodes":[{"node":"n1","commitLag":0,"sendsPerSecond":3.7,"deliveriesPerSecond":1096,"#
                    + #""ackP99Ms":5.22,"cpuPercent":4,"memoryBytes":91800000}]}"#),
            rooms: try tree(#"{"rooms":[{"id":"live","online":300,"shard":47,"leader":"n1","closed":true}]}"#),
            shardsMax: 8)
    }

    @Test func `128 shards are a sum and the busiest eight`() throws {
        let lines = try Self.look(applied: [47: 156, 84: 30]).lines(since: (Self.look(applied: [47: 56, 84: 20]), 2))
        #expect(lines.count < 24)
        #expect(lines.contains("128 shards, 0 without leader, 55 entries/s"))
        let header = try #require(lines.firstIndex { $0.hasPrefix("SHARD") })
        #expect(lines[header + 1] == "47     n1      n1 n2 n3  2     156      50")
        #expect(lines[header + 2] == "84     n1      n1 n2 n3  2     30       5")
        #expect(lines.contains("and 120 more: chatroomctl cluster shards"))
    }

    @Test func `where the rooms can't be listed the rest is shown`() throws {
        var look = try Self.look(leaderless: 3)
        (look.rooms, look.roomsComplaint) = (.object([:]), "some shards have no leader")
        let lines = look.lines(since: nil)
        #expect(lines.contains("128 shards, 1 without leader"))
        #expect(lines.last == "no rooms are listed: some shards have no leader")
    }

    @Test func `the first look knows no rates and names the shards that have applied most`() throws {
        let lines = try Self.look(applied: [9: 77]).lines(since: nil)
        #expect(lines.contains("128 shards, 0 without leader"))
        let header = try #require(lines.firstIndex { $0.hasPrefix("SHARD") })
        #expect(lines[header] == "SHARD  LEADER  REPLICAS  TERM  APPLIED")
        #expect(lines[header + 1].hasPrefix("9 "))
    }

    @Test func `a shard without a leader stands before one with a dead replica, and that before busy ones`() throws {
        let lines = try Self.look(applied: [101: 900], leaderless: 110, dead: "n3").lines(since: nil)
        #expect(lines.contains("128 shards, 1 without leader, 100 with a dead replica"))
        let header = try #require(lines.firstIndex { $0.hasPrefix("SHARD") })
        #expect(lines[header + 1].hasPrefix("110    none"))
        #expect(lines[header + 2].hasPrefix("0 "))
        #expect(!lines.contains { $0.hasPrefix("101 ") })
    }

    @Test func `a node that was removed is shown no more, though gossip still knows it`() throws {
        let lines = try Self.look(dead: "n3", isDeadListed: false).lines(since: nil)
        #expect(lines[3].hasPrefix("n1") && lines[4].hasPrefix("n2") && lines[5] == "")
    }

    @Test func `a node that is being emptied says so, until it has no replica`() throws {
        var look = try Self.look()
        look.nodes = try Self.tree(
            #"{"nodes":[{"id":"n1","alive":true,"state":"alive","draining":true},{"id":"n4","alive":true,"draining":true}]}"#
        )
        let lines = look.lines(since: nil)
        #expect(lines[3].hasPrefix("n1    draining"))
        #expect(lines[4].hasPrefix("n4    drained"))
    }

    @Test func `a node shows its figures, and one that answers none is there all the same`() throws {
        let lines = try Self.look(dead: "n3").lines(since: nil)
        #expect(
            lines[2...5] == [
                "NODE  STATE  LEADS  LAG  SENDS/S  DELIVERIES/S  ACK P99  CPU  MEMORY  UP",
                "n1    alive  43     0    3.7      1096          5.22 ms  4 %  91 MB   2 min",
                "n2    alive  43                                                       2 min",
                "n3    dead   43",
            ])
        #expect(lines.last == "live  300     47     n1      closed")
    }
}
