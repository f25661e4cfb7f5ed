import ChatModel

/// Which command a log entry holds. The numbers are on disk.
enum CommandKind: String, WireEnum {
    case createRoom = "CREATE_ROOM"
    case updateRoom = "UPDATE_ROOM"
    case closeRoom = "CLOSE_ROOM"
    case reopenRoom = "REOPEN_ROOM"
    case deleteRoom = "DELETE_ROOM"
    case undeleteRoom = "UNDELETE_ROOM"
    case purgeRoom = "PURGE_ROOM"
    case post = "POST"
    case recall = "RECALL"
    case setManager = "SET_MANAGER"
    case setMember = "SET_MEMBER"
    case setRole = "SET_ROLE"
    case setBlacklist = "SET_BLACKLIST"
    case setMute = "SET_MUTE"
    case tempMute = "TEMP_MUTE"
    case muteRoom = "MUTE_ROOM"
    case kick = "KICK"
    case updateMe = "UPDATE_ME"
    case queueSet = "QUEUE_SET"
    case queueSetMany = "QUEUE_SET_MANY"
    case queueTake = "QUEUE_TAKE"
    case queueClear = "QUEUE_CLEAR"
    case queueRemove = "QUEUE_REMOVE"
    case expire = "EXPIRE"
    case occupancy = "OCCUPANCY"
    case addRobots = "ADD_ROBOTS"
    case removeRobots = "REMOVE_ROBOTS"
    case webhookDelivered = "WEBHOOK_DELIVERED"
    case pin = "PIN"
    case amend = "AMEND"
    case decideHeld = "DECIDE_HELD"
    case withdrawHeld = "WITHDRAW_HELD"
    case tap = "TAP"
    case tally = "TALLY"
    case registerUpload = "REGISTER_UPLOAD"
    case completeUpload = "COMPLETE_UPLOAD"
    case removeUpload = "REMOVE_UPLOAD"
    case openPoll = "OPEN_POLL"
    case vote = "VOTE"
    case closePoll = "CLOSE_POLL"
    case report = "REPORT"
    case importMessages = "IMPORT_MESSAGES"

    static var blank: CommandKind { .expire }
    var number: Int {
        switch self {
        case .createRoom: 1
        case .updateRoom: 2
        case .closeRoom: 3
        case .reopenRoom: 4
        case .deleteRoom: 5
        case .post: 6
        case .recall: 7
        case .setManager: 8
        case .setMember: 9
        case .setRole: 10
        case .setBlacklist: 11
        case .setMute: 12
        case .tempMute: 13
        case .muteRoom: 14
        case .kick: 15
        case .updateMe: 16
        case .queueSet: 17
        case .queueSetMany: 18
        case .queueTake: 19
        case .queueClear: 20
        case .queueRemove: 21
        case .expire: 22
        case .occupancy: 23
        case .addRobots: 24
        case .removeRobots: 25
        case .webhookDelivered: 30
        case .undeleteRoom: 31
        case .purgeRoom: 32
        case .pin: 33
        case .amend: 34
        case .tap: 35
        case .tally: 36
        case .report: 42
        case .decideHeld: 40
        case .withdrawHeld: 41
        case .registerUpload: 44
        case .completeUpload: 45
        case .openPoll: 37
        case .vote: 38
        case .closePoll: 39
        case .importMessages: 46
        case .removeUpload: 47
        }
    }
}

