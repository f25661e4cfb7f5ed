import ChatModel
import Foundation
import Wire

/// SplitMix64: the same values for the same seed, on every machine.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    /// The seed of this run: SEED of the environment, else 1. Failing tests print it.
    static var seed: UInt64 { ProcessInfo.processInfo.environment["SEED"].flatMap(UInt64.init) ?? 1 }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// Random values of everything that goes over the wire, within the limits of the protocol.
struct Samples {
    var generator: SeededGenerator

    init(seed: UInt64 = SeededGenerator.seed) { generator = SeededGenerator(seed) }

    mutating func int(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }
    mutating func int64(_ range: ClosedRange<Int64> = 0...Int64.max) -> Int64 {
        bool()
            ? Int64.random(in: range, using: &generator)
            : min(max(Int64(int(0...300)), range.lowerBound), range.upperBound)
    }
    mutating func uint64() -> UInt64 {
        bool() ? UInt64.random(in: 0 ... .max, using: &generator) : UInt64(int(0...200))
    }
    mutating func bool() -> Bool { Bool.random(using: &generator) }
    mutating func maybe<T>(_ make: (inout Samples) -> T) -> T? { bool() ? make(&self) : nil }
    mutating func list<T>(_ most: Int = 3, _ make: (inout Samples) -> T) -> [T] {
        (0..<int(0...most)).map { _ in make(&self) }
    }
    mutating func any<T: CaseIterable>(_ type: T.Type) -> T {
        let all = Array(T.allCases)
        return all[int(0...all.count - 1)]
    }

    /// At least one character, at most `bytes` bytes, with what breaks careless code.
    mutating func text(_ bytes: Int = 40, least: Int = 0) -> String {
        let pieces = [
            "a", "Z", "9", " ", "\"", "\\", "/", "\n", "\r", "\t", "\u{0}", "\u{1F}", "\u{7F}", "é", "漢", "😀",
            "\u{202E}", "\u{2028}", "e\u{301}", "{", "}", "[", ",", ":",
        ]
        var result = ""
        let wanted = int(least...max(least, min(bytes, 40)))
        while result.utf8.count < wanted {
            let piece = pieces[int(0...pieces.count - 1)]
            guard result.utf8.count + piece.utf8.count <= bytes else { return result.isEmpty ? "a" : result }
            result += piece
        }
        return result
    }

    mutating func name() -> String {
        let alphabet = Array("abcXYZ019_.@:#|+~!$-")
        return "n" + String((0..<int(0...20)).map { _ in alphabet[int(0...alphabet.count - 1)] })
    }
    mutating func room() -> RoomID { RoomID(name()) ?? .blank }
    mutating func user() -> UserID { UserID(name()) ?? .blank }
    mutating func node() -> NodeID { NodeID(name()) ?? .blank }
    mutating func session() -> SessionID { SessionID(text(64, least: 1)) ?? .blank }
    mutating func time() -> Timestamp { Timestamp(int64()) }
    mutating func profile() -> Profile { Profile(nick: text(), avatar: text(), ext: text()) }
    mutating func options() -> NotifyOptions { NotifyOptions(notify: bool(), notifyExt: maybe { $0.text() }) }
    mutating func extOnly() -> NotifyOptions { NotifyOptions(notifyExt: maybe { $0.text() }) }
    mutating func profileChanges() -> ProfileChanges {
        ProfileChanges(nick: maybe { $0.text() }, avatar: maybe { $0.text() }, ext: maybe { $0.text() })
    }

    mutating func roomChanges(all: Bool = true) -> RoomChanges {
        var set = RoomChanges()
        set.name = maybe { $0.text() }
        set.announcement = maybe { $0.text() }
        set.ext = maybe { $0.text() }
        set.broadcastUrl = maybe { $0.text() }
        set.queueLevel = maybe { $0.any(QueueLevel.self) }
        set.enterExitNotify = maybe { $0.any(EnterExitNotify.self) }
        set.slowModeSeconds = maybe { $0.int64(0...1000) }
        guard all else { return set }
        set.entry = maybe { $0.any(EntryLevel.self) }
        set.idleCloseSeconds = maybe { $0.int64(0...1000) }
        set.viewerBudget = maybe { $0.int64(1...1000) }
        set.highPerSecond = maybe { $0.int64(1...50) }
        set.seatsPerUser = maybe { $0.int64(0...1000) }
        set.historyDays = maybe { $0.int64(1...3650) }
        return set
    }

