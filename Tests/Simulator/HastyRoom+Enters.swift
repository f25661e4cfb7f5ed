import ChatModel
import ChatroomClient
import Synchronization

/// How often members were seen to enter: never more often than they asked to.
extension HastyRoom {
    func observe() async throws {
        guard let id = RoomID(Self.id) else { return }
        _ = await observer.room(id).addListener("enters") { [weak self] in self?.see($0) }
        try await observer.connect()
        try await observer.room(id).enter()
    }

    private func see(_ event: RoomEvent) {
        guard case .message(let message) = event, case .notification(let told) = message.body, told.event == .enter,
            let user = told.operator?.user, let number = Int(user.text.dropFirst("hasty-".count))
        else { return }
        let times = enters.withLock { enters in
            enters[user, default: 0] += 1
            return enters[user] ?? 0
        }
        let asked = number.isMultiple(of: 2) ? 1 : 2
        if times > asked {
            story.complain(.outOfOrder, "\(user) asked to enter \(asked) times, and entered \(times) times")
        }
    }
}
