import ChatModel
import Wire

/// A client's operation that goes through the log: the command it becomes and the shape of its answer.
struct DurableChange {
    var body: CommandBody
    var clientID: String?
    var shape: AnswerShape
    /// Users whose names the notification shows.
    var users: [UserID] = []
    /// What must be looked up before it is proposed.
    var lookup: FactLookup?

    /// nil for an operation that changes nothing durable.
    init?(_ operation: ClientOperation) {
        switch operation {
        case .send(let r):
            self.init(.post(r.draft), r.clientID, .send(asked: r.draft.priority))
            if case .combine(_, _, let messageIDs) = r.draft.body {
                lookup = .copies(messageIDs, for: nil, from: [])
            }
        case .updateRoom(let r):
            self.init(.updateRoom(set: r.set, r.options), r.clientID, .updateRoom)
        case .updateMe(let r):
            self.init(.updateMe(r.set, save: r.save, r.options), r.clientID, .updateMe)
        case .setManager(let r):
            self.init(.setManager(r.user, enable: r.enable, r.options), r.clientID, .setManager, [r.user])
        case .setMember(let r):
            self.init(.setMember(r.user, enable: r.enable, r.options), r.clientID, .setMember, [r.user])
        case .recall(let r):
            self.init(.recall([], NotifyOptions()), r.clientID, .recall)
            lookup = .message(r.messageID)
        case .setBlacklist(let r):
            self.init(.setBlacklist(r.user, enable: r.enable, r.options), r.clientID, .setBlacklist, [r.user])
            if r.recall, r.enable { lookup = .messages(of: r.user, since: nil) }
        case .setMute(let r):
            self.init(.setMute(r.user, enable: r.enable, r.options), r.clientID, .setMute, [r.user])
        case .tempMute(let r):
            self.init(.tempMute(r.user, seconds: r.seconds, r.options), r.clientID, .tempMute, [r.user])
        case .kick(let r):
            self.init(.kick(r.user, banSeconds: r.banSeconds, r.options), r.clientID, .kick, [r.user])
        case .muteRoom(let r):
            self.init(.muteRoom(enable: r.enable, r.options), r.clientID, .muteRoom)
        case .queueSet(let r):
            self.init(
                .queueSet(
                    key: r.key, value: r.value, owner: nil, transient: r.transient, ifVersion: r.ifVersion, r.options),
                r.clientID, .queueSet)
        case .queueSetMany(let r):
            self.init(.queueSetMany(r.values, r.options), r.clientID, .queueSetMany)
        case .queueTake(let r):
            self.init(.queueTake(key: r.key, r.options), r.clientID, .queueTake)
        case .queueClear(let r):
            self.init(.queueClear(r.options), r.clientID, .queueClear)
        case .connect, .refresh, .ping, .enter, .exit, .barrage, .combined, .history, .room, .members,
            .membersById, .queue:
            return nil
        }
    }

    private init(_ body: CommandBody, _ clientID: String?, _ shape: AnswerShape, _ users: [UserID] = []) {
        self.body = body
        self.clientID = clientID
        self.shape = shape
        self.users = users
    }
}

/// Which result a session's request gets when its command is applied.
enum AnswerShape: Sendable {
    case send(asked: Priority)
    case recall, updateRoom, updateMe, setManager, setMember, setBlacklist, setMute, tempMute, kick, muteRoom
    case queueSet, queueSetMany, queueTake, queueClear

    /// The reply to the request; `view` is the room after the command.
    func answer(_ result: CommandResult, view: RoomView?) -> Result<OperationResult, ChatError> {
        switch (self, result) {
        case (_, .refused(let error)):
            .failure(error)
        case (.send(let asked), .posted(let messageID, let place, let time, let priority, let delivered)):
            .success(.send(Self.sent(messageID, place, time, priority == asked ? nil : priority, delivered)))
        case (.recall, .done): .success(.recall)
        case (.updateRoom, .room(let info)):
            .success(.updateRoom(RoomResult(room: RoomView(info: info, online: view?.online ?? 0))))
        case (.updateMe, .member(let member)): .success(.updateMe(MemberResult(member: member)))
        case (.setManager, .member(let member)): .success(.setManager(MemberResult(member: member)))
        case (.setMember, .member(let member)): .success(.setMember(MemberResult(member: member)))
        case (.setBlacklist, .member(let member)): .success(.setBlacklist(MemberResult(member: member)))
        case (.setMute, .member(let member)): .success(.setMute(MemberResult(member: member)))
        case (.tempMute, .member(let member)): .success(.tempMute(MemberResult(member: member)))
        case (.kick, .done): .success(.kick)
        case (.muteRoom, .done): .success(.muteRoom)
        case (.queueSet, .element(let element)): .success(.queueSet(ElementResult(element: element)))
        case (.queueTake, .element(let element)): .success(.queueTake(ElementResult(element: element)))
        case (.queueSetMany, .missing(let keys)): .success(.queueSetMany(MissingResult(missing: keys)))
        case (.queueClear, .done): .success(.queueClear)
        default:
            // A clientId that was used for another kind of operation before.
            .failure(ChatError(.conflict, "this clientId belongs to another operation"))
        }
    }

    private static func sent(
        _ messageID: String, _ place: MessagePlace, _ time: Timestamp, _ lowered: Priority?, _ delivered: Int64?
    ) -> SendResult {
        var sent = SendResult(messageID: messageID, time: time)
        sent.place = place
        sent.priority = lowered
        sent.delivered = delivered
        return sent
    }
}
