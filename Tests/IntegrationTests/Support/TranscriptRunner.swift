import ChatModel
import Foundation
import WaitTestKit
import Wire

/// Gives the commands of a transcript to a node and its clients.
///
/// | command | does | results |
/// |---|---|---|
/// | `api METHOD TARGET [BODY]` | calls the server API | its status |
/// | `open CLIENT json` | opens a WebSocket | |
/// | `drop CLIENT` | drops it without a word | |
/// | `closed CLIENT` | waits until the node has closed it | the code of the close frame |
/// | `await CLIENT` | waits for an item that takes its time | |
/// | `online CLIENT` | waits for the newest push `online` | that push |
/// | `CLIENT TEXT` | sends one frame: JSON, or the fields of a protobuf message | |
///
/// Each item that a client is sent meanwhile is a result too: all of them are compared, as they were sent, and in their
/// order. Pushes `online`, which follow the clock, are compared by `online` only. A push `state` tells of a leader that a
/// slow machine kept from its work, and is left out; a request that is then refused with 503 is asked again.
final class TranscriptRunner {
    /// Something that items have and that the transcript does not: parts of them, or whole ones.
    struct Addition {
        var name: String
        var text: Regex<Substring>
        /// Only items that begin so have it.
        var items: Regex<Substring>?
    }

    private struct Client {
        var connection: TestClient
        /// The frames that are among `items` already.
        var frames = 0
        /// The items that no step has taken, as they were sent.
        var items: [String] = []
        var online = ""
    }

    private let node: TestNode
    private var clients: [String: Client] = [:]
    /// The names of the clients, in the order in which they came.
    private var order: [String] = []
    private var lastingText = LastingText()
    /// The frame that a refusal with 503 concerns.
    private var lastFrame: (client: String, bytes: [UInt8])?
    private let additions: [Addition]
    /// The names of the additions that items had.
    private(set) var met: Set<String> = []

    /// - Parameter additions: left out of all items.
    init(node: TestNode, without additions: [Addition] = []) {
        self.node = node
        self.additions = additions
    }

    // MARK: - Two ways to run

    /// Performs a step and waits for as many results as it had. What it has now, of each client in the order of results.
    func replay(_ step: Transcript.Step) async throws -> [String] {
        var results = try await perform(step.command)
        if step.command.hasPrefix("online ") {
            return try await [online(String(step.command.dropFirst(7))) { line in step.results.contains(line) }]
        }
        for name in order {
            let count = step.results.count { $0.hasPrefix(name + " ") }
            // It may have brought more, which the next step then finds.
            try await client(name).wait(for: "\(count) items for \(name) by line \(step.number)") {
                try await self.collect(name)
                return self.items(of: name) >= count ? () : nil
            }
            results += take(count, from: name)
        }
        return results
    }

    /// Performs a step, and waits until nothing has come for a while. All that has come.
    func record(_ step: Transcript.Step) async throws -> [String] {
        let results = try await perform(step.command)
        if step.command.hasPrefix("online ") {
            try await Task.sleep(for: .seconds(3))
            return try await [online(String(step.command.dropFirst(7))) { _ in true }]
        }
        if step.command.hasPrefix("await ") {
            try await poll("an item") {
                try await self.collect(String(step.command.dropFirst(6)))
                return self.items(of: String(step.command.dropFirst(6))) > 0
            }
        }
        var (quiet, seen) = (0, 0)
        while quiet < 8 {
            try await Task.sleep(for: .milliseconds(30))
            for name in order { try await collect(name) }
            let count = order.reduce(0) { $0 + items(of: $1) }
            (quiet, seen) = (count == seen ? quiet + 1 : 0, count)
        }
        return try await results + rest()
    }

    private func items(of name: String) -> Int { clients[name]?.items.count ?? 0 }

    /// All that has come and that no step has taken.
    func rest() async throws -> [String] {
        for name in order { try await collect(name) }
        return order.flatMap { take(items(of: $0), from: $0) }
    }

    // MARK: - Commands

