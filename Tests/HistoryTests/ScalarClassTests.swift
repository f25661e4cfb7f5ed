import Testing

@testable import History

@Suite struct ScalarClassTests {
    @Test("a letter that was folded is itself when it is folded again")
    func folding() {
        var letters = 0
        // Behind these there are only Chinese characters, tags and what nobody has assigned.
        for value in 0x80...0x2FFFF as ClosedRange<UInt32> {
            guard case .letter(let folded) = ScalarClass(value) else { continue }
            letters += 1
            if folded.isASCII {
                #expect(folded.properties.isLowercase, "\(value)")
            } else {
                #expect(ScalarClass(folded.value) == .letter(folded), "\(value)")
            }
        }
        #expect(letters > 20_000)
    }
}
