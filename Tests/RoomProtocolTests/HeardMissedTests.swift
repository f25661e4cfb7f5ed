import ChatModel
import Testing
import Wire

@testable import RoomProtocol

@Suite struct HeardMissedTests {
    private func missed(after seq: UInt64, _ encodings: ClientEncodings = .json) -> MissedMessages {
        MissedMessages([], after: seq, encodings: encodings)
    }

    @Test func `what a room has said counts until it says that it is not needed, and for this room only`() throws {
        let (a, b) = (try #require(RoomID("a")), try #require(RoomID("b")))
        let (n1, n2) = (try #require(NodeID("n1")), try #require(NodeID("n2")))
        var heard = HeardMissed()
        #expect(heard.messages(of: a, after: 4) == nil)
        heard.hear(missed(after: 4), of: a, from: n1)
        heard.hear(missed(after: 7, .protobuf), of: a, from: n1)
        heard.hear(missed(after: 4, .protobuf), of: b, from: n2)
        #expect(heard.messages(of: a, after: 4) == missed(after: 4))
        #expect(heard.messages(of: a, after: 7) == missed(after: 7, .protobuf))
        #expect(heard.messages(of: a, after: 5) == nil)
        heard.hear(nil, of: a, from: n1)
        #expect(heard.messages(of: a, after: 4) == nil && heard.messages(of: a, after: 7) == nil)
        #expect(heard.messages(of: b, after: 4) != nil)
    }

    @Test func `what another leader has said, or one that is gone, does not count`() throws {
        let (a, b) = (try #require(RoomID("a")), try #require(RoomID("b")))
        let (n1, n2) = (try #require(NodeID("n1")), try #require(NodeID("n2")))
        var heard = HeardMissed()
        heard.hear(missed(after: 4), of: a, from: n1)
        heard.hear(missed(after: 4), of: b, from: n1)
        heard.hear(missed(after: 5), of: a, from: n2)
        #expect(heard.messages(of: a, after: 4) == nil && heard.messages(of: a, after: 5) != nil)
        heard.forget { room, leader in room == b && leader == n2 }
        #expect(heard.messages(of: b, after: 4) != nil)
        heard.forget { _, leader in leader == n1 }
        #expect(heard.messages(of: b, after: 4) == nil && heard.messages(of: a, after: 5) != nil)
    }

    @Test func `it is there in the encodings that were asked for`() {
        #expect(missed(after: 1)[.json] == Array("[]".utf8))
        #expect(missed(after: 1)[.protobuf] == nil)
        #expect(missed(after: 1, .protobuf)[.protobuf] == [])
        #expect(missed(after: 1, .protobuf)[.json] == nil)
    }
}
