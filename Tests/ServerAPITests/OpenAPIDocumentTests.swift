import ChatModel
import Foundation
import OpenAPITestKit
import Testing

@testable import ServerAPI

@Suite struct OpenAPIDocumentTests {
    private func document(_ client: LoopbackClient) async throws -> JSON {
        let answer = try await client.call("GET", "/v1/openapi.json")
        #expect(answer.status == 200)
        return try JSONDecoder().decode(JSON.self, from: answer.body)
    }

    @Test func `the document names exactly the routes that are registered`() async throws {
        try await withServer { client, _ in
            let document = try await document(client)
            #expect(document["openapi"]?.text == "3.1.0")
            var described: Set<String> = []
            for (path, item) in document["paths"]?.object ?? [:] {
                for method in item.object?.keys ?? [:].keys { described.insert("\(method.uppercased()) \(path)") }
            }
            let registered = Routes.all(bodyBytesMax: 1).map { "\($0.method.rawValue) \($0.path)" }
            #expect(described == Set(registered))
            #expect(Set(registered).count == registered.count)
        }
    }

    @Test func `every call of the protocol is there`() {
        let registered = Set(Routes.all(bodyBytesMax: 1).map { "\($0.method.rawValue) \($0.path)" })
        #expect(
            registered.isSuperset(of: [
                "POST /v1/rooms", "GET /v1/rooms", "GET /v1/rooms/{room}", "PATCH /v1/rooms/{room}",
                "DELETE /v1/rooms/{room}", "POST /v1/rooms/{room}/close", "POST /v1/rooms/{room}/reopen",
                "POST /v1/rooms/{room}/messages", "GET /v1/rooms/{room}/messages",
                "GET /v1/rooms/{room}/messages/{messageId}", "POST /v1/rooms/{room}/barrage",
                "GET /v1/rooms/{room}/members", "GET /v1/rooms/{room}/members/{user}",
                "GET /v1/rooms/{room}/address", "POST /v1/users/{user}/token", "GET /healthz", "GET /readyz",
                "GET /metrics", "GET /v1/openapi.json",
            ]))
    }

    @Test func `every operation is named once, described, and every reference leads somewhere`() async throws {
        try await withServer { client, _ in
            let document = try await document(client)
            let schemas = document["components"]?["schemas"]?.object ?? [:]
            #expect(references(in: document).subtracting(schemas.keys) == [])
            #expect(Set(schemas.keys).subtracting(references(in: document)) == [])
            var names: [String] = []
            for item in (document["paths"]?.object ?? [:]).values {
                for operation in (item.object ?? [:]).values {
                    names.append(operation["operationId"]?.text ?? "")
                    #expect(operation["summary"]?.text?.isEmpty == false)
                    #expect(operation["responses"]?["200"] != nil)
                }
            }
            #expect(Set(names).count == names.count)
        }
    }

    /// One good call of every route with a JSON answer; the answers must be what the document says.
    @Test func `every answer fits its schema, and every field of it is described`() async throws {
        try await withServer { client, cluster in
            let document = try await document(client)
            let checker = SchemaChecker(schemas: document["components"]?["schemas"]?.object ?? [:])
            for route in Routes.all(bodyBytesMax: 1) {
                guard case .json = route.answer else { continue }
                let target =
                    route.path.replacing("{room}", with: "r1").replacing("{user}", with: "u")
                    .replacing("{messageId}", with: "m").replacing("{key}", with: "seat").replacing(
                        "{session}", with: "s1"
                    ).replacing("{node}", with: "n2").replacing("{shard}", with: "3").replacing("{poll}", with: "p")
                    + (["listUsers": "?kind=BANNED", "searchMessages": "?text=x"][route.name] ?? "")
                let body = route.request.map { _ in Self.bodies[route.name] ?? "{}" }
                let answer = try await client.call(route.method.rawValue, target, body)
                #expect(answer.status == 200, "\(route.name): \(String(decoding: answer.body, as: UTF8.self))")
                let operation = document["paths"]?[route.path]?[route.method.rawValue.lowercased()]
                let schema = operation?["responses"]?["200"]?["content"]?["application/json"]?["schema"]
                let json = try JSONDecoder().decode(JSON.self, from: answer.body)
                // The document describes itself only as far as it must.
                let isClosed = route.name != "getOpenAPI"
                #expect(checker.faults(of: json, against: schema ?? .null, isClosed: isClosed) == [], "\(route.name)")
                if let body, let sent = try? JSONDecoder().decode(JSON.self, from: Data(body.utf8)) {
                    let wanted = operation?["requestBody"]?["content"]?["application/json"]?["schema"]
                    #expect(checker.faults(of: sent, against: wanted ?? .null, isClosed: true) == [], "\(route.name)")
                }
            }
            cluster.fail(with: ChatError(.muted, "m", retryAfterMs: 1, field: "f"))
            let refused = try await client.call("GET", "/v1/rooms/r1")
            let error = try JSONDecoder().decode(JSON.self, from: refused.body)
            let schema = JSON.object(["$ref": .text("#/components/schemas/ErrorView")])
            #expect(checker.faults(of: error, against: schema, isClosed: true) == [])
        }
    }

    @Test func `a message to send has no fields of a notification`() async throws {
        try await withServer { client, _ in
            let schema = try await document(client)["components"]?["schemas"]?["ServerSendRequest"]
            let properties = schema?["properties"]?.object ?? [:]
            #expect(Set(properties.keys).isDisjoint(with: ["event", "operator", "targets", "notifyExt", "data"]))
            #expect(properties["type"]?["enum"]?.array?.contains(.text("NOTIFICATION")) == false)
            #expect(properties["type"]?["enum"]?.array?.contains(.text("TEXT")) == true)
            #expect(schema?["required"] == .array([.text("type")]))
        }
    }

    @Test func `the checker finds what it is there to find`() {
        let schema = JSON.object([
            "type": .text("object"), "required": .array([.text("a")]),
            "properties": .object(["a": .object(["type": .text("integer"), "minimum": .integer(1)])]),
        ])
        let checker = SchemaChecker(schemas: [:])
        #expect(checker.faults(of: .object(["a": .integer(1)]), against: schema, isClosed: true) == [])
        for wrong: JSON in [.object([:]), .object(["a": .integer(0)]), .object(["a": .text("1")]), .array([])] {
            #expect(checker.faults(of: wrong, against: schema, isClosed: true) != [])
        }
        let more = JSON.object(["a": .integer(1), "b": .null])
        #expect(checker.faults(of: more, against: schema, isClosed: true) != [])
    }

    private static let bodies = [
        "addRobots": #"{"robots":[{"user":"r2","nick":"R2","avatar":"a","ext":"e"},"c3"]}"#,
        "recallMessagesOfUser": #"{"user":"ann","since":1732150000000,"notifyExt":"x","operator":"bob"}"#,
        "importMessages":
            #"{"messages":[{"time":1732150000000,"from":{"user":"ann","nick":"A"},"type":"TEXT","text":"x","clientId":"c"}]}"#,
        "amendMessage": #"{"set":{"text":"x"},"operator":"bob"}"#,
        "openPoll": #"{"poll":"p","title":"t","options":["a","b"],"seconds":60,"mayChange":true,"operator":"ann"}"#,
        "setTally": #"{"total":5,"closed":true,"by":"SERVER"}"#, "addToTally": #"{"delta":-3}"#,
        "upload": #"{"kind":"IMAGE","name":"a.png","contentType":"image/png","size":9}"#,
        "banUser": #"{"seconds":60,"reason":"spam"}"#, "muteUser": #"{"seconds":0}"#,
        "pinMessage": #"{"enable":true,"notifyExt":"x","operator":"bob"}"#,
        "denyHeld": #"{"reason":"x"}"#,
        "removeRobots": #"{"robots":["r2","c3"]}"#,
        "setWebhook":
            #"{"url":"http://a/","secret":"s","events":["message","lost"],"maxBatch":10,"timeoutMs":1000}"#,
        "setModeration": #"{"words":[{"text":"bad","action":"REPLACE"}],"hook":{"url":"http://a/","secret":"s"}}"#,
        "setRole": #"{"role":"MANAGER","notify":false,"notifyExt":"x","operator":"ann"}"#,
        "setBlacklist": #"{"enable":true,"operator":{"user":"ann","nick":"Ann"}}"#,
        "setMute": #"{"enable":false}"#, "setTempMute": #"{"seconds":60}"#, "muteRoom": #"{"enable":true}"#,
        "kickMember": #"{"banSeconds":5,"notifyExt":"bye"}"#,
        "setQueueElement":
            #"{"value":"v","owner":"bob","transient":true,"ifVersion":0,"keepOwner":false,"locked":true}"#,
        "setQueueElements": #"{"values":{"a":"1","b":"2"}}"#, "takeQueueElement": #"{"key":"a"}"#,
        "createRoom":
            #"{"id":"r1","creator":"ann","viewerBudget":3,"highPerSecond":50,"seatsPerUser":1,"historyDays":30,"idleCloseSeconds":0}"#,
        "updateRoom": #"{"name":"N","notify":false,"notifyExt":"x","entry":"USERS","operator":"ann"}"#,
        "closeRoom": #"{"notify":true,"operator":{"user":"ann","nick":"Ann"}}"#,
        "sendMessage":
            #"{"sender":{"user":"ann","nick":"A"},"type":"TEXT","text":"x","history":true,"to":["bob"],"webhook":false}"#,
        "sendBarrage": #"{"sender":"ann","text":"x","style":"s"}"#,
        "sendDirect": #"{"sender":"ann","type":"TEXT","text":"x"}"#,
        "broadcast": #"{"type":"TEXT","text":"x","ext":"e"}"#, "setLogLevel": #"{"level":"debug"}"#,
        "raiseFeatureLevel": #"{"level":2}"#,
        "transferShard": #"{"to":"n2"}"#,
        "issueToken": #"{"ttlSeconds":5,"rooms":["r1"],"nick":"n","avatar":"a"}"#,
    ]

    private func references(in json: JSON) -> Set<String> {
        switch json {
        case .object(let members):
            members.reduce(into: []) { found, member in
                if member.key == "$ref", let text = member.value.text, let name = text.split(separator: "/").last {
                    found.insert(String(name))
                } else {
                    found.formUnion(references(in: member.value))
                }
            }
        case .array(let items): items.reduce(into: []) { $0.formUnion(references(in: $1)) }
        default: []
        }
    }
}