    /// The results that are no items.
    private func perform(_ command: String) async throws -> [String] {
        let parts = command.split(separator: " ", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { throw TestFailure("no command: \(command)") }
        let rest = try lastingText.restored(parts[1]) { try node.token($0, rooms: $1, seconds: $2) }
        switch parts[0] {
        case "api":
            let call = rest.split(separator: " ", maxSplits: 2).map(String.init)
            guard call.count >= 2 else { throw TestFailure("no call: \(command)") }
            return try await [String(node.api(call[0], call[1], call.count > 2 ? call[2] : nil).status)]
        case "open":
            let words = rest.split(separator: " ").map(String.init)
            guard words.count == 2, let encoding = ClientEncoding.allCases.first(where: { "\($0)" == words[1] }) else {
                throw TestFailure("no client: \(command)")
            }
            let connection = try await TestClient.open(port: node.clientPort, encoding: encoding)
            await connection.keepFrames()
            guard clients.updateValue(Client(connection: connection), forKey: words[0]) == nil else {
                throw TestFailure("there is a client already: \(command)")
            }
            order.append(words[0])
        case "drop":
            try await client(rest).drop()
            return try await takeAll(from: rest)
        case "closed":
            // Its last items come before the end.
            let code = try await client(rest).closing()
            return try await takeAll(from: rest) + ["\(rest) \(code.map(String.init) ?? "no code")"]
        case "await", "online": break
        default: try await send(rest, by: parts[0])
        }
        return []
    }

    private func client(_ name: String) throws -> TestClient {
        guard let client = clients[name] else { throw TestFailure("there is no client \(name)") }
        return client.connection
    }

    /// All that has come to a client that is gone.
    private func takeAll(from name: String) async throws -> [String] {
        try await collect(name)
        defer {
            clients[name] = nil
            order.removeAll { $0 == name }
        }
        return take(items(of: name), from: name)
    }

    /// The next results of a client.
    private func take(_ count: Int, from name: String) -> [String] {
        defer { clients[name]?.items.removeFirst(count) }
        return clients[name]?.items.prefix(count).map { "\(name) \(lastingText.lasting($0))" } ?? []
    }

    private func send(_ text: String, by name: String) async throws {
        let client = try client(name)
        guard await !client.socket.isClosed else { throw TestFailure("\(name) is closed, before: \(text)") }
        var bytes = Array(text.utf8)
        if client.encoding == .protobuf {
            bytes = try ProtobufText.bytes(ofMessage: text)
            bytes = RawProtobuf.varint(UInt64(bytes.count)) + bytes
        }
        lastFrame = (name, bytes)
        await client.write(client.encoding.opcode, bytes)
    }

    // MARK: - Items

    /// Takes what has come to a client.
    private func collect(_ name: String) async throws {
        guard var client = clients[name] else { return }
        let frames = await client.connection.frames.dropFirst(client.frames)
        client.frames += frames.count
        var isRefused = false
        for frame in frames {
            for item in try Self.items(in: frame, client.connection.encoding).compactMap({ withoutAdditions($0) }) {
                if item.hasPrefix(#"{"online":"#) || item.hasPrefix("57:") {
                    client.online = item
                } else if item.contains(#/^\{"id":[0-9]+,"error":\{"code":503|^1:[0-9]+ 2:\{1:503 /#) {
                    isRefused = true
                } else if !item.hasPrefix(#"{"state":"#), !item.hasPrefix("58:") {
                    client.items.append(item)
                }
            }
        }
        clients[name] = client
        if isRefused, let lastFrame, lastFrame.client == name {
            try await Task.sleep(for: .milliseconds(10))
            await client.connection.write(client.connection.encoding.opcode, lastFrame.bytes)
        }
    }

    /// nil if the whole item is one.
    private func withoutAdditions(_ item: String) -> String? {
        additions.reduce(item) { item, addition in
            guard let item, addition.items.map({ item.prefixMatch(of: $0) != nil }) ?? true,
                let range = item.firstRange(of: addition.text)
            else { return item }
            met.insert(addition.name)
            var rest = item
            rest.removeSubrange(range)
            return rest.isEmpty ? nil : rest
        }
    }

    /// The items of a frame as text, each as it was sent.
    private static func items(in frame: [UInt8], _ encoding: ClientEncoding) throws -> [String] {
        switch encoding {
        case .json: return frame.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
        case .protobuf:
            var items: [String] = []
            var rest = RawProtobuf.Messages(frame)
            while let item = try rest.next() {
                guard let text = ProtobufText.text(ofMessage: item) else { throw TestFailure("no message: \(item)") }
                items.append(text)
            }
            return items
        }
    }

    /// Waits for a push `online` that is good.
    private func online(_ name: String, _ isGood: (String) -> Bool) async throws -> String {
        try await client(name).wait(for: "the push online of \(name)") {
            try await self.collect(name)
            let line = "\(name) \(self.clients[name]?.online ?? "")"
            return isGood(line) ? line : nil
        }
    }
}
