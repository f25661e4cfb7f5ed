import Testing

@testable import HTTPClient

struct CallLinesTests {
    @Test func `a server's calls wait for each other in order, and for no other server's`() {
        var lines = CallLines(perServerMax: 1, waitingMax: 2)
        let places = [(1, "a"), (2, "a"), (3, "a"), (4, "a"), (5, "b")].map { lines.enter($0, to: $1) }
        #expect(places == [.start, .wait, .wait, .busy, .start])
        let next = [lines.ended(at: "a"), lines.ended(at: "a"), lines.ended(at: "a"), lines.ended(at: "b")]
        #expect(next == [2, 3, nil, nil])
        let again = lines.enter(6, to: "a")
        #expect(again == .start)
        #expect(lines.waitingCount == 0)
    }

    @Test func `a call that leaves its line gives its place to another one`() {
        var lines = CallLines(perServerMax: 1, waitingMax: 1)
        let places = [1, 2].map { lines.enter($0, to: "a") }
        #expect(places == [.start, .wait])
        let left = [2, 2, 1].map { lines.leave($0, to: "a") }
        #expect(left == [true, false, false])
        let third = lines.enter(3, to: "a")
        #expect(third == .wait)
        let next = lines.ended(at: "a")
        #expect(next == 3)
    }

    @Test func `servers are told apart by scheme, host and port`() {
        func origin(_ url: String) -> String {
            HTTPClientRequest(url: url, timeoutMilliseconds: 1, answerBytesMax: 1).origin
        }
        #expect(origin("HTTP://Host:80/a?b") == "http://host:80")
        #expect(origin("http://host?x=://") == "http://host")
        #expect(origin("https://host:80") != origin("http://host:80"))
    }
}
