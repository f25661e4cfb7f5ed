import Foundation
import Synchronization
import Testing

@testable import ControlClient
@testable import chatroomctl

/// The lines of `export`, and its note about all that the room has besides.
@Suite struct RoomExportTests {
    private final class Lines: Sendable {
        private let stored = Mutex<[String]>([])

        var all: [String] { stored.withLock { $0 } }

        func add(_ line: String) { stored.withLock { $0.append(line) } }
    }

    private let lines = Lines()

    private func export(_ transport: ScriptedTransport) -> RoomExport {
        let client = AdminClient(target: Target(servers: ["a:1"], adminKey: "k", nodes: []), transport: transport)
        return RoomExport(client, room: "r") { [lines] in lines.add($0.line) }
    }

    private func answers(_ bodies: [String]) -> ScriptedTransport {
        ScriptedTransport(bodies.map { .success(HTTPAnswer(200, $0)) })
    }

    @Test func `a room comes with its members, its blacklist and its bans, and then its messages`() async throws {
        let transport = answers([
            #"{"id":"r"}"#, #"{"members":[{"user":"ann"}],"next":"x"}"#, #"{"members":[{"user":"bob"}]}"#,
            #"{"members":[{"user":"eve"}]}"#, #"{"members":[{"banEndsAt":9,"user":"mal"}]}"#,
            #"{"messages":[{"seq":4}],"more":true}"#, #"{"messages":[{"seq":5}],"more":false}"#,
        ])
        var export = export(transport)
        #expect(try await export.showStanding()["id"]?.text == "r")
        try await export.showMessages(after: 3)
        #expect(
            lines.all == [
                #"{"room":{"id":"r"}}"#, #"{"member":{"user":"ann"}}"#, #"{"member":{"user":"bob"}}"#,
                #"{"blacklisted":{"user":"eve"}}"#, #"{"banned":{"banEndsAt":9,"user":"mal"}}"#,
                #"{"message":{"seq":4}}"#, #"{"message":{"seq":5}}"#, #"{"end":true,"seq":5}"#,
            ])
        #expect(
            transport.sent.map(\.call.target).prefix(5) == [
                "/v1/rooms/r", "/v1/rooms/r/members?kind=FIXED&limit=100",
                "/v1/rooms/r/members?kind=FIXED&after=x&limit=100",
                "/v1/rooms/r/members?kind=BLACKLISTED&limit=100", "/v1/rooms/r/members?kind=BANNED&limit=100",
            ])
    }

    @Test func `what no line carries is counted`() async throws {
        let transport = answers([
            #"{"elements":[{"key":"a"},{"key":"b"}],"seq":9,"next":"c"}"#,
            #"{"tallies":[{"key":"like","total":0},{"key":"gifts","total":0}]}"#, #"{"polls":[]}"#,
            #"{"messages":[{"messageId":"h"}]}"#,
        ])
        let info = try JSONTree(parsing: Data(#"{"id":"r","pinned":[{"messageId":"m"}]}"#.utf8))
        let remainder = await export(transport).remainder(of: info)
        #expect(
            remainder?.hasPrefix(
                "pins 1, queue elements at least 2, tallies 1, held messages 1, reports unknown (the script is over")
                == true)
        #expect(
            transport.sent.map(\.call.target)
                == ["queue", "tallies", "polls", "held", "reports"].map {
                    "/v1/rooms/r/\($0)"
                })
    }

    @Test func `nothing is said of a room that has nothing besides`() async throws {
        let transport = answers([
            #"{"elements":[],"seq":0}"#, #"{"tallies":[{"key":"like","total":0}]}"#, #"{"polls":[]}"#,
            #"{"messages":[]}"#, #"{"reports":[]}"#,
        ])
        let info = try JSONTree(parsing: Data(#"{"id":"r","pinned":[]}"#.utf8))
        #expect(await export(transport).remainder(of: info) == nil)
        #expect(transport.sent.count == 5)
    }
}
