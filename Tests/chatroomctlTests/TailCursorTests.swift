import Testing

@testable import ControlClient
@testable import chatroomctl

private func page(_ seqs: [Int64], more: Bool = false) -> JSONTree {
    .object(["messages": .array(seqs.map { .object(["seq": .integer($0)]) }), "more": .boolean(more)])
}

private func seqs(_ messages: [JSONTree]) -> [Int64] { messages.compactMap { $0["seq"]?.integer } }

@Suite struct TailCursorTests {
    @Test func `each message is given once, in order`() {
        var cursor = TailCursor(afterSeq: 3)
        #expect(seqs(cursor.take(page([3, 4, 5]))) == [4, 5])
        #expect(seqs(cursor.take(page([4, 5, 6]))) == [6])
        #expect(seqs(cursor.take(page([]))) == [])
        #expect(cursor.afterSeq == 6)
        #expect(cursor.query.contains { $0 == ("afterSeq", "6") })
    }

    @Test func `an older page after a restart gives nothing`() {
        var cursor = TailCursor(afterSeq: 9)
        #expect(cursor.take(page([1, 2, 3])).isEmpty)
        #expect(cursor.afterSeq == 9)
    }

    @Test func `a page that brings nothing is not followed at once`() {
        var cursor = TailCursor(afterSeq: 0)
        _ = cursor.take(page([1], more: true))
        #expect(cursor.hasMore)
        _ = cursor.take(page([1], more: true))
        #expect(!cursor.hasMore)
    }

    @Test func `answers of another shape give nothing`() {
        var cursor = TailCursor(afterSeq: 0)
        #expect(cursor.take(.array([])).isEmpty)
        #expect(cursor.take(.object(["messages": .array([.text("x"), .object(["seq": .text("1")])])])).isEmpty)
    }

    @Test func `waits grow with failures up to a bound and start again`() {
        var pace = TailPace()
        #expect(pace.waitMillisecondsMax == 500)
        var waits: [Int] = []
        for _ in 0..<6 {
            pace.failed()
            waits.append(pace.waitMillisecondsMax)
        }
        #expect(waits == [1000, 2000, 4000, 8000, 8000, 8000])
        for _ in 0..<1000 { pace.failed() }
        #expect(pace.waitMillisecondsMax == 8000)
        pace.succeeded()
        #expect(pace.waitMillisecondsMax == 500)
    }
}
