import ChatModel
import Wire

extension Samples {
    mutating func uploadResult() -> UploadResult {
        var result = UploadResult(ticket())
        result.url = text()
        return result
    }

    mutating func clientID() -> String? { maybe { $0.text(64, least: 1) } }

    /// One request of every operation.
    mutating func operations() -> [ClientOperation] {
        var query = HistoryRequest()
        (query.startTime, query.limit, query.ascending) = (time(), int(1...100), bool())
        query.types = list(11) { $0.any(MessageType.self) }
        (query.beforeSeq, query.afterSeq) = (maybe { $0.uint64() }, maybe { $0.uint64() })
        let isAnonymous = bool()
        return [
            .connect(
                ConnectRequest(
                    anonymous: isAnonymous, token: isAnonymous ? nil : maybe { $0.text() },
                    session: maybe { $0.session() },
                    device: any(Device.self), prime: bool())),
            .refresh(RefreshRequest(token: text())),
            .ping,
            .enter(
                EnterRequest(
                    room: room(), nick: maybe { $0.text() }, avatar: maybe { $0.text() }, ext: maybe { $0.text() },
                    notifyExt: maybe { $0.text() }, since: maybe { $0.uint64() }, epoch: text(64), withQueue: bool(),
                    history: int64(0...100), withTallies: bool())),
            .exit(RoomNameRequest(room: room())),
            .send(SendRequest(room: room(), clientID: text(64, least: 1), draft: draft())),
            .barrage(
                BarrageRequest(
                    room: room(), text: text(), priority: any(Priority.self), ext: maybe { $0.text() },
                    style: maybe { $0.text() })),
            .recall(RecallRequest(room: room(), messageID: text(64, least: 1), clientID: clientID())),
            .pin(PinRequest(room: room(), messageID: text(64, least: 1), enable: bool(), clientID: clientID())),
            .amend(
                AmendRequest(
                    room: room(), messageID: text(64, least: 1), set: messageChanges(), clientID: clientID())),
            .report(
                ReportRequest(
                    room: room(), messageID: text(64, least: 1), reason: maybe { $0.text() }, clientID: clientID())),
            .message(MessageRequest(room: room(), messageID: text(64, least: 1))),
            .poll(PollRequest(pollDraft(), poll: tallyKey(), in: room(), clientID: clientID())),
            .vote(VoteRequest(room: room(), poll: tallyKey(), option: int64(0...9), clientID: clientID())),
            .tally(TapRequest(room: room(), key: tallyKey(), delta: int64(1...100), clientID: clientID())),
            .held(HeldRequest(room: room(), after: maybe { $0.text(64) }, limit: int64(1...100))),
            .held(heldDecision()),
            .upload(UploadRequest(room: room(), draft: upload(), clientID: clientID())),
            .mediaToken(RoomNameRequest(room: room())),
            .combined(CombinedRequest(room: room(), messageID: text(64, least: 1))),
            .history(RoomHistoryRequest(room: room(), query: query)),
            .search(
                SearchRequest(
                    room: room(), text: text(64, least: 1), user: maybe { $0.user() }, types: query.types,
                    startTime: time(), endTime: time(), limit: int64(1...100), after: maybe { $0.text(64) })),
            .room(RoomNameRequest(room: room())),
            .updateRoom(
                UpdateRoomRequest(room: room(), set: roomChanges(all: false), options: options(), clientID: clientID())),
            .members(
                MembersRequest(
                    room: room(), kind: any(MemberKind.self), after: maybe { $0.text(64) }, limit: int64(1...100))),
            .membersById(MembersByIDRequest(room: room(), users: list(20) { $0.user() })),
            .updateMe(
                UpdateMeRequest(
                    room: room(), set: profileChanges(), save: bool(), options: options(), clientID: clientID())),
            .setManager(
                UserFlagRequest(room: room(), user: user(), enable: bool(), options: extOnly(), clientID: clientID())),
            .setMember(
                UserFlagRequest(room: room(), user: user(), enable: bool(), options: extOnly(), clientID: clientID())),
            .setBlacklist(
                BlacklistRequest(
                    room: room(), user: user(), enable: bool(), recall: bool(), options: extOnly(), clientID: clientID()
                )),
            .setMute(
                UserFlagRequest(room: room(), user: user(), enable: bool(), options: extOnly(), clientID: clientID())),
            .tempMute(
                TempMuteRequest(
                    room: room(), user: user(), seconds: int64(0...2_592_000), options: options(), clientID: clientID())
            ),
            .kick(
                KickRequest(
                    room: room(), user: user(), banSeconds: int64(0...2_592_000), options: extOnly(),
                    clientID: clientID())),
            .muteRoom(MuteRoomRequest(room: room(), enable: bool(), options: extOnly(), clientID: clientID())),
            .queue(QueueRequest(room: room(), after: maybe { $0.text(64) }, limit: int64(1...100))),
            .queueSet(queueSet()),
            .queueSetMany(QueueSetManyRequest(room: room(), values: pairs(), options: options(), clientID: clientID())),
            .queueTake(
                QueueTakeRequest(
                    room: room(), key: maybe { $0.text(32, least: 1) }, options: options(), clientID: clientID())),
            .queueClear(RoomChangeRequest(room: room(), options: options(), clientID: clientID())),
        ]
    }

