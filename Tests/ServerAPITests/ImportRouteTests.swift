import ChatModel
import OpenAPITestKit
import Synchronization
import Testing
import Wire

@testable import ServerAPI

/// The body of an import (PROTOCOL.md, "Import").
@Suite struct ImportRouteTests {
    private let path = "/v1/rooms/r1/import"

    private struct Answer: Sendable {
        var status = 0
        var field: String?
        var brought: [ImportedMessage] = []
    }

    private func sent(_ messages: String) async throws -> Answer {
        let result = Mutex(Answer())
        try await withServer { [path] client, cluster in
            let answer = try await client.call(
                "POST", path, #"{"messages":[\#(messages)]}"#, headers: ["Idempotency-Key": "k"])
            let text = String(decoding: answer.body, as: UTF8.self)
            let field = text.firstMatch(of: /"field":"([^"]*)"/).map { String($0.1) }
            var brought: [ImportedMessage] = []
            if case .perform(.importMessages(let messages, nil), _, .system, id: "k")? = cluster.calls.first {
                brought = messages
            }
            #expect(brought.isEmpty == (answer.status != 200))
            result.withLock { [brought] in $0 = Answer(status: answer.status, field: field, brought: brought) }
        }
        return result.withLock { $0 }
    }

    @Test func `a line of an export is taken as it is, without what only its room had`() async throws {
        let brought = try await sent(
            """
            {"room":"old","seq":9,"messageId":"x-9","clientId":"c","time":1700000000000,
            "from":{"user":"ann","nick":"Ann","avatar":"a","ext":"e","role":"RESTRICTED"},
            "type":"IMAGE","media":{"id":"m1","url":"https://a/b","name":"n","size":1,"contentType":"image/png",
            "thumbnail":"https://a/t","thumbnailId":"m2"},"priority":"HIGH","mentions":["bob"],"mentionAll":true,"ext":"x",
            "replyTo":{"messageId":"x-1","seq":1,"user":"bob","nick":""},"editedAt":1700000000001},
            {"room":"old","seq":10,"messageId":"x-10","time":1700000000000,"type":"NOTIFICATION","event":313,
            "operator":{"user":"ann","nick":"Ann"},"targets":[{"user":"bob","nick":"Bob"}],"data":{}}
            """
        ).brought
        let first = try #require(brought.first)
        #expect(first.from?.role == .guest && first.from?.profile == Profile(nick: "Ann", avatar: "a", ext: "e"))
        let media = try #require(first.body.media)
        #expect(media.id == nil && media.thumbnailID == nil && media.url == "https://a/b")
        #expect(first.priority == .high && first.mentions.map(\.text) == ["bob"] && first.mentionAll)
        #expect(first.key == commandKey(CommandID(scope: "ann", text: "c")))
        #expect(brought.count == 2 && brought[1].from == nil && brought[1].key == nil)
        #expect(brought[1].body.type == .notification)
    }

    @Test func `a 360 comes without what its message was amended to: its seq is that of another room`() async throws {
        let brought = try await sent(
            """
            {"seq":3,"messageId":"x-3","time":1700000000000,"type":"NOTIFICATION","event":360,
            "operator":{"user":"ann","nick":"Ann"},"targets":[],
            "data":{"messageId":"x-2","seq":2,"set":{"text":"amended"},"editedAt":1700000000000}}
            """
        ).brought
        guard case .notification(let notification)? = brought.first?.body,
            case .amended(let messageID, _, let set, _) = notification.data
        else {
            Issue.record("no 360")
            return
        }
        #expect(messageID == "x-2" && set.isEmpty)
    }

    @Test(arguments: [
        ("", 400, "messages"),
        (#"{"type":"TEXT","text":"x"}"#, 400, "messages.time"),
        (#"{"time":-1,"type":"TEXT","text":"x"}"#, 400, "messages.time"),
        (#"{"time":1.5,"type":"TEXT","text":"x"}"#, 400, "messages.time"),
        (#"{"time":1,"text":"x"}"#, 400, "messages.type"),
        (#"{"time":1,"type":"TEXT"}"#, 400, "messages.text"),
        (#"{"time":1,"type":"LATER","text":"x"}"#, 400, "messages.type"),
        (#"{"time":1,"type":"COMMAND","payload":"AA=="}"#, 400, "messages.type"),
        (#"{"time":1,"type":"TEXT","recalled":true}"#, 400, "messages.recalled"),
        (#"{"time":1,"type":"NOTIFICATION","event":99999,"data":{}}"#, 400, "messages.event"),
        (#"{"time":1,"type":"IMAGE","media":{"id":"m1"}}"#, 400, "messages.url"),
        (#"{"time":1,"type":"TEXT","text":"x","from":{"nick":"x"}}"#, 400, "messages.from.user"),
        (#"{"time":1,"type":"TEXT","text":"x","clientId":""}"#, 400, "messages.clientId"),
    ])
    func `what no history holds is refused with its field`(message: String, status: Int, field: String) async throws {
        let answer = try await sent(message)
        #expect(answer.status == status)
        #expect(answer.field == field)
    }

    @Test func `its lengths and its number are bounded`() async throws {
        let one = #"{"time":1,"type":"TEXT","text":"x"}"#
        #expect(try await sent(Array(repeating: one, count: 100).joined(separator: ",")).brought.count == 100)
        #expect(try await sent(Array(repeating: one, count: 101).joined(separator: ",")).status == 400)
        let long = String(repeating: "x", count: Limits.textBytes)
        let longest = #"{"time":1,"type":"TEXT","text":"\#(long)"}"#
        #expect(try await sent(longest).status == 200)
        #expect(try await sent(longest.replacing(long, with: long + "x")).status == 413)
        #expect(try await sent(Array(repeating: longest, count: 8).joined(separator: ",")).status == 413)
        let targets = Array(repeating: #"{"user":"bob","nick":"\#(long)"}"#, count: 4).joined(separator: ",")
        let notification = #"{"time":1,"type":"NOTIFICATION","event":313,"targets":[\#(targets)],"data":{}}"#
        #expect(try await sent(notification).status == 413)
    }
}
