import BotSwarmCore
import Testing

/// When an account of taps balances.
@Suite struct TapAccountTests {
    @Test func `a total between what was answered and what was sent balances, any other is a fault`() {
        var account = TapAccount()
        (account.sent, account.answered, account.refused, account.unknown) = (100, 40, 10, 20)
        account.toldTotal = 60
        for total in [60, 90] as [Int64] { #expect(account.faults(total: total).isEmpty) }
        #expect(account.faults(total: 39).map(\.kind) == [.lost, .toldTooMuch])
        #expect(account.faults(total: 91).map(\.kind) == [.countedTwice])
        account.fallen = 1
        #expect(account.faults(total: 60).map(\.kind) == [.toldTooMuch])
    }

    @Test func `accounts add up`() {
        var all = TapAccount()
        for number in 1...3 as ClosedRange<Int64> {
            var one = TapAccount()
            (one.sent, one.answered, one.toldTotal) = (10 * number, number, 7 * number)
            all.add(one)
        }
        #expect(all.sent == 60 && all.answered == 6 && all.toldTotal == 21)
    }
}
