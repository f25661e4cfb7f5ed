import Foundation
import Synchronization
import WaitTestKit

/// A program of this package, run as a process of its own.
final class Program: Sendable {
    private struct State {
        var errors = ""
        var output = ""
        var status: Int32?
        var openPipes = 2
        var isTrapSaid = false

        /// The whole lines on standard error.
        var errorLines: ArraySlice<Substring> {
            errors.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        }
    }

    /// The longest wait for a start, a line or the end.
    static let limit = Duration.seconds(60)

    /// One after the other: a program that is started inherits the pipes that another one is just being given, and holds
    /// them open after that one's end.
    private static let starting = Mutex(())

    private let state = Mutex(State())
    private let changes = Changes()
    private let name: String
    let pid: pid_t

    /// Starts a program that was built beside the tests. Of this process's environment it sees the path only.
    convenience init(_ name: String, _ arguments: [String], environment: [String: String] = [:]) throws {
        guard let directory = Bundle.main.executableURL?.deletingLastPathComponent() else {
            throw TestFailure("where the tests are is unknown")
        }
        try self.init(
            executable: directory.appendingPathComponent(name), arguments, environment: environment)
    }

    /// Starts any program, with the same environment.
    init(executable: URL, _ arguments: [String], environment: [String: String]) throws {
        name = executable.lastPathComponent
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        process.environment = environment.merging(["PATH": "/usr/bin:/bin"]) { given, _ in given }
        process.standardInput = FileHandle.nullDevice
        // The process may end before `run` returns: what its end needs must not be made later.
        let ended = Mutex<(@Sendable (Int32) -> Void)?>(nil)
        let early = Mutex<Int32?>(nil)
        process.terminationHandler = { process in
            let status = process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
            early.withLock { $0 = status }
            ended.withLock { $0 }?(status)
        }
        let (output, errors) = try Self.starting.withLock { _ in
            let (output, errors) = (Pipe(), Pipe())
            process.standardOutput = output
            process.standardError = errors
            try process.run()
            return (output, errors)
        }
        pid = process.processIdentifier
        let report: @Sendable (Int32) -> Void = { [self] status in change { $0.status = status } }
        ended.withLock { $0 = report }
        if let status = early.withLock({ $0 }) { report(status) }
        read(output.fileHandleForReading) { $0.output += $1 }
        read(errors.fileHandleForReading) { $0.errors += $1 }
    }

    private func read(_ handle: FileHandle, _ keep: @escaping @Sendable (inout State, String) -> Void) {
        Thread.detachNewThread { [self] in
            while true {
                let data = handle.availableData
                if data.isEmpty { break }
                change { keep(&$0, String(decoding: data, as: UTF8.self)) }
            }
            change { $0.openPipes -= 1 }
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let trapped: String? = state.withLock { state in
            body(&state)
            guard let status = state.status, Self.traps.contains(-status), state.openPipes == 0, !state.isTrapSaid
            else {
                return nil
            }
            state.isTrapSaid = true
            return state.errors
        }
        changes.note()
        guard let trapped else { return }
        // Whatever the test makes of it: its cause stands here, and nowhere else. In the form of a failure, which is shown.
        let last = trapped.split(separator: "\n").suffix(20).map { "✘ \(name) \(pid): \($0.prefix(500))\n" }
        FileHandle.standardError.write(Data(last.joined().utf8))
    }

    /// The signals by which a program ends at its own fault.
    private static let traps: Set<Int32> = [SIGILL, SIGTRAP, SIGABRT, SIGSEGV, SIGBUS]

    /// Waits until `check` finds something in what the program has done. One that does not get there is killed.
    private func wait<Value: Sendable>(
        for what: String, limit: Duration, _ check: (State) -> Value?
    ) async throws -> Value {
        do {
            return try await changes.wait(for: "\(what) of \(name)", limit: limit) { state.withLock { check($0) } }
        } catch {
            signal(SIGKILL)
            throw TestFailure("\(error), which wrote: \(errors.suffix(4000))")
        }
    }

    /// Waits for a line on standard error that `matches`; nil if the program ended without one.
    func errorLine(
        limit: Duration = Program.limit, where matches: @Sendable (Substring) -> Bool
    ) async throws -> String? {
        try await wait(for: "a line", limit: limit) { state -> String?? in
            if let line = state.errorLines.first(where: matches) { return .some(String(line)) }
            return state.status != nil && state.openPipes == 0 ? .some(nil) : nil
        }
    }

    /// Waits for a line on standard output that `matches`; nil if the program ended without one.
    func outputLine(
        limit: Duration = Program.limit, where matches: @Sendable (Substring) -> Bool
    ) async throws -> String? {
        try await wait(for: "a line", limit: limit) { state -> String?? in
            let lines = state.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            if let line = lines.first(where: matches) { return .some(String(line)) }
            return state.status != nil && state.openPipes == 0 ? .some(nil) : nil
        }
    }

    /// Waits for the end: the exit status (a signal is negative), and all that it wrote.
    func ended(limit: Duration = Program.limit) async throws -> (status: Int32, output: String, errors: String) {
        try await wait(for: "the end", limit: limit) { state in
            guard let status = state.status, state.openPipes == 0 else { return nil }
            return (status, state.output, state.errors)
        }
    }

    /// What it has written on standard error until now.
    var errors: String { state.withLock { $0.errors } }

    /// The whole lines on standard error until now that contain `text`.
    func errorLines(containing text: String) -> [String] {
        state.withLock { $0.errorLines.filter { $0.contains(text) }.map(String.init) }
    }

    /// Waits for one more whole line on standard error that contains `text` than the `count` that there were.
    func errorLine(containing text: String, after count: Int) async throws -> String {
        try await wait(for: "a line with \"\(text)\"", limit: Self.limit) { state in
            state.errorLines.filter { $0.contains(text) }.dropFirst(count).last.map(String.init)
        }
    }

    func signal(_ number: Int32) {
        if state.withLock({ $0.status == nil }) { kill(pid, number) }
    }
}
