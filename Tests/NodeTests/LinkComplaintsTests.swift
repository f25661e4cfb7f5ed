import ChatModel
import NodeLinkCore
import Testing

@testable import Node

@Suite struct LinkComplaintsTests {
    private struct Complaint {
        var node: String?
        var code = LinkError.Code.identity
        var second = 0
    }

    /// Which of the complaints were worth a line.
    private func said(_ given: [Complaint]) throws -> [Bool] {
        let start = ContinuousClock.now
        var complaints = LinkComplaints()
        return try given.map {
            let node = try $0.node.map { try #require(NodeID($0)) }
            return complaints.admit(node, $0.code, isProven: true, at: start + .seconds($0.second))
        }
    }

    @Test func `the same complaint of the same node is said once a minute`() throws {
        let given = [0, 59, 60, 61].map { Complaint(node: "a", second: $0) }
        #expect(try said(given) == [true, false, true, false])
    }

    @Test func `a node that was taken out is a complaint when it goes on calling`() throws {
        func removed(_ seconds: Int...) -> [Complaint] {
            seconds.map { Complaint(node: "a", code: .removed, second: $0) }
        }
        #expect(try said(removed(0, 1, 4, 5, 6, 64, 65)) == [false, false, false, true, false, false, true])
        // Its return was not known yet, twice.
        #expect(try said(removed(0, 2, 62, 64)) == [false, false, false, false])
        let crowd = (0...LinkComplaints.kindsMax).map { Complaint(node: "n\($0)", code: .removed) }
        #expect(try said(crowd + crowd).allSatisfy { !$0 })
    }

    @Test func `a node that is not reached for ten seconds is a complaint once, until it is reached`() throws {
        let (start, node) = (ContinuousClock.now, try #require(NodeID("a")))
        var complaints = LinkComplaints()
        func isSaid(_ second: Int) -> Bool {
            complaints.noteUnreached(node, LinkError(.timedOut, "silent"), at: start + .seconds(second))
        }
        #expect([0, 5, 9, 10, 11, 500].map(isSaid) == [false, false, false, true, false, false])
        complaints.noteUp(node)
        // Calls that cross with the connection that stays.
        #expect([501, 520, 600].map(isSaid) == [false, false, false])
        #expect(complaints.noteDown(node, at: start + .seconds(600))?.message == "silent")
        #expect([601, 609, 610].map(isSaid) == [false, false, true])
        complaints.noteUp(node)
        #expect(complaints.noteDown(node, at: start + .seconds(700)) == nil, "this node has ended it")
    }

    @Test func `a crowd of names that are not reached does not grow the memory`() throws {
        var complaints = LinkComplaints()
        let now = ContinuousClock.now
        for number in 0..<2 * LinkComplaints.kindsMax {
            let other = try #require(NodeID("n\(number)"))
            _ = complaints.noteUnreached(other, LinkError(.closed, "gone"), at: now)
        }
        let last = try #require(NodeID("n\(2 * LinkComplaints.kindsMax - 1)"))
        #expect(complaints.noteDown(last, at: now) == nil)
    }

    @Test func `another node, another code and nobody in particular are complaints of their own`() throws {
        let given = [
            Complaint(node: "a"), Complaint(node: "b"), Complaint(node: "a", code: .version), Complaint(), Complaint(),
        ]
        #expect(try said(given) == [true, true, true, true, false])
    }

    @Test func `a crowd of names does not grow the memory, nor the log`() throws {
        let crowd = (0..<LinkComplaints.kindsMax).map { Complaint(node: "n\($0)") }
        let late = [Complaint(node: "one.more", second: 1), Complaint(node: "one.more", second: 60)]
        #expect(try said(crowd + late) == crowd.map { _ in true } + [false, true])
    }

    @Test func `links with a node that was taken out are told quietly for a minute after it was last said`() throws {
        let (start, node) = (ContinuousClock.now, try #require(NodeID("a")))
        var complaints = LinkComplaints()
        _ = complaints.admit(node, .identity, isProven: true, at: start)
        #expect(!complaints.isOut(node, at: start))
        for second in [0, 30] {
            _ = complaints.admit(node, .removed, isProven: true, at: start + .seconds(second))
        }
        #expect(complaints.isOut(node, at: start + .seconds(89)))
        #expect(!complaints.isOut(try #require(NodeID("b")), at: start + .seconds(31)))
        #expect(!complaints.isOut(node, at: start + .seconds(90)))
    }

    @Test func `nobody makes the links with a node quiet without proof to be it`() throws {
        let (start, node) = (ContinuousClock.now, try #require(NodeID("a")))
        var complaints = LinkComplaints()
        let said = [0, 30].map { complaints.admit(node, .removed, isProven: false, at: start + .seconds($0)) }
        #expect(said == [false, true])
        #expect(!complaints.isOut(node, at: start + .seconds(30)))
    }
}
