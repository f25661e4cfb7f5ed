import Foundation
import Testing

@testable import ControlClient
@testable import chatroomctl

@Suite struct TextTests {
    @Test func `columns line up, also under wide characters`() {
        var table = Table(["USER", "NICK", "X"])
        table.add(["ann", "\u{5B89}\u{5B89}", "1"])
        table.add(["bobby", "e\u{301}", "2"])
        #expect(
            table.lines() == [
                "USER   NICK  X",
                "ann    \u{5B89}\u{5B89}  1",
                "bobby  e\u{301}     2",
            ])
    }

    @Test func `columns without text are left out, but an empty table keeps its header`() {
        var table = Table(["A", "B", "C"])
        #expect(table.lines() == ["A  B  C"])
        table.add(["1", "", "3"])
        #expect(table.lines() == ["A  C", "1  3"])
    }

    @Test func `a table that is too wide goes on below each row, and what people copy is whole`() {
        let id = String(repeating: "s", count: 60)
        var table = Table(["ID", "USER", "FROM", "NOTE"], uncut: ["ID"])
        table.add([id, "ann", "here", "a note"])
        table.add(["t", "bob", "", ""])
        #expect(
            table.lines(within: 79) == [
                "ID" + String(repeating: " ", count: 60) + "USER  FROM", "    NOTE", id + "  ann   here", "    a note",
                "t" + String(repeating: " ", count: 61) + "bob",
            ])
        #expect(table.lines(within: 80) == table.lines())
        #expect(table.lines().count == 3)
    }

    @Test func `sessions and the audit fit 80 columns, and IDs are whole`() throws {
        let session = String(repeating: "a", count: 36) + "-n1"
        let sessions = try JSONTree(
            parsing: Data(
                #"{"sessions":[{"session":"\#(session)","user":"ann","device":"WEB","connected":true,"address":"127.0.0.1","startedAt":1,"slow":true,"waitingBytes":0,"lost":12,"rooms":["live","other"]}]}"#
                    .utf8))
        let path = "/v1/rooms/live/messages/2-7/recall"
        let audit = try JSONTree(
            parsing: Data(
                #"{"items":[{"time":1,"administrator":"ops","address":"127.0.0.1","node":"n1","method":"POST","path":"\#(path)","status":200}]}"#
                    .utf8))
        for (lines, id) in [
            (SessionText.lines(sessions, within: 80), session), (AuditCommand.lines(audit, within: 80), path),
        ] {
            #expect(lines.count == 4 && lines.allSatisfy { DisplayText.width($0) <= 80 })
            #expect(lines.contains { $0.contains(id) })
        }
        #expect(SessionText.lines(sessions, within: 80)[1].contains("LOST"))
        #expect(SessionText.lines(sessions, within: nil).count == 2)
    }

    @Test func `a node is drained when no shard has a replica there`() throws {
        let node = try JSONTree(parsing: Data(#"{"id":"n4","alive":true,"draining":true}"#.utf8))
        let gone = try JSONTree(parsing: Data(#"{"id":"n4","alive":false,"draining":true}"#.utf8))
        let shards = try JSONTree(parsing: Data(#"{"shards":[{"shard":0,"replicas":["n1"]}]}"#.utf8))
        #expect(NodeText.state(of: node, holders: ["n1", "n4"]) == "draining")
        #expect(NodeText.state(of: node, holders: nil) == "draining")
        #expect(NodeText.state(of: node, holders: NodeText.holders(shards)) == "drained")
        #expect(NodeText.state(of: gone, holders: NodeText.holders(shards)) == "drained, silent")
        #expect(NodeText.holders(try JSONTree(parsing: Data(#"{"shards":[]}"#.utf8))) == nil)
    }

    @Test func `one thing has no plural`() {
        #expect(DisplayText.count(1, "session") == "1 session")
        #expect([0, 2].map { DisplayText.count($0, "session") } == ["0 sessions", "2 sessions"])
    }

    @Test(arguments: [
        ("abc", 3), ("\u{5B89}", 2), ("\u{1F600}", 2), ("e\u{301}", 1), ("\u{FF21}", 2), ("\u{AC00}", 2), ("", 0),
        ("\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F466}", 2),
    ])
    func `text has the width of a terminal`(text: String, width: Int) {
        #expect(DisplayText.width(text) == width)
    }

    @Test func `long text is cut at its columns`() {
        #expect(DisplayText.fit("abcdef", columns: 6) == "abcdef")
        #expect(DisplayText.fit("abcdefg", columns: 6) == "abcde\u{2026}")
        #expect(DisplayText.width(DisplayText.fit(String(repeating: "\u{5B89}", count: 9), columns: 6)) <= 6)
    }

    @Test func `nothing that a terminal obeys gets through`() {
        let nasty = "a\u{1B}[31mb\u{7}\u{9B}c\u{202E}d\ne\r\u{2066}f\u{0}\t"
        let safe = DisplayText.safe(nasty)
        #expect(safe == "a\u{FFFD}[31mb\u{FFFD}\u{FFFD}c\u{FFFD}d\u{23CE}e\u{FFFD}\u{FFFD}f\u{FFFD} ")
        #expect(DisplayText.safe("gr\u{FC}n \u{1F600}") == "gr\u{FC}n \u{1F600}")
    }

    @Test func `each kind of message is one line`() throws {
        let lines = try [
            #"{"seq":7,"time":0,"from":{"user":"ann","nick":"Ann"},"type":"TEXT","text":"hi\nthere"}"#,
            #"{"after":7,"time":0,"type":"COMMAND","payload":"AQI="}"#,
            #"{"seq":8,"time":0,"from":{"user":"ann","nick":"ann"},"type":"TEXT","recalled":true}"#,
            #"{"seq":9,"time":0,"type":"NOTIFICATION","event":313,"operator":{"user":"b","nick":"B"},"targets":[{"user":"e","nick":""}]}"#,
            #"{"seq":10,"time":0,"type":"NOTIFICATION","event":999,"targets":[]}"#,
            #"{"seq":11,"time":0,"type":"NEW","x":1}"#,
        ].map { MessageText.line(try JSONTree(parsing: Data($0.utf8))) }
        #expect(lines.allSatisfy { !$0.contains("\n") })
        let ends = [
            "#7      ann (Ann)  hi\u{23CE}there", "-       system  [COMMAND] AQI=", "#8      ann  (recalled)",
            "#9      system  * kicked: e by b (B)", "#10     system  * event 999",
            #"#11     system  [NEW] {"seq":11,"time":0,"type":"NEW","x":1}"#,
        ]
        for (line, end) in zip(lines, ends) { #expect(line.hasSuffix(end), "\(line)") }
    }

    @Test func `times are local calendar times, and impossible ones stay numbers`() {
        #expect(TimeText.full(1_700_000_000_000).wholeMatch(of: /2023-11-1[45] \d\d:\d\d:20/) != nil)
        #expect(!TimeText.full(.max).isEmpty)
        #expect(!TimeText.full(.min).isEmpty)
    }
}
