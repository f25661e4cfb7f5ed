import ChatModel
import Foundation
import Testing

@testable import Moderation

struct WordFilterTests {
    private func filter(_ replaced: [String], refused: [String] = []) throws -> WordFilter {
        try WordFilter(replaced.map { Word($0, .replace) } + refused.map { Word($0, .refuse) })
    }

    @Test func `a filter without words finds nothing`() throws {
        #expect(WordFilter().isEmpty)
        #expect(try WordFilter([]).isEmpty)
        #expect(WordFilter().check("anything") == .clean)
    }

    @Test func `each character of a word is replaced, wherever it stands and in any case`() throws {
        let filter = try filter(["bad", "坏话"])
        #expect(filter.check("a Bad BADger") == .replaced("a *** ***ger"))
        #expect(filter.check("他说坏话了") == .replaced("他说**了"))
        #expect(filter.check("good") == .clean)
        #expect(filter.check("") == .clean)
    }

    @Test func `full-width forms and letters with a lower case are folded, other look-alikes are not`() throws {
        let filter = try filter(["bad", "ärger", "жук", "a b"])
        #expect(filter.check("ＢＡＤ") == .replaced("***"))
        #expect(filter.check("ÄRGER ЖУК") == .replaced("***** ***"))
        #expect(filter.check("Ａ\u{3000}b") == .replaced("***"))
        #expect(filter.check("b.a.d bád") == .clean)
    }

