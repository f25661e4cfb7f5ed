import ChatModel
import Testing
import Wire

@testable import SystemGroupHost

/// What calls with an idempotency key have brought.
struct CallLedgerTests {
    @Test func `a replica that was restored forgets the same calls as one that was not`() {
        var ledger = CallLedger(callsMax: 3)
        for number in 0..<3 as Range<Int64> { ledger.remember("\(number)", .begun, at: Timestamp(number)) }
        #expect(ledger.isFull)
        // It did not come about.
        ledger.finish("0", answer: nil)
        var restored = CallLedger(callsMax: 3)
        restored.restore(ledger.stored)
        for number in 3..<5 as Range<Int64> {
            #expect(ledger.isFull == restored.isFull)
            ledger.remember("\(number)", .done, at: Timestamp(number))
            restored.remember("\(number)", .done, at: Timestamp(number))
            #expect(ledger.stored == restored.stored)
        }
        #expect(ledger.stored.map(\.key) == ["2", "3", "4"])
    }

    @Test func `calls that did not come about push nothing out that is known`() {
        var ledger = CallLedger(callsMax: 3)
        ledger.remember("kept", .done, at: Timestamp(0))
        for number in 1..<100 as Range<Int64> {
            ledger.remember("\(number)", .begun, at: Timestamp(number))
            ledger.finish("\(number)", answer: nil)
        }
        #expect(ledger.stored.map(\.key) == ["kept"])
        ledger.forget(at: Timestamp(0).adding(seconds: 600))
        #expect(ledger.stored.isEmpty)
    }
}
