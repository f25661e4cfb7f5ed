import ArgumentParser
import Testing

@testable import chatroomctl

@Suite struct CommandLineTests {
    @Test(arguments: [CompletionShell.bash, .zsh, .fish])
    func `completion scripts name every command`(shell: CompletionShell) {
        let script = Chatroomctl.completionScript(for: shell)
        for command in ["rooms", "messages", "history", "tail", "members", "barrage", "token", "address", "health"] {
            #expect(script.contains(command))
        }
        #expect(script.contains("reopen"))
    }

    @Test(arguments: [
        ["rooms", "list"], ["rooms", "list", "--sort", "online", "--json"], ["rooms", "get", "r"],
        ["rooms", "create", "--creator", "ann", "--queue-level", "OWNER"], ["rooms", "update", "r", "--name", "n"],
        ["rooms", "close", "r", "--silent"], ["rooms", "reopen", "r"], ["rooms", "delete", "r"],
        ["messages", "send", "r", "hi", "--sender", "ann"], ["messages", "list", "r", "--order", "ASC"],
        ["messages", "get", "r", "m"], ["history", "r"], ["members", "r", "--kind", "MUTED"], ["member", "r", "u"],
        ["barrage", "r", "wow"], ["token", "u", "--room", "a", "--room", "b"], ["tail", "r"], ["health"],
        ["users", "revoke", "u"], ["users", "offline", "u"], ["users", "sessions", "u", "--json"],
        ["users", "message", "u", "hi", "--sender", "ann"], ["broadcast", "hi"], ["sessions", "list", "--slow"],
        ["sessions", "end", "s"], ["stats"], ["cluster"], ["cluster", "shards"], ["log", "debug"],
        ["audit", "--limit", "5"], ["address", "r"], ["metrics", "--server", "h:1", "--key-file", "f"],
    ])
    func `good command lines are understood`(arguments: [String]) throws {
        _ = try Chatroomctl.parseAsRoot(arguments)
    }

    @Test(arguments: [
        ["rooms", "make"], ["rooms", "get"], ["rooms", "create"], ["rooms", "update", "r"],
        ["rooms", "create", "--creator", "a", "--entry", "NOBODY"], ["messages", "send", "r"],
        ["messages", "send", "r", "--fields", "[]"], ["messages", "send", "r", "x", "--type", "IMAGE"],
        ["messages", "send", "r", "x", "--type", "NOTIFICATION"], ["tail", "r", "--last", "101"],
        ["history", "r", "--last", "0"], ["members", "r", "--after", "c"], ["rooms", "list", "--admin-key", "k"],
        ["users", "revoke"], ["broadcast"], ["sessions", "list", "--slow", "--after", "c"], ["log"],
    ])
    func `bad command lines are refused`(arguments: [String]) {
        #expect(throws: (any Error).self) { _ = try Chatroomctl.parseAsRoot(arguments) }
    }

    @Test func `a message's fields come from content, options and JSON`() throws {
        let arguments = [
            "messages", "send", "r", "--type", "CUSTOM", "hello", "--fields", #"{"subtype":3,"content":"old"}"#,
            "--sender", "ann", "--priority", "HIGH", "--mention", "bob", "--to", "eve", "--no-history", "--ext", "e",
        ]
        let send = try #require(try Chatroomctl.parseAsRoot(arguments) as? MessagesCommand.Send)
        #expect(
            JSONTree.object(send.body).line
                == #"{"content":"hello","ext":"e","history":false,"mentions":["bob"],"priority":"HIGH","sender":"ann","subtype":3,"to":["eve"],"type":"CUSTOM"}"#
        )
    }
}
