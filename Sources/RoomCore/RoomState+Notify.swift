import ChatModel

/// Messages that the room itself emits.
extension RoomState {
    /// Emits a kept notification, unless the caller asked for none.
    /// - Parameter message: what it changes: its priority and its way to the app's webhook are the notification's.
    mutating func notify(
        _ event: EventCode, _ options: NotifyOptions, of targets: [UserID] = [], data: NotificationData = .none,
        like message: Message? = nil, for command: Command, _ outcome: inout Outcome
    ) {
        guard options.notify else { return }
        var notification = Notification(event)
        notification.operator = operatorName(command)
        notification.targets = targets.map { UserName(user: $0, nick: nick(of: $0, command.facts)) }
        notification.notifyExt = options.notifyExt
        notification.data = data
        let (seq, messageID) = nextKept()
        var fields = MessageFields(
            room: room, place: .kept(seq: seq), messageID: messageID, time: outcome.time, from: nil,
            body: .notification(notification))
        if let message { (fields.priority, fields.webhook) = (message.priority, message.webhook) }
        keep(Message(fields), key: nil, for: command, &outcome)
    }

    mutating func keep(_ message: Message, key: CommandKey?, for command: Command, _ outcome: inout Outcome) {
        owe(message, for: command, &outcome)
        outcome.keep(message, key)
        outcome.touchesRoom = true
    }

    private func operatorName(_ command: Command) -> UserName? {
        switch command.actor {
        case .system: nil
        case .moderator(let name): name
        case .server(let name):
            name.nick.isEmpty ? UserName(user: name.user, nick: nick(of: name.user, command.facts)) : name
        case .member(let user, let profile, _): UserName(user: user, nick: profile.nick)
        }
    }

    func nick(of user: UserID, _ facts: CommandFacts) -> String { profile(of: user, facts).nick }

    /// The profile of the present stay, else the saved one, else an empty one.
    func profile(of user: UserID, _ facts: CommandFacts) -> Profile {
        facts.names[user] ?? members[user]?.savedProfile ?? Profile()
    }
}
