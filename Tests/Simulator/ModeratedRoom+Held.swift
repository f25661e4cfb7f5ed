import ChatModel
import ChatroomClient
import Foundation
import SimulatedSystem
import Synchronization

/// What was decided about messages that were held.
struct HeldLedger: Sendable {
    /// It makes a message be held.
    static let word = "iffy"

    enum Verdict: Sendable {
        case allowed(messageID: String)
        case denied(heldID: String, member: Int)
    }

    /// By the number of the message.
    var verdicts: [Int: Verdict] = [:]
    /// What members were told, by the held message's ID.
    var toldDenied: Set<String> = []

    static func text(_ number: Int) -> String { "\(word) no.\(number)." }
}

extension ModeratedRoom {
    func listenForDenials() async {
        for (place, member) in members.enumerated() {
            guard let id = RoomID(Self.id) else { return }
            _ = await member.room(id).addListener("denials-\(place)") { [weak self] event in
                guard case .denied(let denial) = event else { return }
                self?.held.withLock { _ = $0.toldDenied.insert(denial.heldID) }
            }
        }
    }

    /// A member's message is held; it is allowed, denied, withdrawn, or two decide at the same time.
    func holds() async throws {
        var number = 0
        while !isOver {
            number += 1
            try await hold(number)
            story.count("held")
            try await Task.sleep(for: .milliseconds(700))
        }
    }

    private func hold(_ number: Int) async throws {
        let place = number % members.count
        let member = members[place]
        guard let receipt = await sent(number) else { return }
        guard case .success(let receipt) = receipt, let heldID = receipt.heldID else {
            return story.complain(.heldWrongly, "message \(number) is not held")
        }
        let manager = manager
        let what = "to decide about message \(number)"
        switch number % 4 {
        case 0:
            let message = await answer(what) { () async throws(ClientError) in
                try await manager.room(Self.id).allowHeld(heldID)
            }
            guard let message else { return }
            note(number, allowed: message?.messageID)
        case 1 where number % 8 == 1:
            // Its sender is away then, and is told when it comes back.
            for node in 0..<story.plan.layout.nodes { sim_reset(UInt8(node + 1), ClusterStory.moderatedPlace) }
            let denied = try await story.acked(
                "POST", "\(Self.path)/held/\(heldID)/deny", "{}", id: "deny-\(number)")
            guard denied != nil else { return }
            note(number, denied: heldID, of: place)
        case 1:
            let isDenied: Void? = await answer(what) { () async throws(ClientError) in
                try await manager.room(Self.id).denyHeld(heldID, reason: "no")
            }
            guard isDenied != nil else { return }
            note(number, denied: heldID, of: place)
        case 2:
            let isWithdrawn: Void? = await answer(what) { () async throws(ClientError) in
                try await member.room(Self.id).recall(heldID)
            }
            guard isWithdrawn != nil else { return }
            note(number, denied: heldID, of: place)
        default:
            guard try await race(number, heldID, of: place) else { return }
        }
        // A repeat of the send is told what has become of it.
        let verdict = held.withLock { $0.verdicts[number] }
        switch (await sent(number), verdict) {
        case (.success(let receipt)?, .allowed(let messageID)?) where receipt.messageID == messageID: break
        case (.failure(let refusal?)?, .denied?) where refusal.number == 13009: break
        case (nil, _), (.failure(nil)?, _): break
        case (let again?, _):
            story.complain(.heldWrongly, "message \(number): \(verdict as Any), and a repeat is told \(again)")
        }
    }

    private func sent(_ number: Int) async -> Outcome<SendReceipt>? {
        let member = members[number % members.count]
        let outcome = await outcome("to send message \(number)") { () async throws(ClientError) in
            try await member.room(Self.id).send(.text(HeldLedger.text(number)), clientID: "held-\(number)")
        }
        if case .failure(nil) = outcome { return nil }
        return outcome
    }

    /// The manager allows and the server API denies: the first wins.
    private func race(_ number: Int, _ heldID: String, of place: Int) async throws -> Bool {
        let manager = manager
        async let allowing = outcome("to allow message \(number)") { () async throws(ClientError) in
            try await manager.room(Self.id).allowHeld(heldID)
        }
        let denying = try await story.acked(
            "POST", "\(Self.path)/held/\(heldID)/deny", "{}", id: "deny-\(number)", or: 409)
        let allowed = await allowing
        guard let denying else { return false }
        switch allowed {
        case .success(let message) where denying.status == 409: note(number, allowed: message?.messageID)
        case .failure(let refusal?) where refusal.number == 409 && denying.status != 409:
            note(number, denied: heldID, of: place)
        case .failure(nil): return false
        default:
            story.complain(
                .heldWrongly, "message \(number) was allowed (\(allowed)) and denied (\(denying)) at the same time")
            return false
        }
        return true
    }

    private func note(_ number: Int, allowed messageID: String?) {
        guard let messageID else {
            return story.complain(.heldWrongly, "message \(number) was allowed, and is said to have expired")
        }
        held.withLock { $0.verdicts[number] = .allowed(messageID: messageID) }
    }

    private func note(_ number: Int, denied heldID: String, of place: Int) {
        held.withLock { $0.verdicts[number] = .denied(heldID: heldID, member: place) }
    }

    /// Those that were allowed are kept, once, and nothing waits; those whose messages were denied were told.
    func judgeHeld() async throws {
        let end = SimulatedTime.now + .seconds(60)
        while SimulatedTime.now < end, !untold.isEmpty { try await Task.sleep(for: .milliseconds(200)) }
        for number in untold {
            story.complain(.heldWrongly, "its sender is not told that message \(number) was denied")
        }
        var kept: [Int: [String]] = [:]
        for text in try await story.history(of: Self.id) {
            for shown in text.components(separatedBy: #""messageId":""#).dropFirst() {
                guard let said = shown.range(of: #""text":"\#(HeldLedger.word) no."#) else { continue }
                guard let number = Int(shown[said.upperBound...].prefix { $0.isNumber }) else { continue }
                kept[number, default: []].append(String(shown.prefix { $0 != "\"" }))
            }
        }
        for (number, verdict) in held.withLock({ $0.verdicts }).sorted(by: { $0.key < $1.key }) {
            let ids = kept[number] ?? []
            switch verdict {
            case .allowed(let messageID) where ids == [messageID]: break
            case .denied where ids.isEmpty: break
            default: story.complain(.heldWrongly, "message \(number): \(verdict), and history has \(ids)")
            }
        }
        if let waiting = await story.cluster.text(0, "\(Self.path)/held"), waiting.contains(#""messageId""#) {
            let decided = held.withLock { $0.verdicts.count }
            story.trace("\(decided) are decided, and there wait \(waiting)")
        }
    }

    private var untold: [Int] {
        held.withLock { ledger in
            ledger.verdicts.compactMap { number, verdict in
                guard case .denied(let heldID, _) = verdict, !ledger.toldDenied.contains(heldID) else { return nil }
                return number
            }.sorted()
        }
    }
}
