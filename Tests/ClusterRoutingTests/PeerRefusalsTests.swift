import ChatModel
import Consensus
import NodeLinkCore
import Logging
import Replication
import RoomProtocol
import Telemetry
import Testing

@testable import ClusterRouting

@Suite struct PeerRefusalsTests {
    private static func node(_ name: String) throws -> NodeID { try #require(NodeID(name)) }

    private func refusal(_ message: NodeMessage, from node: NodeID) -> LinkError.Code? {
        do throws(LinkError) {
            try PeerRefusals.check(message, from: node)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `a node calls and joins in its own name only`() throws {
        let (a, b) = (try Self.node("a"), try Self.node("b"))
        func call(_ node: NodeID) throws -> RoomRequest {
            let user = try #require(UserID("u"))
            let address = SessionAddress(
                node: node, lane: 0, session: try #require(SessionID("a.1")), encoding: .json)
            return RoomRequest(
                room: try #require(RoomID("r")),
                from: SessionOrigin(address, Caller(user: user, anonymous: false)), .moved(from: nil))
        }
        #expect(refusal(.requests([try call(a)]), from: a) == nil)
        #expect(refusal(.requests([try call(a), try call(b)]), from: a) == .identity)
        let ofServer = RoomRequest(
            room: try #require(RoomID("r")), from: .server(ServerOrigin(node: b, lane: 0, request: 1)),
            .server(.explain))
        #expect(refusal(.requests([ofServer]), from: b) == nil)
        #expect(refusal(.requests([ofServer]), from: a) == .identity)
        #expect(refusal(.question(id: 1, .join(NodeRecord(node: a, store: 1))), from: a) == nil)
        #expect(refusal(.question(id: 1, .join(NodeRecord(node: b, store: 1))), from: a) == .identity)
        #expect(refusal(.question(id: 1, .status), from: a) == nil)
    }

    @Test func `a node takes in nobody but itself, with the data that it has proved itself with`() throws {
        let (a, b) = (try Self.node("a"), try Self.node("b"))
        func code(_ question: NodeQuestion) -> ErrorCode? {
            PeerRefusals.refusal(of: question, from: a, store: 7)?.code
        }
        for ask in [{ .join($0) }, { .propose(.addNode($0), key: nil) }] as [(NodeRecord) -> NodeQuestion] {
            #expect(code(ask(NodeRecord(node: a, store: 7))) == nil)
            #expect(code(ask(NodeRecord(node: a, store: 8))) == .forbidden)
            #expect(code(ask(NodeRecord(node: b, store: 7))) == .forbidden)
        }
        let creation = SystemCommand.createCluster(id: "c", shardCount: 1, node: a, store: 7, level: .first)
        #expect(code(.propose(creation, key: nil)) == .forbidden)
        // What operators and apps ask of it is asked of the whole cluster.
        let user = try #require(UserID("u"))
        for command in [
            .removeNode(b, certificate: nil), .readmitNode(b), .setDraining(b, true), .revoke(user), .nonce,
        ] as [SystemCommand] { #expect(code(.propose(command, key: "k")) == nil) }
        #expect(code(.status) == nil)
    }

    @Test func `a snapshot of such a term is left out, too`() throws {
        let metrics = MetricsRegistry()
        let refusals = PeerRefusals(terms: PeerRefusals.counter(in: metrics), logger: Logger(label: "test"))
        let a = try Self.node("a")
        let answers = [1, RaftGroup.termMax, RaftGroup.termMax + 1].map { term in
            let mark = SnapshotMark(index: 4, term: term, membership: GroupMembership(voters: []))
            return refusals.admits(
                ReplicationMessage(group: .system, transfer: 1, .beginSnapshot(mark)), from: a)
        }
        #expect(answers == [true, true, false])
        #expect(metrics.render().contains("chatroom_terms_refused_total 1\n"))
    }

    @Test func `what names a term above the bound is left out and counted`() throws {
        let metrics = MetricsRegistry()
        let refusals = PeerRefusals(terms: PeerRefusals.counter(in: metrics), logger: Logger(label: "test"))
        let a = try Self.node("a")
        let (from, to) = (ServerID(node: "a", store: 1), ServerID(node: "b", store: 2))
        let messages = [1, RaftGroup.termMax, RaftGroup.termMax + 1, 1 << 62].map {
            RaftMessage(group: .system, from: from, to: to, term: $0, body: .voteReply(granted: true))
        }
        #expect(refusals.believable(messages, from: a) == Array(messages.prefix(2)))
        let notices = [1, UInt64.max].map { ShardNotice(shard: ShardID(3), term: $0) }
        #expect(refusals.believable(notices, from: a) == Array(notices.prefix(1)))
        #expect(metrics.render().contains("chatroom_terms_refused_total 3\n"))
    }
}
