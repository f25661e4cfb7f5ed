import ChatModel
import RoomProtocol
import Testing

@testable import SessionCore

/// Nodes that tell each other of users' sessions.
struct DeviceBookTests {
    private let (a, b): (NodeID, NodeID)
    private let (ann, bob): (UserID, UserID)

    init() throws {
        (a, b) = (try #require(NodeID("a")), try #require(NodeID("b")))
        (ann, bob) = (try #require(UserID("ann")), try #require(UserID("bob")))
    }

    private func session(_ name: String, at time: Int64 = 1, _ device: Device = .web) throws -> HeldDevice {
        HeldDevice(session: try #require(SessionID(name)), device: device, startedAt: Timestamp(time))
    }

    /// One node's words of a user, heard by the other.
    private func told(_ listener: inout DeviceBook, by speaker: inout DeviceBook, of node: NodeID, _ users: UserID...)
        -> [UserID]
    { listener.take(speaker.news(from: node, of: users)) }

    @Test func `two nodes tell each other, and show the same`() throws {
        var (one, two) = (DeviceBook(at: Timestamp(1)), DeviceBook(at: Timestamp(1)))
        let (first, second) = (try session("1"), try session("2", at: 2, .mobile))
        let puts = [one.put(first, of: ann), one.put(first, of: ann)]
        #expect(puts == [true, false])
        two.await(ann, nowMilliseconds: 0)
        // The second asks, and is told before its session begins.
        let question = two.news(from: b, of: [], asking: [ann, bob])
        let heard = one.take(question)
        let learned = two.take(one.news(from: a, of: question.asked, isAnswer: true))
        #expect(heard.isEmpty && learned.isEmpty)
        let begins = two.put(second, of: ann)
        #expect(begins && two.sessions(of: ann) == [first, second])
        let changed = told(&one, by: &two, of: b, ann)
        #expect(changed == [ann] && one.sessions(of: ann) == [first, second])
        // Nobody is here for the other user.
        #expect(two.sessions(of: bob).isEmpty)
        let removed = [one.remove(first.session, of: ann), one.remove(first.session, of: ann)]
        #expect(removed == [true, false])
        let left = told(&two, by: &one, of: a, ann)
        #expect(left == [ann] && two.sessions(of: ann) == [second])
    }

    @Test func `older words do not count, and a lost node's sessions are gone`() throws {
        var (one, two) = (DeviceBook(at: Timestamp(1)), DeviceBook(at: Timestamp(1)))
        let (here, there) = (try session("1"), try session("2"))
        _ = one.put(here, of: ann)
        _ = two.put(there, of: ann)
        let old = two.news(from: b, of: [ann])
        _ = two.remove(there.session, of: ann)
        let new = two.news(from: b, of: [ann])
        let changed = one.take(new) + one.take(old)
        #expect(changed.isEmpty && one.sessions(of: ann) == [here], "one has never heard of it")
        _ = two.put(there, of: ann)
        let again = told(&one, by: &two, of: b, ann)
        let lost = [one.lose(b), one.lose(b)]
        #expect(again == [ann] && lost == [[ann], []] && one.sessions(of: ann) == [here])
        // The node's next life says more.
        var next = DeviceBook(at: Timestamp(2))
        _ = next.put(there, of: ann)
        let later = told(&one, by: &next, of: b, ann)
        #expect(later == [ann])
    }

    @Test func `a session that has moved counts once, and the latest twenty are shown`() throws {
        var (one, two) = (DeviceBook(at: Timestamp(1)), DeviceBook(at: Timestamp(1)))
        for number in 1...30 { _ = one.put(try session("s\(number)", at: Int64(number)), of: ann) }
        _ = two.put(try session("s30", at: 30), of: ann)
        let changed = told(&two, by: &one, of: a, ann)
        let shown = two.sessions(of: ann)
        #expect(changed == [ann] && shown.count == DeviceBook.shownMax)
        #expect(shown.map(\.startedAt.milliseconds) == Array(11...30))
    }

    @Test func `a user who does not come is forgotten, and so is everything of one who has left`() throws {
        var (one, two) = (DeviceBook(at: Timestamp(1)), DeviceBook(at: Timestamp(1)))
        _ = one.put(try session("1"), of: ann)
        _ = one.put(try session("2"), of: bob)
        for user in [ann, bob] { two.await(user, nowMilliseconds: 0) }
        _ = told(&two, by: &one, of: a, ann, bob)
        #expect(two.sessions(of: bob).count == 1)
        two.await(ann, nowMilliseconds: 20_000)
        _ = two.put(try session("3"), of: bob)
        #expect(two.sessions(of: bob).count == 1 && two.sessions(of: ann).count == 0)
        _ = told(&two, by: &one, of: a, bob)
        #expect(two.sessions(of: bob).count == 2)
        _ = two.remove(try session("3").session, of: bob)
        #expect(two.sessions(of: bob).isEmpty && two.users.isEmpty)
    }
}
