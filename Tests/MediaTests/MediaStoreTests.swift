import ChatModel
import Cryptography
import Foundation
import Testing

@testable import Media

@Suite(.timeLimit(.minutes(2))) struct MediaStoreTests {
    /// A store in a directory of its own.
    private static func withStore(
        _ path: String? = nil, reserve: Int64 = 0, _ body: (MediaStore, String) async throws -> Void
    ) async throws {
        let own = FileManager.default.temporaryDirectory.path + "/media-test-\(UUID().uuidString)"
        let path = path ?? own
        let store = try MediaStore(path: path, reserveBytes: reserve)
        defer { try? FileManager.default.removeItem(atPath: own) }
        defer { store.close() }
        try await body(store, path)
    }

    private static func hasNothingIncoming(_ path: String) -> Bool {
        (try? FileManager.default.contentsOfDirectory(atPath: path + "/incoming"))?.isEmpty == true
    }

    private static let transfer = String(repeating: "a", count: 32)
    private static let other = String(repeating: "b", count: 32)

    private static func name(of content: [UInt8], _ number: UInt64 = 1) throws -> MediaName {
        let room = try #require(RoomID("r"))
        return try #require(
            MediaName(
                room: room, id: MediaID(in: room, random: (number, 2)).text,
                digest: Hexadecimal.encode(SHA256.digest(of: content))))
    }

    private static func send(_ content: [UInt8], to store: MediaStore, _ transfer: String = transfer, by step: Int = 3)
        async
    {
        for offset in stride(from: 0, to: content.count, by: step) {
            let piece = Array(content[offset..<min(content.count, offset + step)])
            let outcome = await store.write(transfer, offset: Int64(offset), size: Int64(content.count), piece)
            #expect(outcome == .stored)
        }
    }

    private static let content = Array("some content".utf8)
    private static var size: Int64 { Int64(content.count) }

    @Test func `bytes that the disk has changed are no content, whatever their number`() async throws {
        try await Self.withStore { store, path in
            let name = try Self.name(of: Self.content)
            await Self.send(Self.content, to: store)
            #expect(await store.finish(Self.transfer, as: name, size: Self.size) == .stored)
            #expect(await store.isWhole(name))
            #expect(try await !store.isWhole(Self.name(of: [1])), "it is not there")
            // The next run reads them anew.
            let file = "\(path)/\(name.path)"
            #expect(FileManager.default.createFile(atPath: file, contents: Data(Self.content.map { $0 ^ 1 })))
            try await Self.withStore(path) { again, _ in
                #expect(await again.size(of: name) == Self.size)
                #expect(await !again.isWhole(name))
                // It is written over by a whole one.
                await Self.send(Self.content, to: again)
                #expect(await again.finish(Self.transfer, as: name, size: Self.size) == .stored)
                #expect(await again.isWhole(name))
            }
        }
    }

    @Test func `a copy that was broken off is none, and the next one begins anew`() async throws {
        try await Self.withStore { store, path in
            let name = try Self.name(of: Self.content)
            await Self.send(Self.content, to: store)
            #expect(await store.finish(Self.transfer, as: name, size: Self.size) == .stored)
            let target = path + "/copy"
            try FileManager.default.createDirectory(
                atPath: "\(target)/\(name.folder)", withIntermediateDirectories: true)
            let part = "\(target)/\(name.path).part"
            #expect(FileManager.default.createFile(atPath: part, contents: Data([1, 2, 3])))
            #expect(MediaName(room: name.room, file: String(part.split(separator: "/").last ?? "")) == nil)
            try MediaStore.copy(from: path, to: target, byLinks: false)
            #expect(FileManager.default.contents(atPath: "\(target)/\(name.path)") == Data(Self.content))
            #expect(!FileManager.default.fileExists(atPath: part))
        }
    }

    @Test func `a folder that can't be read is no empty one to a copy`() async throws {
        try await Self.withStore { store, path in
            let name = try Self.name(of: Self.content)
            await Self.send(Self.content, to: store)
            #expect(await store.finish(Self.transfer, as: name, size: Self.size) == .stored)
            // Two characters, as the folders of rooms have, and no folder.
            #expect(FileManager.default.createFile(atPath: "\(path)/zz", contents: Data()))
            #expect(throws: MediaStoreError.self) {
                try MediaStore.copy(from: path, to: path + "/copy", byLinks: false)
            }
            try FileManager.default.removeItem(atPath: "\(path)/zz")
            try MediaStore.copy(from: path, to: path + "/copy", byLinks: false)
            try MediaStore.copy(from: path + "/none", to: path + "/other", byLinks: false)
        }
    }

    @Test func `a second sending that can't be put in its place leaves the first one's content`() async throws {
        try await Self.withStore { store, path in
            let name = try Self.name(of: Self.content)
            await Self.send(Self.content, to: store)
            #expect(await store.finish(Self.transfer, as: name, size: Self.size) == .stored)
            let other = String(repeating: "b", count: 32)
            await Self.send(Self.content, to: store, other)
            // Its bytes go before they are synced.
            try FileManager.default.removeItem(atPath: "\(path)/incoming/\(other)")
            #expect(await store.finish(other, as: name, size: Self.size) == .unavailable)
            #expect(await store.size(of: name) == Self.size)
        }
    }

    @Test func `what was sent in pieces is there when it is finished, and can be read in parts`() async throws {
        try await Self.withStore { store, path in
            let name = try Self.name(of: Self.content)
            await Self.send(Self.content, to: store)
            #expect(await store.size(of: name) == nil, "it is not in its place before")
            #expect(await store.finish(Self.transfer, as: name, size: Self.size) == .stored)
            #expect(await store.finish(Self.transfer, as: name, size: Self.size) == .stored, "a repeat")
            #expect(await store.size(of: name) == Self.size)
            #expect(await store.read(name, offset: 5, count: 100) == Array("content".utf8))
            #expect(await store.read(name, offset: 100, count: 1) == [])
            #expect(try await store.read(Self.name(of: [1]), offset: 0, count: 1) == nil)
            #expect(Self.hasNothingIncoming(path))
            let folders = await store.folders()
            let folder = try #require(folders.first)
            #expect(await store.rooms(in: folder) == [name.room] && folders.count == 1)
            #expect(await store.content(of: name.room) == [name])
            await store.remove(name)
            #expect(await store.content(of: name.room).isEmpty)
        }
    }

    @Test func `wrong bytes get no place`() async throws {
        try await Self.withStore { store, path in
            await Self.send(Self.content, to: store)
            let (wrong, right) = (try Self.name(of: [1]), try Self.name(of: Self.content))
            #expect(await store.finish(Self.transfer, as: wrong, size: Self.size) == .wrongBytes)
            await Self.send(Self.content, to: store)
            let short = await store.write(Self.transfer, offset: 0, size: Self.size, [1])
            #expect(short == .stored, "it begins anew")
            #expect(await store.finish(Self.transfer, as: right, size: Self.size) == .outOfOrder)
            #expect(await store.content(of: wrong.room).isEmpty)
            #expect(Self.hasNothingIncoming(path))
        }
    }

    @Test func `pieces come in their order and end with the size`() async throws {
        try await Self.withStore { store, _ in
            #expect(await store.write(Self.transfer, offset: 3, size: 9, [1]) == .outOfOrder)
            #expect(await store.write(Self.transfer, offset: 0, size: 9, [1, 2]) == .stored)
            #expect(await store.write(Self.transfer, offset: 3, size: 9, [1]) == .outOfOrder)
            #expect(await store.write(Self.transfer, offset: 2, size: 8, [1]) == .outOfOrder)
            #expect(await store.write(Self.transfer, offset: 2, size: 9, [UInt8](repeating: 0, count: 8)) == .tooLarge)
            #expect(await store.write("../../etc/passwd", offset: 0, size: 9, [1]) == .unavailable)
            #expect(await store.write(Self.transfer, offset: 0, size: 0, []) == .unavailable)
        }
    }

    @Test func `a sending that was cut short by a kill is gone with the next start, and what was finished stays`()
        async throws
    {
        try await Self.withStore { store, path in
            let name = try Self.name(of: Self.content)
            await Self.send(Self.content, to: store)
            #expect(await store.finish(Self.transfer, as: name, size: Self.size) == .stored)
            #expect(await store.write(Self.other, offset: 0, size: 9, [1, 2]) == .stored)
            // The other run finds the directory as a kill leaves it.
            try await Self.withStore(path) { again, _ in
                #expect(Self.hasNothingIncoming(path))
                #expect(await again.read(name, offset: 0, count: 100) == Self.content)
                #expect(await again.write(Self.other, offset: 2, size: 9, [3]) == .outOfOrder, "it begins anew")
            }
        }
    }

    @Test func `a full store takes nothing, before the disk is full`() async throws {
        try await Self.withStore(reserve: 1 << 60) { store, path in
            #expect(await store.write(Self.transfer, offset: 0, size: 9, [1]) == .full)
            #expect(Self.hasNothingIncoming(path))
        }
        // Promises to others count.
        let free = try #require(
            try FileManager.default.attributesOfFileSystem(forPath: "/tmp")[.systemFreeSize] as? Int64)
        try await Self.withStore { store, _ in
            #expect(await store.write(Self.transfer, offset: 0, size: free / 2 + (64 << 20), [1]) == .stored)
            #expect(await store.write(Self.other, offset: 0, size: free / 2 + (64 << 20), [1]) == .full)
            await store.discard(Self.transfer)
            #expect(await store.write(Self.other, offset: 0, size: free / 4, [1]) == .stored)
        }
    }

    @Test func `a sending that is given up goes, unless a later one has taken its name`() async throws {
        try await Self.withStore { store, path in
            let name = try Self.name(of: Self.content)
            await Self.send(Self.content, to: store)
            await store.discard(Self.transfer, unless: { true })
            #expect(await store.finish(Self.transfer, as: name, size: Self.size) == .stored)
            await Self.send(Self.content, to: store)
            await store.discard(Self.transfer)
            #expect(Self.hasNothingIncoming(path))
        }
    }

    @Test func `two that send the same content at once both end well`() async throws {
        try await Self.withStore { store, _ in
            let name = try Self.name(of: Self.content)
            await Self.send(Self.content, to: store)
            await Self.send(Self.content, to: store, Self.other)
            #expect(await store.finish(Self.transfer, as: name, size: Self.size) == .stored)
            #expect(await store.finish(Self.other, as: name, size: Self.size) == .stored)
            #expect(await store.read(name, offset: 0, count: 100) == Self.content)
        }
    }

    @Test func `a closed store answers and does nothing`() async throws {
        let path = FileManager.default.temporaryDirectory.path + "/media-test-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let store = try MediaStore(path: path, reserveBytes: 0)
        store.close()
        #expect(await store.write(Self.transfer, offset: 0, size: 9, [1]) == .unavailable)
        #expect(throws: MediaStoreError.self) { try MediaStore(path: path + "/none/there", reserveBytes: 0) }
    }
}
