import ArgumentParser
import Foundation
import Testing

@testable import ControlClient
@testable import chatroomctl

@Suite struct CommandLineTests {
    @Test(arguments: [CompletionShell.bash, .zsh, .fish])
    func `completion scripts name every command`(shell: CompletionShell) {
        let script = Chatroomctl.completionScript(for: shell)
        for command in [
            "rooms", "messages", "history", "tail", "members", "barrage", "token", "address", "health", "queue",
            "tallies", "reports",
            "robots", "explain",
            "temp-mute", "blacklist", "kick",
        ] {
            #expect(script.contains(command))
        }
        #expect(script.contains("reopen"))
    }

    @Test(arguments: [
        ["rooms", "list"], ["rooms", "list", "--sort", "online", "--json"], ["rooms", "get", "r"],
        ["rooms", "create", "--creator", "ann", "--queue-level", "OWNER"], ["rooms", "update", "r", "--name", "n"],
        ["rooms", "close", "r", "--silent"], ["rooms", "reopen", "r"], ["rooms", "delete", "r"],
        ["rooms", "delete", "r", "--yes", "--now"], ["rooms", "undelete", "r"], ["rooms", "list", "--deleted"],
        ["messages", "send", "r", "hi", "--sender", "ann"], ["messages", "list", "r", "--order", "ASC"],
        ["messages", "get", "r", "m"], ["history", "r"], ["members", "r", "--kind", "MUTED"],
        ["members", "list", "mute"],
        ["members", "role", "r", "u", "MANAGER", "--operator", "ann", "--silent"],
        ["members", "mute", "r", "u", "--off"],
        ["members", "temp-mute", "r", "u", "60", "--notify-ext", "x"], ["members", "blacklist", "r", "u"],
        ["members", "kick", "r", "u", "--ban-seconds", "60"], ["rooms", "mute", "r", "--off"],
        ["queue", "r"], ["queue", "list", "r", "--all"],
        ["queue", "set", "r", "k", "v", "--owner", "u", "--transient"],
        ["queue", "set", "r", "k", "v", "--if-version", "0"], ["queue", "update", "r", "a=1", "b="],
        ["queue", "take", "r"], ["queue", "take", "r", "k"], ["queue", "clear", "r"],
        ["polls", "r"], ["polls", "open", "r", "p", "which?", "a", "b", "--seconds", "60", "--may-change"],
        ["polls", "close", "r", "p"],
        ["tallies", "r"], ["tallies", "set", "r", "gifts", "--by", "SERVER", "--no-closed", "--total", "5"],
        ["tallies", "add", "r", "gifts", "5"], ["tallies", "add", "r", "gifts", "--", "-5"],
        ["tallies", "remove", "r", "gifts"], ["reports", "r"], ["reports", "r", "--after", "a1", "--limit", "5"],
        ["robots", "add", "r", "a", "b", "--nick", "Robo"], ["robots", "remove", "r", "a"], ["explain", "r", "--json"],
        ["member", "r", "u"],
        ["barrage", "r", "wow"], ["token", "u", "--room", "a", "--room", "b"], ["tail", "r"], ["health"],
        ["users", "revoke", "u"], ["users", "offline", "u"], ["users", "sessions", "u", "--json"],
        ["users", "message", "u", "hi", "--sender", "ann"], ["broadcast", "hi"], ["sessions", "list", "--slow"],
        ["sessions", "end", "s"], ["stats"], ["cluster"], ["cluster", "shards"], ["log", "debug"],
        ["cluster", "drain", "n2"], ["cluster", "drain", "n2", "--yes"], ["cluster", "remove", "n2"],
        ["cluster", "readmit", "n2"],
        ["cluster", "transfer", "3", "n2"],
        ["backup", "--json"], ["restore", "--config", "node.json", "a", "b"],
        ["audit", "--limit", "5"], ["call"], ["call", "getRoom", "room=r"], ["call", "x", "--body", "{}"],
        ["address", "r"], ["metrics", "--server", "h:1", "--key-file", "f"],
    ])
    func `good command lines are understood`(arguments: [String]) throws {
        _ = try Chatroomctl.parseAsRoot(arguments)
    }

    @Test(arguments: [
        ["rooms", "make"], ["rooms", "get"], ["rooms", "create"], ["rooms", "update", "r"],
        ["rooms", "create", "--creator", "a", "--entry", "NOBODY"], ["messages", "send", "r"],
        ["messages", "send", "r", "--fields", "[]"], ["messages", "send", "r", "x", "--type", "IMAGE"],
        ["messages", "send", "r", "x", "--type", "NOTIFICATION"], ["tail", "r", "--last", "101"],
        ["members", "role", "r", "u", "CREATOR"], ["members", "role", "r", "u"], ["members", "temp-mute", "r", "u"],
        ["queue", "set", "r", "k"], ["queue", "update", "r", "novalue"], ["queue", "update", "r", "=v"],
        ["queue", "update", "r", "a=1", "a=2"], ["robots", "add", "r"], ["explain"],
        ["history", "r", "--last", "0"], ["members", "r", "--after", "c"], ["rooms", "list", "--admin-key", "k"],
        ["cluster", "drain"], ["cluster", "transfer", "3"], ["cluster", "transfer", "x", "n2"], ["cluster", "remove"],
        ["restore", "a"], ["restore", "--config", "node.json"], ["users", "revoke"], ["broadcast"],
        ["sessions", "list", "--slow", "--after", "c"], ["log"],
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

    @Test func `what a call says in somebody's name comes from options`() throws {
        let arguments = ["queue", "update", "r", "a=1=2", "b=", "--operator", "ann", "--silent", "--notify-ext", "x"]
        let update = try #require(try Chatroomctl.parseAsRoot(arguments) as? QueueCommand.Update)
        #expect(JSONTree.object(update.pairs).line == #"{"a":"1=2","b":""}"#)
        #expect(
            JSONTree.object(update.operating.members).line == #"{"notify":false,"notifyExt":"x","operator":"ann"}"#)
        let add = ["robots", "add", "r", "a", "b", "--nick", "Robo"]
        let robots = try #require(try Chatroomctl.parseAsRoot(add) as? RobotsCommand.Add)
        #expect(robots.body.line == #"{"robots":[{"nick":"Robo","user":"a"},{"nick":"Robo","user":"b"}]}"#)
    }

    @Test func `an explanation is sentences, then figures, then a table of lanes`() throws {
        let explanation = try JSONTree(
            parsing: Data(
                #"{"summary":["All is well."],"state":{"online":2,"muted":false},"log":{"shard":3},"lanes":[{"node":"n1","lane":0,"viewers":2,"slow":0,"waitingBytes":0,"messagesDropped":0,"barrageDropped":0}]}"#
                    .utf8))
        #expect(
            ExplainCommand.lines(explanation) == [
                "All is well.", "", "muted   no", "online  2", "", "shard  3", "",
                "NODE  LANE  VIEWERS  SLOW  WAITING BYTES  LOST MESSAGES  LOST BARRAGE",
                "n1    0     2        0     0              0              0",
            ])
    }

    @Test func `an element tells whether it goes with its owner`() throws {
        let elements = try [
            #"{"key":"seat","value":"v","owner":"ann","version":1,"transient":true,"held":true}"#,
            #"{"key":"song","value":"w","owner":"bob","version":12,"transient":false}"#,
        ].map { try JSONTree(parsing: Data($0.utf8)) }
        #expect(
            QueueText.table(elements) == [
                "KEY   VALUE  OWNER  VERSION  STATE", "seat  v      ann    1        transient, held",
                "song  w      bob    12",
            ])
    }
}
