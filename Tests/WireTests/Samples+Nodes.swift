import ChatModel
import RoomProtocol
import Wire

/// Random values of everything that nodes tell each other.
extension Samples {
    mutating func roomRequests() -> [RoomRequest] {
        var bodies = operations().map { RoomRequest.Body.operation($0) }
        bodies += [
            .leave, .away, .moved(from: nil), .moved(from: node()),
            .announce(
                SessionStay(profile: profile(), enteredAt: time(), notifyExt: maybe { $0.text() }, isAway: bool())),
            .follow(StreamPlace(epoch: text(64), seq: uint64())),
            .barrages(
                BarrageBatch(window: uint64(), candidates: list { $0.candidate() }, leftOut: Int64(int(0...300)))),
            .taps(taps()),
        ]
        let ofSessions = bodies.map { RoomRequest(room: room(), from: sessionOrigin(), $0) }
        let ofServer = serverOperations().map { RoomRequest.Body.server($0) } + [.operation(operations()[0])]
        return ofSessions + ofServer.map { RoomRequest(room: room(), from: .server(serverOrigin()), $0) }
    }

    private mutating func sessionOrigin() -> SessionOrigin {
        var origin = SessionOrigin(
            SessionAddress(node: node(), lane: int(0...300), session: session(), encoding: any(ClientEncoding.self)),
            Caller(
                user: user(), anonymous: bool(), device: any(Device.self), rooms: maybe { $0.list { $0.room() } },
                tokenProfile: bool() ? profile() : Profile()),
            request: maybe { UInt32(truncatingIfNeeded: $0.uint64()) }, number: uint64(), rooms: list { $0.room() })
        origin.caller.revivedAt = maybe { $0.time() }
        (origin.caller.addressHash, origin.overRateMs) = (maybe { $0.uint64() }, maybe { $0.int64() })
        return origin
    }

    private mutating func serverOrigin() -> ServerOrigin {
        ServerOrigin(node: node(), lane: int(0...300), request: UInt32(int(1...1 << 30)))
    }

    mutating func mediaFile() -> MediaFile { MediaFile(room: room(), id: text(64), digest: text(64)) }

    mutating func serverOperations() -> [ServerOperation] {
        var item = BarrageItem(from: maybe { $0.sender() }, text: text(), time: time())
        item.from?.profile.ext = ""
        (item.ext, item.style) = (maybe { $0.text() }, maybe { $0.text() })
        (item.priority, item.count) = (any(Priority.self), int64())
        var one = ServerRecall(actor: actor(), id: commandID(), options: options())
        one.messageID = text(64)
        var all = ServerRecall(actor: actor(), id: commandID(), options: options())
        (all.user, all.since) = (user(), maybe { $0.time() })
        return bodies().map {
            .command(
                ServerCommand($0, actor: actor(), id: commandID(), profile: maybe { $0.profile() }, moderate: bool()))
        } + [
            .recall(one), .recall(all), .message(text(64)), .copies(list { $0.text(64) }, for: maybe { $0.user() }),
            .media(text(64), for: maybe { MediaReader(user: $0.user(), session: $0.session()) }),
            .keptMedia(list { $0.text(64) }),
            .explain, .tallies, .polls, .reports(after: maybe { $0.text(64) }, limit: int(0...100)), .barrage(item),
        ]
    }

    mutating func serverAnswers() -> [ServerAnswer] {
        roomAnswers().map { ServerAnswer(to: serverOrigin(), .answered(.success($0))) } + [
            ServerAnswer(to: serverOrigin(), .retry), ServerAnswer(to: serverOrigin(), .answered(.failure(error()))),
        ]
    }

    private mutating func candidate() -> BarrageCandidate {
        var candidate = BarrageCandidate(sender: session(), text: text(), hash: uint64())
        (candidate.ext, candidate.style) = (maybe { $0.text() }, maybe { $0.text() })
        (candidate.priority, candidate.count) = (any(Priority.self), Int64(int(1...300)))
        return candidate
    }

    private mutating func barrageItem() -> BarrageItem {
        var item = BarrageItem(from: maybe { $0.sender() }, text: text(), time: time())
        item.from?.profile.ext = ""
        (item.ext, item.style) = (maybe { $0.text() }, maybe { $0.text() })
        (item.priority, item.count) = (any(Priority.self), Int64(int(1...300)))
        return item
    }

    private mutating func range() -> ClosedRange<UInt64> {
        let (a, b) = (uint64(), uint64())
        return min(a, b)...max(a, b)
    }

