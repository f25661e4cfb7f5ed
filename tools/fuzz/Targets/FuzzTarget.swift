import Glibc

/// One decoder, what goes into it, and what must hold whatever goes in.
struct FuzzTarget: Sendable {
    var name: String
    /// The most bytes that this decoder is given where it is used; more are cut off.
    var bytesMax: Int
    /// Ends the process when something does not hold.
    var run: @Sendable (UnsafeRawBufferPointer) -> Void
    /// The output of encoders, as the first inputs. Small ones: the fuzzer combines them.
    var seeds: @Sendable (inout Samples) -> [[UInt8]]

    static let all: [FuzzTarget] = [
        json, protobuf, items, websocket, handshake, requests, api, tokens, keySet, gossip, sealed, link, greeting,
        consensus,
        node,
        transfer, logRows, stored, snapshot, search,
    ]
}

/// Ends the process, and the fuzzer keeps the input.
func fail(_ message: String) -> Never {
    let line = "FAILED: \(message)\n"
    _ = write(2, line, line.utf8.count)
    abort()
}

func require(_ condition: Bool, _ message: @autoclosure () -> String) {
    if !condition { fail(message()) }
}

/// The front of an input: what steers a target. Behind the end there are zeros.
struct FuzzInput {
    private(set) var rest: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) { rest = bytes }

    mutating func byte() -> UInt8 { take(1).first ?? 0 }

    mutating func number() -> UInt64 { take(8).reduce(0) { $0 << 8 | UInt64($1) } }

    /// At most so many bytes, fewer at the end.
    mutating func take(_ count: Int) -> [UInt8] {
        let taken = Array(rest.prefix(count))
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        return taken
    }

    /// Up to the next `separator`, which goes too.
    mutating func take(to separator: UInt8) -> [UInt8] {
        let taken = Array(rest.prefix { $0 != separator })
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(taken.count + 1))
        return taken
    }

    mutating func text(to separator: UInt8 = 0x0A) -> String { String(decoding: take(to: separator), as: UTF8.self) }

    var all: [UInt8] { Array(rest) }
}

/// Gives the bytes in pieces of so many.
func forEachPiece(_ bytes: UnsafeRawBufferPointer, of count: Int, _ body: (UnsafeRawBufferPointer) -> Bool) {
    var position = 0
    while position < bytes.count {
        let end = min(bytes.count, position + max(1, count))
        guard body(UnsafeRawBufferPointer(rebasing: bytes[position..<end])) else { return }
        position = end
    }
}

/// The bound on work: linear in the input. A decoder with a quadratic step breaks it at some tens of kilobytes, and one
/// without is far below even without optimization and with the sanitizer.
enum Work {
    static let microsecondsMin = 100_000 * slowness
    static let microsecondsPerByte = 5 * slowness
    /// Without optimization everything takes longer.
    private static let slowness = _isDebugAssertConfiguration() ? 6 : 1

    /// Runs it, and once more when it took too long: something else may have stopped the machine. CPU time, so that
    /// what else runs does not count.
    static func check(_ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
        let limit = microsecondsMin + microsecondsPerByte * bytes.count
        guard microseconds({ body(bytes) }) > limit else { return }
        let again = microseconds { body(bytes) }
        require(again <= limit, "\(bytes.count) bytes took \(again) µs of the processor, more than \(limit)")
    }

    private static func microseconds(_ body: () -> Void) -> Int {
        let start = now()
        body()
        return now() - start
    }

    /// The CPU time of the process: some decoders work on another thread.
    private static func now() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
    }
}