    mutating func roomInfo(stored: Bool = true) -> RoomInfo {
        var info = RoomInfo(id: room(), creator: user(), createdAt: time())
        (info.name, info.announcement, info.ext, info.broadcastUrl) = (text(), text(), text(), text())
        (info.entry, info.queueLevel, info.enterExitNotify) = (
            any(EntryLevel.self), any(QueueLevel.self), any(EnterExitNotify.self)
        )
        info.slowModeSeconds = int64()
        info.idleCloseSeconds = stored ? int64() : 0
        info.viewerBudget = maybe { $0.int64() }
        (info.highPerSecond, info.seatsPerUser) = (maybe { $0.int64() }, int64())
        info.historyDays = maybe { $0.int64(1...3650) }
        (info.muted, info.closed) = (bool(), bool())
        info.pinned = list(10) { $0.pinned(stored: stored) }
        return info
    }
    /// Only what is stored has its time.
    mutating func pinned(stored: Bool = false) -> PinnedMessage {
        PinnedMessage(messageID: text(64), seq: uint64(), time: stored ? time() : .blank)
    }
    mutating func tallyKey() -> String { String(name().filter { $0.isLetter || $0.isNumber }.prefix(32)) + "k" }
    mutating func tally() -> Tally {
        Tally(key: tallyKey(), total: int64(), closed: bool(), by: any(TallySource.self))
    }
    mutating func counts() -> [TallyCount] {
        list { TallyCount(key: $0.text(20) + "-\($0.uint64())", count: $0.int64()) }
    }
    mutating func taps() -> TapBatch {
        TapBatch(life: uint64(), window: uint64(), sums: counts(), of: maybe { Incarnation($0.uint64()) })
    }
    mutating func tallyChanges() -> [TallyChange] {
        [
            .tap(int64()), .add(-int64()), .remove,
            .set(
                TallySettings(
                    total: maybe { $0.int64() }, closed: maybe { $0.bool() }, by: maybe { $0.any(TallySource.self) })),
        ]
    }
    mutating func poll(of event: EventCode? = nil) -> Poll {
        var poll = Poll(
            id: tallyKey(), title: text(), options: list { $0.text() }, counts: list { $0.int64() }, closesAt: time(),
            mayChange: bool(), closed: bool())
        if let event { poll.closed = event == .pollClosed }
        return poll
    }
    mutating func pollDraft() -> PollDraft {
        PollDraft(
            title: text(256, least: 1), options: [text(128, least: 1), text(128, least: 1)], seconds: int64(1...86_400),
            mayChange: bool())
    }
    /// Only what is stored has its place among what the webhook is owed.
    mutating func report(stored: Bool = false) -> MessageReport {
        MessageReport(
            index: uint64(), messageID: text(64), seq: uint64(),
            from: maybe { UserName(user: $0.user(), nick: $0.text()) }, excerpt: maybe { $0.text() },
            reporter: UserName(user: user(), nick: text()), reason: maybe { $0.text() }, time: time(),
            keptUntil: stored ? time() : .blank, after: stored ? uint64() : 0)
    }
    mutating func reply() -> ReplyReference {
        ReplyReference(
            messageID: text(64), seq: uint64(), user: maybe { $0.user() }, nick: text(), excerpt: maybe { $0.text() })
    }
    mutating func original() -> OriginalMessage {
        OriginalMessage(
            seq: uint64(), time: time(), user: maybe { $0.user() }, nick: text(), excerpt: maybe { $0.text() },
            isRecalled: bool())
    }
    mutating func roomView() -> RoomView {
        var view = RoomView(
            info: roomInfo(stored: false), online: int64(), shard: maybe { ShardID(UInt16($0.int(0...65535))) },
            leader: maybe { $0.node() })
        (view.deletedAt, view.purgeAt) = (maybe { $0.time() }, maybe { $0.time() })
        if view.shard != nil { view.info.idleCloseSeconds = int64(0...1_000) }
        return view
    }

    mutating func member() -> Member {
        var member = Member(user: user(), profile: profile(), role: any(Role.self))
        (member.muted, member.tempMuted, member.tempMuteSeconds) = (bool(), bool(), int64())
        (member.blacklisted, member.online, member.enteredAt) = (bool(), bool(), maybe { $0.time() })
        member.banEndsAt = maybe { $0.time() }
        return member
    }
    mutating func element() -> QueueElement {
        var element = QueueElement(key: text(32, least: 1), value: text(), owner: user())
        (element.transient, element.version, element.held) = (bool(), int64(1 ... .max), bool())
        element.locked = bool()
        return element
    }
    mutating func queueWrite() -> QueueWrite {
        var write = QueueWrite(
            key: text(), value: text(), owner: maybe { $0.user() }, transient: bool(), ifVersion: maybe { $0.int64() })
        (write.keepOwner, write.locked) = (bool(), maybe { $0.bool() })
        return write
    }
    mutating func pairs() -> [QueuePair] {
        (0..<int(0...4)).map { QueuePair(key: "\($0)" + text(), value: text()) }
    }

