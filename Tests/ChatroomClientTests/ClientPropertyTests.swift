import ChatModel
import Foundation
import Testing
import Wire

@testable import ClientCore

/// Whatever the network does: every kept message comes once or is told as missing, and every send is performed once.
@Suite struct ClientPropertyTests {
    private static var seeds: [UInt64] {
        if let text = ProcessInfo.processInfo.environment["SEED"], let seed = UInt64(text) { return [seed] }
        return Array(1...40)
    }

    @Test(arguments: seeds) func `no hole, no duplicate, no message performed twice`(seed: UInt64) {
        var world = World(seed: seed)
        for _ in 0..<600 { world.step() }
        world.settle()
        let noticed = world.moveUnnoticed()
        let problems = noticed + world.problems()
        #expect(problems.isEmpty, "SEED=\(seed): \(problems.joined(separator: "; "))")
    }
}

/// A client and a server with a bad network between them.
private struct World {
    var random: SplitMix64
    let script: Script
    var server = FakeServer()
    var sent: [String: UInt64] = [:]
    var isBad = true
    /// The connection on which the server has the session.
    var held: UInt64 = 0
    /// Connections that a newer one has taken the session from, and that are not closed yet.
    var replaced: [UInt64] = []

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        var settings = ClientSettings()
        settings.heldPushesMax = 8
        settings.reconnectMaxMilliseconds = 2_000
        settings.retryCount = -1
        script = Script(settings, seed: seed)
        script.happens(.start(ticket: script.ticket()))
        script.happens(.enter(ticket: script.ticket(), Script.room, EnterOptions()))
        react()
    }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    /// Does what the client wanted since the last input, and what follows from that.
    mutating func react() {
        var effects = script.latest
        var steps = 0
        while !effects.isEmpty {
            steps += 1
            guard steps < 10_000 else { return }
            var inputs: [ClientInput] = []
            for effect in effects {
                switch effect {
                case .fetchToken(let attempt): inputs.append(.token(attempt: attempt, isBad && chance(10) ? nil : "t"))
                case .open(let connection, _):
                    let fails = isBad && chance(20)
                    inputs.append(
                        fails ? .closed(connection: connection, code: nil, reason: "") : .opened(connection: connection)
                    )
                case .write(let connection, let request):
                    if case .connect = request.operation { inputs += takeOver(connection) }
                    guard connection == held else { continue }
                    server.perform(request, refuses: isBad && chance(15))
                case .close(let connection, _):
                    replaced.removeAll { $0 == connection }
                    if connection == held { server.connectionLost() }
                default: break
                }
            }
            effects = []
            for input in inputs { effects += script.happens(input) }
        }
    }

    /// The session goes to a new connection. Some of what was on its way on the old one arrives, and its close frame may
    /// come before or after the answer on the new one.
    private mutating func takeOver(_ connection: UInt64) -> [ClientInput] {
        var inputs: [ClientInput] = []
        let old = held
        held = connection
        let onTheWay = server.takeOutbox()
        server.connectionLost()
        guard old != 0, script.core.wants(old) else { return [] }
        for item in onTheWay.prefix(Int.random(in: 0...onTheWay.count, using: &random)) {
            inputs.append(.received(connection: old, item))
        }
        if chance(50) { replaced.append(old) } else { inputs.append(.closed(connection: old, code: 4410, reason: "")) }
        return inputs
    }

    /// Delivers some of what the server has said; or loses the connection in the middle of it.
    mutating func deliver() {
        if chance(50), let old = replaced.popLast() {
            script.happens(.closed(connection: old, code: 4410, reason: ""))
            react()
        }
        let connection = held
        for item in server.takeOutbox() {
            if isBad, chance(3) {
                // The rest is lost, acks and all.
                if connection == held { server.connectionLost() }
                script.happens(.closed(connection: connection, code: chance(50) ? nil : 1001, reason: ""))
                return react()
            }
            script.happens(.received(connection: connection, item))
            react()
        }
    }

    mutating func step() {
        script.happens(.heard(connection: held))
        switch Int.random(in: 0..<13, using: &random) {
        case 0..<3:
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                server.post("x", FakeServer.Delivery.allCases.randomElement(using: &random) ?? .normal)
            }
        case 3: for _ in 0..<Int.random(in: 1...180, using: &random) { server.post("many", .normal) }
        case 4...6:
            let id = "c\(sent.count)"
            let ticket = script.ticket()
            sent[id] = ticket
            script.happens(.perform(ticket: ticket, Script.send(id)))
            react()
        case 7: server.tellBudget()
        case 11: if chance(50), held != 0 { server.askToLeave() }
        case 8...10: deliver()
        default:
            let wait = Int64.random(in: 1...1_500, using: &random)
            pass(milliseconds: wait)
        }
    }

    mutating func pass(milliseconds: Int64) {
        let end = script.now.adding(milliseconds: milliseconds)
        while let due = script.core.nextDeadline, due <= end {
            script.now = max(script.now, due)
            script.happens(.deadline)
            react()
            deliver()
        }
        script.now = max(script.now, end)
        script.happens(.heard(connection: held))
    }

    /// The network becomes good, and everybody comes to rest.
    mutating func settle() {
        isBad = false
        for _ in 0..<60 {
            // An answer may be what the next request waits for.
            repeat { deliver() } while !server.outbox.isEmpty
            server.tellBudget()
            pass(milliseconds: 1_000)
        }
        deliver()
    }

    /// The client moves in a good network, while it sends and hears.
    mutating func moveUnnoticed() -> [String] {
        let count = script.effects.count
        let connection = held
        server.askToLeave()
        for number in 0..<40 {
            server.post("meanwhile", .normal)
            let id = "moving\(sent.count) \(number)"
            let ticket = script.ticket()
            sent[id] = ticket
            script.happens(.perform(ticket: ticket, Script.send(id)))
            react()
            if chance(50) { deliver() }
            pass(milliseconds: 25)
        }
        settle()
        let noticed = script.effects.dropFirst(count).filter {
            switch $0 {
            case .clientEvent, .roomEvent(_, .state), .roomEvent(_, .gap), .roomEvent(_, .skipped): true
            case .roomEvent(_, .delivery(let change)): change.status == .unknown
            default: false
            }
        }
        return (held == connection ? ["it has not moved"] : []) + noticed.map { "noticed: \($0)" }
    }

    func problems() -> [String] {
        var problems: [String] = []
        let events = Script.roomEvents(script.effects)
        var seen: [UInt64: Int] = [:]
        var told: Set<UInt64> = []
        var last: UInt64 = 0
        var first: UInt64?
        for event in events {
            switch event {
            case .entered(let entry):
                if entry.recovery == .fresh { first = entry.seq }
                if entry.recovery == .impossible { problems.append("recovery was impossible, and nothing had changed") }
            case .message(let message):
                let seq = message.seq ?? 0
                if seq <= last { problems.append("\(seq) came after \(last)") }
                last = max(last, seq)
                seen[seq, default: 0] += 1
            case .filled(let messages): for message in messages { seen[message.seq ?? 0, default: 0] += 1 }
            case .gap(let gap):
                if gap.cause == .unavailable { problems.append("\(gap.ranges) was given up, but history has it") }
                if gap.cause == .budget { for range in gap.ranges { told.formUnion(range) } }
            default: break
            }
        }
        guard let first else { return problems + ["never entered"] }
        for (seq, count) in seen where count > 1 { problems.append("\(seq) came \(count) times") }
        for message in server.history {
            guard let seq = message.seq, seq > first, seen[seq] == nil, !told.contains(seq) else { continue }
            problems.append("\(seq) of \(server.seq) neither came nor was told")
        }
        if Set(server.performed).count != server.performed.count { problems.append("a send was performed twice") }
        for (id, ticket) in sent {
            switch script.outcome(ticket) {
            case .success: if !server.performed.contains(id) { problems.append("\(id) is acked and not there") }
            case .failure(let error): problems.append("\(id) failed: \(error)")
            case nil: problems.append("\(id) has no outcome")
            }
        }
        return problems
    }
}
