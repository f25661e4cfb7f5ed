import ArgumentParser
import ControlClient
import FoundationEssentials

/// `media …`: content of a room, to and from the client port.
struct MediaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "media",
        abstract: "Send a file into a room, or read one.",
        subcommands: [Put.self, Get.self])

    struct Put: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send a file that messages of the room can name.",
            discussion:
                "Prints the mediaId. Content that no message names in an hour goes; with --message a message names "
                + "it at once.")

        @Argument var room: String
        @Argument(help: "The file.", completion: .file()) var file: String
        @Option(help: "IMAGE, AUDIO, VIDEO, FILE or AVATAR.") var kind = "FILE"
        @Option(help: "The media type; an AVATAR has that of a picture, such as image/png.")
        var type = "application/octet-stream"
        @Flag(help: "Send a message of that kind that shows it.") var message = false
        @Option(help: "With --message: the user who is shown as the sender; absent: the system.") var sender: String?
        @OptionGroup var common: CommonOptions

        func validate() throws {
            if message, kind == "AVATAR" { throw ValidationError("No message shows an AVATAR.") }
            if sender != nil, !message { throw ValidationError("--sender belongs to --message.") }
        }

        func run() async throws {
            let content: Data
            do {
                content = try Data(contentsOf: URL(fileURLWithPath: file))
            } catch {
                throw CommandFailure(.usage, "\(file) can't be read")
            }
            let client = try common.client()
            let gateway = try await MediaCommand.gateway(of: room, client)
            let name = URL(fileURLWithPath: file).lastPathComponent
            let place = try await client.call(
                "POST", ["rooms", room, "uploads"],
                body: .object([
                    "kind": .text(kind), "name": .text(name), "contentType": .text(type),
                    "size": .integer(Int64(content.count)),
                ]), idempotencyKey: UUID().uuidString)
            guard let url = place["url"]?.text, let id = place["mediaId"] else {
                throw CommandFailure(.refused, "the answer names no place")
            }
            var call = HTTPCall(method: "PUT", target: url, headers: ["Content-Type": type], body: content)
            call.timeoutSeconds = 600
            _ = try await MediaCommand.answer(call, gateway, client)
            guard message else { return common.show(.object(["mediaId": id])) { _ in [id.shown] } }
            var body: [String: JSONTree] = ["type": .text(kind), "media": .object(["id": id])]
            body["sender"] = sender.map(JSONTree.text)
            let sent = try await client.call(
                "POST", ["rooms", room, "messages"], body: .object(body), idempotencyKey: UUID().uuidString)
            common.show(sent) { ["\(id.shown)  #\($0["seq"]?.shown ?? "")  \($0["messageId"]?.shown ?? "")"] }
        }
    }

    struct Get: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Read content of a room into a file.")

        @Argument var room: String
        @Argument var mediaID: String
        @Argument(help: "The file to write.", completion: .file()) var file: String
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let client = try common.client()
            guard let key = client.target.adminKey else { throw CommandFailure(.usage, "no admin key") }
            let gateway = try await MediaCommand.gateway(of: room, client)
            var call = HTTPCall(
                method: "GET", target: AdminClient.encode(["v1", "media", room, mediaID], []),
                headers: ["Authorization": "Bearer \(key)"])
            call.timeoutSeconds = 600
            let content = try await MediaCommand.answer(call, gateway, client)
            let wasThere = FileManager.default.fileExists(atPath: file)
            do {
                try content.write(to: URL(fileURLWithPath: file))
            } catch {
                // A part of the content must not look like all of it.
                if !wasThere { try? FileManager.default.removeItem(atPath: file) }
                throw CommandFailure(.usage, "\(file) can't be written")
            }
            common.show(.object(["bytes": .integer(Int64(content.count))])) { _ in
                [DisplayText.count(content.count, "byte")]
            }
        }
    }

    /// The client port of a gateway, as its URL says it.
    private static func gateway(of room: String, _ client: AdminClient) async throws -> String {
        let address = try await client.call("GET", ["rooms", room, "address"])
        guard let url = address["gateways"]?.items.first?.text, let scheme = url.firstIndex(of: ":") else {
            throw CommandFailure(.refused, "the cluster advertises no gateway (advertiseUrl)")
        }
        let authority = url[scheme...].dropFirst(3).prefix { $0 != "/" && $0 != "?" }
        return url.hasPrefix("wss:") ? "https://\(authority)" : String(authority)
    }

    private static func answer(_ call: HTTPCall, _ gateway: String, _ client: AdminClient) async throws -> Data {
        let answer: HTTPAnswer
        do {
            answer = try await client.transport.send(call, to: gateway)
        } catch {
            throw CommandFailure(.unreachable, error.message)
        }
        guard answer.status == 200 else {
            let error = (try? JSONTree(parsing: answer.body))?["error"]?["message"]?.text
            throw CommandFailure(.refused, error ?? "the gateway answered \(answer.status)")
        }
        return answer.body
    }
}
