import RoomCore
import Testing

@testable import Rooms

struct ReadIndexQueueTests {
    private let ann: RoomWork
    private let bob: RoomWork
    private let cid: RoomWork
    private let annLeaves: RoomWork

    init() throws {
        ann = try .enter("ann")
        bob = try .enter("bob")
        cid = try .enter("cid")
        annLeaves = try .leave("ann")
    }

    @Test func `one confirmation is for all that waited, and what comes meanwhile waits for the next`() {
        var questions = ReadIndexQueue()
        #expect(questions.beginConfirming() == false)
        #expect(questions.append(ann) == true)
        #expect(questions.append(bob) == true)
        #expect(questions.beginConfirming() == true)
        #expect(questions.append(cid) == true)
        #expect(questions.beginConfirming() == false)
        #expect(questions.takeConfirmed()?.name == nil)
        questions.endConfirming()
        #expect(questions.takeConfirmed()?.name == "ann")
        #expect(questions.beginConfirming() == true)
        questions.endConfirming()
        #expect(questions.takeConfirmed()?.name == "bob")
        #expect(questions.takeConfirmed()?.name == "cid")
        #expect(questions.takeConfirmed()?.name == nil)
        #expect(questions.beginConfirming() == false)
    }

    @Test func `a session is mentioned until the last of what it asked is released`() throws {
        var questions = ReadIndexQueue()
        let key = try #require(ann.key)
        #expect(questions.append(ann) == true)
        #expect(questions.append(annLeaves) == true)
        #expect(questions.beginConfirming() == true)
        questions.endConfirming()
        #expect(questions.mentions(key))
        #expect(questions.takeConfirmed()?.name == "ann")
        #expect(questions.mentions(key))
        #expect(questions.takeConfirmed()?.name == "ann")
        #expect(!questions.mentions(key))
    }

    @Test func `at the bound questions are refused, and who has gone is taken`() throws {
        let key = try #require(cid.key)
        var questions = ReadIndexQueue(waitingMax: 2)
        #expect(questions.append(ann) == true)
        #expect(questions.append(bob) == true)
        #expect(questions.append(cid) == false)
        #expect(!questions.mentions(key))
        #expect(questions.append(annLeaves) == true)
        #expect(questions.beginConfirming() == true)
        #expect(questions.append(cid) == true)
    }

    @Test func `whoever gives up gets all of it, in order, and nothing is under way`() throws {
        let key = try #require(ann.key)
        var questions = ReadIndexQueue()
        #expect(questions.append(ann) == true)
        #expect(questions.beginConfirming() == true)
        questions.endConfirming()
        #expect(questions.append(bob) == true)
        #expect(questions.append(bob) == true)
        #expect(questions.beginConfirming() == true)
        #expect(questions.append(cid) == true)
        #expect(questions.takeConfirmed()?.name == "ann")
        #expect(questions.takeAll().map(\.name) == ["bob", "bob", "cid"])
        #expect(questions.takeConfirmed()?.name == nil)
        #expect(!questions.mentions(key))
        #expect(questions.append(cid) == true)
        #expect(questions.beginConfirming() == true)
    }
}
