import ChatModel

@testable import History
@testable import SQLite

/// Texts that are looked for, texts that they are looked for in, and places to go on from.
extension FuzzTarget {
    /// The text that is looked for, up to a zero, and the one in which it is.
    static let search = FuzzTarget(name: "search", bytesMax: 34 << 10) { bytes in
        var input = FuzzInput(bytes)
        let query = input.take(to: 0)
        check(cursor: String(decoding: query, as: UTF8.self))
        // Also what is no UTF-8: SQLite gives bytes.
        let found = terms(of: input.rest)
        require(found.count <= input.rest.count, "\(input.rest.count) bytes have \(found.count) terms")
        let text = String(decoding: input.rest, as: UTF8.self)
        check(query: String(decoding: query.prefix(256), as: UTF8.self), in: text)
        let kept = terms(of: Array(text.utf8)).map { Array(IndexTokenizer.kept($0)) }
        require(indexed(text) == kept, "the index has other terms")
    } seeds: { _ in
        let texts = [
            "hel\0Hello World", "白\0小白来了", "iphone 壳\0iPhone手机壳", "cafe\u{301}\0a CAFÉ", "ハ\u{309A}ン\0パン", "😀\0so 😀😀",
            "\u{1112}\u{1161}\u{11AB}국\0한국 사람", "ΣΟΦΌΣ\0σοφοσ", "ＣＡＦＥ\0cafe", "a b ab\0ab a-b", "7.20254\0",
            "İ\0istanbul ﬁ ß",
            "don't\"* OR NEAR(\0don't \u{1F} stop",
        ]
        return texts.map { Array($0.utf8) }
    }

    private static func check(cursor text: String) {
        guard let cursor = SearchCursor(text) else { return }
        require(cursor.text == text, "a place to go on from has another text than its own")
    }

    private static func terms(of bytes: [UInt8]) -> [[UInt8]] { bytes.withUnsafeBytes(terms) }

    /// Each is itself once more when it is cut.
    private static func terms(of bytes: UnsafeRawBufferPointer) -> [[UInt8]] {
        var found: [[UInt8]] = []
        SearchTerms.walk(bytes.bindMemory(to: UInt8.self)) { term in
            let bytes = Array(term.bytes)
            require(!bytes.isEmpty && bytes.count <= SearchTerms.wordBytesMax, "a term of \(bytes.count) bytes")
            require(!bytes.contains(0x1F) && !bytes.contains(0x22), "a term with a separator or a quotation mark")
            require(String(validating: bytes, as: UTF8.self) != nil, "a term is no UTF-8: \(bytes)")
            var again: [[UInt8]] = []
            bytes.withUnsafeBufferPointer { inner in
                SearchTerms.walk(inner) { part in
                    require(part.isCharacter == term.isCharacter, "a term becomes of another kind: \(bytes)")
                    again.append(Array(part.bytes))
                    return true
                }
            }
            require(again == [bytes], "\(bytes) becomes \(again)")
            found.append(bytes)
            return true
        }
        return found
    }

    private static let life = Incarnation(7)

    /// The terms that an index has of a text, without the room's part.
    private static func indexed(_ text: String) -> [[UInt8]] {
        let prefix = Array(IndexTokenizer.prefix(life).utf8)
        var found: [[UInt8]] = []
        var text = IndexTokenizer.indexed(text, of: life)
        text.withUTF8 { bytes in
            IndexTokenizer.tokenize(bytes, isQuery: false) { term in
                require(term.starts(with: prefix), "a term of no room")
                found.append(Array(term.dropFirst(prefix.count)))
                return true
            }
        }
        return found
    }

    /// With all of the pattern's words.
    private static func expression(_ pattern: SearchPattern, _ life: Incarnation) -> String {
        let index = pattern.index(life)
        return index.expression(index.words) ?? ""
    }

    private static func check(query: String, in text: String) {
        guard let pattern = SearchPattern(query) else {
            return require(terms(of: Array(query.utf8)).isEmpty, "there is something to look for in \(query)")
        }
        require(pattern.matches(query), "\(query) does not fit itself")
        let fits = pattern.matches(text)
        do throws(SQLiteError) {
            let isFound = try SearchTable.shared.finds(expression(pattern, life), in: text, of: life)
            require(isFound || !fits, "the index does not find \(query) in \(text)")
            let other = try SearchTable.shared.finds(expression(pattern, Incarnation(8)), in: text, of: life)
            require(!other, "another room finds \(query)")
        } catch {
            fail("\(query) can't be looked for: \(error.message)")
        }
    }
}

/// A table as an index has it, in memory and with one row.
private final class SearchTable {
    /// Each process has one thread that fuzzes.
    nonisolated(unsafe) static let shared = SearchTable()

    private let database: Database
    private let insert: Statement
    private let delete: Statement
    private let select: Statement
    private var text: [UInt8]?

    private init() {
        do throws(SQLiteError) {
            var options = DatabaseOptions()
            (options.create, options.writeAheadLog) = (true, false)
            database = try Database(path: ":memory:", options: options)
            try database.register(tokenizer: IndexTokenizer.self, as: IndexTokenizer.name)
            try database.execute(
                "CREATE VIRTUAL TABLE block USING fts5(text, columnsize = 0, tokenize = '\(IndexTokenizer.name)')")
            insert = try database.prepare("INSERT INTO block (rowid, text) VALUES (1, ?)")
            delete = try database.prepare("DELETE FROM block WHERE rowid = 1")
            select = try database.prepare("SELECT count(*) FROM block WHERE block MATCH ?")
        } catch {
            fail("no table: \(error.message)")
        }
    }

    func finds(_ expression: String, in text: String, of life: Incarnation) throws(SQLiteError) -> Bool {
        let bytes = Array(text.utf8)
        if bytes != self.text {
            try delete.run()
            insert.bind(1, IndexTokenizer.indexed(text, of: life))
            try insert.run()
            self.text = bytes
        }
        select.bind(1, expression)
        defer { select.reset() }
        return try select.step() && select.int64(0) > 0
    }
}
