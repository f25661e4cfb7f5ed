import HTTPWebSocket
import WebFiles

/// The files of `Console`: the operator's page, which uses this port's calls and nothing else. The build embeds them in the
/// program.
enum ConsoleFiles {
    private static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    private static let page = "console.html"

    static let all = EmbeddedFile.console.map { file in
        WebFile(
            path: file.name == page ? "/console" : "/console/\(file.name)", name: file.name, content: file.content,
            policy: policy)
    }

    /// - Returns: nil for what is no file of the console.
    static func answer(_ head: APIHandler.Head) -> APIResponse? {
        guard head.method == "GET", head.target.utf8.starts(with: "/console".utf8) else { return nil }
        let path = head.target.utf8.prefix { $0 != UInt8(ascii: "?") }
        guard let file = all.first(where: { $0.path.utf8.elementsEqual(path) }) else { return nil }
        let answer = file.answer(acceptEncoding: head.acceptEncoding, ifNoneMatch: head.ifNoneMatch)
        var response = APIResponse(status: answer.status, contentType: answer.contentType, body: answer.body)
        for header in answer.headers { response.headers[header.name] = header.value }
        return response
    }
}
