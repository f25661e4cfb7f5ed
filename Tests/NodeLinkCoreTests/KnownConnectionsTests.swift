import ChatModel
import NodeLinkCore
import Testing

struct KnownConnectionsTests {
    @Test func `a frame goes out on the connection that its sender knew of, and on no other`() throws {
        let (first, second) = (LinkPeers.ConnectionID(1), LinkPeers.ConnectionID(2))
        var known = KnownConnections()
        #expect(known.parcel([1], on: .calls, to: Names.node("b")) == nil)
        known.note(Names.node("b"), reachedBy: first)
        let parcel = try #require(known.parcel([1], on: .calls, to: Names.node("b")))
        #expect(parcel.mayGo(reachedBy: first))
        // The connection has ended, and another one may have begun, before the frame came to the links' loop.
        #expect(!parcel.mayGo(reachedBy: nil) && !parcel.mayGo(reachedBy: second))
        known.note(Names.node("b"), reachedBy: nil)
        #expect(known.reached == [] && known.parcel([2], on: .calls, to: Names.node("b")) == nil)
        known.note(Names.node("b"), reachedBy: second)
        known.note(Names.node("a"), reachedBy: first)
        #expect(known.reached == [Names.node("a"), Names.node("b")])
        let later = try #require(known.parcel([2], on: .calls, to: Names.node("b")))
        #expect(later.mayGo(reachedBy: second))
    }
}