extension CommandBody {
    /// Visits the command's kind, and its draft or its other parameters.
    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var kind = CommandKind.blank
        var draft: MessageDraft?
        var fields: CommandFields?
        if !W.isDecoding { (kind, draft, fields) = parts }
        try walker.required(6, "kind", &kind)
        try walker.optional(7, "draft", &draft)
        try walker.optional(8, "fields", &fields)
        if W.isDecoding { self = try Self.from(kind, draft, fields) }
    }

    private var parts: (CommandKind, MessageDraft?, CommandFields?) {
        var fields = CommandFields()
        let kind: CommandKind
        switch self {
        case .reopenRoom: return (.reopenRoom, nil, nil)
        case .deleteRoom: return (.deleteRoom, nil, nil)
        case .undeleteRoom: return (.undeleteRoom, nil, nil)
        case .purgeRoom: return (.purgeRoom, nil, nil)
        case .expire: return (.expire, nil, nil)
        case .post(let draft): return (.post, draft, nil)
        case .createRoom(let creator, let set): (kind, fields.user, fields.room) = (.createRoom, creator, set)
        case .updateRoom(let set, let options): (kind, fields.room, fields.options) = (.updateRoom, set, options)
        case .closeRoom(let options): (kind, fields.options) = (.closeRoom, options)
        case .recall(let targets, let options): (kind, fields.targets, fields.options) = (.recall, targets, options)
        case .pin(let messageID, let enable, let options):
            (kind, fields.messageID, fields.enable, fields.options) = (.pin, messageID, enable, options)
        case .amend(let messageID, let set):
            (kind, fields.messageID, fields.message) = (.amend, messageID, set)
        case .report(let messageID, let reason):
            (kind, fields.messageID, fields.reason) = (.report, messageID, reason)
        case .decideHeld(let heldID, let decision):
            (kind, fields.messageID, fields.decision) = (.decideHeld, heldID, decision)
        case .withdrawHeld(let heldID): (kind, fields.messageID) = (.withdrawHeld, heldID)
        case .tap(let batch): (kind, fields.taps) = (.tap, batch)
        case .tally(let key, let change): (kind, fields.key, fields.tally) = (.tally, key, change)
        case .openPoll(let id, let draft, let options):
            (kind, fields.key, fields.poll, fields.options) = (.openPoll, id, draft, options)
        case .vote(let id, let option): (kind, fields.key, fields.option) = (.vote, id, option)
        case .closePoll(let id, let options): (kind, fields.key, fields.options) = (.closePoll, id, options)
        case .setManager(let user, let enable, let options):
            (kind, fields.user, fields.enable, fields.options) = (.setManager, user, enable, options)
        case .setMember(let user, let enable, let options):
            (kind, fields.user, fields.enable, fields.options) = (.setMember, user, enable, options)
        case .setRole(let user, let role, let options):
            (kind, fields.user, fields.role, fields.options) = (.setRole, user, role, options)
        case .setBlacklist(let user, let enable, let options):
            (kind, fields.user, fields.enable, fields.options) = (.setBlacklist, user, enable, options)
        case .setMute(let user, let enable, let options):
            (kind, fields.user, fields.enable, fields.options) = (.setMute, user, enable, options)
        case .tempMute(let user, let seconds, let options):
            (kind, fields.user, fields.seconds, fields.options) = (.tempMute, user, seconds, options)
        case .muteRoom(let enable, let options): (kind, fields.enable, fields.options) = (.muteRoom, enable, options)
        case .kick(let user, let seconds, let options):
            (kind, fields.user, fields.seconds, fields.options) = (.kick, user, seconds, options)
        case .updateMe(let set, let save, let options):
            (kind, fields.profile, fields.save, fields.options) = (.updateMe, set, save, options)
        case .queueSet(let write, let options):
            (kind, fields.key, fields.value, fields.user) = (.queueSet, write.key, write.value, write.owner)
            (fields.transient, fields.ifVersion, fields.options) = (write.transient, write.ifVersion, options)
            (fields.keepOwner, fields.locked) = (write.keepOwner ? true : nil, write.locked)
        case .queueSetMany(let pairs, let options):
            (kind, fields.pairs, fields.options) = (.queueSetMany, pairs, options)
        case .queueTake(let key, let options): (kind, fields.key, fields.options) = (.queueTake, key, options)
        case .queueClear(let options): (kind, fields.options) = (.queueClear, options)
        case .queueRemove(let elements): (kind, fields.elements) = (.queueRemove, elements)
        case .occupancy(let since): (kind, fields.emptySince) = (.occupancy, since)
        case .addRobots(let robots): (kind, fields.robots) = (.addRobots, robots)
        case .removeRobots(let users): (kind, fields.users) = (.removeRobots, users)
        case .registerUpload(let draft): (kind, fields.upload) = (.registerUpload, draft)
        case .completeUpload(let mediaID, let digest, let isInline):
            (kind, fields.mediaID, fields.mediaDigest, fields.isInline) = (.completeUpload, mediaID, digest, isInline)
        case .removeUpload(let mediaID): (kind, fields.mediaID) = (.removeUpload, mediaID)
        case .importMessages(let messages, let newest):
            (kind, fields.imported, fields.newest) = (.importMessages, messages, newest)
        case .webhookDelivered(let progress): (kind, fields.progress) = (.webhookDelivered, progress)
        }
        return (kind, nil, fields)
    }

    private static func from(_ kind: CommandKind, _ draft: MessageDraft?, _ parameters: CommandFields?)
        throws(ChatError)
        -> CommandBody
    {
        switch kind {
        case .reopenRoom: return .reopenRoom
        case .deleteRoom: return .deleteRoom
        case .undeleteRoom: return .undeleteRoom
        case .purgeRoom: return .purgeRoom
        case .expire: return .expire
        case .post:
            guard let draft else { throw .missing("draft") }
            return .post(draft)
        default: break
        }
        guard let fields = parameters else { throw .missing("fields") }
        func user() throws(ChatError) -> UserID { try fields.need(fields.user, "user") }
        func enable() throws(ChatError) -> Bool { try fields.need(fields.enable, "enable") }
        func seconds() throws(ChatError) -> Int64 { try fields.need(fields.seconds, "seconds") }
        let options = fields.options
        switch kind {
        case .createRoom: return .createRoom(creator: try user(), set: try fields.need(fields.room, "room"))
        case .updateRoom: return .updateRoom(set: try fields.need(fields.room, "room"), options)
        case .closeRoom: return .closeRoom(options)
        case .recall: return .recall(fields.targets, options)
        case .pin:
            return .pin(messageID: try fields.need(fields.messageID, "messageId"), enable: try enable(), options)
        case .amend:
            return .amend(
                messageID: try fields.need(fields.messageID, "messageId"),
                set: try fields.need(fields.message, "message"))
        case .report:
            return .report(messageID: try fields.need(fields.messageID, "messageId"), reason: fields.reason)
        case .decideHeld:
            return .decideHeld(
                heldID: try fields.need(fields.messageID, "messageId"), try fields.need(fields.decision, "decision"))
        case .withdrawHeld: return .withdrawHeld(heldID: try fields.need(fields.messageID, "messageId"))
        case .tap: return .tap(try fields.need(fields.taps, "taps"))
        case .tally:
            return .tally(key: try fields.need(fields.key, "key"), try fields.need(fields.tally, "tally"))
        case .openPoll:
            return .openPoll(id: try fields.need(fields.key, "key"), try fields.need(fields.poll, "poll"), options)
        case .vote:
            return .vote(poll: try fields.need(fields.key, "key"), option: try fields.need(fields.option, "option"))
        case .closePoll: return .closePoll(id: try fields.need(fields.key, "key"), options)
        case .setManager: return .setManager(try user(), enable: try enable(), options)
        case .setMember: return .setMember(try user(), enable: try enable(), options)
        case .setRole: return .setRole(try user(), try fields.need(fields.role, "role"), options)
        case .setBlacklist: return .setBlacklist(try user(), enable: try enable(), options)
        case .setMute: return .setMute(try user(), enable: try enable(), options)
        case .tempMute: return .tempMute(try user(), seconds: try seconds(), options)
        case .muteRoom: return .muteRoom(enable: try enable(), options)
        case .kick: return .kick(try user(), banSeconds: fields.seconds, options)
        case .updateMe:
            return .updateMe(
                try fields.need(fields.profile, "profile"), save: try fields.need(fields.save, "save"), options)
        case .queueSet:
            var write = QueueWrite(
                key: try fields.need(fields.key, "key"), value: try fields.need(fields.value, "value"),
                owner: fields.user, transient: try fields.need(fields.transient, "transient"),
                ifVersion: fields.ifVersion)
            (write.keepOwner, write.locked) = (fields.keepOwner ?? false, fields.locked)
            return .queueSet(write, options)
        case .queueSetMany: return .queueSetMany(fields.pairs, options)
        case .queueTake: return .queueTake(key: fields.key, options)
        case .queueClear: return .queueClear(options)
        case .queueRemove: return .queueRemove(fields.elements)
        case .occupancy: return .occupancy(emptySince: fields.emptySince)
        case .addRobots: return .addRobots(fields.robots)
        case .removeRobots: return .removeRobots(fields.users)
        case .registerUpload: return .registerUpload(try fields.need(fields.upload, "upload"))
        case .completeUpload:
            return .completeUpload(
                mediaID: try fields.need(fields.mediaID, "mediaId"),
                digest: try fields.need(fields.mediaDigest, "mediaDigest"), isInline: fields.isInline ?? false)
        case .removeUpload: return .removeUpload(mediaID: try fields.need(fields.mediaID, "mediaId"))
        case .importMessages: return .importMessages(fields.imported, after: fields.newest)
        case .webhookDelivered: return .webhookDelivered(try fields.need(fields.progress, "progress"))
        case .reopenRoom, .deleteRoom, .undeleteRoom, .purgeRoom, .post, .expire:
            throw .wrongType("a command with fields")
        }
    }
}
