import ChatModel
import ClientCore
import Wire

/// Changing the room and its members.
extension Chatroom {
    /// Changes the room's settings. Managers only.
    @discardableResult
    public func update(
        _ changes: RoomChanges, options: NotifyOptions = NotifyOptions()
    ) async throws(ClientError) -> RoomView {
        let request = UpdateRoomRequest(room: id, set: changes, options: options, clientID: Self.freshID())
        guard case .updateRoom(let result) = try await client.perform(.updateRoom(request)) else { throw .mismatch }
        return result.room
    }

    /// Changes what one shows during this stay.
    /// - Parameter save: keeps it for a fixed member.
    @discardableResult
    public func updateMe(
        _ changes: ProfileChanges, save: Bool = false, options: NotifyOptions = NotifyOptions()
    ) async throws(ClientError) -> Member {
        let request = UpdateMeRequest(
            room: id, set: changes, save: save, options: options, clientID: Self.freshID())
        guard case .updateMe(let result) = try await client.perform(.updateMe(request)) else { throw .mismatch }
        return result.member
    }

    /// Makes or unmakes a manager. The creator only.
    @discardableResult
    public func setManager(
        _ user: UserID, _ enable: Bool, notifyExt: String? = nil
    ) async throws(ClientError) -> Member {
        guard case .setManager(let result) = try await client.perform(.setManager(flag(user, enable, notifyExt)))
        else { throw .mismatch }
        return result.member
    }

    /// Makes or unmakes a fixed member. Managers only, as all below.
    @discardableResult
    public func setMember(
        _ user: UserID, _ enable: Bool, notifyExt: String? = nil
    ) async throws(ClientError) -> Member {
        guard case .setMember(let result) = try await client.perform(.setMember(flag(user, enable, notifyExt)))
        else { throw .mismatch }
        return result.member
    }

    /// Forbids or allows to speak, without an end.
    @discardableResult
    public func setMute(_ user: UserID, _ enable: Bool, notifyExt: String? = nil) async throws(ClientError) -> Member {
        guard case .setMute(let result) = try await client.perform(.setMute(flag(user, enable, notifyExt))) else {
            throw .mismatch
        }
        return result.member
    }

    /// Forbids or allows to enter; who is in is put out.
    /// - Parameter recall: takes the user's messages back too.
    @discardableResult
    public func setBlacklist(
        _ user: UserID, _ enable: Bool, recall: Bool = false, notifyExt: String? = nil
    ) async throws(ClientError) -> Member {
        let request = BlacklistRequest(
            room: id, user: user, enable: enable, recall: recall, options: NotifyOptions(notifyExt: notifyExt),
            clientID: Self.freshID())
        guard case .setBlacklist(let result) = try await client.perform(.setBlacklist(request)) else {
            throw .mismatch
        }
        return result.member
    }

    /// Forbids to speak for a time, at most 30 days; 0 lifts it.
    @discardableResult
    public func tempMute(
        _ user: UserID, seconds: Int64, options: NotifyOptions = NotifyOptions()
    ) async throws(ClientError) -> Member {
        let request = TempMuteRequest(
            room: id, user: user, seconds: seconds, options: options, clientID: Self.freshID())
        guard case .tempMute(let result) = try await client.perform(.tempMute(request)) else { throw .mismatch }
        return result.member
    }

    /// Puts out.
    /// - Parameter banSeconds: forbids entering for that time, at most 30 days; 0 lifts that, also of who is away.
    public func kick(_ user: UserID, banSeconds: Int64? = nil, notifyExt: String? = nil) async throws(ClientError) {
        let request = KickRequest(
            room: id, user: user, banSeconds: banSeconds, options: NotifyOptions(notifyExt: notifyExt),
            clientID: Self.freshID())
        guard case .kick = try await client.perform(.kick(request)) else { throw .mismatch }
    }

    /// Lets only creator and managers speak, or everybody again.
    public func muteAll(_ enable: Bool, notifyExt: String? = nil) async throws(ClientError) {
        let request = MuteRoomRequest(
            room: id, enable: enable, options: NotifyOptions(notifyExt: notifyExt), clientID: Self.freshID())
        guard case .muteRoom = try await client.perform(.muteRoom(request)) else { throw .mismatch }
    }

    private func flag(_ user: UserID, _ enable: Bool, _ notifyExt: String?) -> UserFlagRequest {
        UserFlagRequest(
            room: id, user: user, enable: enable, options: NotifyOptions(notifyExt: notifyExt),
            clientID: Self.freshID())
    }
}
