import ControlClient
import HTTPWebSocket
import Wire

/// The binary subprotocol: the same messages in protobuf. The numbers of the fields are those of the published schema.
extension ConformanceCheck {
    private static func text(_ field: Int, _ value: String) -> (number: Int, value: ProtobufFields.Value) {
        (field, .bytes(Array(value.utf8)))
    }

    /// A request as it stands in a frame.
    private static func request(
        _ id: UInt64, _ operation: Int, _ fields: [(number: Int, value: ProtobufFields.Value)] = []
    ) -> [UInt8] {
        ProtobufFields([(1, .number(id)), (operation, .bytes(ProtobufFields(fields).bytes))]).delimited
    }

    /// The reply to a request: its result, or the error in the field 2.
    private static func reply(
        _ client: ConformanceClient, _ id: UInt64, _ operation: Int
    ) async throws -> ProtobufFields {
        try await client.binary("the reply to request \(id)") { item -> ProtobufFields? in
            guard item.number(1) == id else { return nil }
            return item.message(operation)
        }
    }

    /// Numbers of `ClientRequest` and `ServerItem`.
    private enum Number {
        static let error = 2
        static let connect = 10
        static let ping = 12
        static let enter = 13
        static let send = 15
        static let history = 19
        static let message = 50
    }
    private static let subprotocol = "chatroom.v1.protobuf"
    private static let textType: (number: Int, value: ProtobufFields.Value) = (8, .number(1))

    static let protobuf: [ConformanceCheck] = [
        .init("2", "protobuf has the same messages: connect, ping, enter, send, history and pushes") { run in
            let (user, room) = (run.name("ann"), try await run.room(["enterExitNotify": "NONE"]))
            let client = try await run.open(subprotocols: [subprotocol])
            await client.write(.binary, request(1, Number.connect, [text(2, try await run.token(user))]))
            let connected = try await reply(client, 1, Number.connect)
            try expect(connected.text(1)?.isEmpty == false, "connect has no session")
            try expect(connected.text(2) == user, "connect.user is \(connected.text(2) ?? "absent")")
            try expect(connected.number(4) == 15, "heartbeatSeconds is \(connected.number(4) ?? 0)")
            await client.write(.binary, request(2, Number.ping))
            let time = Int64(try await reply(client, 2, Number.ping).number(1) ?? 0)
            try expect(abs(time - ConformanceRun.now) < 600_000, "the time is \(time)")
            await client.write(.binary, request(3, Number.enter, [text(1, room), text(2, "Ann")]))
            let entered = try await reply(client, 3, Number.enter)
            try expect(entered.message(1)?.text(1) == room, "enter.room.id is another")
            try expect(entered.text(3)?.isEmpty == false, "enter has no epoch")
            await client.write(
                .binary, request(4, Number.send, [text(1, room), text(2, "c"), textType, text(20, "hello")]))
            let ack = try await reply(client, 4, Number.send)
            try expect(ack.text(1)?.isEmpty == false && ack.number(3) == 1, "the ack has no messageId or another seq")
            let push = try await client.binary("the pushed message") { $0.message(Number.message) }
            try expect(push.text(20) == "hello" && push.number(2) == 1, "the push has another text or seq")
            try expect(push.message(7)?.text(2) == "Ann", "from.nick of the push is another")
            // It is the same stream as that of JSON.
            let other = try await run.entered(room, run.name("bob"))
            try await other.send(room, "from JSON")
            _ = try await client.binary("a message from JSON") {
                $0.message(Number.message)?.text(20) == "from JSON" ? true : nil
            }
            await client.write(.binary, request(5, Number.history, [text(1, room)]))
            let newest = try await reply(client, 5, Number.history).message(1)
            try expect(newest?.text(20) == "from JSON", "history has another message first")
        },
        .init("2", "a protobuf frame holds length-delimited messages: several requests in one are all answered") {
            run in
            let client = try await run.open(subprotocols: [subprotocol])
            await client.write(.binary, request(1, Number.connect, [text(2, try await run.token(run.name("ann")))]))
            _ = try await reply(client, 1, Number.connect)
            await client.write(.binary, request(7, Number.ping) + request(8, Number.ping) + request(9, Number.ping))
            for id: UInt64 in 7...9 { _ = try await reply(client, id, Number.ping) }
        },
        .init("2", "errors in protobuf have code and name") { run in
            let client = try await run.open(subprotocols: [subprotocol])
            await client.write(.binary, request(1, Number.connect, [text(2, try await run.token(run.name("ann")))]))
            _ = try await reply(client, 1, Number.connect)
            await client.write(.binary, request(2, Number.enter, [text(1, run.name("none"))]))
            let refused = try await reply(client, 2, Number.error)
            try expect(refused.number(1) == 404, "the code is \(refused.number(1) ?? 0)")
            try expect(refused.text(2) == "NOT_FOUND", "the name is \(refused.text(2) ?? "absent")")
        },
        .init("2", "the tenth malformed protobuf message in a row closes with 1008") { run in
            let client = try await run.open(subprotocols: [subprotocol])
            await client.write(.binary, request(1, Number.connect, [text(2, try await run.token(run.name("ann")))]))
            _ = try await reply(client, 1, Number.connect)
            // A tag of a wire type that there is not, in a message of one byte.
            for _ in 1...9 { await client.write(.binary, [1, 0x0F]) }
            await client.write(.binary, request(2, Number.ping))
            _ = try await reply(client, 2, Number.ping)
            for _ in 1...10 { await client.write(.binary, [1, 0x0F]) }
            try expect(try await client.closing() == 1008, "the close code is another")
        },
    ]
}
