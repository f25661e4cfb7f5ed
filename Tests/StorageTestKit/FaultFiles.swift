import SQLite
import Synchronization

/// The files beside a database on a disk under a test's control. What the test's process sees are real files; of what
/// was not synced a crash leaves the former state, the new one or a part of it, as the seed has it.
public final class FaultFiles: FileSteps {
    /// Where a replacement is stopped by a fault.
    public enum Step: Sendable, CaseIterable {
        /// Nothing is written.
        case write
        /// Half is written.
        case shortWrite
        /// All is written, the sync fails.
        case sync
        case rename
        case directorySync
    }

    private struct State: Sendable {
        var fault: (step: Step, count: Int)?
        var isPowered = true
        /// Steps that are still done before the power is cut; nil: it is not.
        var stepsLeft: Int?
        var steps = 0
        var writes = 0
        /// What a crash is sure to leave; nil: no such file.
        var durable: [String: [UInt8]?] = [:]
        /// What was done since, oldest first.
        var unsynced: [Change] = []
    }

    private enum Change: Sendable {
        case content(String, [UInt8])
        /// What was written and synced before it.
        case rename(String, String, [UInt8])
        case removal(String)
    }

    private let state = Mutex(State())

    public init() {}

    /// The next `count` replacements stop at this step; nil: all of them until told otherwise.
    public func fail(_ step: Step?, count: Int? = nil) {
        state.withLock { $0.fault = step.map { ($0, count ?? .max) } }
    }

    /// The power is cut when so many steps more have been done; everything fails from then on.
    public func cutPower(afterSteps steps: Int) { state.withLock { $0.stepsLeft = steps } }

    /// Steps so far.
    public var steps: Int { state.withLock { $0.steps } }
    /// Writes of whole files so far, those that failed among them.
    public var writes: Int { state.withLock { $0.writes } }

    /// Puts the files into a state in which a crash now can leave them. Seed 0: all that is not durable is lost.
    public func crash(seed: UInt64) throws(SQLiteError) {
        let (durable, unsynced) = state.withLock { ($0.durable, $0.unsynced) }
        var random = SeededGenerator(seed: seed)
        var files = durable
        // Names and contents come to the disk in any order, but each only after what it stands on.
        let kept = seed == 0 ? 0 : Int.random(in: 0...unsynced.count, using: &random)
        for change in unsynced.prefix(kept) {
            switch change {
            case .content(let path, let bytes):
                files[path] = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
            case .rename(let path, let newPath, let bytes): (files[newPath], files[path]) = (bytes, .some(nil))
            case .removal(let path): files[path] = .some(nil)
            }
        }
        for (path, bytes) in files {
            if let bytes { try SystemFiles().write(bytes, to: path) } else { try SystemFiles().remove(path) }
        }
        state.withLock { state in
            state = State()
            state.durable = files
        }
    }

    /// Throws where the test wants it; true when the step is to be done by halves.
    private func begin(_ steps: Step...) throws(SQLiteError) -> Step? {
        let outcome: Result<Step?, SQLiteError> = state.withLock { state in
            state.steps += 1
            if let left = state.stepsLeft {
                if left == 0 { state.isPowered = false }
                state.stepsLeft = max(0, left - 1)
            }
            guard state.isPowered else { return .failure(SQLiteError(code: .io, message: "no power")) }
            guard let fault = state.fault, steps.contains(fault.step) else { return .success(nil) }
            state.fault = fault.count > 1 ? (fault.step, fault.count - 1) : nil
            return .success(fault.step)
        }
        return try outcome.get()
    }

    /// What is there before the first step on a file is durable.
    private func know(_ path: String) throws(SQLiteError) {
        guard state.withLock({ $0.durable[path] == nil }) else { return }
        let bytes = try FileSystem.read(path, bytesMax: 1 << 24)
        state.withLock { $0.durable[path] = .some(bytes) }
    }

    public func write(_ bytes: [UInt8], to path: String) throws(SQLiteError) {
        try know(path)
        state.withLock { $0.writes += 1 }
        let fault = try begin(.write, .shortWrite, .sync)
        if fault == .write { throw SQLiteError(code: .full, message: "\(path): the disk is full") }
        let written = fault == .shortWrite ? Array(bytes.prefix(bytes.count / 2)) : bytes
        try SystemFiles().write(written, to: path)
        state.withLock { state in
            // In the place of what a failed write had left.
            state.unsynced.removeAll { if case .content(path, _) = $0 { true } else { false } }
            if fault == nil {
                state.durable[path] = .some(written)
            } else {
                state.unsynced.append(.content(path, written))
            }
        }
        if fault == .shortWrite { throw SQLiteError(code: .full, message: "\(path): the disk is full") }
        if fault == .sync { throw SQLiteError(code: .io, message: "\(path): input/output error") }
    }

    public func writeUnsynced(_ bytes: [UInt8], to path: String) throws(SQLiteError) {
        try know(path)
        state.withLock { $0.writes += 1 }
        let fault = try begin(.write, .shortWrite)
        if fault == .write { throw SQLiteError(code: .full, message: "\(path): the disk is full") }
        let written = fault == nil ? bytes : Array(bytes.prefix(bytes.count / 2))
        try SystemFiles().writeUnsynced(written, to: path)
        state.withLock { $0.unsynced.append(.content(path, written)) }
        if fault != nil { throw SQLiteError(code: .full, message: "\(path): the disk is full") }
    }

    public func rename(_ path: String, to newPath: String) throws(SQLiteError) {
        try know(newPath)
        if try begin(.rename) != nil { throw SQLiteError(code: .io, message: "\(path): input/output error") }
        try SystemFiles().rename(path, to: newPath)
        let bytes = try FileSystem.read(newPath, bytesMax: 1 << 24) ?? []
        state.withLock { $0.unsynced.append(.rename(path, newPath, bytes)) }
    }

    public func syncDirectory(of path: String) throws(SQLiteError) {
        if try begin(.directorySync) != nil {
            throw SQLiteError(code: .syncFailed, message: "\(path): input/output error")
        }
        state.withLock { state in
            for change in state.unsynced {
                switch change {
                case .content(let path, let bytes): state.durable[path] = .some(bytes)
                case .rename(let path, let newPath, let bytes):
                    (state.durable[newPath], state.durable[path]) = (bytes, .some(nil))
                case .removal(let path): state.durable[path] = .some(nil)
                }
            }
            state.unsynced = []
        }
    }

    public func remove(_ path: String) throws(SQLiteError) {
        try know(path)
        _ = try begin()
        try SystemFiles().remove(path)
        state.withLock { $0.unsynced.append(.removal(path)) }
    }
}
