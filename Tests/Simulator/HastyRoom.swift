import BotSwarmCore
import ChatModel
import ChatroomClient
import EventLoop
import Foundation
import Synchronization

/// A room whose members ask for several things at once, and leave or are put out while these are under way.
final class HastyRoom: Sendable {
    static let id = "hasty"
    static let path = "/v1/rooms/\(id)"

    let story: ClusterStory
    private let target: SwarmTarget
    private let loop: EventLoop
    let observer: ChatroomClient
    /// How often each was seen to enter.
    let enters = Mutex<[UserID: Int]>([:])
    /// What was not done, by the text, and the words to that.
    private let refused = Mutex<[String: String]>([:])

    /// - Parameter observer: is in the room all the time.
    init(_ story: ClusterStory, _ target: SwarmTarget, observer: ChatroomClient) throws {
        self.observer = observer
        self.story = story
        self.target = target
        loop = try EventLoop(name: "hasty")
        loop.start()
    }

    static func make(_ story: ClusterStory) async -> Bool {
        guard await story.asked("POST", "/v1/rooms", #"{"id":"\#(id)","creator":"host"}"#) else { return false }
        return await story.asked("POST", "\(path)/messages", #"{"type":"TEXT","text":"hello","sender":"host"}"#)
    }

    /// Until bots have stopped.
    func run() async throws {
        try await observe()
        try await withThrowingDiscardingTaskGroup { group in
            for first in 1...Self.membersAtOnce {
                group.addTask {
                    var number = first
                    while !self.story.isOver.withLock({ $0 }) {
                        try await self.stay(number)
                        self.story.count("stays")
                        number += Self.membersAtOnce
                        try await Task.sleep(for: .milliseconds(400))
                    }
                }
            }
        }
    }

    /// An odd number: each of them does one thing and then the other.
    private static let membersAtOnce = 5

    private func stay(_ number: Int) async throws {
        let (user, client) = ("hasty-\(number)", HastyClient(on: loop))
        defer { client.close() }
        guard let id = UserID(user), let signer = target.signer else { return }
        let now = Int64(Date().timeIntervalSince1970)
        let token = signer.token(for: id, issuedAt: now - 60, expiresAt: now + 86_400)
        let enter = #""enter":{"room":"\#(Self.id)"}}"#
        client.connect(
            story.cluster.address(of: number % story.plan.layout.nodes), SimulatedCluster.clientPort,
            [#"{"id":1,"connect":{"token":"\#(token)"}}"#, #"{"id":2,"# + enter])
        let entered = try await client.answers(to: [1, 2])
        guard isDone(entered) else { return story.trace("\(user) has not entered: \(entered ?? [])") }
        try await sayInOrder(client, number)
        if number.isMultiple(of: 2) {
            try await leaveASeat(client, number)
        } else {
            try await comeBack(client, enter)
            try await speakUntilKicked(client, number, user)
        }
    }

    private func isDone(_ answers: [String]?) -> Bool { answers?.allSatisfy { !$0.contains(#""error""#) } ?? false }

    private static func send(_ id: Int, _ text: String, _ more: String = "") -> String {
        #"{"id":\#(id),"send":{"room":"\#(Self.id)","clientId":"c\#(id)","type":"TEXT","text":"\#(text)"\#(more)}}"#
    }

    /// A reply to a message waits until that one has been looked up; what comes behind it is said behind it.
    private func sayInOrder(_ client: HastyClient, _ number: Int) async throws {
        let replied = await story.cluster.text(0, "\(Self.path)/messages?order=ASC&limit=1").flatMap {
            ClusterStory.messageID(in: $0)
        }
        guard let replied else { return }
        client.ask([
            Self.send(10, "order.\(number).1.", #","replyTo":"\#(replied)""#),
            Self.send(11, "order.\(number).2."),
        ])
        guard let answers = try await client.answers(to: [10, 11]), isDone(answers) else { return }
        let seqs = answers.map { Self.number(behind: #""seq":"#, in: $0) }
        if seqs[0] >= seqs[1] {
            story.complain(.outOfOrder, "hasty-\(number) has said at \(seqs[1]) what it asked for behind \(seqs[0])")
        }
    }

    /// Takes a seat and leaves before it is known that it has it.
    private func leaveASeat(_ client: HastyClient, _ number: Int) async throws {
        client.ask([
            #"{"id":20,"queueSet":{"room":"\#(Self.id)","key":"seat-\#(number)","value":"v","transient":true,"#
                + #""clientId":"seat"}}"#,
            #"{"id":21,"exit":{"room":"\#(Self.id)"}}"#,
        ])
        guard isDone(try await client.answers(to: [20, 21])), story.isLossless else { return }
        // It goes with the next entries of the log.
        try await Task.sleep(for: .milliseconds(500 + 10 * Int64(story.plan.layout.slowMilliseconds ?? 0)))
        try await lookForSeats("seat-\(number)", "it has left a while ago")
    }

    /// Leaves and enters again before it is known to have left.
    private func comeBack(_ client: HastyClient, _ enter: String) async throws {
        client.ask([#"{"id":30,"exit":{"room":"\#(Self.id)"}}"#, #"{"id":31,"# + enter])
        guard isDone(try await client.answers(to: [30, 31])) else { return }
        client.ask([Self.send(32, "I am back")])
        guard let answers = try await client.answers(to: [32]), !isDone(answers), !answers[0].contains(#""code":5"#)
        else { return }
        story.complain(.outOfOrder, "who has left and entered again is told: \(answers[0])")
    }

    /// Goes on to speak while it is kicked.
    private func speakUntilKicked(_ client: HastyClient, _ number: Int, _ user: String) async throws {
        async let kicked = story.acked("POST", "\(Self.path)/members/\(user)/kick", "{}", id: "kick-\(user)", or: 404)
        let requests = Array(40..<48)
        for request in requests {
            client.ask([Self.send(request, "go on.\(number).\(request).")])
            try await Task.sleep(for: .milliseconds(7))
        }
        _ = try await kicked
        guard let answers = try await client.answers(to: requests) else { return }
        for (request, answer) in zip(requests, answers) {
            // A failure of the cluster's leaves open what was done.
            guard answer.contains(#""error""#), !answer.contains(#""code":5"#) else { continue }
            refused.withLock { $0["\(number).\(request)"] = answer }
        }
    }

    private func lookForSeats(_ key: String, _ when: String) async throws {
        guard let queue = await story.cluster.text(0, "\(Self.path)/queue"), queue.contains(#""key":"\#(key)"#) else {
            return
        }
        story.complain(.seatOfGone, "\(key) is still there: \(when)")
    }

    private static func number(behind mark: String, in text: String) -> UInt64 {
        text.range(of: mark).flatMap { UInt64(text[$0.upperBound...].prefix { $0.isNumber }) } ?? 0
    }

    /// When all is over, and graces too.
    func judge() async throws {
        try await Task.sleep(for: .seconds(35))
        try await lookForSeats("seat-", "all have left")
        var kicked: Set<Substring> = []
        for page in try await story.history(of: Self.id) {
            for shown in page.components(separatedBy: #""messageId":""#).dropFirst() {
                if shown.contains(#""event":313"#), let user = shown.range(of: #""targets":[{"user":"hasty-"#) {
                    kicked.insert(shown[user.upperBound...].prefix { $0.isNumber })
                } else if let said = shown.range(of: #""text":"go on."#) {
                    let number = shown[said.upperBound...].prefix { $0.isNumber }
                    let text = shown[said.upperBound...].prefix { $0 != "\"" }.dropLast()
                    if let answer = refused.withLock({ $0[String(text)] }) {
                        story.complain(.doneAndRefused, "hasty-\(text) was said, and its sender is told: \(answer)")
                    }
                    guard kicked.contains(number) else { continue }
                    story.complain(.spokeAfterKick, "hasty-\(number) says \(text) after it was kicked")
                }
            }
        }
        story.count("kicked", kicked.count)
        story.count("entered", enters.withLock { $0.values.reduce(0, +) })
        await observer.close()
    }
}
