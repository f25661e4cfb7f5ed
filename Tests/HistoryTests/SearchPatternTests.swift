import History
import Testing

@Suite struct SearchPatternTests {
    private func finds(_ wanted: String, _ text: String) throws -> Bool {
        try #require(SearchPattern(wanted)).matches(text)
    }

    @Test(
        "a word is found by its beginning, in any case and without its diacritics",
        arguments: [
            ("hel", "Hello there"), ("HELLO", "say hello"), ("cafe", "Café crème"), ("CAFÉ", "a cafe"),
            ("cafe\u{301}", "CAFÉ"), ("uber", "Über"), ("lodz", "Łódź"), ("σοφοσ", "ΣΟΦΌΣ"), ("ёлка", "Елка"),
            ("άνθρωποσ", "Άνθρωπος"),
            ("the", "over there"), ("2024", "on 2024-05-01"), ("ｈｅｌｌｏ", "hello"), ("don", "don't"),
            ("สวัส", "สวัสดี"), ("istanbul", "İstanbul"),
        ])
    func beginnings(_ wanted: String, _ text: String) throws {
        #expect(try finds(wanted, text))
        // The terms of a term are itself.
        #expect(try finds(wanted.lowercased(), text.lowercased()))
    }

    @Test(
        "a word is not found by its end, and neither is another one",
        arguments: [("llo", "hello"), ("hello1", "hello"), ("a b", "a"), ("helo", "hello"), ("ab", "a b")])
    func others(_ wanted: String, _ text: String) throws { #expect(try !finds(wanted, text)) }

    @Test(
        "Chinese, Japanese and Korean are found from one character on, and characters that stand together stand together",
        arguments: [
            ("白", "小白来了"), ("小白", "我是小白"), ("カ", "カラオケ"), ("ラオ", "カラオケ"), ("が", "か\u{3099}くせい"),
            ("パ", "ハ\u{309A}ン"), ("안녕", "안녕하세요"), ("하세", "안녕하세요"), ("한", "\u{1112}\u{1161}\u{11AB}국"),
            ("手机", "iPhone手机壳"), ("iphone", "我的iPhone手机"), ("iphone 壳", "iPhone手机壳"), ("😀", "so 😀!"),
            ("😀", "😀😀"), ("❤", "I ❤️ it"),
        ])
    func characters(_ wanted: String, _ text: String) throws { #expect(try finds(wanted, text)) }

    @Test(
        "characters that stand apart are not found together",
        arguments: [("小白", "白小"), ("小白", "小 白"), ("小白", "小\n白"), ("小白", "小a白"), ("ab白", "a白")])
    func apart(_ wanted: String, _ text: String) throws { #expect(try !finds(wanted, text)) }

    @Test("punctuation alone is nothing to look for", arguments: ["", " ", "...", "!?，。", "\u{300}", "\u{200B}"])
    func nothing(_ wanted: String) { #expect(SearchPattern(wanted) == nil) }

    @Test("a decomposed letter is the letter for all of Latin, Greek and Cyrillic")
    func decomposed() throws {
        for (letter, parts) in [
            ("é", "e\u{301}"), ("Ǻ", "A\u{30A}\u{301}"), ("ṩ", "s\u{323}\u{307}"), ("ὦ", "ω\u{313}\u{342}"),
            ("й", "и\u{306}"), ("Ї", "І\u{308}"), ("Ẵ", "A\u{306}\u{303}"), ("ź", "z\u{301}"),
        ] {
            #expect(try finds(letter, parts) && finds(parts, letter), "\(letter)")
        }
    }

    @Test("any bytes are cut, and a long text costs no more than its length")
    func hostile() throws {
        let pattern = try #require(SearchPattern("小小小小小小小小小小小小小小小小小小小小x"))
        #expect(!pattern.matches(String(repeating: "小", count: 20_000)))
        #expect(!pattern.matches(String(repeating: "x", count: 60_000)))
        var random = SystemRandomNumberGenerator()
        for _ in 0..<500 {
            let bytes = (0..<40).map { _ in UInt8.random(in: 0...255, using: &random) }
            let text = String(decoding: bytes, as: UTF8.self)
            if let itself = SearchPattern(text) { #expect(itself.matches(text), "\(bytes)") }
        }
    }
}
