import ChatModel
import Testing

@testable import ServerAPI

@Test func `a key names the same room each time and another key another room`() {
    let room = IdempotencyKey.roomID(for: "order-17")
    #expect(room == IdempotencyKey.roomID(for: "order-17"))
    #expect(room != IdempotencyKey.roomID(for: "order-18"))
}

@Test func `rooms made without a key differ and look like UUIDs`() {
    let rooms = (0..<64).map { _ in IdempotencyKey.roomID(for: nil).text }
    #expect(Set(rooms).count == 64)
    for room in rooms + [IdempotencyKey.roomID(for: "k").text] {
        #expect(room.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-[48][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
    }
}

@Test(arguments: ["", String(repeating: "k", count: 65), "tab\tkey", "caf\u{e9}", "\u{0}"])
func `a key that is not 1 to 64 printable characters is refused`(key: String) {
    #expect { _ = try IdempotencyKey.check(key) } throws: { ($0 as? ChatError)?.code == .badParameter }
}
