import EventLoop
import NodeLinkCore
import Testing
import Transport
import WaitTestKit

/// A TCP connection to a link port, with bytes of the test's own.
struct RawPeer: Sendable {
    private final class Handler: ConnectionHandler {
        let connection: TCPConnection
        let changes: Changes
        var received: [UInt8] = []
        var isClosed = false

        init(_ connection: TCPConnection, _ changes: Changes) {
            self.connection = connection
            self.changes = changes
        }

        func connection(_ connection: TCPConnection, didRead bytes: UnsafeRawBufferPointer) {
            received += bytes
            changes.note()
        }

        func connectionDidDrain(_ connection: TCPConnection) {}

        func connectionDidClose(_ connection: TCPConnection, error: TransportError?) {
            isClosed = true
            changes.note()
        }
    }

    private let box: LoopBound<Handler>
    private let changes: Changes

    static func connect(to port: Int, on loop: EventLoop) async throws -> RawPeer {
        let changes = Changes()
        let result = await withCheckedContinuation {
            (continuation: CheckedContinuation<Result<RawPeer, TransportError>, Never>) in
            loop.execute {
                TCPConnection.connect(loop: loop, host: "127.0.0.1", port: port) { result in
                    continuation.resume(
                        returning: result.map { connection in
                            let handler = Handler(connection, changes)
                            connection.handler = handler
                            connection.startReading()
                            return RawPeer(box: LoopBound(onLoop: handler, loop: loop), changes: changes)
                        })
                }
            }
        }
        return try result.get()
    }

    func send(_ bytes: [UInt8]) async {
        await box.loop.run {
            let shared = SharedBytes(copying: bytes)
            let connection = box.value.connection
            let written = connection.tryWrite(shared)
            if written < shared.count { connection.write(shared, from: written) }
        }
    }

    func send(_ frames: [LinkFrame]) async {
        var bytes: [UInt8] = []
        for frame in frames { frame.append(to: &bytes) }
        await send(bytes)
    }

    /// What it has got so far, in frames.
    private func frames() async throws -> [LinkFrame] {
        let received = await box.loop.run { box.value.received }
        var reader = LinkFrameReader()
        received.withUnsafeBytes { reader.append($0) }
        var frames: [LinkFrame] = []
        while let frame = try reader.next() { frames.append(frame) }
        return frames
    }

    /// Says to be that node, and proves it by the keys. `between` is sent between hello and proof.
    func introduce(
        _ hello: LinkHello, keys: LinkKeys = Station.keys(1), between: [LinkFrame] = []
    ) async throws {
        var greeting = LinkGreeting(
            hello, nonce: (0..<LinkHello.nonceBytes).map { _ in .random(in: 0 ... .max) }, isCaller: true,
            expected: nil, keys: keys)
        await send([greeting.frame] + between)
        let frame = try await changes.wait(for: "a hello") {
            try await frames().first { if case .hello = try LinkControl($0.payload) { true } else { false } }
        }
        guard case .hello(let other) = try LinkControl(frame.payload),
            case .send(let proof) = try greeting.heard(other, payload: frame.payload, certified: nil, binding: [])
        else { throw LinkError(.malformed, "no hello") }
        await send([proof])
    }

    /// The reason for which it was refused.
    func refusal() async throws -> LinkError {
        try await changes.wait(for: "a refusal") {
            for frame in try await frames() where frame.lane == .control {
                if case .refusal(let refusal) = try LinkControl(frame.payload) { return refusal.error }
            }
            return nil
        }
    }

    /// Waits for the end of the connection.
    func closed() async throws {
        _ = try await changes.wait(for: "the end of a connection") {
            await box.loop.run { box.value.isClosed } ? true : nil
        }
    }

    /// Waits until it has got a control frame of which `check` holds.
    func control(_ what: String, _ check: @escaping @Sendable (LinkControl) -> Bool) async throws {
        _ = try await changes.wait(for: what) {
            let received = await box.loop.run { box.value.received }
            var reader = LinkFrameReader()
            received.withUnsafeBytes { reader.append($0) }
            while let frame = try reader.next() {
                if frame.lane == .control, check(try LinkControl(frame.payload)) { return true }
            }
            return nil
        }
    }
}
