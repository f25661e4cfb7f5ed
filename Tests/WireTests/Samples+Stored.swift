import ChatModel
import Wire

extension Samples {
    /// One command of every kind.
    mutating func bodies() -> [CommandBody] {
        [
            .createRoom(creator: user(), set: roomChanges()), .updateRoom(set: roomChanges(), options()),
            .closeRoom(options()), .reopenRoom, .deleteRoom, .undeleteRoom, .purgeRoom, .post(draft(stored: true)),
            .recall(
                list {
                    RecallTarget(
                        seq: $0.uint64(), sender: $0.maybe { $0.user() }, time: $0.time(),
                        type: $0.any(MessageType.self))
                },
                options()),
            .pin(messageID: text(64), enable: bool(), options()), .registerUpload(upload()),
            .report(messageID: text(64), reason: maybe { $0.text() }),
            .completeUpload(mediaID: text(64), digest: text(64), isInline: bool()), .removeUpload(mediaID: text(64)),
            .setManager(user(), enable: bool(), options()), .setMember(user(), enable: bool(), options()),
            .setRole(user(), any(FixedRole.self), options()), .setBlacklist(user(), enable: bool(), options()),
            .setMute(user(), enable: bool(), options()), .tempMute(user(), seconds: int64(), options()),
            .muteRoom(enable: bool(), options()), .kick(user(), banSeconds: int64(), options()),
            .updateMe(profileChanges(), save: bool(), options()),
            .queueSet(queueWrite(), options()),
            .queueSetMany(pairs(), options()), .queueTake(key: maybe { $0.text() }, options()), .queueClear(options()),
            .queueRemove(list { QueueElementVersion($0.element()) }), .expire,
            .occupancy(emptySince: maybe { $0.time() }),
            .addRobots(list { Robot(user: $0.user(), profile: $0.profile()) }), .removeRobots(list { $0.user() }),
            .webhookDelivered(
                WebhookProgress(
                    incarnation: Incarnation(uint64()), seq: uint64(), time: time(), eventIndex: uint64(),
                    forgotten: maybe { $0.int64() }, forgottenFrom: uint64())),
            .tap(taps()), .openPoll(id: tallyKey(), pollDraft(), options()), .vote(poll: tallyKey(), option: int64()),
            .closePoll(id: tallyKey(), options()),
            .decideHeld(heldID: text(64), HeldDecision(isAllowed: bool(), reason: maybe { $0.text(256) })),
            .withdrawHeld(heldID: text(64)),
            .importMessages(
                list { $0.importedMessage() },
                after: maybe { sample in NewestMessage(seq: sample.uint64(), time: sample.maybe { $0.time() }) }),
        ] + tallyChanges().map { .tally(key: "key", $0) }
    }

    mutating func command(_ body: CommandBody) -> Command {
        var facts = CommandFacts()
        (facts.fixedMembersMax, facts.blacklistedMax) = (int(0...1000), int(0...1000))
        (facts.managersMax, facts.queueElementsMax) = (int(0...1000), int(0...1000))
        (facts.recallWindowSeconds, facts.highPerSecondMax) = (int64(), int(0...1000))
        facts.robotsMax = int(0...1000)
        facts.webhook = bool()
        for _ in 0..<int(0...3) { facts.names[user()] = profile() }
        for _ in 0..<int(0...2) {
            facts.recalled.append(
                RecallTarget(seq: uint64(), sender: maybe { $0.user() }, time: time(), type: any(MessageType.self)))
        }
        facts.keepDeletedSeconds = int64()
        facts.delivered = maybe { $0.int64() }
        (facts.addressHash, facts.addressBarSeconds) = (maybe { $0.uint64() }, int64())
        facts.copies = list { $0.message() }
        facts.pollKey = maybe { PollKey(high: $0.uint64(), low: $0.uint64()) }
        (facts.original, facts.keptSince) = (maybe { $0.original() }, maybe { $0.time() })
        facts.amended = maybe { $0.wholeMessage() }
        facts.mediaID = maybe { $0.text(64) }
        facts.hold = maybe { HoldPolicy(seconds: $0.int64(), onExpiry: $0.any(HoldExpiry.self)) }
        facts.owesByRow = bool()
        facts.owesPast = bool()
        (facts.tellsGoneElements, facts.heldBySender) = (bool(), bool())
        facts.sharedUploads = list { SharedUpload(mediaID: $0.text(64), record: $0.uploadRecord()) }
        let actor: Actor =
            switch int(0...3) {
            case 0: .system
            case 1: .server(UserName(user: user(), nick: text()))
            case 2: .moderator(UserName(user: user(), nick: text()))
            default: .member(user(), profile(), anonymous: bool())
            }
        return Command(
            id: maybe { CommandID(scope: $0.text(), text: $0.text()) }, room: room(), actor: actor, body: body,
            facts: facts)
    }

    mutating func importedMessage() -> ImportedMessage {
        let whole = wholeMessage().fields
        var from = maybe { $0.sender() }
        if let role = from?.role { from?.role = role.shownToOthers }
        var message = ImportedMessage(
            time: time(), from: from, body: whole.isRecalled ? .text(text()) : whole.body)
        (message.priority, message.mentions, message.mentionAll) = (whole.priority, whole.mentions, bool())
        (message.ext, message.clientID) = (whole.ext, clientID())
        message.key = message.from.flatMap { from in
            message.clientID.map { commandKey(CommandID(scope: from.user.text, text: $0)) }
        }
        return message
    }

