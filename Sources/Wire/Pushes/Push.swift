import ChatModel

/// A push of the server: one case for each push of PROTOCOL.md, "Pushes".
public enum Push: Sendable, Hashable {
    /// An entry of a room's stream.
    case message(Message)
    /// Transient comments of a room.
    case barrage(BarragePush)
    /// A message to everyone online: no room, no seq.
    case broadcast(Message)
    /// A message to this user: no room, no seq.
    case direct(Message)
    /// The session is out of a room.
    case kicked(KickedPush)
    /// Some seqs are only in history.
    case gap(GapPush)
    /// Counts of what this viewer was spared.
    case skipped(SkippedPush)
    /// How many are in a room.
    case online(OnlinePush)
    /// A room's owner is away, back, or lost.
    case state(StatePush)
    /// The token ends soon.
    case token(TokenPush)
    /// Connect again, elsewhere.
    case reconnect(ReconnectPush)
    /// Totals that have changed.
    case tallies(TalliesPush)
    /// The user's sessions.
    case devices(DevicesPush)
    /// For managers: a message waits for them.
    case held(HeldPush)
    /// For its sender: a held message was not let through.
    case denied(DeniedPush)
}

extension Push {
    static let messageNumber = 50

    /// Visits the push's key. `message`, `barrage` and `held` are also results, so the schema calls the pushes
    /// `message_push`, `barrage_push` and `held_push`.
    /// - Returns: how many push keys were there.
    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) -> Int {
        // By far the most, and written without a look at the other keys.
        if !W.isDecoding, !W.describesSchema, case .message(var message) = self {
            try walker.required(Self.messageNumber, "message", &message)
            return 1
        }
        let current = self
        var seen = 0
        try seen +=
            walker.choice(
                Self.messageNumber, "message", protobufName: "messagePush",
                { if case .message(let it) = current { it } else { nil } },
                { self = .message($0) }) ? 1 : 0
        try seen +=
            walker.choice(
                51, "barrage", protobufName: "barragePush", { if case .barrage(let it) = current { it } else { nil } },
                { self = .barrage($0) }) ? 1 : 0
        try seen +=
            walker.choice(
                52, "broadcast", { if case .broadcast(let it) = current { it } else { nil } }, { self = .broadcast($0) }
            ) ? 1 : 0
        try seen +=
            walker.choice(
                53, "direct", { if case .direct(let it) = current { it } else { nil } }, { self = .direct($0) }) ? 1 : 0
        try seen +=
            walker.choice(
                54, "kicked", { if case .kicked(let it) = current { it } else { nil } }, { self = .kicked($0) }) ? 1 : 0
        try seen +=
            walker.choice(55, "gap", { if case .gap(let it) = current { it } else { nil } }, { self = .gap($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                56, "skipped", { if case .skipped(let it) = current { it } else { nil } }, { self = .skipped($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                57, "online", { if case .online(let it) = current { it } else { nil } }, { self = .online($0) }) ? 1 : 0
        try seen +=
            walker.choice(58, "state", { if case .state(let it) = current { it } else { nil } }, { self = .state($0) })
            ? 1 : 0
        try seen +=
            walker.choice(59, "token", { if case .token(let it) = current { it } else { nil } }, { self = .token($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                60, "reconnect", { if case .reconnect(let it) = current { it } else { nil } }, { self = .reconnect($0) }
            ) ? 1 : 0
        try seen +=
            walker.choice(
                61, "tallies", { if case .tallies(let it) = current { it } else { nil } }, { self = .tallies($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                62, "held", protobufName: "heldPush", { if case .held(let it) = current { it } else { nil } },
                { self = .held($0) }) ? 1 : 0
        try seen +=
            walker.choice(
                63, "denied", { if case .denied(let it) = current { it } else { nil } }, { self = .denied($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                64, "devices", { if case .devices(let it) = current { it } else { nil } }, { self = .devices($0) })
            ? 1 : 0
        return seen
    }
}
