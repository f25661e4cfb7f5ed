import ChatModel
import Testing

@Suite struct ExactTextTests {
    @Test func `texts are equal when their bytes are, whatever Unicode says`() {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        #expect(composed == decomposed, "as String compares")
        #expect(ExactText(composed) != ExactText(decomposed))
        #expect(Set([composed, decomposed, composed, "", "a"].map { ExactText($0) }).count == 4)
        let long = String(repeating: "e\u{301}", count: 1000)
        #expect(ExactText(long) == ExactText(String(decoding: Array(long.utf8), as: UTF8.self)))
        #expect(ExactText(long).hashValue == ExactText(String(decoding: Array(long.utf8), as: UTF8.self)).hashValue)
        #expect(ExactText(long + "x") != ExactText(long + "y"))
    }
}
