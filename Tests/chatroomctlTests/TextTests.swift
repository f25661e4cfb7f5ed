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
