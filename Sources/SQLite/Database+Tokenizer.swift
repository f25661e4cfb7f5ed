import CSQLite

/// Cuts texts into terms for a full-text index (FTS5). Called on the thread of the connection.
public protocol Tokenizer: Sendable {
    /// Gives the terms of a text to `emit`, in their order, until that returns false.
    ///
    /// - Parameter isQuery: the text is a string of a MATCH expression; else one that is indexed.
    static func tokenize(
        _ text: UnsafeBufferPointer<UInt8>, isQuery: Bool, _ emit: (UnsafeBufferPointer<UInt8>) -> Bool)
}

extension Database {
    /// Makes a tokenizer known under a name. A file whose full-text tables name it can't be used without it.
    ///
    /// https://sqlite.org/fts5.html#custom_tokenizers
    public func register<T: Tokenizer>(tokenizer: T.Type, as name: String) throws(SQLiteError) {
        checkThread()
        let api = try fullTextAPI()
        let box = Unmanaged.passRetained(TokenizerBox(tokenizer.tokenize))
        var methods = fts5_tokenizer(
            xCreate: { context, _, _, made in
                // All tables share the one, which has no state. Any address but nil will do.
                made?.pointee = OpaquePointer(context)
                return SQLITE_OK
            },
            xDelete: { _ in },
            xTokenize: { tokenizer, context, flags, text, count, emit in
                guard let tokenizer, let emit, count > 0, let text else { return SQLITE_OK }
                let box = Unmanaged<TokenizerBox>.fromOpaque(UnsafeRawPointer(tokenizer)).takeUnretainedValue()
                return text.withMemoryRebound(to: UInt8.self, capacity: Int(count)) { start in
                    var result = SQLITE_OK
                    let bytes = UnsafeBufferPointer(start: start, count: Int(count))
                    box.tokenize(bytes, flags & FTS5_TOKENIZE_QUERY != 0) { term in
                        term.withMemoryRebound(to: CChar.self) { term in
                            result = emit(context, 0, term.baseAddress, Int32(clamping: term.count), 0, count)
                        }
                        return result == SQLITE_OK
                    }
                    return result
                }
            })
        let result = api.pointee.xCreateTokenizer(api, name, box.toOpaque(), &methods) { box in
            guard let box else { return }
            Unmanaged<TokenizerBox>.fromOpaque(box).release()
        }
        // On failure the box has no owner, and is given up once for the life of the process.
        try check(result)
    }

    private func fullTextAPI() throws(SQLiteError) -> UnsafeMutablePointer<fts5_api> {
        var api: UnsafeMutablePointer<fts5_api>?
        var statement: OpaquePointer?
        try check(sqlite3_prepare_v2(handle, "SELECT fts5(?1)", -1, &statement, nil))
        defer { sqlite3_finalize(statement) }
        try withUnsafeMutablePointer(to: &api) { place throws(SQLiteError) in
            let type: StaticString = "fts5_api_ptr"
            let result = type.withUTF8Buffer { name in
                name.withMemoryRebound(to: CChar.self) {
                    sqlite3_bind_pointer(statement, 1, place, $0.baseAddress, nil)
                }
            }
            try check(result)
            _ = sqlite3_step(statement)
        }
        guard let api else { throw SQLiteError(code: .other(SQLITE_ERROR), message: "\(path): SQLite has no FTS5") }
        return api
    }
}

private final class TokenizerBox: Sendable {
    let tokenize: @Sendable (UnsafeBufferPointer<UInt8>, Bool, (UnsafeBufferPointer<UInt8>) -> Bool) -> Void

    init(
        _ tokenize: @escaping @Sendable (UnsafeBufferPointer<UInt8>, Bool, (UnsafeBufferPointer<UInt8>) -> Bool) -> Void
    ) {
        self.tokenize = tokenize
    }
}
