import ChatModel
import Wire

/// Input from the server.
extension ClientCore {
    mutating func received(_ number: UInt64, _ item: ServerItem, _ now: ClientInstant) {
        guard wants(number) else { return }
        switch item {
        case .reply(let id?, let result):
            answered(id, result, on: number, now)
            connectIfSettled(now)
        case .reply(nil, .failure(let error)):
            log(.error, "the server did not understand a request: \(error.message)")
        case .reply(nil, .success): break
        case .push(.reconnect(let push)): reconnect(push, on: number, now)
        // They stand in front of the reply to the connect: no room is entered again of which one tells.
        case .push(.kicked(let push)): kicked(push)
        // A connection that is not in use yet has nothing else to say about rooms.
        case .push(let push): if number == onlineConnection { pushed(push, now) }
        case .unknown:
            effects.append(.clientEvent(.unsupported(Unsupported("a push of a later version"))))
        }
    }

    /// RFC 6455 or JSON was broken: nothing that comes after can be trusted, and the next connection tells the rest.
    mutating func broken(_ number: UInt64, _ what: String, _ now: ClientInstant) {
        guard wants(number) else { return }
        drop(number, "the server said what cannot be read: \(what)", now)
    }

    private mutating func pushed(_ push: Push, _ now: ClientInstant) {
        switch push {
        case .message(let message): toRoom(message.room, push, now)
        case .barrage(let it): toRoom(it.room, push, now)
        case .gap(let it): toRoom(it.room, push, now)
        case .skipped(let it): toRoom(it.room, push, now)
        case .online(let it): toRoom(it.room, push, now)
        case .tallies(let it): toRoom(it.room, push, now)
        case .held(let it): toRoom(it.room, push, now)
        case .denied(let it): toRoom(it.room, push, now)
        case .broadcast(let message):
            effects.append(
                .clientEvent(message.laterVersion.map { ClientEvent.unsupported($0) } ?? .broadcast(message)))
        case .direct(let message):
            effects.append(.clientEvent(message.laterVersion.map { ClientEvent.unsupported($0) } ?? .direct(message)))
        case .state(let it): roomState(it, now)
        case .token(let it):
            effects.append(.clientEvent(.tokenExpiring(seconds: it.expiresInSeconds)))
            if !settings.anonymous { effects.append(.renewToken) }
        case .devices(let it): effects.append(.clientEvent(.devices(it.devices)))
        case .reconnect, .kicked: break
        }
    }

    /// Pushes of a room count from the reply to `enter` on.
    private mutating func toRoom(_ room: RoomID?, _ push: Push, _ now: ClientInstant) {
        guard let room, var stay = stays[room], stay.takesRequests || stay.state == .lost else { return }
        let outputs = stay.stream.push(push)
        stays[room] = stay
        perform(outputs, room, now)
    }

    /// The room's owner is away, is back, or will not come back. Seqs go on where they were.
    private mutating func roomState(_ push: StatePush, _ now: ClientInstant) {
        guard let stay = stays[push.room], stay.state == .entered || stay.state == .lost else { return }
        switch push.state {
        case .lost: move(push.room, to: .lost)
        case .entered:
            move(push.room, to: .entered)
            transmit(now)
        case .failed:
            let error = push.error.map { ClientError($0) } ?? ClientError(.notInRoom, "\(push.room) does not come back")
            end(push.room, .failed(error), error)
        }
    }

    mutating func renewedTokenCame(_ token: String?, _ now: ClientInstant) {
        guard let token else { return log(.warning, "the token provider gave no new token") }
        guard token != self.token else { return log(.warning, "the token provider gave the token in use again") }
        self.token = token
        guard onlineConnection != nil else { return }
        add(PendingRequest(.refresh(RefreshRequest(token: token)), .refresh, at: now), now)
    }
}
