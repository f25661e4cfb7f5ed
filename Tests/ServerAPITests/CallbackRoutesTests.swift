import ChatModel
import OpenAPITestKit
import Testing
import Wire

@testable import ServerAPI

@Suite struct CallbackRoutesTests {
    @Test func `the webhook is set with its defaults, and no answer shows its secret`() async throws {
        try await withServer { client, cluster in
            let body = #"{"url":"https://app/hook","secret":"s3cret"}"#
            let put = try await client.call("PUT", "/v1/webhook", body, headers: ["Idempotency-Key": "k"])
            #expect(put.status == 200)
            #expect(put.json == ["url": .text("https://app/hook"), "events": .array([])])
            var settings = WebhookSettings()
            (settings.url, settings.secret) = ("https://app/hook", "s3cret")
            #expect(cluster.calls == [.webhook(settings, id: "k")])
            #expect(try await client.call("GET", "/v1/webhook").json == put.json)
        }
    }

    @Test(arguments: [
        (#"{"secret":"s"}"#, 414, "url"), (#"{"url":"http://a","secret":""}"#, 414, "secret"),
        (#"{"url":"http://a","events":["shout"]}"#, 414, "events"),
        (#"{"url":"http://a","maxBatch":0}"#, 414, "maxBatch"),
        (#"{"url":"http://a","maxBatch":1001}"#, 414, "maxBatch"),
        (#"{"url":"http://a","timeoutMs":99}"#, 414, "timeoutMs"),
        (#"{"url":"http://a","timeoutMs":60001}"#, 414, "timeoutMs"),
        ("{\"url\":\"\(String(repeating: "x", count: 1025))\"}", 413, "url"),
        ("{\"url\":\"http://a\",\"secret\":\"\(String(repeating: "x", count: 257))\"}", 413, "secret"),
    ]) func `a webhook out of bounds is refused with its field`(body: String, code: Int64, field: String) async throws {
        try await withServer { client, cluster in
            let answer = try await client.call("PUT", "/v1/webhook", body)
            #expect(answer.json?["error"]?["code"]?.integer == code)
            #expect(answer.json?["error"]?["field"]?.text == field)
            #expect(cluster.calls.isEmpty)
        }
    }

    @Test func `words and hook are set, and no answer shows the hook's secret`() async throws {
        try await withServer { client, cluster in
            let body = #"{"words":[{"text":"bad","action":"REFUSE"}],"hook":{"url":"http://h/","secret":"s3cret"}}"#
            let put = try await client.call("PUT", "/v1/moderation", body)
            #expect(put.status == 200)
            #expect(
                put.json == [
                    "words": .array([.object(["text": .text("bad"), "action": .text("REFUSE")])]),
                    "hook": .object(["url": .text("http://h/")]),
                ])
            var settings = ModerationSettings()
            settings.words = [Word("bad", .refuse)]
            settings.hook = HookSettings(url: "http://h/")
            settings.hook?.secret = "s3cret"
            #expect(settings.hook?.timeoutMs == 300)
            #expect(cluster.calls == [.moderation(settings, id: nil)])
            #expect(try await client.call("GET", "/v1/moderation").json == put.json)
        }
    }

    @Test(arguments: [
        (#"{"words":[{"text":"x"}]}"#, "words.action"), (#"{"words":[{"text":"x","action":"HIDE"}]}"#, "words.action"),
        (#"{"hook":{"secret":"s"}}"#, "hook.url"), (#"{"hook":{"url":""}}"#, "hook.url"),
        (#"{"hook":{"url":"http://h","timeoutMs":9}}"#, "hook.timeoutMs"),
        (#"{"hook":{"url":"http://h","timeoutMs":10001}}"#, "hook.timeoutMs"),
        (#"{"hook":{"url":"http://h","onFailure":"REWRITE"}}"#, "hook.onFailure"),
    ]) func `moderation out of bounds is refused with its field`(body: String, field: String) async throws {
        try await withServer { client, cluster in
            let answer = try await client.call("PUT", "/v1/moderation", body)
            #expect(answer.json?["error"]?["code"]?.integer == 414)
            #expect(answer.json?["error"]?["field"]?.text?.hasSuffix(field.split(separator: ".").last ?? "") == true)
            #expect(cluster.calls.isEmpty)
        }
    }

    @Test func `only a message that asks for it is moderated`() async throws {
        try await withServer { client, cluster in
            _ = try await client.call(
                "POST", "/v1/rooms/r1/messages", #"{"type":"TEXT","text":"x","moderate":true,"clientId":"c"}"#)
            #expect(
                cluster.calls == [
                    .send(
                        MessageDraft(body: .text("x")), from: nil, moderate: true, FakeCluster.room("r1").info.id,
                        id: "c")
                ])
        }
    }
}
