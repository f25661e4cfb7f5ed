import ArgumentParser
import BotSwarmCore
import ChatModel
import Dispatch
import FoundationEssentials
import Glibc
import SystemCalls

/// One run from the command line to the exit code.
struct SwarmRun {
    let rooms: [String]
    let options: RunOptions
    let scenario: Scenario

    private static let unbalancedCode: Int32 = 1
    private static let usageCode: Int32 = 2
    private static let unreachableCode: Int32 = 3

    /// - Parameter coordinate: runs it with several processes.
    func run(together coordinate: CoordinateCommand? = nil) async throws {
        try await Self.reportingFailures {
            let report = try await makeReport(coordinate)
            if let path = options.html { try Self.write(report, to: path) }
            print(options.json ? try report.json() : report.text, terminator: options.json ? "\n" : "")
            if !report.isBalanced { throw ExitCode(Self.unbalancedCode) }
        }
    }

    /// Says on stderr why a run could not be made, and ends with the code for it.
    static func reportingFailures(_ body: () async throws -> Void) async throws {
        do {
            // The admin key goes to the server itself, never through a proxy that the environment names.
            setenv("no_proxy", "*", 1)
            try await body()
        } catch let failure as SwarmFailure {
            StandardStream.error.write("botswarm: \(failure.message)\n")
            throw ExitCode(failure.code == .usage ? Self.usageCode : Self.unreachableCode)
        }
    }

    private func makeReport(_ coordinate: CoordinateCommand?) async throws -> RunReport {
        let share = coordinate.map { $0.workers + $0.remote } ?? 1
        try scenario.check(openFilesMax: OpenFiles.raiseLimit(), share: share)
        let rooms = try self.rooms.map { text throws(SwarmFailure) in
            guard let room = RoomID(text) else { throw SwarmFailure(.usage, "\(text) is not a room ID") }
            return room
        }
        guard let names = BotNames(run: options.run ?? Self.randomTag()) else {
            throw SwarmFailure(.usage, "--run takes 1 to 16 lower-case letters and digits")
        }
        let target = try options.place.target()
        let screen = ProgressScreen()
        defer { screen.clear() }
        if let coordinate {
            return try await coordinate.lead(
                scenario, target: target, names: names, rooms: rooms, options: options, screen: screen)
        }
        let swarm = Swarm(scenario: scenario, target: target, names: names) { screen.show($0) }
        let signals = Self.watchInterrupt { swarm.interrupt() }
        defer { signals.cancel() }
        return try await swarm.run(rooms: rooms)
    }

    private static func write(_ report: RunReport, to path: String) throws(SwarmFailure) {
        let date = Date().formatted(.iso8601.dateTimeSeparator(.space))
        let page = HTMLReport(report, commandLine: CommandLine.arguments.joined(separator: " "), date: date)
        do {
            try Data(page.text.utf8).write(to: URL(fileURLWithPath: path))
        } catch {
            throw SwarmFailure(.usage, "the report can't be written to \(path)")
        }
    }

    /// The first SIGINT ends the sending and leads to the report; the second ends the program.
    static func watchInterrupt(_ interrupt: @escaping @Sendable () -> Void) -> any DispatchSourceSignal {
        signal(SIGINT, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
        source.setEventHandler {
            interrupt()
            signal(SIGINT, SIG_DFL)
        }
        source.resume()
        return source
    }

    static func randomTag() -> String {
        String((0..<6).map { _ in "abcdefghijkmnpqrstuvwxyz23456789".randomElement() ?? "x" })
    }
}
