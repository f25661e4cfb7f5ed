/// The stages of the scenarios that have several.
extension Scenario {
    /// Chat, then a share of all connections is cut at once; the chat goes on until everybody is back, and a while after.
    package static func reconnectStages(
        rate: Double, seconds: Double, cutPercent: Double, cuts: Int, backSeconds: Double
    ) -> [Stage] {
        var stages = [chat(rate: rate, seconds: seconds)]
        for _ in 0..<cuts {
            var cut = Stage("cut", seconds: backSeconds)
            cut.messageRate = rate
            cut.cutPercent = cutPercent
            cut.endsWhenAllAreBack = true
            stages += [cut, chat(rate: rate, seconds: seconds)]
        }
        return stages
    }

    /// Chat, then with slow viewers, then with all of them reading again.
    package static func slowStages(rate: Double, barrageRate: Double?, seconds: Double) -> [Stage] {
        var before = chat(rate: rate, seconds: seconds / 2)
        before.barrageRate = barrageRate
        var slow = before
        slow.name = "slow"
        slow.seconds = seconds
        slow.isSlow = true
        before.name = "before"
        var after = before
        after.name = "after"
        return [before, slow, after]
    }

    /// A live show of about `seconds`.
    package static func showStages(rate: Double, barrageRate: Double, scale: Double, seconds: Double) -> [Stage] {
        let part = seconds / 6
        var warmUp = chat(rate: rate, seconds: part)
        warmUp.name = "warm-up"
        warmUp.leaverRate = 0.5 * scale
        var burst = Stage("burst", seconds: part)
        burst.messageRate = rate / 2
        burst.barrageRate = barrageRate
        var seats = Stage("seats", seconds: part)
        seats.messageRate = rate
        seats.seatRate = 10 * scale
        seats.leaverRate = 1 * scale
        var trouble = Stage("trouble", seconds: part)
        trouble.messageRate = rate
        trouble.unkeptPercent = 20
        trouble.moderationRate = 5 * scale
        trouble.seatRate = 2 * scale
        var finale = Stage("finale", seconds: part)
        finale.messageRate = rate
        finale.barrageRate = barrageRate * 2
        finale.seatRate = 5 * scale
        finale.moderationRate = 2 * scale
        finale.leaverRate = 2 * scale
        finale.cutsPerSecond = 1 * scale
        var leaving = chat(rate: rate / 2, seconds: part)
        leaving.name = "leaving"
        leaving.leaverRate = 5 * scale
        return [warmUp, burst, seats, trouble, finale, leaving]
    }
}
