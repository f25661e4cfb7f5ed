import Consensus
import Testing

@testable import NodeLinkCore

@Suite struct ConsensusFramesTests {
    private let a = ServerID(node: "a", store: 1)
    private let b = ServerID(node: "b", store: .max)

    private var bodies: [RaftMessage.Body] {
        let membership = GroupMembership(voters: [a, b], learners: [ServerID(node: "c", store: 3)])
        let entries = [
            Entry(index: 8, term: 3, kind: .command, payload: Array("x".utf8)),
            Entry(index: 9, term: 4, kind: .empty, payload: []),
            Entry(index: 10, term: 4, kind: .membership, payload: [1, 2]),
        ]
        return [
            .preVote(lastIndex: 1, lastTerm: 2), .preVoteReply(granted: true), .preVoteReply(granted: false),
            .vote(lastIndex: .max, lastTerm: 2, isTransfer: true), .vote(lastIndex: 0, lastTerm: 0, isTransfer: false),
            .voteReply(granted: true),
            .append(previousIndex: 7, previousTerm: 3, commitIndex: 6, entries: entries),
            .append(previousIndex: 0, previousTerm: 0, commitIndex: 0, entries: []),
            .appendAccepted(matchIndex: 9), .appendRejected(previousIndex: 9, hintIndex: 4, hintTerm: 2),
            .heartbeat(commitIndex: 5, readRound: 6), .heartbeatReply(readRound: 7),
            .heartbeatReply(readRound: 0, declines: true),
            .snapshot(SnapshotMark(index: 9, term: 3, membership: membership)), .snapshotFailed(index: 3),
            .timeoutNow, .higherTerm,
        ]
    }

    private func messages(_ bodies: [RaftMessage.Body]) -> [RaftMessage] {
        bodies.enumerated().map { number, body in
            RaftMessage(
                group: number % 2 == 0 ? .system : GroupID(UInt16(number)), from: a, to: b, term: UInt64(number),
                body: body)
        }
    }

    @Test func `every message comes out as it went in, all of a turn in one frame`() throws {
        let sent = messages(bodies)
        let frames = ConsensusFrames.frames(of: sent)
        #expect(frames.count == 1)
        #expect(
            try ConsensusFrames.messages(in: try #require(frames.first).payload, from: Names.node("a"), store: 1)
                == sent)
        #expect(ConsensusFrames.frames(of: []).isEmpty)
    }

    @Test func `many entries make several frames, in order`() throws {
        let entry = Entry(index: 1, term: 1, kind: .command, payload: Array(repeating: 7, count: 300_000))
        let sent = messages(
            (0..<10).map { .append(previousIndex: $0, previousTerm: 1, commitIndex: 0, entries: [entry]) })
        let frames = ConsensusFrames.frames(of: sent)
        #expect(frames.count == 4)
        #expect(
            try frames.flatMap { try ConsensusFrames.messages(in: $0.payload, from: Names.node("a"), store: 1) } == sent
        )
    }

    @Test func `a message in another node's name is refused`() {
        for frame in ConsensusFrames.frames(of: messages([.timeoutNow])) {
            #expect(throws: LinkError(.identity, "b sent a message of a with the store 1")) {
                try ConsensusFrames.messages(in: frame.payload, from: Names.node("b"), store: 1)
            }
            // Of a former store, which the node has no more.
            #expect(throws: LinkError(.identity, "a sent a message of a with the store 1")) {
                try ConsensusFrames.messages(in: frame.payload, from: Names.node("a"), store: 2)
            }
        }
    }

    @Test func `truncated and damaged frames are refused or are other messages, and never trap`() throws {
        let payload = try #require(ConsensusFrames.frames(of: messages(bodies)).first).payload
        let node = Names.node("a")
        var whole = 0
        for length in 0..<payload.count {
            if (try? ConsensusFrames.messages(in: Array(payload.prefix(length)), from: node, store: 1)) != nil {
                whole += 1
            }
        }
        // Only a cut between two messages leaves a frame.
        #expect(whole == bodies.count)
        var random = Seeded(state: 1)
        for _ in 0..<5_000 {
            var damaged = payload
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                damaged[Int.random(in: 0..<damaged.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            _ = try? ConsensusFrames.messages(in: damaged, from: node, store: 1)
        }
        #expect(throws: LinkError.self) {
            try ConsensusFrames.messages(in: [0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0], from: node, store: 1)
        }
    }
}
