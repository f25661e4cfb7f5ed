import ChatModel
import ChatroomClient
import Foundation
import Synchronization

/// The reports that were acked.
struct ReportLedger: Sendable {
    struct Report: Sendable, Hashable {
        var messageID: String
        var reporter: String
    }

    var acked: [Report] = []
}

extension ModeratedRoom {
    /// Members report messages, and once more, which is refused.
    func report() async throws {
        var number = 0
        while !isOver {
            number += 1
            await report(number)
            story.count("reports")
            try await Task.sleep(for: .milliseconds(1_500))
        }
    }

    private func report(_ number: Int) async {
        let place = number % members.count
        let (manager, member) = (manager, members[place])
        let receipt = await answer("to say what is reported") { () async throws(ClientError) in
            try await manager.room(Self.id).send("report me, no. \(number)")
        }
        guard let receipt else { return }
        let isReported: Void? = await answer("to report \(receipt.messageID)") { () async throws(ClientError) in
            try await member.room(Self.id).report(receipt.messageID, reason: "no. \(number)")
        }
        guard isReported != nil else { return }
        reports.withLock {
            $0.acked.append(ReportLedger.Report(messageID: receipt.messageID, reporter: "member-\(place)"))
        }
        let again = await outcome("to report \(receipt.messageID) again") { () async throws(ClientError) in
            try await member.room(Self.id).report(receipt.messageID)
        }
        switch again {
        case .success: story.complain(.reportWrong, "\(receipt.messageID) is reported twice by member \(place)")
        case .failure(let refusal?) where refusal.number != 409:
            story.complain(.refused, "to report \(receipt.messageID) again: \(refusal)")
        case .failure: break
        }
    }

    func judgeReports() async {
        guard let text = await story.cluster.text(0, "\(Self.path)/reports?limit=100") else {
            return story.complain(.refused, "nobody tells the reports of \(Self.id)")
        }
        let told = text.components(separatedBy: #""messageId":""#).dropFirst()
        for report in reports.withLock({ $0.acked }) {
            let number = told.count {
                $0.hasPrefix(report.messageID + "\"") && $0.contains(#""reporter":{"user":"\#(report.reporter)""#)
            }
            if number != 1 { story.complain(.reportWrong, "\(report) is listed \(number) times") }
        }
    }
}
