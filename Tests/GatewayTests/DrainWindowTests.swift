import Testing

@testable import Gateway

@Suite struct `The window in which clients leave a node that stops` {
    @Test func `grows with their number, up to drainSeconds less two`() {
        #expect(Gateway.drainWindowMs(connections: 0, drainSeconds: 10) == 250)
        #expect(Gateway.drainWindowMs(connections: 500, drainSeconds: 10) == 2_250)
        #expect(Gateway.drainWindowMs(connections: 2_000, drainSeconds: 10) == 8_000)
        #expect(Gateway.drainWindowMs(connections: .max / 1_000, drainSeconds: 3) == 1_000)
    }

    @Test func `is at once where there is no time for more`() {
        for seconds: Int64 in 0...2 { #expect(Gateway.drainWindowMs(connections: 9, drainSeconds: seconds) == 0) }
    }
}
