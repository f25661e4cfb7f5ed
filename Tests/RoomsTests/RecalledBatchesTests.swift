import ChatModel
import RoomCore
import Testing

@testable import Rooms

/// Who has sent more than one 323 can name is recalled in several batches, which the ack stands for, too.
struct RecalledBatchesTests {
    @Test func `a batch that was not taken is noted, one that the room refuses is not`() {
        let facts = FoundFacts()
        facts.batches.refused(ChatError(.forbidden, "he is a manager no more"))
        #expect(!facts.batches.isIncomplete)
        facts.batches.refused(ChatError(.unavailable, "the disk can't keep up"))
        #expect(facts.batches.isIncomplete)
    }
}