    mutating func requests() -> [ClientRequest] {
        operations().map { operation in
            switch operation {
            case .barrage, .tally: if bool() { return ClientRequest(id: nil, operation: operation) }
            default: break
            }
            return ClientRequest(id: UInt32.random(in: 1 ... .max, using: &generator), operation: operation)
        }
    }

    mutating func connectResult() -> ConnectResult {
        var result = ConnectResult(
            session: session(), user: user(), time: time(), anonymous: bool(), heartbeatSeconds: int64(1 ... .max),
            gateways: list { $0.text() }, resumed: bool())
        result.devices = list { $0.connectedDevice() }
        return result
    }

    mutating func connectedDevice() -> ConnectedDevice {
        ConnectedDevice(device: any(Device.self), connectedAt: time(), isSelf: bool())
    }

    /// One result of every operation.
    mutating func results() -> [OperationResult] {
        let member = MemberResult(member: member())
        var withTallies = EnterResult(room: roomView(), me: self.member(), epoch: text(64), seq: uint64())
        withTallies.tallies = maybe { s in [s.tally()] + s.list { $0.tally() } }
        return [
            .enter(withTallies),
            .connect(connectResult()),
            .refresh(RefreshResult(expiresAt: time())),
            .ping(PingResult(time: time())),
            .enter(
                EnterResult(
                    room: roomView(), me: self.member(), epoch: text(64), seq: uint64(),
                    queue: maybe { s in [s.element()] + s.list { $0.element() } }, recovered: maybe { $0.bool() },
                    missed: maybe { s in [s.message()] + s.list { $0.message() } }, missedMore: maybe { $0.bool() })),
            .exit,
            .send(
                SendResult(
                    messageID: text(64), time: time(), place: place(), priority: maybe { $0.any(Priority.self) },
                    delivered: maybe { $0.int64() })),
            .barrage(BarrageResult()),
            .recall,
            .pin(PinResult(pinned: list { $0.pinned() })),
            .amend(MessageResult(message: message())), .message(MessageResult(message: message())),
            .tally(TapResult(total: int64())), .report,
            .send(SendResult(heldID: text(64, least: 1))),
            .held(HeldResult(messages: [message()], next: maybe { $0.text(64) })),
            .held(HeldResult(messages: [])), .held(HeldResult(message: message())),
            .upload(uploadResult()), .mediaToken(MediaToken(token: text(), expiresAt: time())),
            .tally(TapResult(total: int64())), .poll(PollResult(poll: poll())), .vote(PollResult(poll: poll())),
            .combined(MessagesResult(messages: list { $0.message() })),
            .history(MessagesResult(messages: list { $0.message() }, more: bool())),
            .search(SearchResult(messages: list { $0.message() }, next: maybe { $0.text(64) })),
            .room(RoomResult(room: roomView(), seq: uint64())),
            .updateRoom(RoomResult(room: roomView())),
            .members(MembersResult(members: list { $0.member() }, next: maybe { $0.text(64) })),
            .membersById(MembersResult(members: list { $0.member() })),
            .updateMe(member), .setManager(member), .setMember(member), .setBlacklist(member), .setMute(member),
            .tempMute(member), .kick, .muteRoom,
            .queue(QueueResult(elements: list { $0.element() }, seq: uint64(), next: maybe { $0.text(64) })),
            .queueSet(ElementResult(element: element())),
            .queueSetMany(MissingResult(missing: list { $0.text() })),
            .queueTake(ElementResult(element: element())),
            .queueClear,
        ]
    }

