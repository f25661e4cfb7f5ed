import ChatModel
import Testing

@testable import Wire

/// The texts of the protocol, letter by letter.
@Suite struct `The protocol's examples` {
    private func json(_ item: ServerItem) -> String {
        var bytes: [UInt8] = []
        item.appendJSON(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func request(_ json: String) -> ClientRequest? {
        if case .success(let request)? = read(json: json).first { request } else { nil }
    }

    let room = RoomID("live-1") ?? .blank
    let ann = UserID("ann") ?? .blank

    @Test func `of requests are read`() {
        #expect(
            request(#"{"id":1,"connect":{"token":"eyJ…","device":"web"}}"#)
                == ClientRequest(id: 1, operation: .connect(ConnectRequest(token: "eyJ…"))))
        #expect(
            request(#"{"id":2,"enter":{"room":"live-1","nick":"Ann","avatar":"https://…","ext":"…","notifyExt":"…"}}"#)
                == ClientRequest(
                    id: 2,
                    operation: .enter(
                        EnterRequest(room: room, nick: "Ann", avatar: "https://…", ext: "…", notifyExt: "…"))))
        #expect(
            request(#"{"id":3,"send":{"room":"live-1","clientId":"c0ffee","type":"TEXT","text":"hello"}}"#)
                == ClientRequest(
                    id: 3,
                    operation: .send(
                        SendRequest(room: room, clientID: "c0ffee", draft: MessageDraft(body: .text("hello"))))))
    }

    @Test func `of replies are written`() {
        let connected = ConnectResult(
            session: SessionID("…") ?? .blank, user: ann, time: Timestamp(1_732_150_000_000), anonymous: false,
            heartbeatSeconds: 15, gateways: ["wss://…"])
        #expect(
            json(.reply(id: 1, .success(.connect(connected))))
                == #"{"id":1,"connect":{"session":"…","user":"ann","anonymous":false,"heartbeatSeconds":15,"time":1732150000000,"gateways":["wss://…"],"features":[],"devices":[]}}"#
        )
        #expect(
            json(
                .reply(
                    id: 3,
                    .success(
                        .send(SendResult(messageID: "…", time: Timestamp(1_732_150_001_234), place: .kept(seq: 813))))))
                == #"{"id":3,"send":{"messageId":"…","time":1732150001234,"seq":813}}"#)
        #expect(
            json(
                .reply(
                    id: 9,
                    .failure(ChatError(.muted, "ann is muted in live-1 for 42 s more", retryAfterMs: 42000))))
                == #"{"id":9,"error":{"code":13004,"name":"MUTED","message":"ann is muted in live-1 for 42 s more","retryAfterMs":42000}}"#
        )
        let entered = json(
            .reply(
                id: 2,
                .success(
                    .enter(
                        EnterResult(
                            room: RoomView(info: RoomInfo(id: room, creator: ann, createdAt: Timestamp(5)), online: 1),
                            me: Member(user: ann, profile: Profile(nick: "Ann"), role: .creator), epoch: "e", seq: 812))
                )))
        #expect(
            entered
                == #"{"id":2,"enter":{"room":{"id":"live-1","name":"","announcement":"","creator":"ann","ext":"","broadcastUrl":"","entry":"ANYONE","queueLevel":"ANY","enterExitNotify":"ALL","slowModeSeconds":0,"muted":false,"closed":false,"online":1,"createdAt":5,"pinned":[],"seatsPerUser":0},"me":{"user":"ann","nick":"Ann","avatar":"","ext":"","role":"CREATOR","muted":false,"tempMuted":false,"tempMuteSeconds":0,"blacklisted":false,"online":false},"epoch":"e","seq":812}}"#
        )
        #expect(json(.reply(id: 4, .success(.exit))) == #"{"id":4,"exit":{}}"#)
        #expect(
            json(.reply(id: 4, .success(.history(MessagesResult(messages: [], more: false)))))
                == #"{"id":4,"history":{"messages":[],"more":false}}"#)
        #expect(
            json(.reply(id: nil, .failure(ChatError(.malformed, "m"))))
                == #"{"error":{"code":400,"name":"MALFORMED","message":"m"}}"#)
    }

    @Test func `of pushes are written`() {
        var message = Message(
            room: room, place: .kept(seq: 7), messageID: "m", time: Timestamp(9),
            from: Sender(user: ann, profile: Profile(nick: "Ann"), role: .guest), body: .text("hi"))
        let from = #""from":{"user":"ann","nick":"Ann","avatar":"","ext":"","role":"GUEST"}"#
        #expect(
            json(.push(.message(message)))
                == #"{"message":{"room":"live-1","seq":7,"messageId":"m","time":9,"# + from
                + #","type":"TEXT","text":"hi"}}"#)
        message.body = .recalled(.text)
        #expect(
            json(.push(.message(message)))
                == #"{"message":{"room":"live-1","seq":7,"messageId":"m","time":9,"# + from
                + #","type":"TEXT","recalled":true}}"#)
        (message.room, message.place, message.from) = (nil, .outside, nil)
        message.body = .tip("t")
        message.to = [ann]
        message.priority = .high
        #expect(
            json(.push(.direct(message)))
                == #"{"direct":{"messageId":"m","time":9,"type":"TIP","text":"t","priority":"HIGH","to":["ann"]}}"#)
        var item = BarrageItem(from: Sender(user: ann, profile: Profile(), role: .guest), text: "6", time: Timestamp(1))
        item.count = 3
        #expect(
            json(.push(.barrage(BarragePush(room: room, items: [item]))))
                == #"{"barrage":{"room":"live-1","items":[{"from":{"user":"ann","nick":"","avatar":"","role":"GUEST"},"text":"6","time":1,"count":3}]}}"#
        )
        #expect(
            json(.push(.kicked(KickedPush(room: room, reason: .byManager, ext: "x"))))
                == #"{"kicked":{"room":"live-1","reason":2,"ext":"x"}}"#)
        #expect(
            json(.push(.gap(GapPush(room: room, ranges: [SeqRange(1...2), SeqRange(5...5)], cause: .budget))))
                == #"{"gap":{"room":"live-1","ranges":[[1,2],[5,5]],"cause":"BUDGET"}}"#)
        #expect(
            json(.push(.skipped(SkippedPush(room: room, barrage: 312, unkept: 2))))
                == #"{"skipped":{"room":"live-1","barrage":312,"unkept":2}}"#)
        #expect(
            json(.push(.online(OnlinePush(room: room, online: 41233))))
                == #"{"online":{"room":"live-1","online":41233}}"#)
        #expect(
            json(.push(.state(StatePush(room: room, state: .lost)))) == #"{"state":{"room":"live-1","state":"LOST"}}"#)
        #expect(json(.push(.token(TokenPush(expiresInSeconds: 60)))) == #"{"token":{"expiresInSeconds":60}}"#)
        #expect(
            json(.push(.reconnect(ReconnectPush(minMs: 500, maxMs: 8000, gateways: []))))
                == #"{"reconnect":{"minMs":500,"maxMs":8000,"gateways":[]}}"#)
    }

    @Test func `of notifications have the data of their event`() {
        func data(_ event: EventCode, _ data: NotificationData) -> String {
            var notification = ChatModel.Notification(event)
            notification.data = data
            let message = Message(
                room: nil, place: .outside, messageID: "m", time: Timestamp(0), from: nil,
                body: .notification(notification))
            return String(
                json(.push(.message(message))).dropFirst(
                    #"{"message":{"messageId":"m","time":0,"type":"NOTIFICATION","#.count
                ).dropLast(2))
        }
        #expect(data(.roomClosed, .none) == #""event":311,"targets":[],"data":{}"#)
        #expect(
            data(.enter, .entered(avatar: "", ext: "e", role: .guest, online: 0))
                == #""event":301,"targets":[],"data":{"avatar":"","ext":"e","role":"GUEST","online":0}"#)
        #expect(data(.exit, .exited(online: 4)) == #""event":302,"targets":[],"data":{"online":4}"#)
        #expect(data(.temporarilyMuted, .seconds(42)) == #""event":314,"targets":[],"data":{"seconds":42}"#)
        #expect(
            data(.memberUpdatedInfo, .member(set: ProfileChanges(nick: "n", ext: "e")))
                == #""event":316,"targets":[],"data":{"set":{"ext":"e","nick":"n"}}"#)
        #expect(
            data(.queueChanged, .queue(change: .drop, element: nil))
                == #""event":317,"targets":[],"data":{"change":"DROP"}"#)
        #expect(
            data(.queueChanged, .queue(change: .offer, element: QueueElement(key: "k", value: "v", owner: ann)))
                == #""event":317,"targets":[],"data":{"change":"OFFER","key":"k","value":"v","owner":"ann","transient":false,"version":1}"#
        )
        #expect(
            data(.queueBatchChanged, .queueBatch(change: .partClear, elements: []))
                == #""event":320,"targets":[],"data":{"change":"PARTCLEAR","elements":[]}"#)
        #expect(
            data(.recalled, .recalled(messageIDs: ["a"])) == #""event":323,"targets":[],"data":{"messageIds":["a"]}"#)
        #expect(
            data(.digest, .digest(entered: 1, exited: 0, online: 9, members: []))
                == #""event":350,"targets":[],"data":{"online":9,"entered":1,"exited":0,"members":[]}"#)
    }
}

