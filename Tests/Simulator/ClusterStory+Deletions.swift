import Foundation
import Synchronization

/// A room that is deleted and had back, again and again: it is gone at all nodes then, and comes back with what it had.
extension ClusterStory {
    static let deletedRoom = "phoenix"

    private static let path = "/v1/rooms/\(deletedRoom)"

    func makeDeleted() async -> Bool {
        await asked("POST", "/v1/rooms", #"{"id":"\#(Self.deletedRoom)","creator":"host"}"#)
    }

    /// Until bots have stopped.
    func deleteAndUndelete() async throws {
        var (number, said) = (0, 0)
        while !isOver.withLock({ $0 }) {
            number += 1
            for _ in 0..<3 {
                said += 1
                let body = #"{"type":"TEXT","text":"said.\#(said).","sender":"host"}"#
                guard try await acked("POST", "\(Self.path)/messages", body, id: "deleted-say-\(said)") != nil else {
                    return
                }
            }
            let member = #"{"role":"NORMAL"}"#
            guard
                try await acked(
                    "PUT", "\(Self.path)/members/fixed-\(number)/role", member, id: "deleted-fix-\(number)") != nil,
                try await acked("DELETE", Self.path, "", id: "delete-\(number)") != nil
            else { return }
            for node in 0..<plan.layout.nodes {
                guard let answer = await cluster.call(node, "GET", Self.path), answer.status < 500 else { continue }
                if answer.status != 404 {
                    complain(.deletionWrong, "\(Self.deletedRoom) was deleted, and n\(node + 1) says \(answer.status)")
                }
            }
            guard try await acked("POST", "\(Self.path)/undelete", "", id: "undelete-\(number)") != nil,
                try await acked("POST", "\(Self.path)/reopen", "", id: "reopen-\(number)") != nil
            else { return }
            count("deletions")
            try await lookForDeleted(said, members: number)
            try await Task.sleep(for: .milliseconds(1_500))
        }
    }

    private func lookForDeleted(_ said: Int, members: Int) async throws {
        var next = 1
        for page in try await history(of: Self.deletedRoom) {
            for shown in page.components(separatedBy: #""text":"said."#).dropFirst() {
                let number = Int(shown.prefix { $0.isNumber }) ?? 0
                if number != next {
                    return complain(.deletionWrong, "\(Self.deletedRoom) has message \(number) in place of \(next)")
                }
                next += 1
            }
        }
        if next <= said {
            complain(.deletionWrong, "\(Self.deletedRoom) has messages up to \(next - 1), and \(said) were acked")
        }
        guard let fixed = await cluster.text(0, "\(Self.path)/members?kind=FIXED&limit=100") else { return }
        for number in 1...members where !fixed.contains(#""user":"fixed-\#(number)""#) {
            complain(.deletionWrong, "\(Self.deletedRoom) was had back without fixed-\(number)")
        }
    }
}