    mutating func sharedFrame() -> SharedFrame {
        var writer = SharedFrameWriter(
            [[], .json, .protobuf, [.json, .protobuf]][int(0...3)])
        for push in list(3, { { (pushes: [Push]) in pushes[0] }($0.pushes()) }) { writer.append(push) }
        let traffic: [SharedFrame.Traffic] = [
            .messages, .status, .barrage(.low), .barrage(.normal), .barrage(.high), .totals,
        ]
        return writer.frame(
            traffic[int(0...5)], keptSeqs: maybe { $0.range() }, unkept: int(0...300), barrage: int(0...300))
    }

    /// Every output, and every result in a reply; lists of an enter's result are empty now and then.
    mutating func outputs() -> [RoomOutput] {
        func request(_ samples: inout Samples) -> UInt32 { UInt32(truncatingIfNeeded: samples.uint64()) }
        var outputs: [RoomOutput] = []
        var results = results()
        results.append(.enter(entered()))
        for result in results {
            outputs.append(
                .reply(
                    session(), request: request(&self), .success(result), isRepeat: bool(),
                    charged: int(0...1 << 20)))
        }
        let reason = any(KickReason.self)
        return outputs + [
            .reply(session(), request: request(&self), .failure(error()), isRepeat: bool()),
            .entered(session(), request: maybe(request), .success(entered())),
            .entered(session(), request: maybe(request), .failure(error())),
            .missed(missed(encodings: [.json, .protobuf])), .missed(missed(encodings: .json)),
            .missed(missed(encodings: .protobuf)), .missed(missed(encodings: [])),
            .entered(session(), request: maybe(request), .success(entered()), missedAfter: uint64()), .missed(nil),
            .takenOver(TakenSession(session: session(), at: time())),
            .exited(session(), request: maybe(request)), .kicked(session(), reason, ext: maybe { $0.text() }),
            .frame(sharedFrame()), .frameFor(list { $0.session() }, sharedFrame()),
            .frameExcept(list { $0.session() }, sharedFrame()), .retry(session(), request: request(&self)),
            .profile(session(), profile()), .gap(range()), .following(uint64(), through: uint64()), .silence(bool()),
            .voice(
                session(),
                Voice(
                    role: any(Role.self), mutedUntil: maybe { $0.time() },
                    in: maybe { Incarnation($0.uint64()) })),
            .barrageReceipt(window: uint64(), shown: list { UInt32(truncatingIfNeeded: $0.uint64()) }),
            .barrageEcho(session(), list { $0.barrageItem() }), .barrage(sharedFrame(), skipped: int(0...300)),
            .barrage(nil, skipped: int(1...300)),
            .taps(window: uint64(), .success(list { $0.int64() } + [0, -404])),
            .taps(window: uint64(), .failure(error())),
        ]
    }

    private mutating func entered() -> EnterResult {
        EnterResult(
            room: roomView(), me: member(), epoch: text(64), seq: uint64(),
            queue: maybe { $0.list { $0.element() } }, recovered: maybe { $0.bool() },
            missed: maybe { $0.list { $0.message() } }, missedMore: maybe { $0.bool() })
    }

    private mutating func missed(encodings: ClientEncodings) -> MissedMessages {
        MissedMessages(list { $0.message() }, after: uint64(), encodings: encodings)
    }

    mutating func wholeMessage() -> Message {
        var message = message()
        message.webhook = bool()
        return message
    }

    mutating func actor() -> Actor { command(.expire).actor }
    mutating func commandID() -> CommandID? { maybe { CommandID(scope: $0.text(), text: $0.text()) } }

    mutating func nodeRecord() -> NodeRecord {
        NodeRecord(
            node: node(), store: uint64(), linkAddress: text(), clientURLs: list { $0.text() },
            role: any(NodeRole.self), isDraining: bool(), takenInAt: time())
    }

    private mutating func systemCommands() -> [SystemCommand] {
        [
            .createCluster(
                id: text(), shardCount: UInt16(int(0...65_535)), node: node(), store: uint64(),
                level: FeatureLevel(int(1...9))),
            .revoke(user()), .put(setting: .webhook, value: maybe { _ in [1, 2] }), .begin, .nonce,
            .finish(answer: maybe { _ in [3] }), .addNode(nodeRecord()),
            .removeNode(node(), certificate: maybe { _ in [1, 2] }),
            .readmitNode(node()),
            .sanction(
                user(), any(SanctionKind.self), seconds: maybe { $0.int64() }, reason: maybe { $0.text() }, owes: bool()
            ),
            .sanctionsTold(through: uint64()),
            .setDraining(node(), bool()), .raiseLevel(FeatureLevel(int(1...9)), stores: list { $0.uint64() }),
        ]
    }