    /// One of every push.
    mutating func pushes() -> [Push] {
        [
            .message(message()),
            .barrage(
                BarragePush(
                    room: room(),
                    items: list {
                        var item = BarrageItem(from: $0.maybe { $0.sender() }, text: $0.text(), time: $0.time())
                        item.from?.profile.ext = ""
                        (item.ext, item.style) = ($0.maybe { $0.text() }, $0.maybe { $0.text() })
                        (item.priority, item.count) = ($0.any(Priority.self), $0.int64())
                        return item
                    })),
            .broadcast(message()), .direct(message()),
            .kicked(KickedPush(room: room(), reason: any(KickReason.self), ext: maybe { $0.text() })),
            .gap(
                GapPush(
                    room: room(), ranges: list { SeqRange(from: $0.uint64(), to: $0.uint64()) },
                    cause: any(GapCause.self))),
            .skipped(SkippedPush(room: room(), barrage: int64(), unkept: int64())),
            .online(OnlinePush(room: room(), online: int64())),
            .state(StatePush(room: room(), state: any(RoomStatus.self), error: maybe { $0.error() })),
            .token(TokenPush(expiresInSeconds: int64())),
            .devices(DevicesPush(devices: list { $0.connectedDevice() })),
            .reconnect(
                ReconnectPush(
                    minMs: int64(), maxMs: int64(), cause: maybe { $0.any(ReconnectCause.self) },
                    gateways: list { $0.text() })),
            .tallies(TalliesPush(room: room(), totals: counts())),
            .held(HeldPush(room: room(), message: message())),
            .denied(
                DeniedPush(
                    room: room(), heldID: text(64, least: 1), clientID: clientID(), reason: maybe { $0.text(256) })),
        ]
    }

    /// Everything that a server can say, once.
    mutating func items() -> [ServerItem] {
        results().map { .reply(id: UInt32.random(in: 1 ... .max, using: &generator), .success($0)) }
            + pushes().map(ServerItem.push)
            + [.reply(id: 7, .failure(error())), .reply(id: nil, .failure(error()))]
    }

    private mutating func heldDecision() -> HeldRequest {
        let isAllowed = bool()
        let decision = HeldDecision(isAllowed: isAllowed, reason: isAllowed ? nil : maybe { $0.text(256) })
        return HeldRequest(room: room(), heldID: text(64, least: 1), decision, clientID: clientID())
    }

    private mutating func queueSet() -> QueueSetRequest {
        var request = QueueSetRequest(
            room: room(), key: text(32, least: 1), value: text(), transient: bool(), ifVersion: maybe { $0.int64() },
            options: options(), clientID: clientID())
        (request.owner, request.keepOwner, request.locked) = (maybe { $0.user() }, bool(), maybe { $0.bool() })
        return request
    }
}
