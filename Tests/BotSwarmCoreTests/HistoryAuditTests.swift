import BotSwarmCore
import Testing

@Suite struct HistoryAuditTests {
    @Test func `pages cover everything once, whoever reads them`() {
        var audit = HistoryAudit()
        #expect(audit.takeQuestion() == true)
        #expect(audit.takeQuestion() == false)
        #expect(audit.take() == nil)
        audit.begin(5...304)
        var read: [ClosedRange<UInt64>] = []
        while let page = audit.take() {
            read.append(page)
            audit.finish()
        }
        #expect(read == [5...104, 105...204, 205...304])
        #expect(audit.stage == .done)
    }

    @Test func `a page given back is read again, and a question too`() {
        var audit = HistoryAudit()
        #expect(audit.takeQuestion() == true)
        audit.returnQuestion()
        #expect(audit.takeQuestion() == true)
        audit.begin(1...150)
        #expect(audit.take() == 1...100)
        #expect(audit.take() == 101...150)
        audit.giveBack(1...100)
        audit.finish()
        #expect(audit.stage == .reading)
        #expect(audit.take() == 1...100)
        #expect(audit.take() == nil)
        audit.finish()
        #expect(audit.stage == .done)
    }

    @Test func `an empty room is done at once`() {
        var audit = HistoryAudit()
        #expect(audit.takeQuestion() == true)
        audit.begin(nil)
        #expect(audit.stage == .done)
        #expect(audit.takeQuestion() == false)
    }

    @Test func `so many readers and no more`() {
        var audit = HistoryAudit()
        #expect(audit.takeQuestion() == true)
        audit.begin(1...1_000_000)
        for _ in 0..<HistoryAudit.readersMax { #expect(audit.take() != nil) }
        #expect(audit.take() == nil)
        audit.finish()
        #expect(audit.take() != nil)
    }
}
