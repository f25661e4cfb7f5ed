import EventLoop
import Swim
import SwimDriver
import Testing
import Transport
import WaitTestKit

/// A TCP connection to a member, with bytes of the test's own.
struct Caller: Sendable {
    private final class Handler: ConnectionHandler {
        let connection: TCPConnection
        var received: [UInt8] = []
        var isClosed = false
        var whenClosed: [() -> Void] = []

        init(_ connection: TCPConnection) { self.connection = connection }

        func connection(_ connection: TCPConnection, didRead bytes: UnsafeRawBufferPointer) { received += bytes }

        func connectionDidDrain(_ connection: TCPConnection) {}

        func connectionDidClose(_ connection: TCPConnection, error: TransportError?) {
            isClosed = true
            for resume in whenClosed { resume() }
            whenClosed = []
        }
    }

    private let box: LoopBound<Handler>

    static func connect(to address: GossipAddress, on loop: EventLoop) async throws -> Caller {
        let (host, port) = try #require(address.hostAndPort)
        let result = await withCheckedContinuation {
            (continuation: CheckedContinuation<Result<Caller, TransportError>, Never>) in
            loop.execute {
                TCPConnection.connect(loop: loop, host: host, port: port) { result in
                    continuation.resume(
                        returning: result.map { connection in
                            let handler = Handler(connection)
                            connection.handler = handler
                            connection.startReading()
                            return Caller(box: LoopBound(onLoop: handler, loop: loop))
                        })
                }
            }
        }
        return try result.get()
    }

    /// Sends `bytes` and returns what comes until the member ends the connection.
    static func exchange(_ bytes: [UInt8], with address: GossipAddress, on loop: EventLoop) async throws -> [UInt8] {
        let caller = try await connect(to: address, on: loop)
        await loop.run {
            let shared = SharedBytes(copying: bytes)
            let connection = caller.box.value.connection
            let written = connection.tryWrite(shared)
            if written < shared.count { connection.write(shared, from: written) }
        }
        await caller.closed()
        return await loop.run { caller.box.value.received }
    }

    var isClosed: Bool {
        get async { await box.loop.run { box.value.isClosed } }
    }

    func close() async { await box.loop.run { box.value.connection.close() } }

    /// Waits for the end of the connection. One that does not come is an issue.
    func closed() async {
        do {
            try await withDeadline("the end of a connection") {
                await withCheckedContinuation { continuation in
                    box.loop.execute {
                        if box.value.isClosed {
                            continuation.resume()
                        } else {
                            box.value.whenClosed.append { continuation.resume() }
                        }
                    }
                }
            }
        } catch { Issue.record(error) }
    }
}
