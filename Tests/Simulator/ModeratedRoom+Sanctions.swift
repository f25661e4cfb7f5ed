import ChatModel
import ChatroomClient
import Synchronization

/// The users that are banned or muted in all rooms, as it was acked.
struct SanctionLedger: Sendable {
    var banned: Set<String> = []
    var muted: Set<String> = []
    var lifted: Set<String> = []
}

extension ModeratedRoom {
    /// Bans one who is here, which ends his session; mutes another; lifts some of both.
    func sanction() async throws {
        var number = 0
        while !isOver {
            number += 1
            try await ban("banned-\(number)")
            try await set("mute", "muted-\(number)")
            if number.isMultiple(of: 2) {
                try await lift("ban", "banned-\(number)")
                try await lift("mute", "muted-\(number)")
            }
            story.count("sanctions")
            try await Task.sleep(for: .milliseconds(2_500))
        }
    }

    private func set(_ kind: String, _ user: String) async throws {
        let answer = try await story.acked("PUT", "/v1/users/\(user)/\(kind)", "{}", id: "\(kind)-\(user)")
        guard answer != nil else { return }
        sanctions.withLock { ledger in
            if kind == "ban" { ledger.banned.formUnion([user]) } else { ledger.muted.formUnion([user]) }
        }
    }

    private func lift(_ kind: String, _ user: String) async throws {
        let body = #"{"seconds":0}"#
        guard try await story.acked("PUT", "/v1/users/\(user)/\(kind)", body, id: "lift-\(kind)-\(user)") != nil else {
            return
        }
        sanctions.withLock { ledger in
            ledger.banned.remove(user)
            ledger.muted.remove(user)
            ledger.lifted.insert(user)
        }
    }

    private func ban(_ user: String) async throws {
        let client = client(user)
        let isIn: Void? = await answer("\(user) enters") { () async throws(ClientError) in
            try await client.connect()
            _ = try await client.room(Self.id).enter()
        }
        guard isIn != nil else { return }
        try await set("ban", user)
        // A client whose connection has just ended hears of it when it comes back.
        let limit = story.isLossless ? Self.banTakes : .seconds(90)
        let end = SimulatedTime.now + limit
        while SimulatedTime.now < end {
            if case .failed = await client.state { return }
            try await Task.sleep(for: .milliseconds(100))
        }
        story.complain(.sanctionWrong, "\(user) was banned, and is \(await client.state) \(limit) later")
        await client.close()
    }

    private static let banTakes = Duration.seconds(4)

    /// At each node.
    func judgeSanctions() async throws {
        let ledger = sanctions.withLock { $0 }
        for node in 0..<story.plan.layout.nodes {
            for user in ledger.banned.sorted() {
                if let refusal = try await refusal(of: user, at: node, speaks: false), refusal.number == 403 {
                    continue
                }
                story.complain(.sanctionWrong, "\(user) is banned, and connects to n\(node + 1)")
            }
            for user in ledger.muted.sorted() {
                if let refusal = try await refusal(of: user, at: node, speaks: true), refusal.number == 13004 {
                    continue
                }
                story.complain(.sanctionWrong, "\(user) is muted, and speaks at n\(node + 1)")
            }
            for user in ledger.lifted.sorted() {
                guard let refusal = try await refusal(of: user, at: node, speaks: true) else { continue }
                story.complain(.sanctionWrong, "\(user) is neither banned nor muted, and n\(node + 1) says: \(refusal)")
            }
        }
    }

    /// nil where it is not refused.
    private func refusal(of user: String, at node: Int, speaks: Bool) async throws -> ClientError? {
        let client = client(user, at: node)
        let outcome = await outcome("\(user) at n\(node + 1)") { () async throws(ClientError) in
            try await client.connect()
            guard speaks else { return }
            let room = try client.room(Self.id)
            try await room.enter()
            try await room.send("here I am")
        }
        await client.close()
        if case .failure(let refusal) = outcome { return refusal }
        return nil
    }
}
