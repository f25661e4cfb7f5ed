import CWebFiles

/// A file that the compiler has put into the program (`Sources/CWebFiles/CWebFiles.c` lists them).
public struct EmbeddedFile: Sendable {
    public let name: String
    public let content: [UInt8]

    /// Those of `Sources/Gateway/Web`.
    public static var pages: [EmbeddedFile] { read(chatroom_page_files) }

    /// Those of `Sources/ServerAPI/Console`.
    public static var console: [EmbeddedFile] { read(chatroom_console_files) }

    private static func read(
        _ table: (UnsafeMutablePointer<UInt>?) -> UnsafePointer<chatroom_file>?
    ) -> [EmbeddedFile] {
        var count: UInt = 0
        let first = table(&count)
        return UnsafeBufferPointer(start: first, count: Int(count)).map { file in
            EmbeddedFile(
                name: String(cString: file.name),
                content: Array(UnsafeBufferPointer(start: file.bytes, count: Int(file.count))))
        }
    }
}