    mutating func heldRecord() -> HeldRecord {
        var record = HeldRecord(
            message: wholeMessage(), index: uint64(), after: uint64(), isOfServer: bool(), key: maybe { $0.key() },
            expiresAt: time(), onExpiry: any(HoldExpiry.self))
        record.isOfSender = bool()
        record.copies = list { $0.message() }
        return record
    }

    mutating func deniedRecord() -> DeniedRecord {
        var record = DeniedRecord(
            heldID: text(64), user: maybe { $0.user() }, time: time(), index: uint64(), after: uint64())
        (record.clientID, record.reason, record.key) = (clientID(), maybe { $0.text(256) }, maybe { $0.key() })
        return record
    }

    private mutating func key() -> CommandKey { CommandKey(high: uint64(), low: uint64()) }

    mutating func webhookRecord() -> WebhookRecord {
        var record = WebhookRecord()
        (record.firstSeq, record.since, record.forgotten) = (uint64(), time(), int64())
        (record.firstReport, record.firstHeld, record.toldForgotten) = (uint64(), uint64(), int64())
        record.forgottenFrom = uint64()
        record.events = list { $0.lifeEvent() }
        return record
    }

    private mutating func lifeEvent() -> RoomLifeEvent {
        var event = RoomLifeEvent(kind: any(RoomLifeEvent.Kind.self), index: uint64(), after: uint64(), time: time())
        (event.lostFrom, event.lostTo) = (uint64(), uint64())
        event.life = bool() ? Incarnation(uint64()) : nil
        return event
    }

    /// One catalogue value of every kind and shape.
    mutating func catalogueValues() -> [(CatalogueKind, CatalogueValue)] {
        var record = RoomRecord(
            info: roomInfo(), incarnation: Incarnation(uint64()), lastSeq: uint64(),
            nextQueuePosition: int64(1 ... .max))
        record.recentHigh = list(10) { $0.time() }
        record.recentServerHigh = list(10) { $0.time() }
        record.emptySince = maybe { $0.time() }
        record.robots = int64()
        record.kicks = list(10) { RecordedKick($0.user(), at: $0.time(), $0.any(KickReason.self)) }
        record.everybodyOutAt = maybe { $0.time() }
        record.lives.floor = maybe { $0.time() }
        record.lives.spans = list { samples in
            RoomLives.Span(fromDay: samples.int64(0...100_000), life: samples.any(HistoryLife.self))
        }
        var member = MemberRecord(role: any(FixedMemberRole.self), since: time())
        (member.muted, member.blacklisted) = (bool(), bool())
        (member.tempMutedUntil, member.bannedUntil) = (maybe { $0.time() }, maybe { $0.time() })
        member.savedProfile = maybe { $0.profile() }
        member.barredAddress = maybe { BarredAddress(hash: $0.uint64(), until: $0.time()) }
        let results: [RememberedResult] = [
            .done, .room(roomInfo()),
            .posted(
                messageID: text(64), place: place(), time: time(), priority: any(Priority.self),
                delivered: maybe { $0.int64() }),
            .member(self.member()), .element(element()), .taken(element()),
            .missing(list { UInt8(truncatingIfNeeded: $0.uint64()) }),
            .pinned(list(10) { $0.pinned(stored: true) }), .amended(messageID: text(64)),
            .pinned(list(10) { $0.pinned(stored: true) }), .tally(tally()),
            .upload(ticket()),
            .pinned(list(10) { $0.pinned(stored: true) }), .tally(tally()), .poll(poll()),
            .decided(messageID: maybe { $0.text(64) }),
            .imported(ImportResult(imported: int64(), skipped: int64(), seq: uint64())),
        ]
        return [
            (.held, .held(heldRecord())), (.denied, .denied(deniedRecord())),
            (.owedHeld, .owedHeld(lifeEvent())),
            (.upload, .upload(uploadRecord())), (.report, .report(report(stored: true))),
            (.room, .room(record)), (.member, .member(member)), (.queue, .queue(element(), position: int64())),
            (.slow, .time(time())), (.robot, .robot(RobotRecord(profile: profile(), enteredAt: time()))),
            (
                .poll,
                .poll(
                    PollRecord(
                        poll: poll(), number: uint64(), key: PollKey(high: uint64(), low: uint64()),
                        closedAt: maybe { $0.time() }))
            ),
            (.votes, .votes(PollVotes(bytes: list { UInt8(truncatingIfNeeded: $0.uint64()) }))),
            (.webhook, .webhook(webhookRecord())), (.tally, .tally(tally())),
            (.taps, .taps(TapMemory(window: uint64(), time: time(), results: list { $0.int64() } + [-404]))),
            (.deletedRoom, .deletedRoom(DeletedRoomRecord(room: record, deletedAt: time(), purgeAt: time()))),
        ]
            + results.map {
                (.command, .command(CommandMemory(result: $0, time: time(), index: uint64(), owner: uint64())))
            }
    }
}
