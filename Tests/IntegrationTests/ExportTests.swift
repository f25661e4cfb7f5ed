import ChatModel
import Testing
import Wire

extension IntegrationTests {
    /// A room's history in one answer (PROTOCOL.md, "Export").
    @Suite struct ExportTests {
        private func lines(_ node: TestNode, _ room: RoomID, query: String = "") async throws -> [[UInt8]] {
            let answer = try await node.api("GET", "/v1/rooms/\(room)/export\(query)")
            guard answer.status == 200 else { throw TestFailure("no export: \(answer)") }
            #expect(answer.headers["content-type"] == "application/x-ndjson")
            return answer.body.split(separator: "\n").map { Array($0.utf8) }
        }

        private func messages(_ lines: some Sequence<[UInt8]>) throws -> [Message] {
            try lines.map { try WireJSON.decode(Message.self, from: $0, limits: false) }
        }

        @Test func `an export over several pages is history, and its end says how far it goes`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("exported")
                let bob = try await TestClient.entered(node, "bob", room)
                let sent = try await bob.send(room, "one")
                for number in 2...25 { try await bob.send(room, "number \(number)") }
                let owner = try await TestClient.entered(node, "owner", room)
                try await owner.done(.recall(RecallRequest(room: room, messageID: sent.messageID)))
                for _ in 0..<20 {
                    let texts = (0..<10).map { #"{"type":"TEXT","text":"from the app \#($0)"}"# }
                    for text in texts {
                        #expect(try await node.api("POST", "/v1/rooms/\(room)/messages", text).status == 200)
                    }
                }
                let lines = try await lines(node, room)
                var query = HistoryRequest()
                (query.ascending, query.limit) = (true, 100)
                var all: [Message] = []
                for _ in 0..<10 {
                    let page = try await bob.history(room, query)
                    all += page.messages
                    query.afterSeq = all.last?.seq
                    if page.more != true { break }
                }
                #expect(all.count > 200)
                #expect(try messages(lines.dropLast()) == all)
                #expect(all.first { $0.messageID == sent.messageID }?.isRecalled == true)
                let end = try WireJSON.decode(ExportEnd.self, from: try #require(lines.last), limits: false)
                #expect(end == ExportEnd(seq: try #require(all.last?.seq)))
                // It goes on behind a cursor.
                let rest = try await self.lines(node, room, query: "?after=\(end.seq - 2)")
                #expect(try messages(rest.dropLast()) == Array(all.suffix(2)) && rest.last == lines.last)
                let program = try await Program(
                    "chatroomctl", ["export", room.text, "--server", "127.0.0.1:\(node.apiPort)"],
                    environment: ["CHATROOM_ADMIN_KEY": TestNode.adminKey]
                ).ended()
                #expect(program.status == 0)
                let printed = program.output.split(separator: "\n")
                #expect(printed.first?.hasPrefix(#"{"room":{"#) == true)
                #expect(printed.count { $0.hasPrefix(#"{"member":{"#) } == 1)
                #expect(printed.count { $0.hasPrefix(#"{"message":{"#) } == all.count)
                #expect(printed.last.map { Array($0.utf8) } == lines.last)
            }
        }
    }
}