@Suite struct `A client` {
    private func items(_ json: String) throws -> [ServerItem] {
        var items: [ServerItem] = []
        let bytes = Array(json.utf8)
        try bytes.withUnsafeBytes { try ServerFrame.items(inJSON: $0) { items.append($0) } }
        return items
    }

    @Test(arguments: [
        #"{"future":{"a":1}}"#, "{}",
        #"{"state":{"room":"r","state":"PONDERING"}}"#, #"{"id":5,"levitate":{}}"#, #"{"id":"five","error":1}"#,
    ])
    func `takes what it does not know for unknown and goes on`(json: String) throws {
        #expect(
            try items(json + "\n" + #"{"token":{"expiresInSeconds":1}}"#) == [
                .unknown, .push(.token(TokenPush(expiresInSeconds: 1))),
            ])
    }

    @Test func `reads a reply in which one message is of a later version`() throws {
        let json = #"""
            {"id":7,"history":{"messages":[
            {"messageId":"a","time":1,"type":"TEXT","text":"hello"},
            {"messageId":"b","time":2,"type":"HOLOGRAM","hologram":{"text":7},"ext":"e"},
            {"messageId":"c","time":3,"type":"HOLOGRAM","recalled":true},
            {"messageId":"d","time":4,"type":"NOTIFICATION","event":321,"targets":[{"user":"u","nick":"n"}],"data":7},
            {"messageId":"e","time":5,"type":"","text":"x"}]}}
            """#
        guard case .reply(7, .success(.history(let result)))? = try items(json).first else {
            Issue.record("not a reply: \(try items(json))")
            return
        }
        #expect(
            result.messages.map(\.body.type) == [.text, .unknown, .unknown, .notification, .unknown])
        #expect(result.messages[1].body == .unknown("HOLOGRAM") && result.messages[1].ext == "e")
        #expect(result.messages[2].isRecalled)
        guard case .notification(let notification) = result.messages[3].body else {
            Issue.record("no 321")
            return
        }
        #expect(notification.event == .unknown && notification.data == .unknown(event: 321))
        #expect(notification.targets.map(\.nick) == ["n"])
    }

    @Test(arguments: [true, false])
    func `a barrage is taken or not in protobuf as it was said`(accepted: Bool) throws {
        let bytes = WireProtobuf.encode(BarrageResult(accepted: accepted))
        #expect(try WireProtobuf.decode(BarrageResult.self, from: bytes, limits: false).accepted == accepted)
    }

    @Test func `reads a message of a later version in protobuf too`() throws {
        var message = Message.blank
        message.body = .unknown("99")
        let read = try WireProtobuf.decode(Message.self, from: WireProtobuf.encode(message), limits: false)
        #expect(read.body == .unknown("99"))
        var notification = Notification(.unknown)
        notification.data = .unknown(event: 999)
        message.body = .notification(notification)
        #expect(try WireProtobuf.decode(Message.self, from: WireProtobuf.encode(message), limits: false) == message)
        // A server shows it without its content: it keeps its place.
        #expect(try HistoryCodec.decode(HistoryCodec.encode(message)) == message)
    }

    @Test(arguments: ["", "UNKNOWN", "HOLOGRAM"])
    func `only clients are lenient: a server refuses the type`(type: String) throws {
        let json = #"{"id":1,"send":{"room":"r","clientId":"c","type":"\#(type)","text":"x"}}"#
        var errors: [ChatError?] = []
        Array(json.utf8).withUnsafeBytes { bytes in
            ClientFrame.requests(inJSON: bytes) { result in
                if case .failure(let failure) = result { errors.append(failure.error) } else { errors.append(nil) }
            }
        }
        #expect(errors.map { $0?.code } == [.badParameter] && errors[0]?.field == "type")
    }

    @Test func `fails only the request whose reply it cannot read`() throws {
        guard case .reply(5, .failure(let error))? = try items(#"{"id":5,"enter":{}}"#).first else {
            Issue.record("not a reply")
            return
        }
        #expect(error.code == .unknown)
        #expect(
            try items(#"{"id":6,"error":{"code":14000,"name":"NEW","message":"m","retryAfterMs":5}}"#)
                == [.reply(id: 6, .failure(ChatError(.unknown, "14000 NEW: m", retryAfterMs: 5)))])
        // Written again and read again it stays as it is.
        #expect(
            try items(#"{"id":6,"error":{"code":0,"name":"UNKNOWN","message":"14000 NEW: m"}}"#)
                == [.reply(id: 6, .failure(ChatError(.unknown, "14000 NEW: m")))])
    }

    @Test(arguments: [4, 99, Int64.max, -1]) func `is out of a room for whatever reason`(reason: Int64) throws {
        let push = Push.kicked(KickedPush(room: try #require(RoomID("r")), reason: .unknown))
        #expect(try items(#"{"kicked":{"room":"r","reason":\#(reason)}}"#) == [.push(push)])
        var bytes: [UInt8] = []
        push.appendProtobuf(to: &bytes)
        var read: [ServerItem] = []
        try bytes.withUnsafeBytes { try ServerFrame.items(inProtobuf: $0) { read.append($0) } }
        #expect(read == [.push(push)])
    }

    @Test func `learns of a gap whatever its cause`() throws {
        let json = #"{"gap":{"room":"r","ranges":[[1,2]],"cause":"WEATHER"}}"#
        let gap = GapPush(room: try #require(RoomID("r")), ranges: [SeqRange(from: 1, to: 2)], cause: .budget)
        #expect(try items(json) == [.push(.gap(gap))])
    }

    @Test func `learns that it is to leave whatever the cause`() throws {
        for (text, cause) in [("DRAIN", .drain), ("FULL", .full), ("WEATHER", .full)] as [(String, ReconnectCause)] {
            let push = ReconnectPush(minMs: 0, maxMs: 2_000, cause: cause, gateways: ["ws://b"])
            let json = #"{"reconnect":{"minMs":0,"maxMs":2000,"cause":"\#(text)","gateways":["ws://b"]}}"#
            #expect(try items(json) == [.push(.reconnect(push))])
        }
        let push = ReconnectPush(minMs: 0, maxMs: 1)
        #expect(try items(#"{"reconnect":{"minMs":0,"maxMs":1,"gateways":[]}}"#) == [.push(.reconnect(push))])
    }

    @Test func `says so when a frame is not JSON`() {
        #expect(throws: ChatError.self) { try items("{") }
        #expect(throws: ChatError.self) { try items(#"{"token":{}} x"#) }
    }
}
