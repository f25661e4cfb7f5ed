import ChatModel
import Testing
import Wire

@Suite struct SessionOrderTests {
    private func view(_ id: String, lost: Int64, waitingBytes: Int64) throws -> SessionView {
        var view = SessionView.blank
        view.session = try #require(SessionID(id))
        (view.lost, view.waitingBytes) = (lost, waitingBytes)
        return view
    }

    @Test func `sessions that lose more come first, then those for which more waits, then by ID`() throws {
        let order = [
            try view("d", lost: 9, waitingBytes: 0), try view("c", lost: 1, waitingBytes: 5),
            try view("b", lost: 0, waitingBytes: 900), try view("a", lost: 0, waitingBytes: 7),
            try view("e", lost: 0, waitingBytes: 7),
        ]
        #expect(order.reversed().sorted(by: SessionView.isWorse) == order)
        #expect(!SessionView.isWorse(order[0], than: order[0]))
    }
}