    mutating func deviceNews() -> DeviceNews {
        DeviceNews(
            node: node(), version: uint64(), asked: list { $0.user() },
            told: list {
                UserDevices(
                    user: $0.user(),
                    sessions: $0.list {
                        HeldDevice(session: $0.session(), device: $0.any(Device.self), startedAt: $0.time())
                    })
            })
    }

    mutating func questions() -> [NodeQuestion] {
        let shard = ShardID(UInt16(int(0...65_535)))
        return systemCommands().map { .propose($0, key: maybe { $0.text() }) } + [
            .explain(room()), .rooms(after: maybe { $0.room() }, limit: int(0...100)),
            .deletedRooms(after: maybe { $0.room() }, limit: int(0...100)),
            .onlineRooms(after: maybe { $0.text() }, limit: int(0...100)), .cluster, .join(nodeRecord()), .status,
            .sessions(of: user()), .sessionPage(after: maybe { $0.text() }, limit: int(0...100)),
            .slowSessions(limit: int(0...100)), .endSessions(of: user()), .endSession(session()),
            .clock, .roomCount, .migrateSession(session(), to: nil), .migrateSession(session(), to: user()),
            .direct(wholeMessage(), to: user()), .broadcast(wholeMessage()), .lanes(room()),
            .transfer(shard, to: node()), .shards, .audit(auditQuery()), .keepAudit(list { $0.auditItem() }), .figures,
            .setLogLevel(any(LogLevel.self)), .backup(text(64)), .discardBackup(text(64)), .unknown,
            .mediaWrite(MediaPiece(transfer: text(32), offset: int64(), size: int64(), bytes: [1, 2, 3])),
            .mediaFinish(mediaFile(), transfer: text(32), size: int64()),
            .mediaRead(mediaFile(), offset: int64(), count: int(0...1000)),
            .mediaHas(mediaFile(), size: int64(), isThorough: bool()),
            .mediaUse(user(), bytes: int64()), .mediaLink(mediaFile(), to: room()),
            .mediaUses(uploadUse()),
            .devices(deviceNews()), .reach(reachNews()),
        ]
    }

    mutating func reachNews() -> ReachNews { ReachNews(node: node(), unreached: list { $0.node() }) }

    mutating func uploadUse() -> UploadUse {
        var counts: [NodeID: Int64] = [:]
        for _ in 0..<int(0...3) { counts[node()] = int64() }
        return UploadUse(user: user(), day: int64(), counts: counts)
    }

    private mutating func roomAnswers() -> [RoomAnswer] {
        var figures = StateFigures()
        (figures.closed, figures.online, figures.lastSeq) = (bool(), int64(), uint64())
        figures.lastMessageAt = maybe { $0.time() }
        var found: [String: Message] = [:]
        for _ in 0..<int(0...3) { found[text(64)] = wholeMessage() }
        let results: [CommandResult] = [
            .done, .room(roomInfo()),
            .posted(
                messageID: text(64), place: place(), time: time(), priority: any(Priority.self),
                delivered: maybe { $0.int64() }),
            .member(member()), .element(element()), .missing(list { $0.text() }), .refused(error()),
            .pinned(list(10) { $0.pinned(stored: true) }), .amended(wholeMessage()),
            .amendedBefore(messageID: text(64)),
            .pinned(list(10) { $0.pinned(stored: true) }), .tally(tally()), .tapped(list { $0.int64() } + [-409]),
            .poll(poll()),
            .upload(ticket()), .held(heldID: text(64)), .decided(wholeMessage()),
            .decidedBefore(messageID: maybe { $0.text(64) }),
            .imported(ImportResult(imported: int64(), skipped: int64(), seq: uint64())),
        ]
        let shown: [OperationResult] = [
            .room(RoomResult(room: roomView(), seq: maybe { $0.uint64() })),
            .history(MessagesResult(messages: list { $0.message() }, more: bool())),
            .members(MembersResult(members: list { $0.member() }, next: maybe { $0.text(64) })),
            .membersById(MembersResult(members: list { $0.member() })),
            .queue(QueueResult(elements: list { $0.element() }, seq: uint64(), next: maybe { $0.text(64) })),
            .held(HeldResult(messages: [message()], next: maybe { $0.text(64) })),
        ]
        return results.map { .command($0) } + shown.map { .result($0) } + [
            .media(MediaStatus(record: uploadRecord(), isReaderHere: bool(), isReadable: bool())),
            .keptMedia([text(64): text(64), "x": ""]),
            .message(wholeMessage()), .copies(found), .explain(figures), .tallies(list { $0.tally() }),
            .polls(list { $0.poll() }), .done,
            .reports(ReportsResult(reports: list { $0.report() }, next: maybe { $0.text(64) })),
        ]
    }

