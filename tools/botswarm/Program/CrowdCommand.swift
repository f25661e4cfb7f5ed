import ArgumentParser
import BotSwarmCore
import ChatModel
import Dispatch
import EventLoop
import FoundationEssentials
import SystemCalls

/// Fills a room, so that it looks as on a busy evening.
struct CrowdCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "crowd", abstract: "Fills a room for show: chat, barrage and seats, without a ledger.",
        discussion: """
            Runs until it is interrupted, until --duration is over, or until nobody of it has been in the room for a minute. Nothing is \
            proved here: the other scenarios do that.
            """)

    @Option(help: ArgumentHelp("The room; it is waited for.", valueName: "id"))
    var room: String

    @Option(help: "People in all; each has a connection.")
    var members = 2_000

    @Option(help: "How many of them speak, throw barrage and take seats.")
    var speakers = 60

    @Option(help: "Messages a second, of all.")
    var messages = 6.0

    @Option(help: "Barrage items a second, of all.")
    var barrage = 25.0

    @Option(help: ArgumentHelp("New connections a second.", valueName: "per-second"))
    var ramp = 300.0

    @Option(help: ArgumentHelp("How long; 0 is until it is interrupted.", valueName: "seconds"))
    var duration = 0.0

    @OptionGroup var place: TargetOptions

    /// Without anybody connected for so long it ends: the cluster has gone.
    private static let lonelySeconds = 60

    func run() async throws {
        try await SwarmRun.reportingFailures {
            guard let room = RoomID(room) else { throw SwarmFailure(.usage, "\(room) is not a room ID") }
            guard (1...1_000_000).contains(members), speakers >= 0, messages >= 0, barrage >= 0, ramp > 0 else {
                throw SwarmFailure(
                    .usage, "--members takes 1 to 1000000, --ramp more than 0, the others no negative numbers")
            }
            let open = OpenFiles.raiseLimit()
            guard open > members + 64 else {
                throw SwarmFailure(.usage, "\(members) connections need more open files than \(open): ulimit -n")
            }
            let target = try place.target()
            guard let signer = target.signer else { throw SwarmFailure(.usage, "there is no key to sign tokens with") }
            let loop = try EventLoop(name: "crowd")
            loop.start()
            let options = CrowdOptions(
                room: room, members: members, speakers: speakers, messagesPerSecond: messages,
                barragePerSecond: barrage, rampPerSecond: ramp)
            let lane = await loop.run {
                let lane = CrowdLane(
                    loop: loop, gateways: target.gateways, signer: signer, options: options, tag: SwarmRun.randomTag()
                ) { Int64(Date().timeIntervalSince1970) }
                lane.start()
                return LoopBound(onLoop: lane, loop: loop)
            }
            await stay(lane)
            await loop.run { lane.value.stop() }
            loop.shutdown()
            await loop.joined()
        }
    }

    private func stay(_ lane: LoopBound<CrowdLane>) async {
        let end = duration > 0 ? ContinuousClock.now + .seconds(duration) : nil
        var (lonely, hasComeIn) = (0, false)
        let interrupted = Task { try? await Task.sleep(for: .seconds(1 << 30)) }
        let signals = SwarmRun.watchInterrupt { interrupted.cancel() }
        defer { signals.cancel() }
        while !interrupted.isCancelled, end.map({ ContinuousClock.now < $0 }) ?? true, lonely < Self.lonelySeconds {
            try? await Task.sleep(for: .seconds(1))
            let here = await lane.loop.run { lane.value.here }
            hasComeIn = hasComeIn || here > 0
            // Before that it waits for the room.
            lonely = here > 0 || !hasComeIn ? 0 : lonely + 1
        }
        interrupted.cancel()
    }
}
