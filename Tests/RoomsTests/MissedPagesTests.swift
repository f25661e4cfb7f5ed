import ChatModel
import RoomCore
import RoomProtocol
import Testing

@testable import Rooms

@Suite struct MissedPagesTests {
    @Test func `a page is made once, and told once to each lane`() throws {
        let node = try #require(NodeID("n"))
        let (here, there) = (Lane(node: node, number: 0), Lane(node: node, number: 1))
        var pages = MissedPages(encodings: .json, lastSeq: 9)
        #expect(pages.serve(.json, lastSeq: 9))
        #expect(!pages.serve(.json, lastSeq: 10) && !pages.serve([.json, .protobuf], lastSeq: 9))
        var made = 0
        func missed() -> [Message] {
            made += 1
            return []
        }
        let first = pages.page(after: 3, bytesMax: .max, missed)
        #expect(first.messages.after == 3 && first.lastSeq == 3)
        let second = pages.page(after: 3, bytesMax: .max, missed)
        #expect(second.messages == first.messages)
        #expect(made == 1)
        let third = pages.page(after: 4, bytesMax: .max, missed)
        #expect(third.messages.after == 4)
        #expect(made == 2)
        #expect(pages.toldLanes.isEmpty)
        let told: [(Lane, UInt64)] = [(there, 3), (there, 3), (there, 4), (here, 3)]
        #expect(told.map { pages.noteFirstSent($0.0, after: $0.1) } == [true, false, true, true])
        #expect(pages.toldLanes == [here, there])
    }
}
