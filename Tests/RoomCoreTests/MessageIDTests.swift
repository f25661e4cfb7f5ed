import ChatModel
import Testing

@testable import RoomCore

@Suite struct MessageIDTests {
    @Test func `what is written is read, within 64 bytes`() {
        for number in [0, 1, 35, 36, UInt64.max - 1, .max] {
            let incarnation = Incarnation(number)
            for messageID: MessageID in [
                .kept(incarnation, seq: 1), .kept(incarnation, seq: .max), .unkept(incarnation, index: 0, ordinal: 0),
                .unkept(incarnation, index: .max, ordinal: .max), .soft(incarnation, time: .max, ordinal: 0),
                .held(incarnation, index: 0), .held(incarnation, index: .max),
            ] {
                #expect(messageID.text.utf8.count <= Limits.opaqueIDBytes)
                #expect(MessageID.parse(messageID.text) == messageID)
            }
        }
    }

    @Test(arguments: [
        "", "-", "1", "1-", "-1", "1-0", "1-01", "01-1", "1-A", "+1-1", "1-+1", "1--1", "1-1-1", "1~", "1~1.", "1~1.0",
        "1_1", "1_1.", "1.", ".1", "1.01", "1.1.1", "1.1-1", "1.1~1", "1-1.1", "é-1", "1 -1", "zzzzzzzzzzzzzz-1",
        "1-zzzzzzzzzzzzzz",
        String(repeating: "0", count: 70) + "-1",
    ])
    func `nothing else is read`(text: String) { #expect(MessageID.parse(text) == nil) }

    @Test func `command keys are 32 digits`() {
        for key in [
            CommandKey(high: 0, low: 0), CommandKey(high: .max, low: 1), CommandKey(high: 0xabc, low: 0x0123_4567),
        ] {
            #expect(key.text.utf8.count == 32)
            #expect(CommandKey(text: key.text) == key)
        }
        for text in [
            "", String(repeating: "0", count: 31), "+" + String(repeating: "0", count: 31),
            String(repeating: "F", count: 32), String(repeating: "é", count: 16),
        ] {
            #expect(CommandKey(text: text) == nil)
        }
    }
}
