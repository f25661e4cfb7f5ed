import ChatModel
import EventLoop
import RoomProtocol
import SessionCore
import Synchronization
import Telemetry
import Testing
import Transport
import WaitTestKit
import Wire

@testable import Gateway

/// A lane looks at what is due and at what waits, and at nothing else.
@Suite(.timeLimit(.minutes(3))) struct IdleLaneTests {
    private let here: NodeID

    init() throws { here = try #require(NodeID("n1")) }

    private func withLane(
        connectSeconds: Int64 = 3_600, _ body: @escaping (LoopBound<GatewayLane>, RawClient) async throws -> Void
    ) async throws {
        try await TestGateway.run(at: here, connectSeconds: connectSeconds) { gateway, port, loop in
            let client = try await RawClient(port: port, loop: loop)
            client.send(RawClient.upgrade)
            try await client.waitFor("the answer") { $0.text.hasSuffix("\r\n\r\n") }
            try await body(try #require(gateway.shared.lanes.withLock { $0.first }), client)
        }
    }

    @Test func `a client that does not connect in time is closed, and one that has time is not looked at`() async throws
    {
        try await withLane(connectSeconds: 1) { _, client in
            try await client.waitFor("the end") { $0.hasEnded }
            #expect(client.text.hasSuffix("no connect in time"))
        }
        try await withLane { lane, _ in
            let steps = await lane.loop.run {
                var now = lane.value.moment
                now.milliseconds += 3_500_000
                var steps = 0
                while let step = lane.value.agenda.next(at: now) { if step != .moved { steps += 1 } }
                return steps
            }
            #expect(steps == 0)
        }
    }

    @Test func `whatever is due on a lane is planned, and is missed where a plan was lost`() async throws {
        try await withLane { lane, _ in
            let complaints = await lane.loop.run { [here] in
                let value = lane.value
                var complaints: [String?] = []
                let id = TestGateway.session(1, at: here)
                let user = UserID("wanda").unsafelyUnwrapped
                value.keep(Session(id: id, user: user, on: value))
                complaints.append(value.unplanned())
                let agenda = value.agenda
                // The faults: the plan of the grace, and then that of the connection, are not there.
                value.agenda.forget(id)
                complaints.append(value.unplanned().map { _ in "the grace" })
                value.agenda = agenda
                for number in value.connections.keys { value.agenda.forget(number) }
                complaints.append(value.unplanned().map { String($0.prefix(10)) })
                value.agenda = agenda
                return complaints
            }
            #expect(complaints == [nil, "the grace", "connection"])
        }
    }

    @Test func `the end of a connection plans the end of its session's grace`() async throws {
        try await withLane { lane, _ in
            let isPlanned = try await lane.loop.run { [here] in
                let value = lane.value
                let connection = try #require(value.connections.values.first)
                let id = TestGateway.session(1, at: here)
                let session = value.adopt(Session(id: id, user: UserID("wanda").unsafelyUnwrapped, on: value))
                (session.connection, connection.session) = (connection, session)
                var isPlanned = [value.agenda.hasPlannedEnd(ofGraceOf: id, by: .max)]
                value.detach(connection)
                isPlanned.append(value.agenda.hasPlannedEnd(ofGraceOf: id, by: .max))
                value.end(session)
                isPlanned.append(value.agenda.hasPlannedEnd(ofGraceOf: id, by: .max))
                return isPlanned
            }
            #expect(isPlanned == [false, true, false])
        }
    }

    @Test func `a token that ends earlier than the one before is looked at earlier`() async throws {
        try await withLane { lane, _ in
            let isPlanned = try await lane.loop.run { [here] in
                let value = lane.value
                let user = UserID("wanda").unsafelyUnwrapped
                let connection = try #require(value.connections.values.first)
                let session = value.adopt(Session(id: TestGateway.session(1, at: here), user: user, on: value))
                (session.connection, connection.session) = (connection, session)
                func isPlanned(by time: Int64) -> Bool {
                    value.agenda.hasPlannedToken(of: connection.number, by: Timestamp(time))
                }
                func refresh(until time: Int64) {
                    let claims = TokenClaims(user: user, expiresAt: Timestamp(time), rooms: nil, nick: "", avatar: "")
                    value.refreshed(nil, connection.number, .success(claims))
                }
                // The wall clock stands at 1000. A minute before the end there is a warning.
                refresh(until: 3_600_000)
                var planned = [isPlanned(by: 3_540_000), isPlanned(by: 3_530_000)]
                refresh(until: 200_000)
                planned += [isPlanned(by: 140_000)]
                return planned
            }
            #expect(isPlanned == [true, false, true])
        }
    }

    @Test func `a session whose client does not come back ends with its grace`() async throws {
        try await TestGateway.run(at: here, graceSeconds: 1) { gateway, _, _ in
            let lane = try #require(gateway.shared.lanes.withLock { $0.first })
            let id = TestGateway.session(1, at: here)
            await lane.loop.run {
                _ = lane.value.keep(Session(id: id, user: UserID("wanda").unsafelyUnwrapped, on: lane.value))
            }
            try await poll("the end") { await lane.loop.run { lane.value.sessions.isEmpty } }
            let isPlanned = await lane.loop.run { lane.value.agenda.hasPlannedEnd(ofGraceOf: id, by: .max) }
            #expect(!isPlanned)
        }
    }

    @Test func `a connection is counted for its bytes from when they wait until they are taken`() async throws {
        try await withLane { lane, client in
            let count = { @Sendable in await lane.loop.run { lane.value.waiting.count } }
            let shown = { @Sendable in await lane.loop.run { lane.value.shared.figures.queueBytes.value } }
            #expect(await count() == 0)
            client.read(false)
            // More than the buffers of both sockets take.
            let frames = 64
            await lane.loop.run {
                for connection in lane.value.connections.values {
                    for _ in 0..<frames {
                        connection.enqueue(
                            LaneFrame(reply: SharedBytes(copying: [UInt8](repeating: 1, count: 256 * 1024))))
                    }
                }
            }
            try await poll("the bytes that wait") { await shown() > 0 }
            #expect(await count() == 1)
            client.read(true)
            try await poll("the socket to take them") { await shown() == 0 }
            #expect(await count() == 0)
        }
    }

    @Test func `a connection with losses to be told is slow, though nothing is in its queue`() async throws {
        try await withLane { lane, client in
            let slow = { @Sendable in await lane.loop.run { lane.value.shared.figures.slowSessions.value } }
            client.read(false)
            try await lane.loop.run { [here] in
                let value = lane.value
                let connection = try #require(value.connections.values.first)
                let user = UserID("wanda").unsafelyUnwrapped
                let session = value.adopt(Session(id: TestGateway.session(1, at: here), user: user, on: value))
                (session.connection, connection.session) = (connection, session)
                session.state.losses.note(
                    room: RoomID("live").unsafelyUnwrapped, keptSeqs: 1...5, unkept: 0, barrage: 0)
                // One frame, more than the buffers of both sockets take: the socket has it, and the queue nothing.
                connection.enqueue(
                    LaneFrame(reply: SharedBytes(copying: [UInt8](repeating: 1, count: 16 * 1024 * 1024))))
            }
            try await poll("the connection to be slow") { await slow() == 1 }
            let waitingBytes = await lane.loop.run { lane.value.connections.values.map(\.waitingBytes) }
            #expect(waitingBytes == [0])
            let lost = await lane.loop.run { lane.value.slowSessions().map(\.lost) }
            #expect(lost == [5])
            // Bytes that the socket has are not enough.
            await lane.loop.run { for session in lane.value.sessions.values { _ = session.state.losses.take() } }
            try await poll("the connection to be slow no more") { await slow() == 0 }
            #expect(await lane.loop.run { lane.value.waiting.count } == 1)
            client.read(true)
            try await poll("the socket to take them") { await lane.loop.run { lane.value.waiting.isEmpty } }
        }
    }
}
