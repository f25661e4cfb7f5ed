import ChatModel
import Testing

@testable import ServerAPI

private func refusal(_ body: () throws -> Void) -> ChatError? {
    do {
        try body()
        return nil
    } catch {
        return error as? ChatError
    }
}

@Test func `parameters are decoded and a plus sign stays one`() throws {
    let query = try QueryParameters("after=a+b%23&limit=7&x&empty=")
    #expect(try query.text("after") == "a+b#")
    #expect(try query.limit() == 7)
    #expect(try query.text("empty") == nil)
    #expect(try query.text("absent") == nil)
}

@Test func `the limit is 50 when absent`() throws {
    #expect(try QueryParameters("").limit() == 50)
}

@Test(arguments: [
    "0", "101", "-1", "1.5", "1e1", "ten", "99999999999999999999", "0x10", "%31%", " 5", "5 ",
])
func `a limit that is no number from 1 to 100 is refused`(text: String) {
    let error = refusal { _ = try QueryParameters("limit=\(text)").limit() }
    #expect(error?.code == .badParameter)
    #expect(error?.field == "limit")
}

@Test func `numbers reach to the ends of their types and not beyond`() throws {
    let largest = try QueryParameters("n=18446744073709551615").number("n", in: UInt64.min...UInt64.max)
    #expect(largest == .max)
    let error = refusal {
        _ = try QueryParameters("n=18446744073709551616").number("n", in: UInt64.min...UInt64.max)
    }
    #expect(error?.code == .badParameter)
}

@Test func `a parameter given twice is refused`() throws {
    let query = try QueryParameters("kind=FIXED&kind=MUTED")
    #expect(refusal { _ = try query.text("kind") }?.field == "kind")
}

@Test func `names of choices are checked`() throws {
    let query = try QueryParameters("types=TEXT,TIP&kind=fixed&bad=TEXT,,TIP")
    #expect(try query.choices("types", of: MessageType.self) == [.text, .tip])
    #expect(refusal { _ = try query.choice("kind", of: MemberKind.self) }?.field == "kind")
    #expect(refusal { _ = try query.choices("bad", of: MessageType.self) }?.field == "bad")
    let many = Array(repeating: "TEXT", count: 12).joined(separator: ",")
    #expect(refusal { _ = try QueryParameters("types=\(many)").choices("types", of: MessageType.self) } != nil)
}

@Test func `more parameters than any call has are refused`() {
    let many = (0...QueryParameters.pairsMax).map { "a\($0)=1" }.joined(separator: "&")
    #expect(refusal { _ = try QueryParameters(many[...]) }?.code == .badParameter)
}

@Test func `a cursor has at most 64 bytes`() throws {
    let longest = String(repeating: "c", count: 64)
    #expect(try QueryParameters("after=\(longest)").cursor("after") == longest)
    #expect(refusal { _ = try QueryParameters("after=\(longest)c").cursor("after") }?.field == "after")
}

@Test func `queries of garbage never trap`() {
    var generator = SeededGenerator(seed: SeededGenerator.environmentSeed())
    let alphabet = Array("%&=+;?#/\u{0}aZ9\u{e9}\u{1F600}").map(String.init)
    for _ in 0..<2_000 {
        let length = Int.random(in: 0...24, using: &generator)
        let text = (0..<length).map { _ in alphabet[Int.random(in: alphabet.indices, using: &generator)] }.joined()
        let error = refusal {
            let query = try QueryParameters(text[...])
            _ = try query.text("a")
            _ = try query.limit()
        }
        #expect(error == nil || error?.code == .badParameter, "seed \(generator.seed), query \(text)")
    }
}
