import BotSwarmCore
import Testing

@Suite struct HTMLReportTests {
    private let page = HTMLReport(
        RunReport(scenario: Scenario(), run: "k3", rooms: ["a<b"]), commandLine: "botswarm chat --room 'a<b>&\"'",
        date: "2026-01-01")

    @Test func `the page needs nothing from elsewhere and runs nothing`() {
        for forbidden in ["http:", "https:", "//", "<script", "@import", "url(", " src="] {
            #expect(!page.text.contains(forbidden), "\(forbidden)")
        }
    }

    @Test func `what was typed is shown as text`() {
        #expect(page.text.contains("--room &#39;a&lt;b&gt;&amp;&quot;&#39;"))
        #expect(!page.text.contains("a<b"))
    }
}
