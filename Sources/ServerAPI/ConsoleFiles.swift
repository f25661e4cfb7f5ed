import HTTPWebSocket
import WebFiles

/// The files of `Console`: the operator's page, which uses this port's calls and nothing else. The build embeds them in the
/// program.
enum ConsoleFiles {
    private static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    private static let page = "console.html"

    private static func file(_ name: String, _ content: [UInt8]) -> WebFile {
        WebFile(path: name == page ? "/console" : "/console/\(name)", name: name, content: content, policy: policy)
    }

    static let all: [WebFile] = [
        file("console-api.js", PackageResources.console_api_js),
        file("console-audit.js", PackageResources.console_audit_js),
        file("console-charts.js", PackageResources.console_charts_js),
        file("console-cluster.js", PackageResources.console_cluster_js),
        file("console-monitor.js", PackageResources.console_monitor_js),
        file("console-overview.js", PackageResources.console_overview_js),
        file("console-person.js", PackageResources.console_person_js),
        file("console-room.js", PackageResources.console_room_js),
        file("console-rooms.js", PackageResources.console_rooms_js),
        file("console-settings.js", PackageResources.console_settings_js),
        file("console-ui.js", PackageResources.console_ui_js),
        file("console-users.js", PackageResources.console_users_js),
        file("console-words.js", PackageResources.console_words_js),
        file("console.css", PackageResources.console_css),
        file("console.html", PackageResources.console_html),
        file("console.js", PackageResources.console_js),
    ]

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
