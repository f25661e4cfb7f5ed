import ChatModel
import Testing

@testable import Wire

/// A field that is wrong is named, and the code says how it is wrong (PROTOCOL.md, "Codes").
@Suite struct `Fields of requests` {
    private func expect(
        _ operation: String, _ code: ErrorCode, _ field: String?, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let found = failure("{\"id\":5,\(operation)}")
        #expect(found?.id == 5, sourceLocation: sourceLocation)
        #expect(found?.code == code, sourceLocation: sourceLocation)
        #expect(found?.field == field, sourceLocation: sourceLocation)
    }

    private func accepts(_ operation: String, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(failure("{\"id\":5,\(operation)}") == nil, sourceLocation: sourceLocation)
    }

    private func x(_ count: Int) -> String { String(repeating: "x", count: count) }

    /// Operation, field, and a whole request without it.
    static let requiredFields: [(String, String, String)] = [
        ("refresh", "token", "{}"), ("enter", "room", "{}"), ("exit", "room", "{}"), ("room", "room", "{}"),
        ("send", "room", #"{"clientId":"c","type":"TEXT","text":""}"#),
        ("send", "clientId", #"{"room":"r","type":"TEXT","text":""}"#),
        ("send", "type", #"{"room":"r","clientId":"c","text":""}"#),
        ("send", "text", #"{"room":"r","clientId":"c","type":"TEXT"}"#),
        ("send", "text", #"{"room":"r","clientId":"c","type":"TIP"}"#),
        ("send", "payload", #"{"room":"r","clientId":"c","type":"COMMAND"}"#),
        ("send", "media", #"{"room":"r","clientId":"c","type":"IMAGE"}"#),
        ("send", "latitude", #"{"room":"r","clientId":"c","type":"LOCATION","longitude":0,"title":""}"#),
        ("send", "longitude", #"{"room":"r","clientId":"c","type":"LOCATION","latitude":0,"title":""}"#),
        ("send", "title", #"{"room":"r","clientId":"c","type":"LOCATION","latitude":0,"longitude":0}"#),
        ("send", "content", #"{"room":"r","clientId":"c","type":"CUSTOM","subtype":1}"#),
        ("send", "subtype", #"{"room":"r","clientId":"c","type":"CUSTOM","content":""}"#),
        ("send", "messageIds", #"{"room":"r","clientId":"c","type":"COMBINE","title":"","summary":""}"#),
        ("barrage", "room", #"{"text":""}"#), ("barrage", "text", #"{"room":"r"}"#),
        ("report", "messageId", #"{"room":"r"}"#), ("report", "room", #"{"messageId":"m"}"#),
        ("recall", "messageId", #"{"room":"r"}"#), ("combined", "messageId", #"{"room":"r"}"#),
        ("history", "room", "{}"), ("updateRoom", "set", #"{"room":"r"}"#), ("members", "kind", #"{"room":"r"}"#),
        ("updateMe", "set", #"{"room":"r"}"#), ("setManager", "user", #"{"room":"r","enable":true}"#),
        ("setMember", "enable", #"{"room":"r","user":"u"}"#), ("setBlacklist", "enable", #"{"room":"r","user":"u"}"#),
        ("setMute", "user", #"{"room":"r","enable":true}"#), ("tempMute", "seconds", #"{"room":"r","user":"u"}"#),
        ("kick", "user", #"{"room":"r"}"#), ("muteRoom", "enable", #"{"room":"r"}"#), ("queue", "room", "{}"),
        ("queueSet", "key", #"{"room":"r","value":""}"#), ("queueSet", "value", #"{"room":"r","key":"k"}"#),
        ("queueSetMany", "values", #"{"room":"r"}"#), ("queueTake", "room", "{}"), ("queueClear", "room", "{}"),
    ]

    @Test(arguments: requiredFields)
    func `that are required are 414 when absent, null or of another type`(
        operation: String, field: String, body: String
    ) {
        expect("\"\(operation)\":\(body)", .badParameter, field)
        let rest = body == "{}" ? "" : ",\(body.dropFirst().dropLast())"
        expect("\"\(operation)\":{\"\(field)\":null\(rest)}", .badParameter, field)
        // A list of nothing is of no field's type but messageIds', which must not be empty.
        expect("\"\(operation)\":{\"\(field)\":[]\(rest)}", .badParameter, field)
    }

    @Test func `have 414 for an avatar that is no picture by its type`() {
        func request(_ kind: String, _ type: String) -> String {
            #""upload":{"room":"r","kind":"\#(kind)","name":"n","contentType":"\#(type)","size":1}"#
        }
        for type in ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", " Image/PNG ; x=y"] {
            accepts(request("AVATAR", type))
        }
        for type in ["text/html", "image/svg+xml", "image/", "image/png2", "application/octet-stream", "video/mp4"] {
            expect(request("AVATAR", type), .badParameter, "contentType")
            accepts(request("FILE", type))
        }
    }

    @Test func `have 413 for lengths one over the limit, and take the limit`() {
        func check(_ max: Int, _ field: String, _ request: (String) -> String) {
            accepts(request(x(max)))
            expect(request(x(max + 1)), .tooLarge, field)
            // Bytes count, not characters.
            expect(request(x(max - 1) + "é"), .tooLarge, field)
            expect(request(x(max - 1) + #"\u00e9"#), .tooLarge, field)
        }
        for (field, max) in [("nick", 256), ("avatar", 1024), ("ext", 4096), ("notifyExt", 2048)] {
            check(max, field) { "\"enter\":{\"room\":\"r\",\"\(field)\":\"\($0)\"}" }
        }
        for (field, max) in [("name", 512), ("announcement", 16384), ("ext", 4096), ("broadcastUrl", 1024)] {
            check(max, "set.\(field)") { "\"updateRoom\":{\"room\":\"r\",\"set\":{\"\(field)\":\"\($0)\"}}" }
        }
        check(64, "clientId") { "\"send\":{\"room\":\"r\",\"clientId\":\"\($0)\",\"type\":\"TEXT\",\"text\":\"\"}" }
        check(64, "clientId") { "\"queueClear\":{\"room\":\"r\",\"clientId\":\"\($0)\"}" }
        check(32 << 10, "text") { "\"send\":{\"room\":\"r\",\"clientId\":\"c\",\"type\":\"TEXT\",\"text\":\"\($0)\"}" }
        check(32 << 10, "text") { "\"send\":{\"room\":\"r\",\"clientId\":\"c\",\"type\":\"TIP\",\"text\":\"\($0)\"}" }
        check(32 << 10, "content") {
            "\"send\":{\"room\":\"r\",\"clientId\":\"c\",\"type\":\"CUSTOM\",\"subtype\":0,\"content\":\"\($0)\"}"
        }
        check(64, "searchable") {
            "\"send\":{\"room\":\"r\",\"clientId\":\"c\",\"type\":\"CUSTOM\",\"subtype\":0,\"content\":\"\",\"searchable\":\"\($0)\"}"
        }
        check(1024, "title") {
            "\"send\":{\"room\":\"r\",\"clientId\":\"c\",\"type\":\"LOCATION\",\"latitude\":0,\"longitude\":0,\"title\":\"\($0)\"}"
        }
        check(5 << 10, "text") { "\"barrage\":{\"room\":\"r\",\"text\":\"\($0)\"}" }
        check(1024, "ext") { "\"barrage\":{\"room\":\"r\",\"text\":\"\",\"ext\":\"\($0)\"}" }
        check(256, "style") { "\"barrage\":{\"room\":\"r\",\"text\":\"\",\"style\":\"\($0)\"}" }
        check(32, "key") { "\"queueSet\":{\"room\":\"r\",\"key\":\"\($0)\",\"value\":\"\"}" }
        check(4096, "value") { "\"queueSet\":{\"room\":\"r\",\"key\":\"k\",\"value\":\"\($0)\"}" }
        check(128, "values") { "\"queueSetMany\":{\"room\":\"r\",\"values\":{\"\($0)\":\"\"}}" }
        check(4096, "values") { "\"queueSetMany\":{\"room\":\"r\",\"values\":{\"k\":\"\($0)\"}}" }
        check(256, "reason") { "\"report\":{\"room\":\"r\",\"messageId\":\"m\",\"reason\":\"\($0)\"}" }
        check(64, "messageId") { "\"recall\":{\"room\":\"r\",\"messageId\":\"\($0)\"}" }
        check(2048, "notifyExt") { "\"kick\":{\"room\":\"r\",\"user\":\"u\",\"notifyExt\":\"\($0)\"}" }
    }

    @Test func `have 414 for counts one over the limit, and take the limit`() {
        func check(_ max: Int, _ field: String, _ request: (String) -> String) {
            func list(_ count: Int) -> String { (0..<count).map { "\"u\($0)\"" }.joined(separator: ",") }
            accepts(request(list(max)))
            expect(request(list(max + 1)), .badParameter, field)
            expect(request("1"), .badParameter, field)
            expect(request("null"), .badParameter, field)
        }
        let send = #""send":{"room":"r","clientId":"c","type":"#
        check(50, "mentions") { send + "\"TEXT\",\"text\":\"\",\"mentions\":[\($0)]}" }
        check(50, "to") { send + "\"TEXT\",\"text\":\"\",\"to\":[\($0)]}" }
        // A list that names nobody is not for everybody.
        expect(send + "\"TEXT\",\"text\":\"\",\"to\":[]}", .badParameter, "to")
        accepts(send + "\"TEXT\",\"text\":\"\",\"mentions\":[]}")
        check(100, "messageIds") { send + "\"COMBINE\",\"title\":\"\",\"summary\":\"\",\"messageIds\":[\($0)]}" }
        check(20, "users") { "\"membersById\":{\"room\":\"r\",\"users\":[\($0)]}" }
        func values(_ count: Int) -> String {
            "\"queueSetMany\":{\"room\":\"r\",\"values\":{\((0..<count).map { "\"k\($0)\":\"\"" }.joined(separator: ","))}}"
        }
        accepts(values(100))
        expect(values(101), .badParameter, "values")
        expect(values(1000), .badParameter, "values")
    }

    @Test func `have 414 for numbers out of range, and take the bounds`() {
        func check(_ range: ClosedRange<Int64>, _ field: String, _ request: (Int64) -> String) {
            accepts(request(range.lowerBound))
            accepts(request(range.upperBound))
            expect(request(range.lowerBound - 1), .badParameter, field)
            if range.upperBound < .max { expect(request(range.upperBound + 1), .badParameter, field) }
        }
        check(0...100, "history") { "\"enter\":{\"room\":\"r\",\"history\":\($0)}" }
        check(1...100, "limit") { "\"history\":{\"room\":\"r\",\"limit\":\($0)}" }
        check(1...100, "limit") { "\"members\":{\"room\":\"r\",\"kind\":\"FIXED\",\"limit\":\($0)}" }
        check(1...100, "limit") { "\"queue\":{\"room\":\"r\",\"limit\":\($0)}" }
        check(0...2_592_000, "seconds") { "\"tempMute\":{\"room\":\"r\",\"user\":\"u\",\"seconds\":\($0)}" }
        check(0...2_592_000, "banSeconds") { "\"kick\":{\"room\":\"r\",\"user\":\"u\",\"banSeconds\":\($0)}" }
        check(0 ... .max, "ifVersion") {
            "\"queueSet\":{\"room\":\"r\",\"key\":\"k\",\"value\":\"\",\"ifVersion\":\($0)}"
        }
        check(0 ... .max, "startTime") { "\"history\":{\"room\":\"r\",\"startTime\":\($0)}" }
        let send = #""send":{"room":"r","clientId":"c","type":"#
        check(0...200, "subtype") { send + "\"CUSTOM\",\"content\":\"\",\"subtype\":\($0)}" }
        check(-90...90, "latitude") { send + "\"LOCATION\",\"title\":\"\",\"longitude\":0,\"latitude\":\($0)}" }
        check(-180...180, "longitude") { send + "\"LOCATION\",\"title\":\"\",\"latitude\":0,\"longitude\":\($0)}" }
        expect(send + #""LOCATION","title":"","latitude":90.0000001,"longitude":0}"#, .badParameter, "latitude")
    }

    @Test func `hold names to their rule`() {
        for name in ["", ".", "..", "a b", "é", "a/b", #"a\u0000"#, "a%"] {
            expect("\"exit\":{\"room\":\"\(name)\"}", .badParameter, "room")
            expect("\"kick\":{\"room\":\"r\",\"user\":\"\(name)\"}", .badParameter, "user")
        }
        accepts("\"exit\":{\"room\":\"\(x(64))\"}")
        expect("\"exit\":{\"room\":\"\(x(65))\"}", .tooLarge, "room")
        accepts(#""exit":{"room":"aZ09_.@:#|+~!$-"}"#)
        expect(#""send":{"room":"r","clientId":"","type":"TEXT","text":""}"#, .badParameter, "clientId")
        expect(#""queueSet":{"room":"r","key":"","value":""}"#, .badParameter, "key")
        expect(#""queueSetMany":{"room":"r","values":{"":"v"}}"#, .badParameter, "values")
        expect(#""enter":{"room":"r","since":1}"#, .badParameter, "epoch")
        expect(#""enter":{"room":"r","since":-1,"epoch":"e"}"#, .badParameter, "since")
    }

    @Test func `hold media to the limits of their type`() {
        func media(_ type: String, _ size: Int64, _ more: String = "") -> String {
            "\"send\":{\"room\":\"r\",\"clientId\":\"c\",\"type\":\"\(type)\",\"media\":{\"url\":\"u\",\"name\":\"n\",\"size\":\(size),\"contentType\":\"t\"\(more)}}"
        }
        for (type, max) in [("IMAGE", 10), ("AUDIO", 6), ("VIDEO", 100), ("FILE", 100)] as [(String, Int64)] {
            accepts(media(type, max << 20))
            expect(media(type, max << 20 + 1), .tooLarge, "media.size")
            expect(media(type, -1), .badParameter, "media.size")
            expect(media(type, 1, ",\"thumbnail\":1"), .badParameter, "media.thumbnail")
        }
        accepts(media("AUDIO", 1, ",\"durationSeconds\":300"))
        accepts(media("VIDEO", 1, ",\"durationSeconds\":3000.5"))
        expect(media("AUDIO", 1, ",\"durationSeconds\":300.5"), .tooLarge, "media.durationSeconds")
        expect(media("AUDIO", 1, ",\"durationSeconds\":-1"), .badParameter, "media.durationSeconds")
    }

    @Test func `hold a command's payload to 5 KB of decoded bytes`() {
        func command(_ count: Int) -> String {
            "\"send\":{\"room\":\"r\",\"clientId\":\"c\",\"type\":\"COMMAND\",\"payload\":\"\(Base64.encode([UInt8](repeating: 7, count: count)))\"}"
        }
        accepts(command(5 << 10))
        expect(command(5 << 10 + 1), .tooLarge, "payload")
        expect(#""send":{"room":"r","clientId":"c","type":"COMMAND","payload":"%"}"#, .badParameter, "payload")
    }

    @Test func `of a notification cannot be sent, and those of other types are ignored`() {
        expect(
            #""send":{"room":"r","clientId":"c","type":"NOTIFICATION","event":301,"targets":[],"data":{}}"#,
            .badParameter, "type")
        expect(#""send":{"room":"r","clientId":"c","type":"text","text":""}"#, .badParameter, "type")
        accepts(#""send":{"room":"r","clientId":"c","type":"TEXT","text":"","media":5,"latitude":"x","payload":{}}"#)
    }

    @Test func `for app servers only are ignored in updateRoom`() {
        guard
            case .success(let request)? = read(
                json:
                    #"{"id":1,"updateRoom":{"room":"r","set":{"entry":5,"viewerBudget":"x","idleCloseSeconds":3,"name":"n"}}}"#
            ).first,
            case .updateRoom(let update) = request.operation
        else {
            Issue.record("refused")
            return
        }
        var wanted = RoomChanges()
        wanted.name = "n"
        #expect(update.set == wanted)
    }

    @Test func `have the protocol's defaults`() throws {
        func operation(_ json: String) -> ClientOperation? {
            if case .success(let request)? = read(json: "{\"id\":1,\(json)}").first { request.operation } else { nil }
        }
        let room = try #require(RoomID("r"))
        let user = try #require(UserID("u"))
        #expect(operation(#""history":{"room":"r"}"#) == .history(RoomHistoryRequest(room: room)))
        #expect(operation(#""queue":{"room":"r"}"#) == .queue(QueueRequest(room: room, limit: 100)))
        #expect(
            operation(#""members":{"room":"r","kind":"MANAGERS"}"#)
                == .members(MembersRequest(room: room, kind: .managers, limit: 50)))
        #expect(
            operation(#""tempMute":{"room":"r","user":"u","seconds":5}"#)
                == .tempMute(TempMuteRequest(room: room, user: user, seconds: 5, options: NotifyOptions(notify: true))))
        #expect(
            operation(#""send":{"room":"r","clientId":"c","type":"TEXT","text":"t"}"#)
                == .send(SendRequest(room: room, clientID: "c", draft: MessageDraft(body: .text("t")))))
        #expect(operation(#""connect":{"token":"t"}"#) == .connect(ConnectRequest(token: "t")))
        #expect(operation(#""connect":{"anonymous":true,"token":5}"#) == .connect(ConnectRequest(anonymous: true)))
    }
}

@Suite struct `A request` {
    @Test func `without a usable ID is 400 without one`() {
        for id in ["0", "-1", "4294967296", "\"1\"", "1.5", "true"] {
            let found = failure("{\"id\":\(id),\"ping\":{}}")
            #expect(found?.id == nil && found?.code == .malformed, "\(id)")
        }
        #expect(failure(#"{"ping":{}}"#)?.code == .malformed)
        #expect(failure(#"{"id":null,"ping":{}}"#)?.code == .malformed)
    }

    @Test func `without exactly one known operation is 400 with its ID`() {
        for rest in ["", #","sing":{}"#, #","ping":null"#, #","ping":{},"room":{"room":"r"}"#] {
            let found = failure("{\"id\":4294967295\(rest)}")
            #expect(found?.id == .max && found?.code == .malformed, "\(rest)")
        }
        #expect(failure(#"{"id":1,"ping":[]}"#)?.code == .badParameter)
    }

    @Test func `of barrage may come without ID`() {
        #expect(failure(#"{"barrage":{"room":"r","text":"t"}}"#) == nil)
        #expect(failure(#"{"barrage":{"room":"r"}}"#)?.field == "text")
    }

    @Test func `frame may hold several, and what is broken ends it`() {
        let results = read(
            json:
                "{\"id\":1,\"ping\":{}}\n {\"id\":2,\"ping\":{}}\n{\"id\":3}\n{\"id\":4,\"ping\":{}}{\n{\"id\":5,\"ping\":{}}"
        )
        #expect(results.count == 5)
        #expect(
            results.map { result -> UInt32? in
                switch result {
                case .success(let request): request.id
                case .failure(let failure): failure.id
                }
            } == [1, 2, 3, 4, nil])
        #expect(read(json: "").count == 1)
        #expect(failure(" \n")?.code == .malformed)
        #expect(failure("[1]")?.code == .malformed)
        #expect(failure("5")?.code == .malformed)
    }
}
