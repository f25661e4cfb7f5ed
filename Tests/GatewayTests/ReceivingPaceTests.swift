import Testing

@testable import Gateway

struct ReceivingPaceTests {
    private static let look: UInt64 = 5_000

    @Test func `a byte now and then ends after the grace`() {
        var pace = ReceivingPace()
        var looks = 0
        while !pace.isTooSlow(after: Self.look) {
            pace.received(1)
            looks += 1
            guard looks < 100 else { break }
        }
        #expect(looks == 6)
    }

    @Test func `content that comes at the pace, evenly or in bursts, is never too slow`() {
        var (even, bursts) = (ReceivingPace(), ReceivingPace())
        for look in 0..<1_000 {
            even.received(Int(ReceivingPace.bytesPerSecond) * 5)
            if look % 5 == 4 { bursts.received(Int(ReceivingPace.bytesPerSecond) * 25) }
            #expect(even.isTooSlow(after: Self.look) == false)
            #expect(bursts.isTooSlow(after: Self.look) == false)
        }
    }

    @Test func `much at the beginning does not pay for an hour of silence`() {
        var pace = ReceivingPace()
        pace.received(50_000_000)
        for _ in 0..<6 { #expect(pace.isTooSlow(after: Self.look) == false) }
        #expect(pace.isTooSlow(after: Self.look) == true)
    }

    @Test func `while the node is at work with what has come, no time passes`() {
        var pace = ReceivingPace()
        for _ in 0..<1_000 { #expect(pace.isTooSlow(after: 0) == false) }
    }
}
