import ChatModel
import Testing

@testable import RoomCore

/// No 320 is longer than a frame to a client may be.
@Suite struct QueueFrameTests {
    private static let value = String(repeating: "v", count: Limits.queueValueBytes)

    private func elements(_ message: Message) -> [QueueElement] {
        guard case .notification(let notification) = message.body,
            case .queueBatch(_, let elements) = notification.data
        else { return [] }
        return elements
    }

    private func kept(_ effects: [Effect]) -> [Message] {
        effects.compactMap { if case .append(let message, _) = $0 { message } else { nil } }
    }

    private func filled(_ count: Int, transient: Bool) -> Dialogue {
        var it = Dialogue()
        for number in 0..<count {
            it.run(
                .queueSet(
                    QueueWrite(key: "k\(number)", value: Self.value, transient: transient), NotifyOptions(notify: false)
                ), by: member("bob"))
        }
        return it
    }

    @Test func `elements that leave together and fill 4 MB go in several 320s in a row`() throws {
        var it = filled(1000, transient: true)
        let before = it.state.lastSeq
        let gone = it.state.transientElements(of: user("bob")).map { QueueElementVersion($0) }
        let messages = kept(it.run(.queueRemove(gone), by: .system))
        #expect(
            messages.count > 16 && messages.compactMap(\.seq) == (0..<UInt64(messages.count)).map { before + 1 + $0 })
        #expect(messages.flatMap { elements($0).map(\.key) } == (0..<1000).map { "k\($0)" }, "each once, in order")
        for message in messages {
            #expect(elements(message).reduce(0) { $0 + FrameSize.of($1) } <= Limits.framePayloadBytes)
        }
        #expect(it.state.queueCount == 0)
    }

    @Test func `elements of which every byte is escaped fit too`() throws {
        var it = filled(100, transient: false)
        let value = String(repeating: "\u{1}", count: Limits.queueValueBytes)
        let pairs = (0..<100).map { QueuePair(key: "k\($0)", value: value) }
        let messages = kept(it.run(.queueSetMany(pairs, NotifyOptions()), by: member("bob")))
        #expect(messages.count == 12 && messages.flatMap(elements).count == 100)
        for message in messages {
            #expect(elements(message).reduce(0) { $0 + FrameSize.of($1) } <= Limits.framePayloadBytes)
        }
    }

    @Test func `a few elements go in one 320, and none in none`() {
        var it = filled(50, transient: false)
        let pairs = (0..<50).map { QueuePair(key: "k\($0)", value: Self.value) }
        #expect(kept(it.run(.queueSetMany(pairs, NotifyOptions()), by: member("bob"))).count == 1)
        #expect(kept(it.run(.queueSetMany(pairs, NotifyOptions(notify: false)), by: member("bob"))).isEmpty)
        #expect(kept(it.run(.queueRemove([]), by: .system)).isEmpty)
    }

    @Test func `keys of other bytes are other elements, also where Unicode calls them equal`() throws {
        var it = Dialogue()
        for key in ["e\u{301}", "\u{E9}"] {
            it.run(
                .queueSet(QueueWrite(key: key, value: "v", ifVersion: 0), NotifyOptions()),
                by: member("bob"))
        }
        #expect(try it.state.queuePage(after: nil, limit: 10).items.count == 2)
        it.run(.queueTake(key: "\u{E9}", NotifyOptions()), by: member("bob"))
        let left = try it.state.queuePage(after: nil, limit: 10).items.map { Array($0.key.utf8) }
        #expect(left == [Array("e\u{301}".utf8)])
    }
}
