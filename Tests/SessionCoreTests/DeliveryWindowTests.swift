import SessionCore
import Testing

struct DeliveryWindowTests {
    private let millisecond: UInt64 = 1_000_000

    @Test func `a message at a time goes at once, however long its fan-out takes`() {
        var window = DeliveryWindow()
        #expect(window.isOpen(atNanoseconds: 0))
        for turn in 1...5 {
            window.spent(nanoseconds: 40 * millisecond)
            window.ended(messages: 1, atNanoseconds: UInt64(turn) * 50 * millisecond)
            #expect(window.isOpen(atNanoseconds: UInt64(turn) * 50 * millisecond))
        }
    }

    @Test func `after a fan-out with several messages the next one waits as long as it took`() {
        var window = DeliveryWindow()
        window.spent(nanoseconds: 3 * millisecond)
        window.spent(nanoseconds: 2 * millisecond)
        window.ended(messages: 2, atNanoseconds: 100 * millisecond)
        #expect(!window.isOpen(atNanoseconds: 105 * millisecond - 1))
        #expect(window.isOpen(atNanoseconds: 105 * millisecond))
        #expect(window.beginNanoseconds == 105 * millisecond)
    }

    @Test func `it waits 20 ms at most, and not at all for less than a timer can notify`() {
        var window = DeliveryWindow()
        window.spent(nanoseconds: 400 * millisecond)
        window.ended(messages: 900, atNanoseconds: 0)
        #expect(window.beginNanoseconds == 20 * millisecond)
        window.spent(nanoseconds: millisecond - 1)
        window.ended(messages: 900, atNanoseconds: 500 * millisecond)
        #expect(window.isOpen(atNanoseconds: 500 * millisecond))
    }

    @Test func `a fan-out with one message ends the waiting`() {
        var window = DeliveryWindow()
        window.spent(nanoseconds: 9 * millisecond)
        window.ended(messages: 7, atNanoseconds: 0)
        window.spent(nanoseconds: 9 * millisecond)
        window.ended(messages: 1, atNanoseconds: 18 * millisecond)
        #expect(window.isOpen(atNanoseconds: 18 * millisecond))
    }
}
