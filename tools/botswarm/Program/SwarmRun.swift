import ArgumentParser
import BotSwarmCore
import ChatModel
import Dispatch
import Foundation

/// One run from the command line to the exit code.
struct SwarmRun {
    let common: CommonOptions
    let scenario: Scenario

    private static let unbalancedCode: Int32 = 1
    private static let usageCode: Int32 = 2
    private static let unreachableCode: Int32 = 3

    func run() async throws {
        do {
            let report = try await makeReport()
            print(common.json ? try report.json() : report.text, terminator: common.json ? "\n" : "")
            if !report.isBalanced { throw ExitCode(Self.unbalancedCode) }
        } catch let failure as SwarmFailure {
            FileHandle.standardError.write(Data("botswarm: \(failure.message)\n".utf8))
            throw ExitCode(failure.code == .usage ? Self.usageCode : Self.unreachableCode)
        }
    }

    private func makeReport() async throws -> RunReport {
        // The admin key goes to the server itself, never through a proxy that the environment names.
        setenv("no_proxy", "*", 1)
        try scenario.check(openFilesMax: OpenFiles.raiseLimit())
        let rooms = try common.room.map { text throws(SwarmFailure) in
            guard let room = RoomID(text) else { throw SwarmFailure(.usage, "\(text) is not a room ID") }
            return room
        }
        guard let names = BotNames(run: common.run ?? Self.randomTag()) else {
            throw SwarmFailure(.usage, "--run takes 1 to 16 lower-case letters and digits")
        }
        let directory = URL(fileURLWithPath: FileManager.default.currentDirectoryPath, isDirectory: true)
        let target = try SwarmTarget.find(
            url: common.url, api: common.api, keysFile: common.keys, environment: ProcessInfo.processInfo.environment,
            directory: directory)
        let line = ProgressLine()
        let swarm = Swarm(scenario: scenario, target: target, names: names) { line.show($0) }
        let signals = Self.watchInterrupt(swarm)
        defer {
            signals.cancel()
            line.clear()
        }
        return try await swarm.run(rooms: rooms)
    }

    /// The first SIGINT ends the sending and leads to the report; the second ends the program.
    private static func watchInterrupt(_ swarm: Swarm) -> any DispatchSourceSignal {
        signal(SIGINT, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
        source.setEventHandler {
            swarm.interrupt()
            signal(SIGINT, SIG_DFL)
        }
        source.resume()
        return source
    }

    private static func randomTag() -> String {
        String((0..<6).map { _ in "abcdefghijkmnpqrstuvwxyz23456789".randomElement() ?? "x" })
    }
}
