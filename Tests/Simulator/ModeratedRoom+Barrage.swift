import ChatModel
import ChatroomClient
import Synchronization

/// Barrage of the app server: nobody keeps it and it has no ID, so an item that may have been shown is not asked for again.
extension ModeratedRoom {
    func listenForBarrage() async {
        guard let id = RoomID(Self.id) else { return }
        for (place, member) in members.enumerated() {
            _ = await member.room(id).addListener("barrage-\(place)") { [weak self] event in
                guard case .barrage(let items) = event else { return }
                for item in items { self?.see(item.text, by: place) }
            }
        }
    }

    private func see(_ text: String, by place: Int) {
        let times = shown.withLock { shown in
            shown[place, default: [:]][text, default: 0] += 1
            return shown[place]?[text] ?? 0
        }
        if times == 2 { story.complain(.doneTwice, "member-\(place) is shown \(text) twice") }
    }

    func throwBarrage() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            var number = 0
            while !isOver {
                number += 1
                let (node, body) = (number % story.plan.layout.nodes, #"{"text":"barrage \#(number)","sender":"host"}"#)
                group.addTask { _ = await self.story.cluster.call(node, "POST", "\(Self.path)/barrage", body) }
                try await Task.sleep(for: .milliseconds(100))
            }
        }
        story.count("barrage", shown.withLock { $0[0]?.count ?? 0 })
    }
}
