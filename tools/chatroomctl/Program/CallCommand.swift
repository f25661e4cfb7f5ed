import ArgumentParser
import ControlClient
import FoundationEssentials

/// `call [NAME] [name=value ...]`.
struct CallCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "call", abstract: "Make any call of the server API by its name; without one, list them.",
        discussion: """
            The names are those of the server's OpenAPI document, so calls that are newer than this program work too. \
            The answer is JSON. A call that changes something carries a fresh Idempotency-Key.
            Example: chatroomctl call muteRoom room=lobby --body '{"enable":true}'
            """)

    @Argument(help: "The call's operationId.") var name: String?
    @Argument(help: "name=value for each name in the path, and for query parameters.") var parameters: [String] = []
    @Option(help: "The body: JSON, @FILE, or - for standard input.") var body: String?
    @OptionGroup var common: CommonOptions

    func run() async throws {
        let client = try common.client()
        let catalogue = CallCatalogue(document: try await client.call("GET", ["openapi.json"]))
        guard let name else { return list(catalogue.calls) }
        let prepared = try catalogue.prepare(name, parameters)
        let body = try body.map(Self.read)
        if body != nil, !prepared.call.takesBody { throw CommandFailure(.usage, "\(name) takes no body") }
        let answer = try await client.answer(
            prepared.call.method, prepared.path, query: prepared.query, body: body,
            idempotencyKey: prepared.call.isIdempotent ? UUID().uuidString : nil)
        // An export is lines of JSON.
        let lines = String(decoding: answer, as: UTF8.self).split(separator: "\n").map(String.init)
        for line in lines { Output.line(lines.count > 1 ? line : try JSONTree(parsing: answer).line) }
    }

    private func list(_ calls: [CallCatalogue.Call]) {
        let table = calls.map {
            JSONTree.object(["call": .text(CallCatalogue.usage(of: $0)), "summary": .text($0.summary)])
        }
        common.show(.object(["calls": .array(table)])) { _ in
            calls.flatMap { [DisplayText.safe(CallCatalogue.usage(of: $0)), "    " + DisplayText.safe($0.summary)] }
        }
    }

    private static func read(_ text: String) throws(CommandFailure) -> JSONTree {
        let data: Data
        if text == "-" {
            var text = ""
            while let line = readLine(strippingNewline: false) { text += line }
            data = Data(text.utf8)
        } else if text.hasPrefix("@") {
            let path = String(text.dropFirst())
            guard let content = FileManager.default.contents(atPath: path) else {
                throw CommandFailure(.usage, "\(DisplayText.safe(path)) can't be read")
            }
            data = content
        } else {
            data = Data(text.utf8)
        }
        do {
            return try JSONTree(parsing: data)
        } catch {
            throw CommandFailure(.usage, "--body is not JSON")
        }
    }
}