    mutating func media() -> Media {
        var media = Media(url: text(), name: text(), size: int64(0...6_000_000), contentType: text())
        (media.width, media.height) = (maybe { $0.int64() }, maybe { $0.int64() })
        media.durationSeconds = maybe { Double($0.int(0...3000)) / 10 }
        media.thumbnail = maybe { $0.text() }
        (media.id, media.thumbnailID) = (maybe { $0.text(64, least: 1) }, maybe { $0.text(64, least: 1) })
        return media
    }
    mutating func upload() -> UploadDraft {
        UploadDraft(
            kind: any(UploadKind.self), name: text(), contentType: "image/png", size: int64(1...1_000_000),
            sha256: maybe { _ in String(repeating: "0a", count: 32) })
    }
    mutating func uploadRecord() -> UploadRecord {
        var record = UploadRecord(draft: upload(), user: maybe { $0.user() }, createdAt: time())
        (record.digest, record.isInline) = (maybe { $0.text() }, bool())
        record.references = list { samples in
            UploadReference(seq: samples.uint64(), keptUntil: samples.time(), time: samples.maybe { $0.time() })
        }
        (record.shownUntil, record.replacedAt) = (maybe { $0.time() }, maybe { $0.time() })
        record.heldUntil = maybe { $0.time() }
        return record
    }
    mutating func ticket() -> UploadTicket { UploadTicket(mediaID: text(64), contentType: text(), expiresAt: time()) }
    mutating func body(_ type: MessageType) -> MessageBody {
        switch type {
        case .text: .text(text())
        case .tip: .tip(text())
        case .command: .command(payload: (0..<int(0...20)).map { _ in UInt8(int(0...255)) })
        case .image: .image(media())
        case .audio: .audio(media())
        case .video: .video(media())
        case .file: .file(media())
        case .location:
            .location(
                latitude: Double(int(-900...900)) / 10, longitude: Double(int(-1_800_000...1_800_000)) / 10_000,
                title: text())
        case .custom: .custom(content: text(), subtype: int64(0...200), searchable: maybe { $0.text() })
        case .combine:
            .combine(title: text(), summary: text(), messageIDs: [text(64, least: 1)] + list { $0.text(64, least: 1) })
        case .notification: .notification(notification(any(EventCode.self)))
        case .unknown: .unknown("x")
        }
    }
    mutating func notification(_ event: EventCode) -> ChatModel.Notification {
        var notification = ChatModel.Notification(event)
        notification.operator = maybe { UserName(user: $0.user(), nick: $0.text()) }
        notification.targets = list { UserName(user: $0.user(), nick: $0.text()) }
        notification.notifyExt = maybe { $0.text() }
        notification.data =
            switch event {
            case .enter: .entered(avatar: text(), ext: text(), role: any(Role.self), online: int64())
            case .exit: .exited(online: int64())
            case .roomInfoUpdated: .room(set: roomChanges())
            case .memberUpdatedInfo: .member(set: profileChanges())
            case .temporarilyMuted: .seconds(int64())
            case .queueChanged: bool() ? .queue(change: .drop, element: nil) : .queue(change: .poll, element: element())
            case .queueBatchChanged: .queueBatch(change: .partClear, elements: list { $0.element() })
            case .recalled: .recalled(messageIDs: list { $0.text(64) })
            case .amended:
                .amended(messageID: text(64), seq: uint64(), set: messageChanges(), editedAt: time())
            case .pinsChanged: .pinned(list { $0.pinned() })
            case .pollOpened, .pollClosed: .poll(poll(of: event))
            case .digest:
                .digest(
                    entered: int64(), exited: int64(), online: int64(),
                    members: list(5) {
                        DigestMember(user: $0.user(), profile: $0.profile(), notifyExt: $0.maybe { $0.text() })
                    })
            default: .none
            }
        return notification
    }
    mutating func sender() -> Sender { Sender(user: user(), profile: profile(), role: any(Role.self)) }
    mutating func place() -> MessagePlace {
        switch int(0...2) {
        case 0: .kept(seq: uint64())
        case 1: .unkept(after: uint64())
        default: .outside
        }
    }
    mutating func message() -> Message {
        let type = any(MessageType.self)
        var message = Message(
            room: maybe { $0.room() }, place: place(), messageID: text(64), time: time(), from: maybe { $0.sender() },
            body: int(0...9) == 0 ? .recalled(type) : body(type))
        message.clientID = maybe { $0.text(64) }
        message.priority = any(Priority.self)
        message.mentions = list { $0.user() }
        message.mentionAll = bool()
        message.to = list { $0.user() }
        message.ext = maybe { $0.text() }
        message.replyTo = maybe { $0.reply() }
        message.editedAt = maybe { $0.time() }
        return message
    }
    /// At least one of them is there.
    mutating func messageChanges() -> MessageChanges {
        MessageChanges(text: maybe { $0.text() }, content: maybe { $0.text() }, ext: text())
    }
    mutating func draft(stored: Bool = false) -> MessageDraft {
        var type = any(MessageType.self)
        if type == .notification, !stored { type = .custom }
        var draft = MessageDraft(body: body(type))
        draft.priority = any(Priority.self)
        draft.mentions = list { $0.user() }
        draft.mentionAll = bool()
        draft.to = list { $0.user() }
        draft.ext = maybe { $0.text() }
        draft.replyTo = maybe { $0.text(64, least: 1) }
        (draft.keep, draft.webhook) = (bool(), bool())
        return draft
    }
    mutating func error() -> ChatError {
        ChatError(any(ErrorCode.self), text(), retryAfterMs: maybe { $0.int64() }, field: maybe { $0.text() })
    }
}
