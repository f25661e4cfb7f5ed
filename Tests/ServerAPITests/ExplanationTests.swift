import ChatModel
import Testing
import Wire

@testable import ServerAPI

/// The words that numbers become.
@Suite struct ExplanationTests {
    private func explanation(_ change: (inout RoomExplanation) -> Void = { _ in }) -> [String] {
        var it = RoomExplanation(room: FakeCluster.room("r").info.id, time: Timestamp(100_000))
        it.log.leader = NodeID("n1")
        var state = StateFigures()
        state.online = 2
        state.sessions = 2
        state.digestAboveOnline = 1000
        state.viewerBudgetAboveOnline = 1000
        it.state = state
        if let node = NodeID("n1") { it.lanes = [LaneFigures(node: node, lane: 0)] }
        it.lanes[0].viewers = 2
        change(&it)
        return it.sentences()
    }

    @Test func `a room that is well says so first`() {
        let lines = explanation {
            $0.state?.lastSeq = 12
            $0.state?.lastMessageAt = Timestamp(97_000)
        }
        #expect(
            lines == [
                "Nothing holds this room up.", "2 online, 0 of them robots; 2 viewers on 1 gateway lane.",
                "The last message was kept 3 s ago, seq 12.",
            ])
    }

    static let troubles: [(@Sendable (inout RoomExplanation) -> Void, String)] = [
        ({ $0.log.leader = nil }, "Nobody leads shard 0"), ({ $0.log.isFailing = true }, "can't write to its disk"),
        ({ $0.log.isOverloaded = true }, "can't keep up with history"),
        ({ $0.log.syncMs = RoomExplanation.slowSyncMs }, "took 50 ms"),
        ({ $0.log.uncommitted = 1 }, "1 change of this shard waits for the log."),
        ({ $0.log.uncommitted = 2 }, "2 changes of this shard wait for the log."),
        ({ $0.log.committed = 1 }, "1 committed change of this shard waits to be applied."),
        ({ $0.log.committed = 7 }, "7 committed changes of this shard wait to be applied."),
        ({ $0.state?.closed = true }, "is closed"), ({ $0.state?.muted = true }, "is muted"),
        ({ $0.state?.slowModeSeconds = 5 }, "one message in 5 s"), ({ $0.state?.robots = 2 }, "Only robots"),
        ({ $0.state?.online = 0 }, "Nobody is here."),
        ({ $0.state?.sessions = 3 }, "1 session is away or just coming: it sees nothing now."),
        ({ $0.state?.sessions = 5 }, "3 sessions are away or just coming: they see nothing now."),
        (
            {
                $0.lanes[0].slow = 1
                $0.lanes[0].waitingBytes = 300
            }, "1 viewer reads too slowly: 300 bytes wait for it."
        ),
        (
            {
                $0.lanes[0].slow = 2
                $0.lanes[0].waitingBytes = 1
            }, "2 viewers read too slowly: 1 byte waits for them."
        ),
        ({ $0.lanes[0].messagesDropped = 4 }, "not given 4 messages and 0 barrage items"),
    ]

    @Test(arguments: troubles.indices)
    func `a trouble is told first`(number: Int) {
        let (change, words) = Self.troubles[number]
        let first = explanation(change).first ?? ""
        #expect(first.contains(words), "\(first)")
    }

    @Test func `what stays under its bound is no trouble`() {
        let lines = explanation {
            $0.log.syncMs = 49.9
            ($0.log.committed, $0.log.applied) = (7, 7)
            $0.state?.online = 1000
        }
        #expect(lines.first == "Nothing holds this room up.")
        #expect(!lines.contains { $0.contains("digest") })
        #expect(explanation { $0.state?.online = 1001 }.contains { $0.contains("digest") })
        #expect(explanation { $0.state?.online = 1001 }.contains { $0.contains("told by gap") })
        #expect(explanation { $0.state?.barrageDropped = 3 }.contains { $0.contains("3 left out") })
        #expect(
            explanation {
                $0.state?.barrageShown = 1
                $0.state?.barrageDropped = 3
            }.contains { $0.contains("1 item was shown") })
        #expect(explanation { $0.state?.messagesDropped = 1 }.contains { $0.contains("has left out 1 message.") })
    }

    @Test func `without a leader there are only the log's numbers`() {
        let lines = explanation {
            $0.log.leader = nil
            $0.state = nil
            $0.lanes = []
        }
        #expect(lines == ["Nobody leads shard 0: nothing is accepted until a leader is elected."])
    }
}