    @Test func `other forms of a letter are that letter`() throws {
        let filter = try filter(["bad", "不", "バカ", "ⓧ7"])
        for text in ["𝐛𝐚𝐝", "𝓑𝓪𝓭", "ⓑⓐⓓ", "ᵇᵃᵈ", "ｂａｄ", "🄱🄰🄳"] {
            #expect(filter.check(text) == .replaced("***"), "\(text)")
        }
        for ideograph in ["\u{F967}", "不"] { #expect(filter.check(ideograph) == .replaced("*")) }
        #expect(filter.check("ﾊﾞｶ ﾊﾞ") == .replaced("*** ﾊﾞ"))
        #expect(filter.check("x⁷") == .replaced("**"))
    }

    @Test func `each form of a letter is the one that Unicode says`() {
        for value in UInt32(0x80)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value), !(0xFF01...0xFF5E).contains(value), value != 0x3000 else {
                continue
            }
            let whole = Array(String(scalar).precomposedStringWithCompatibilityMapping.unicodeScalars)
            let plain = whole.count == 1 && whole[0] != scalar ? whole[0] : nil
            // The table is of Unicode 14.
            if (scalar.properties.age?.major ?? 99) > 14 { continue }
            let found = CompatibleScalars.plain(scalar)
            if found != plain { Issue.record("U+\(String(value, radix: 16)): \(String(describing: found))") }
        }
    }

    @Test func `overlapping and nested words are replaced as a whole`() throws {
        let filter = try filter(["abcd", "bc", "cde", "x"])
        #expect(filter.check("abcde") == .replaced("*****"))
        #expect(filter.check("abc") == .replaced("a**"))
        #expect(filter.check("xxabx") == .replaced("**ab*"))
    }

    @Test func `a word to refuse wins over words to replace, also for the same text`() throws {
        let filter = try filter(["ab", "Word"], refused: ["bc", "word"])
        #expect(filter.check("ab") == .replaced("**"))
        #expect(filter.check("abc") == .refused)
        #expect(filter.check("a WORD") == .refused)
    }

    @Test func `lists at their bounds are taken, and one beyond is refused`() throws {
        let word = String(repeating: "w", count: WordFilter.wordBytesMax)
        try WordFilter.check([Word(word, .replace)])
        #expect(throws: WordListError.self) { try WordFilter.check([Word(word + "w", .replace)]) }
        #expect(throws: WordListError.self) { try WordFilter.check([Word("", .replace)]) }
        let many = (0..<WordFilter.wordsMax).map { Word(String($0), .replace) }
        let filter = try WordFilter(many)
        #expect(filter.check("at 99999 o'clock") == .replaced("at ***** o'clock"))
        #expect(throws: WordListError.self) { try WordFilter.check(many + [Word("one", .replace)]) }
        let full = [Word](repeating: Word(word, .replace), count: WordFilter.totalBytesMax / WordFilter.wordBytesMax)
        try WordFilter.check(full)
        #expect(throws: WordListError.self) { try WordFilter.check(full + [Word("w", .replace)]) }
    }

    @Test func `characters that show nothing make no other word of it`() throws {
        let filter = try filter(["bad", "坏话", "👨\u{200D}👩"])
        #expect(filter.check("b\u{200B}a\u{AD}d") == .replaced("*****"))
        #expect(filter.check("\u{FEFF}bad\u{200D} it is") == .replaced("\u{FEFF}***\u{200D} it is"))
        #expect(filter.check("坏\u{2060}\u{FE0F}话") == .replaced("****"))
        #expect(filter.check("b\u{E0061}ad") == .replaced("****"))
        #expect(filter.check("👨👩") == .replaced("**"))
        #expect(filter.check("b\u{200B}ed") == .clean)
        let unseen = [Word("\u{200B}", .replace)]
        #expect(throws: WordListError.self) { try WordFilter.check(unseen) }
        // In a list of before it is passed over.
        #expect(try WordFilter(unseen + [Word("b\u{200D}ad", .replace)]).check("bad") == .replaced("***"))
    }

    @Test func `a letter may be written with its diacritics apart, and stays another one than without`() throws {
        let filter = try filter(["café", "Việt", "cafe", "がく", "한국", "ёж"])
        #expect(filter.check("CAFE\u{301}!") == .replaced("*****!"))
        #expect(filter.check("Vie\u{302}\u{323}t vie\u{323}\u{302}t") == .replaced("****** ******"))
        #expect(filter.check("か\u{3099}く") == .replaced("***"))
        #expect(filter.check("\u{1112}\u{1161}\u{11AB}\u{1100}\u{116E}\u{11A8}") == .replaced("******"))
        #expect(filter.check("Е\u{308}ж") == .replaced("***"))
        #expect(filter.check("viêt かく cafè") == .clean)
        #expect(try self.filter(["cafe"]).check("cafe\u{301}s") == .clean)
        #expect(try self.filter(["cafe\u{301}"]).check("a café") == .replaced("a ****"))
        // Diacritics that make no letter are strokes over one.
        #expect(filter.check("c\u{336}a\u{336}f\u{336}e\u{336}") == .replaced("********"))
        #expect(filter.check("\u{336}") == .clean)
        // Marks of a script are letters.
        #expect(try self.filter(["कष"]).check("क\u{94D}ष") == .clean)
    }

    @Test(arguments: Seed.seeds(200)) func `letters are the same however they are written`(seed: UInt64) throws {
        var random = Seed(seed)
        // The letter, and ways to write it; none for what shows nothing.
        let letters: [(letter: String, ways: [String])] = [
            ("a", ["a", "A"]), ("é", ["é", "e\u{301}", "E\u{200D}\u{301}"]), ("e", ["e", "e\u{20DD}"]),
            ("が", ["が", "か\u{3099}"]), ("한", ["한", "\u{1112}\u{1161}\u{11AB}", "하\u{11AB}"]), ("坏", ["坏"]),
            ("", ["\u{200B}", "\u{FE0F}"]),
        ]
        func text(_ lengths: ClosedRange<Int>) -> (read: [String], written: String) {
            var (read, written): ([String], String) = ([], "")
            for _ in 0..<Int.random(in: lengths, using: &random) {
                guard let letter = letters.randomElement(using: &random) else { continue }
                if !letter.letter.isEmpty { read.append(letter.letter) }
                let way = letter.ways.randomElement(using: &random) ?? ""
                written.unicodeScalars.append(contentsOf: way.unicodeScalars)
            }
            return (read, written)
        }
        let word = text(1...3)
        guard !word.read.isEmpty else { return }
        let filter = try filter([word.written])
        for _ in 0..<20 {
            let (read, written) = text(0...20)
            let isIn = read.indices.contains { read[$0...].starts(with: word.read) }
            guard case .replaced(let shown) = filter.check(written) else {
                #expect(!isIn, "seed \(seed): \(word.read) in \(read)")
                continue
            }
            #expect(isIn, "seed \(seed): \(word.read) in \(read)")
            #expect(shown.unicodeScalars.count == written.unicodeScalars.count)
            #expect(shown.utf8.count <= written.utf8.count)
        }
    }

    @Test(arguments: Seed.seeds(200)) func `it finds what a naive search finds`(seed: UInt64) throws {
        var random = Seed(seed)
        let letters: [Unicode.Scalar] = ["a", "b", "A", "Ｂ", "é", "坏", "😀"]
        func text(_ lengths: ClosedRange<Int>) -> String {
            var scalars = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: lengths, using: &random) {
                scalars.append(letters.randomElement(using: &random) ?? "a")
            }
            return String(scalars)
        }
        let words = (0..<Int.random(in: 1...12, using: &random)).map { _ in
            Word(text(1...5), Int.random(in: 0..<12, using: &random) == 0 ? .refuse : .replace)
        }
        let filter = try WordFilter(words)
        for _ in 0..<20 {
            let text = text(0...30)
            #expect(filter.check(text) == naive(words, text), "seed \(seed), \(words) in \(text)")
        }
    }

    private func naive(_ words: [Word], _ text: String) -> WordFilter.Verdict {
        func folded(_ text: String) -> [String] {
            text.unicodeScalars.map {
                $0.value >= 0xFF01 ? ($0.value <= 0xFF5E ? "b" : String($0)) : String($0).lowercased()
            }
        }
        let place = folded(text)
        var shown = text.unicodeScalars.map { $0 }
        var isFound = false
        for word in words {
            let pattern = folded(word.text)
            guard pattern.count <= place.count else { continue }
            for start in 0...(place.count - pattern.count) where Array(place[start..<start + pattern.count]) == pattern
            {
                if word.action == .refuse { return .refused }
                isFound = true
                for position in start..<start + pattern.count { shown[position] = "*" }
            }
        }
        guard isFound else { return .clean }
        var result = String.UnicodeScalarView()
        result.append(contentsOf: shown)
        return .replaced(String(result))
    }

    @Test func `all that people read of a message is looked at`() throws {
        let filter = try filter(["bad"], refused: ["worst"])
        #expect(try filter.passed(MessageBody.text("bad")) == .text("***"))
        #expect(try filter.passed(MessageBody.tip("bad")) == .tip("***"))
        var media = Media(url: "https://bad/bad", name: "bad.png", size: 1, contentType: "image/png")
        let shown = try filter.passed(MessageBody.image(media))
        media.name = "***.png"
        #expect(shown == .image(media))
        #expect(
            try filter.passed(MessageBody.location(latitude: 1, longitude: 2, title: "bad"))
                == .location(latitude: 1, longitude: 2, title: "***"))
        #expect(
            try filter.passed(MessageBody.custom(content: #"{"bad":1}"#, subtype: 3, searchable: "bad"))
                == .custom(content: #"{"bad":1}"#, subtype: 3, searchable: "***"))
        #expect(
            try filter.passed(MessageBody.combine(title: "bad", summary: "so bad", messageIDs: ["bad"]))
                == .combine(title: "***", summary: "so ***", messageIDs: ["bad"]))
        #expect(
            try filter.passed(MessageBody.command(payload: Array("worst".utf8)))
                == .command(payload: Array("worst".utf8)))
        #expect(throws: ChatError(.rejected, "the content was refused by moderation", field: "content")) {
            try filter.passed(MessageBody.custom(content: "the worst", subtype: 0, searchable: nil))
        }
        #expect(throws: ChatError(.rejected, "the text was refused by moderation", field: "text")) {
            try filter.passed(MessageBody.text("the WORST"))
        }
    }

    @Test func `a hook's text stands where people read first, if it fits`() {
        let long = String(repeating: "x", count: Limits.textBytes)
        #expect(MessageBody.text("a").rewritten(long) == .text(long))
        #expect(MessageBody.text("a").rewritten(long + "x") == nil)
        #expect(
            MessageBody.combine(title: "a", summary: "b", messageIDs: []).rewritten("c")
                == .combine(title: "c", summary: "b", messageIDs: []))
        #expect(MessageBody.command(payload: []).rewritten("c") == nil)
        #expect(!MessageBody.command(payload: []).isModerated)
    }

    @Test func `a HOLD word holds what can wait, after REFUSE and beside REPLACE`() throws {
        let filter = try WordFilter([
            Word("iffy", .hold), Word("bad", .replace), Word("worst", .refuse), Word("if", .replace),
        ])
        #expect(filter.check("so IFFY") == .held("so **FY"))
        #expect(filter.check("a bad iffy") == .held("a *** **fy"))
        #expect(filter.check("iffy and the worst") == .refused)
        #expect(filter.check("bad") == .replaced("***"))
        var holds = false
        var media = Media(url: "u", name: "iffy.png", size: 1, contentType: "c")
        media.url = "iffy"
        for body: MessageBody in [
            .text("iffy"), .tip("iffy"), .image(media), .location(latitude: 1, longitude: 2, title: "iffy"),
            .custom(content: "iffy", subtype: 0, searchable: nil), .custom(content: "", subtype: 0, searchable: "iffy"),
            .combine(title: "iffy", summary: "", messageIDs: []), .combine(title: "", summary: "iffy", messageIDs: []),
        ] {
            holds = false
            _ = try filter.passed(body, holds: &holds)
            #expect(holds, "\(body)")
        }
        holds = false
        let replaced = try filter.passed(MessageBody.text("bad"), holds: &holds)
        #expect(replaced == .text("***") && !holds)
        // Anything else that has it is refused.
        for refused: CommandBody in [
            .updateMe(ProfileChanges(nick: "iffy"), save: false, NotifyOptions()),
            .amend(messageID: "m", set: MessageChanges(text: "iffy")),
            .amend(messageID: "m", set: MessageChanges(content: "iffy")),
        ] {
            let error = #expect(throws: ChatError.self) {
                var holds = false
                return try filter.passed(refused, holds: &holds)
            }
            #expect(error?.code == .rejected)
        }
        #expect(throws: ChatError.self) { try filter.passed("iffy", "nick") as String }
    }
}

extension WordFilter {
    /// The body as it is shown, whether it is held or not.
    fileprivate func passed(_ body: MessageBody) throws -> MessageBody {
        var holds = false
        return try passed(body, holds: &holds)
    }
}
