import ChatModel
import ChatroomClient

extension ModeratedRoom {
    /// What was done before its sender was muted is answered as it was, when its ack has got lost.
    func repeatWhenMuted() async throws {
        let client = client("repeater")
        let isIn: Void? = await answer("repeater enters") { () async throws(ClientError) in
            try await client.connect()
            try await client.room(Self.id).enter()
        }
        guard isIn != nil else { return }
        var number = 0
        while !isOver {
            number += 1
            let id = "repeated-\(number)"
            let first = await answer("to say \(id)") { () async throws(ClientError) in
                try await client.room(Self.id).send(.text(id), clientID: id)
            }
            guard let first, try await mute(true, number) else { break }
            let again = await outcome("to repeat \(id)") { () async throws(ClientError) in
                try await client.room(Self.id).send(.text(id), clientID: id)
            }
            switch again {
            case .success(let receipt) where receipt.messageID == first.messageID: break
            case .failure(nil): break
            case .success(let receipt):
                story.complain(
                    .doneAndRefused, "\(id) was \(first.messageID), and is \(receipt.messageID) when repeated")
            case .failure(let refusal?):
                story.complain(.doneAndRefused, "\(id) was done, and is refused when repeated: \(refusal)")
            }
            guard try await mute(false, number) else { break }
            story.count("repeats")
            try await Task.sleep(for: .milliseconds(1_200))
        }
        await client.close()
    }

    private func mute(_ isMuted: Bool, _ number: Int) async throws -> Bool {
        let (path, body) = ("\(Self.path)/members/repeater/mute", #"{"enable":\#(isMuted)}"#)
        return try await story.acked("PUT", path, body, id: "mute-\(isMuted)-\(number)") != nil
    }
}
