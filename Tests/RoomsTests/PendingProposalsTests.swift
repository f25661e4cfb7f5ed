import ChatModel
import RoomCore
import RoomProtocol
import Testing
import Wire

@testable import Rooms

@Suite struct PendingProposalsTests {
    private func proposal(_ room: RoomID) -> Proposal {
        Proposal(
            command: Command(id: nil, room: room, actor: .system, body: .queueRemove([])), key: nil, origin: .room)
    }

    /// Stands for what a proposal holds, such as a caller that waits.
    private final class Held: Sendable {}

    private func address() throws -> SessionAddress {
        SessionAddress(
            node: try #require(NodeID("n")), lane: 0, session: try #require(SessionID("s")), encoding: .json)
    }

    @Test func `what is committed is let go while others are pending`() throws {
        var pending = PendingProposals()
        let room = try #require(RoomID("room"))
        weak var committed: Held?
        weak var waiting: Held?
        for index in UInt64(1)...2 {
            let held = Held()
            if index == 1 { committed = held } else { waiting = held }
            var item = proposal(room)
            let answer = OperationChange.Answer.member { result in
                withExtendedLifetime(held) { .setMember(result) }
            }
            item.origin = .session(SessionRequest(address: try address(), answer: answer))
            pending.append([ProposedCommand(item)], from: index, time: Timestamp(0))
        }
        #expect(committed != nil)
        pending.drop(1)
        #expect(committed == nil)
        #expect(waiting != nil && pending.count == 1)
        #expect(pending.takeAll().count == 1)
        #expect(waiting == nil)
    }

    @Test func `what is never empty keeps its order and only what is still pending`() throws {
        var pending = PendingProposals()
        var next: UInt64 = 1
        var oldest: UInt64 = 1
        func room(_ index: UInt64) throws -> RoomID { try #require(RoomID("room-\(index % 7)")) }
        for round in 0..<200 {
            let count = 1 + UInt64(round % 13) * 3
            try pending.append(
                (0..<count).map { try ProposedCommand(proposal(room(next + $0))) }, from: next,
                time: Timestamp(Int64(next)))
            next += count
            // All but the last few are committed.
            while oldest + 5 < next {
                let (found, _) = try #require(pending.peek(oldest))
                #expect(found.content.command.room == (try room(oldest)))
                pending.drop(oldest)
                #expect(pending.peek(oldest) == nil)
                oldest += 1
            }
            #expect(pending.count == Int(next - oldest))
        }
        #expect(pending.rooms.contains(try room(oldest)))
        let rest = pending.takeAll()
        #expect(rest.map(\.content.command.room) == (try (oldest..<next).map(room)))
        #expect(pending.count == 0)
    }
}
