import ChatModel
import Logging
import Media
import Rooms

/// Removes what no room knows any more from the bucket. One node does so for all, page by page, at most one page a second: that is
/// what stores are paid for.
extension S3Media {
    /// The pause behind a page of which there are more.
    private static let pagePause = Duration.seconds(1)

    func keep() async {
        guard nodes.first(for: "media in a bucket") == nodes.node else { return }
        do throws(StoreFailure) {
            guard try await isOwner() else { return }
            var token: String?
            repeat {
                let (page, time) = try await client.list(after: token)
                try await clean(page, at: time)
                token = page.next
                if token != nil, (try? await Task.sleep(for: Self.pagePause)) == nil { return }
            } while token != nil && nodes.first(for: "media in a bucket") == nodes.node
        } catch {
            // The next round begins anew; the client has said why.
            return
        }
    }

    /// Whether the bucket is this cluster's. Another one's content would be content that no room here knows.
    private func isOwner() async throws(StoreFailure) -> Bool {
        let key = client.bucket.ownerKey
        guard let found = try await client.read(key, 0..<256, of: nil) else {
            try await client.write(Array(owner.utf8), to: key)
            return false
        }
        guard found.elementsEqual(owner.utf8) else {
            logger.error(
                "nothing is removed from the bucket: it is another cluster's",
                metadata: [
                    "owner": "\(String(decoding: found.prefix(128), as: UTF8.self))", "own": "\(owner)",
                    "object": "\(key)",
                ])
            return false
        }
        return true
    }

    private func clean(_ page: S3Listing, at time: Timestamp) async throws(StoreFailure) {
        var rooms: [RoomID: [(item: S3Bucket.Item, key: String)]] = [:]
        for entry in page.entries where S3Cleaning.isSettled(entry.modifiedAt, at: time) {
            guard let item = client.bucket.item(of: entry.key) else { continue }
            rooms[item.room, default: []].append((item, entry.key))
        }
        for (room, items) in rooms {
            var rest = items[...]
            while !rest.isEmpty {
                let some = rest.prefix(Self.idsAtOnce)
                rest = rest.dropFirst(Self.idsAtOnce)
                // A room that does not answer keeps what it has.
                guard !Task.isCancelled, let kept = try? await calls.keptMedia(some.map(\.item.id), in: room) else {
                    continue
                }
                for one in some where S3Cleaning.mayGo(one.item, digest: kept[one.item.id]) {
                    try await client.remove(one.key)
                }
            }
        }
    }
}
