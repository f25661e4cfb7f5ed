import ChatModel
import RoomCore
import Testing

@testable import Rooms

@Suite struct UndecidedChangesTests {
    private func key(_ name: String) throws -> PresenceKey {
        PresenceKey(node: try #require(NodeID("n1")), session: try #require(SessionID(name)))
    }

    @Test func `who waits goes on when what was proposed before is decided, and not sooner`() throws {
        var changes = UndecidedChanges()
        let (ann, bob) = (try key("ann"), try key("bob"))
        let (first, second) = (UndecidedChanges.slot(of: ann.session), UndecidedChanges.slot(of: bob.session))
        #expect(changes.isEmpty && !changes.mayHave(ann.session) && first != second)
        changes.propose(first)
        #expect(changes.mayHave(ann.session) && !changes.mayHave(bob.session) && !changes.isEmpty)
        changes.wait(ann)
        // A later one that the log refuses is no reason to go on.
        changes.propose(second)
        changes.giveUp(second)
        #expect(changes.takeDue() == nil)
        changes.apply(first)
        #expect(changes.takeDue() == ann && changes.takeDue() == nil)
        #expect(changes.isEmpty && !changes.mayHave(ann.session))
    }

    @Test func `with nothing on the way nobody waits, whatever was given up`() throws {
        var changes = UndecidedChanges()
        let ann = try key("ann")
        let slot = UndecidedChanges.slot(of: ann.session)
        for _ in 0..<3 { changes.propose(slot) }
        changes.wait(ann)
        changes.giveUp(slot)
        changes.apply(slot)
        #expect(changes.takeDue() == nil)
        changes.giveUp(slot)
        #expect(changes.takeDue() == ann && changes.isEmpty)
        // One of a time before this is not counted.
        changes.apply(slot)
        #expect(changes.isEmpty)
    }
}
