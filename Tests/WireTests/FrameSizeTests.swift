import ChatModel
import Testing

@testable import Wire

/// What pages are cut by is never less than what is written.
@Suite struct FrameSizeTests {
    private static let texts = [
        "", "plain", "\"\\\"", "\u{0}\u{1}\n\t\u{1F}", "é\u{1F600}\u{7F}/", "</script>\u{2028}",
    ]

    private func json(_ value: some WireMessage) -> Int {
        var bytes: [UInt8] = []
        WireJSON.append(value, to: &bytes)
        return bytes.count
    }

    private func protobuf(_ value: some WireMessage) -> Int {
        var bytes: [UInt8] = []
        WireProtobuf.appendDelimited(value, to: &bytes)
        return bytes.count
    }

    @Test func `a text, an element, a member and an item are no longer than they are taken for`() throws {
        let user = try #require(UserID(String(repeating: "u", count: 64)))
        for text in Self.texts {
            var element = QueueElement(key: text, value: text + text, owner: user)
            (element.transient, element.held, element.version) = (true, true, .max)
            #expect(json(element) <= FrameSize.of(element) && protobuf(element) <= FrameSize.of(element))
            let profile = Profile(nick: text, avatar: text, ext: text)
            var member = Member(user: user, profile: profile, role: .restricted)
            (member.muted, member.tempMuted, member.blacklisted, member.online) = (true, true, true, true)
            (member.tempMuteSeconds, member.enteredAt, member.banEndsAt) = (.max, Timestamp(.max), Timestamp(.max))
            #expect(json(member) <= FrameSize.of(member) && protobuf(member) <= FrameSize.of(member))
            var item = BarrageItem(
                from: Sender(user: user, profile: profile, role: .restricted), text: text, time: Timestamp(.max))
            (item.ext, item.style, item.priority, item.count) = (text, text, .normal, .max)
            #expect(json(item) <= FrameSize.of(item) && protobuf(item) <= FrameSize.of(item))
            var info = RoomInfo(id: try #require(RoomID(user.text)), creator: user, createdAt: Timestamp(.max))
            (info.name, info.announcement, info.ext, info.broadcastUrl) = (text, text, text, text)
            (info.highPerSecond, info.seatsPerUser) = (.max, .max)
            info.historyDays = .max
            (info.slowModeSeconds, info.idleCloseSeconds, info.viewerBudget) = (.max, .max, .max)
            let view = RoomView(info: info, online: .max)
            #expect(json(view) <= FrameSize.of(info) && protobuf(view) <= FrameSize.of(info))
        }
    }

    @Test func `parts hold as much as fits, all of it, and one at least`() {
        let sizes = [3, 3, 3, 10, 1, 1, 4]
        let parts = FrameSize.parts(of: sizes, within: 6) { $0 }
        #expect(parts.map { Array($0) } == [[3, 3], [3], [10], [1, 1, 4]])
        #expect(FrameSize.parts(of: [Int](), within: 6) { $0 }.isEmpty)
        #expect(FrameSize.fitting(sizes, within: 8) { $0 } == 2)
        #expect(FrameSize.fitting([10, 1], within: 8) { $0 } == 1)
        #expect(FrameSize.fitting([Int](), within: 8) { $0 } == 0)
    }
}
