import SessionCore
import Testing

@Suite struct SessionRequestsTests {
    @Test func `a request is answered with the ID that its client gave it, once`() {
        var requests = SessionRequests()
        let first = requests.begin(7)
        let second = requests.begin(3)
        #expect(first != second)
        #expect(requests.end(second!) == 3)
        #expect(requests.end(first!) == 7)
        #expect(requests.end(first!) == nil)
        #expect(requests.waitingCount == 0)
    }

    @Test func `what was asked over an earlier connection is not answered on the next, though the IDs are the same`() {
        var requests = SessionRequests()
        let old = requests.begin(2)
        requests.connectionEnded()
        let new = requests.begin(2)
        #expect(old != new)
        #expect(requests.end(old!) == nil)
        #expect(requests.end(new!) == 2)
    }

    @Test func `two requests with one ID have an answer each`() {
        var requests = SessionRequests()
        let numbers = [requests.begin(1), requests.begin(1)]
        #expect(Set(numbers).count == 2)
        #expect(numbers.map { requests.end($0!) } == [1, 1])
    }

    @Test func `the count goes on from another node, with requests that want no reply`() {
        var requests = SessionRequests(count: 41)
        #expect(requests.begin(nil) == nil)
        requests.pass()
        #expect(requests.begin(9) == 44)
        #expect(requests.count == 44)
        #expect(requests.waitingCount == 1)
    }

    @Test func `numbers begin again after 2^32 requests`() {
        var requests = SessionRequests(count: UInt64(UInt32.max))
        #expect(requests.begin(5) == 0)
        #expect(requests.end(0) == 5)
    }
}