    private mutating func levels() -> RateLevels {
        var levels = RateLevels()
        (levels.changes, levels.reads, levels.bytes, levels.repeats) = (int64(), int64(), int64(), int64())
        (levels.tapRequests, levels.taps) = (maybe { -$0.int64() }, maybe { $0.int64() })
        levels.searches = maybe { $0.int64() }
        return levels
    }

    private mutating func handedSession() -> HandedSession {
        var handed = HandedSession(
            user: user(), anonymous: bool(), device: any(Device.self), issuedAt: maybe { $0.time() },
            startedAt: time(), requestCount: uint64(),
            stays: list {
                HandedSession.RoomStay(
                    room: $0.room(), stay: SessionStay(profile: $0.profile(), enteredAt: $0.time(), isAway: $0.bool()))
            })
        (handed.levels, handed.userLevels) = (levels(), maybe { $0.levels() })
        handed.revivedAt = maybe { $0.time() }
        handed.kicks = list {
            var kick = KickedPush(room: $0.room(), reason: $0.any(KickReason.self))
            kick.ext = $0.maybe { $0.text() }
            return kick
        }
        return handed
    }

    mutating func answers() -> [NodeAnswer] {
        var explanation = RoomExplanation(room: room(), time: time())
        explanation.state = maybe { _ in StateFigures() }
        var stats = StatsView()
        (stats.sessions, stats.startedAt) = (int64(), time())
        var lane = LaneFigures(node: node(), lane: int64())
        lane.waitingBytes = int64()
        var session = SessionView(session: session(), user: user(), node: node())
        (session.rooms, session.device, session.lost) = (list { $0.room() }, any(Device.self), int64())
        let audit = auditItem()
        let shard = ShardView(
            shard: ShardID(UInt16(int(0...65_535))), leader: maybe { $0.node() }, replicas: list { $0.node() },
            term: uint64(), applied: uint64())
        let results: [SystemResult] = [
            .done, .revoked(at: time()), .answered([]), .answered([1, 2]), .begun, .refused(error()),
        ]
        let applied: [NodeAnswer] = results.map { .applied($0, index: uint64()) }
        return applied + [
            .bytes([1, 2, 3]),
            .explanation(explanation), .rooms(list { $0.roomView() }, next: maybe { $0.text() }),
            .cluster(id: text(), shardCount: UInt16(int(0...65_535))),
            .status(
                NodeStatus(
                    node: node(), version: text(), level: FeatureLevel(int(1...9)), gateways: list { $0.text() },
                    leads: list { ShardID(UInt16($0.int(0...65_535))) }, stats: stats, tokenKeys: maybe { $0.text() })),
            .sessions([session], next: maybe { $0.text() }), .count(int(0...1000)), .lanes([lane]), .shards([shard]),
            .audit([audit]), .done, .clock(time()), .devices(deviceNews()), .reach(reachNews()),
            .mediaUses(uploadUse()),
            .session(handedSession()), .figures(nodeFigures()),
            .backup(
                BackupCopy(node: node(), directory: text(), bytes: int64()),
                shards: list { ShardID(UInt16($0.int(0...65_535))) }, hasSystem: bool()),
        ]
    }

    private mutating func nodeFigures() -> NodeFigures {
        var figures = NodeFigures(node: node())
        (figures.version, figures.sessions, figures.memoryBytes) = (text(), int64(), int64())
        (figures.sendsPerSecond, figures.cpuPercent) = (Double(int(0...1000)) / 8, Double(int(0...100)))
        (figures.ackP50Ms, figures.deliverP99Ms) = (
            maybe { Double($0.int(0...1000)) / 4 }, maybe { Double($0.int(0...9)) }
        )
        figures.drops = list { DropFigures(class: $0.text(), cause: $0.text(), perSecond: Double($0.int(0...100))) }
        return figures
    }

    private mutating func auditItem() -> AuditItem {
        var item = AuditItem(
            time: time(), administrator: maybe { $0.text() }, address: text(), method: text(), path: text(),
            status: int64())
        (item.node, item.action, item.room) = (maybe { $0.node() }, maybe { $0.text() }, maybe { $0.text() })
        return item
    }

    private mutating func auditQuery() -> AuditQuery {
        AuditQuery(
            before: maybe { AuditPlace(id: $0.int64(), node: $0.node()) }, limit: int(0...100),
            actor: maybe { $0.text() }, room: maybe { $0.text() }, action: maybe { $0.text() })
    }
}
