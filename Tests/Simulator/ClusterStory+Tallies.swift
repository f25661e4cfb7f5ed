import BotSwarmCore
import ChatModel
import Foundation
import Synchronization

/// An acked amendment of a message.
struct Amendment: Sendable {
    /// Which message, from 1.
    var number: Int
    /// Which change of it, from 1.
    var version: Int

    static func text(_ number: Int, version: Int) -> String { "amended.\(number).\(version)." }
}

/// A room in which clients tap, and an app server gives and amends, while something happens: nothing that was answered is
/// lost, nothing is counted twice, and what was amended is seen as it is now.
extension ClusterStory {
    static let tapsPlace: UInt8 = 202
    static let tapsRoom = "tally"

    private static let path = "/v1/rooms/\(tapsRoom)"

    func makeTallies() async -> Bool {
        guard await asked("POST", "/v1/rooms", #"{"id":"\#(Self.tapsRoom)","creator":"host"}"#) else { return false }
        for key in Tappers.keys {
            guard await asked("PUT", "\(Self.path)/tallies/\(key)", "{}") else { return false }
        }
        return await asked("PUT", "\(Self.path)/tallies/gifts", #"{"by":"SERVER"}"#)
    }

    /// Gives, says and amends, until taps are to end.
    func give() async throws {
        var messages: [String] = []
        var number = 0
        while !tapsEnd.withLock({ $0 }) {
            number += 1
            let delta = Int64(number % 7 + 1)
            if try await done("tallies/gifts/add", #"{"delta":\#(delta)}"#, id: "gift-\(number)") != nil {
                given.withLock { $0 += delta }
            }
            let text = Amendment.text(number, version: 0)
            let said = try await done(
                "messages", #"{"type":"TEXT","text":"\#(text)","sender":"host"}"#, id: "say-\(number)")
            guard let said, let messageID = Self.messageID(in: said) else { return }
            messages.append(messageID)
            try await amend(Amendment(number: number, version: 1), messageID)
            if number > 3 { try await amend(Amendment(number: number - 3, version: 2), messages[number - 4]) }
            try await Task.sleep(for: .seconds(1))
        }
        count("gifts", number)
    }

    private func amend(_ amendment: Amendment, _ messageID: String) async throws {
        let (number, version) = (amendment.number, amendment.version)
        let body = #"{"set":{"text":"\#(Amendment.text(number, version: version))"}}"#
        guard try await done("messages/\(messageID)/amend", body, id: "amend-\(number)-\(version)") != nil else {
            return
        }
        let acked = amendments.withLock { amendments in
            amendments.append(amendment)
            return amendments.count
        }
        let node = acked % plan.layout.nodes
        if let told = await cluster.text(node, "\(Self.path)/messages/\(messageID)") {
            lookForAmended(in: [told], "at n\(node + 1)", upTo: acked, isAll: false)
        }
    }

    private func done(_ path: String, _ body: String, id: String) async throws -> String? {
        try await acked("POST", "\(Self.path)/\(path)", body, id: id)?.text
    }

    static func messageID(in answer: String) -> String? {
        answer.range(of: #""messageId":""#).map { String(answer[$0.upperBound...].prefix { $0 != "\"" }) }
    }

    // MARK: - Verdicts

    /// Texts of messages are those of their last amendment that was acked by then, or of a later one.
    /// - Parameters:
    ///   - acked: so many amendments.
    ///   - isAll: whether the texts are those of all messages.
    func lookForAmended(in texts: [String], _ place: String, upTo acked: Int, isAll: Bool) {
        var versions: [Int: Int] = [:]
        for amendment in amendments.withLock({ Array($0.prefix(acked)) }) {
            versions[amendment.number] = max(versions[amendment.number] ?? 0, amendment.version)
        }
        // Notifications have former texts, too.
        let mark = #""type":"TEXT","text":"amended."#
        for text in texts {
            for shown in text.components(separatedBy: mark).dropFirst() {
                let words = shown.prefix(32).split(separator: ".")
                guard words.count > 1, let number = Int(words[0]), let version = Int(words[1]) else { continue }
                guard let wanted = versions.removeValue(forKey: number), version < wanted else { continue }
                complain(
                    .notAmended, "message \(number) is shown \(place) as of version \(version), and \(wanted) was acked"
                )
            }
        }
        guard isAll, let missing = versions.keys.min() else { return }
        complain(.notAmended, "message \(missing) and \(versions.count - 1) others are not shown \(place)")
    }

    func judgeTallies(_ tappers: Tappers) async throws {
        let accounts = try await tappers.settled()
        guard let totals = try await settledTotals() else {
            return complain(.refused, "nobody tells the tallies of \(Self.tapsRoom)")
        }
        for (key, account) in accounts.sorted(by: { $0.key < $1.key }) {
            trace("\(key): \(account), \(totals[key] ?? 0) in all")
            for fault in account.faults(total: totals[key] ?? 0) {
                let kind: Complaint.Kind =
                    switch fault.kind {
                    case .lost: .tapsLost
                    case .countedTwice: .tapsTwice
                    case .toldTooMuch: .totalToldWrongly
                    }
                complain(kind, "\(key): \(fault.text)")
            }
            count("taps", Int(account.answered))
        }
        let (given, gifts) = (given.withLock { $0 }, totals["gifts"] ?? 0)
        if gifts != given {
            complain(gifts < given ? .tapsLost : .tapsTwice, "\(given) were given, and \(gifts) counted")
        }
    }

    /// When gateways have counted what they held: the totals do not change any more.
    private func settledTotals() async throws -> [String: Int64]? {
        var (last, same): ([String: Int64], Int) = ([:], 0)
        for attempt in 0..<100 {
            try await Task.sleep(for: .milliseconds(300))
            guard let text = await cluster.text(attempt % plan.layout.nodes, "\(Self.path)/tallies") else { continue }
            let totals = Self.totals(in: text)
            same = totals == last ? same + 1 : 0
            last = totals
            if same == 3 { return totals }
        }
        return nil
    }

    private static func totals(in text: String) -> [String: Int64] {
        struct Tallies: Decodable {
            struct Tally: Decodable {
                var key: String
                var total: Int64
            }

            var tallies: [Tally]
        }
        guard let told = try? JSONDecoder().decode(Tallies.self, from: Data(text.utf8)) else { return [:] }
        return Dictionary(told.tallies.map { ($0.key, $0.total) }) { $1 }
    }
}
