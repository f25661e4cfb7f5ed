import ArgumentParser
import BotSwarmCore
import ChatModel
import EventLoop
import FoundationEssentials
import SystemCalls

/// Taps and gifts, and whether all of them are counted once.
struct TapsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "taps", abstract: "Taps on a tally, and gifts, and takes account of both.",
        discussion: """
            In the end the total of the taps must be at least what was answered and at most what was sent and not refused, \
            no total may ever have fallen or been told and not be there, and gifts must be exact: each is repeated under \
            its Idempotency-Key until it is answered.
            """)

    @Option(help: "Sessions; each has a connection.")
    var bots = 100

    @Option(help: "Requests a second of each.")
    var rate = 20.0

    @Option(help: "Taps of a request, 1 to 100.")
    var delta: Int64 = 50

    @Option(help: ArgumentHelp("So many in a hundred requests want an answer.", valueName: "percent"))
    var answered = 10

    @Option(help: "Gifts a second, by the server API.")
    var gifts = 20.0

    @Option(help: ArgumentHelp("How long they tap.", valueName: "seconds"))
    var duration = 10.0

    @Option(help: ArgumentHelp("New connections a second.", valueName: "per-second"))
    var ramp = 500.0

    @Option(help: ArgumentHelp("How long what is on its way may take to be counted at the end.", valueName: "seconds"))
    var drain = 45.0

    @Flag(help: "The report as JSON.")
    var json = false

    @OptionGroup var place: TargetOptions

    func run() async throws {
        try await SwarmRun.reportingFailures {
            guard bots > 0, rate > 0, (1...100).contains(delta), (0...100).contains(answered), gifts >= 0, duration > 0,
                ramp > 0
            else {
                throw SwarmFailure(
                    .usage, "--delta takes 1 to 100, --answered 0 to 100, the others no negative numbers")
            }
            let files = OpenFiles.raiseLimit()
            guard files > bots + 64 else {
                throw SwarmFailure(.usage, "\(bots) connections need more open files than \(files): ulimit -n")
            }
            let target = try place.target()
            guard let signer = target.signer, let api = target.api else {
                throw SwarmFailure(.usage, "there are no keys to sign tokens and to make a room with")
            }
            let tag = SwarmRun.randomTag()
            guard let room = RoomID("taps-\(tag)"), let owner = UserID("taps-\(tag)") else { return }
            let creator = try RoomCreator(servers: api.servers, adminKey: api.adminKey)
            try await creator.create(room, creator: owner, enterExitNotify: "NONE")
            try await creator.makeTally("gifts", in: room)
            let loop = try EventLoop(name: "taps")
            loop.start()
            let plan = TapPlan(
                room: room, members: bots, requestsPerSecond: rate, delta: delta, answeredPercent: answered,
                rampPerSecond: ramp)
            let gateways = target.gateways
            let lane = await loop.run {
                let lane = TapLane(loop: loop, gateways: gateways, signer: signer, plan: plan, tag: tag) {
                    Int64(Date().timeIntervalSince1970)
                }
                lane.start()
                return LoopBound(onLoop: lane, loop: loop)
            }
            let (given, account) = try await tap(lane, creator, room)
            let totals = try await settled(creator, room)
            await loop.run { lane.value.stop() }
            loop.shutdown()
            await loop.joined()
            await creator.close()
            try report(account, given: given, totals)
        }
    }

    private func tap(_ lane: LoopBound<TapLane>, _ creator: RoomCreator, _ room: RoomID) async throws
        -> (Int64, TapAccount)
    {
        let loop = lane.loop
        let limit = ContinuousClock.now + .seconds(60 + Double(bots) / ramp)
        while await loop.run({ lane.value.here }) < bots, ContinuousClock.now < limit {
            try await Task.sleep(for: .milliseconds(100))
        }
        await loop.run { lane.value.tap(true) }
        let end = ContinuousClock.now + .seconds(duration)
        var given: Int64 = 0
        var number = 0
        while ContinuousClock.now < end {
            guard gifts > 0 else {
                try await Task.sleep(until: end)
                break
            }
            number += 1
            try await give(number, creator, room)
            given += Int64(number % 7 + 1)
            try await Task.sleep(for: .seconds(1 / gifts))
        }
        await loop.run { lane.value.tap(false) }
        let drained = ContinuousClock.now + .seconds(drain)
        while await loop.run({ lane.value.waiting }) > 0, ContinuousClock.now < drained {
            try await Task.sleep(for: .milliseconds(100))
        }
        return (given, await loop.run { lane.value.account })
    }

    /// Until it is answered, however often that takes.
    private func give(_ number: Int, _ creator: RoomCreator, _ room: RoomID) async throws {
        while true {
            do throws(SwarmFailure) {
                return try await creator.give(Int64(number % 7 + 1), to: "gifts", in: room, id: "gift-\(number)")
            } catch {
                guard error.code == .unreachable else { throw error }
            }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    /// Gateways count what they still hold, or drop it after 30 s: the total does not change any more then.
    private func settled(_ creator: RoomCreator, _ room: RoomID) async throws -> [String: Int64] {
        var last: [String: Int64] = [:]
        var same = 0
        let end = ContinuousClock.now + .seconds(drain)
        while same < 5, ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(500))
            do throws(SwarmFailure) {
                let totals = try await creator.totals(of: room)
                same = totals == last ? same + 1 : 0
                last = totals
            } catch {
                guard error.code == .unreachable else { throw error }
            }
        }
        return last
    }

    private func report(_ account: TapAccount, given: Int64, _ totals: [String: Int64]) throws {
        let (likes, gifted) = (totals["like", default: 0], totals["gifts", default: 0])
        var faults = account.faults(total: likes).map(\.text)
        if gifted != given { faults.append("\(given) were given, and the gifts are \(gifted)") }
        if json {
            print(
                #"{"sent":\#(account.sent),"answered":\#(account.answered),"refused":\#(account.refused),"#
                    + #""unknown":\#(account.unknown),"unanswered":\#(account.unanswered),"total":\#(likes),"#
                    + #""given":\#(given),"gifts":\#(gifted),"reconnects":\#(account.reconnects),"#
                    + #""balanced":\#(faults.isEmpty)}"#)
        } else {
            print("taps    \(account.sent) sent, \(account.answered) answered, \(account.refused) refused,")
            print("        \(account.unknown) answered 503, \(account.unanswered) never answered; \(likes) are counted")
            print("gifts   \(given) given, \(gifted) counted")
            print("        \(account.reconnects) reconnects")
            for fault in faults { print("FAULT   \(fault)") }
            print(faults.isEmpty ? "the ledger balances" : "the ledger does not balance")
        }
        if !faults.isEmpty { throw ExitCode(1) }
    }
}
