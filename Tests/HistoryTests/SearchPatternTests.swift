import ChatModel
import StorageTestKit
import Testing

@testable import History

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
            ("Ⅷ", "ⅷ"), ("ⅷ", "Henry Ⅷ"),
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

    /// Compares as the rules say it, character by character, for the few characters that `plain` knows.
    private func fitsPlainly(_ wanted: String, _ text: String) -> Bool {
        func parts(_ text: String) -> [String] {
            var parts = [""]
            for scalar in text.unicodeScalars where scalar != "\u{200B}" {
                let isWord = scalar.isASCII && scalar != " "
                let isSeparate = scalar == " " || scalar == "。"
                let last = parts.last?.unicodeScalars.last
                if isSeparate || last.map({ $0.isASCII != isWord }) == true { parts.append("") }
                if !isSeparate { parts[parts.count - 1].unicodeScalars.append(scalar) }
            }
            return parts.filter { !$0.isEmpty }
        }
        let there = parts(text).map { Array($0.unicodeScalars) }
        return parts(wanted).map { Array($0.unicodeScalars) }.allSatisfy { part in
            there.contains { other in
                guard other.count >= part.count else { return false }
                if part[0].isASCII { return other.starts(with: part) }
                return (0...(other.count - part.count)).contains { other[$0...].starts(with: part) }
            }
        }
    }

    @Test(
        "a pattern fits where a plain comparison says so, also when few characters come again and again",
        arguments: 1...UInt64(20))
    func plain(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        func text(_ count: Int) -> String {
            let all = seed % 2 == 0 ? ["小", "白"] : ["小", "白", "小", "白", "小白小", "a", "ab", " ", "。", "\u{200B}"]
            return (0..<count).compactMap { _ in all.randomElement(using: &random) }.joined()
        }
        var fits = 0
        for _ in 0..<500 {
            let (wanted, other) = (text(.random(in: 1...7, using: &random)), text(.random(in: 0...40, using: &random)))
            guard let pattern = SearchPattern(wanted) else { continue }
            let isExpected = fitsPlainly(wanted, other)
            if isExpected { fits += 1 }
            #expect(pattern.matches(other) == isExpected, "seed \(seed): \(wanted) in \(other)")
        }
        #expect((20...480).contains(fits), "seed \(seed): \(fits)")
    }

    @Test("an index is asked for the first characters of a long run, for few of all runs, and for each question once")
    func phrases() throws {
        func terms(_ text: String) throws -> [Int] {
            try #require(SearchPattern(text)).index(Incarnation(1)).runs.map {
                $0.split(separator: IndexTokenizer.separator).count
            }
        }
        #expect(try terms("小白") == [2])
        #expect(try terms(String(repeating: "白", count: 63)) == [4])
        #expect(try terms("白白白白白 白白白白白白 小白") == [4, 2])
        #expect(try terms("小白小白 白小白小 小小白 白 黑") == [4, 4, 1, 1, 1])
        let words = try #require(SearchPattern("a abc ab")).index(Incarnation(1)).words
        #expect(words == ["1.abc", "1.ab", "1.a"])
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
