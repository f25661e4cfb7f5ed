import ChatModel
import RoomCore
import Testing

@testable import Rooms

/// Who has sent more than one 323 can name is recalled in several batches, which the ack stands for, too.
struct RecalledBatchesTests {
    @Test func `a batch that was not taken is noted, one that the room refuses is not`() throws {
        let facts = FoundFacts()
        guard case .server(let end) = facts.batches.origin else {
            Issue.record("somebody has to wait for it")
            return
        }
        end(.success(.done))
        end(.failure(ChatError(.forbidden, "he is a manager no more")))
        #expect(!facts.batches.isIncomplete)
        end(.failure(ChatError(.unavailable, "the disk can't keep up")))
        #expect(facts.batches.isIncomplete)
    }
}
