import Testing

@testable import SystemGroupHost

/// When a change of the system group that came to nothing is tried once more.
@Suite struct SystemLeadershipTests {
    private let before = SystemLeadership(term: 3, leader: "n2")

    private func isWorthAnotherTry(_ now: SystemLeadership, after former: SystemLeadership) -> Bool {
        now.isWorthAnotherTry(after: former)
    }

    @Test func `the same leader is not asked again, nor nobody`() {
        #expect(!isWorthAnotherTry(before, after: before))
        #expect(!isWorthAnotherTry(SystemLeadership(term: 4), after: before))
        #expect(!isWorthAnotherTry(SystemLeadership(term: 3), after: SystemLeadership(term: 2)))
    }

    @Test func `another leader is asked, and the same one when it was elected again`() {
        #expect(isWorthAnotherTry(SystemLeadership(term: 4, leader: "n3"), after: before))
        #expect(isWorthAnotherTry(SystemLeadership(term: 4, leader: "n2"), after: before))
        #expect(isWorthAnotherTry(before, after: SystemLeadership(term: 3)))
    }

    @Test func `a leader that could not propose tries when it can`() {
        let elected = SystemLeadership(term: 4, leader: "n1")
        let established = SystemLeadership(term: 4, leader: "n1", takesProposals: true)
        #expect(!isWorthAnotherTry(elected, after: elected))
        #expect(isWorthAnotherTry(established, after: elected))
        #expect(!isWorthAnotherTry(established, after: established))
    }

    @Test func `a leader whose proposal was lost asks its successor, and tries again when it is its own`() {
        let former = SystemLeadership(term: 4, leader: "n1", takesProposals: true)
        #expect(!isWorthAnotherTry(SystemLeadership(term: 5), after: former))
        #expect(isWorthAnotherTry(SystemLeadership(term: 5, leader: "n2"), after: former))
        #expect(isWorthAnotherTry(SystemLeadership(term: 6, leader: "n1", takesProposals: true), after: former))
    }
}
