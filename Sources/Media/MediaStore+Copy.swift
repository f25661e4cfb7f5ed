import Glibc

extension MediaStore {
    /// Copies all content of one store's directory into another, beside what is there; nothing to copy is no error. Files never
    /// change, so a copy on the same disk may be a link; bytes are written beside, synced and renamed, so that one that was broken
    /// off is not taken for content. Files that are still being written are left out.
    public static func copy(from source: String, to target: String, byLinks: Bool) throws(MediaStoreError) {
        for place in try names(in: source) where place.utf8.count == 2 {
            for room in try names(in: "\(source)/\(place)") where MediaName.room(ofFolder: room) != nil {
                let folder = "\(target)/\(place)/\(room)"
                for path in [target, "\(target)/\(place)", folder] {
                    let error = MediaFileSystem.makeDirectory(path)
                    guard error == 0 else { throw MediaStoreError(path: path, number: error) }
                }
                for name in try names(in: "\(source)/\(place)/\(room)")
                where !name.hasSuffix(MediaFileSystem.partSuffix) {
                    let error = MediaFileSystem.copy(
                        "\(source)/\(place)/\(room)/\(name)", to: "\(folder)/\(name)", byLink: byLinks)
                    // One that has gone meanwhile is no error: no message names it any more.
                    guard error == 0 || error == ENOENT else {
                        throw MediaStoreError(path: "\(folder)/\(name)", number: error)
                    }
                }
                for path in [folder, "\(target)/\(place)", target] {
                    let error = MediaFileSystem.sync(path)
                    guard error == 0 else { throw MediaStoreError(path: path, number: error) }
                }
            }
        }
    }

    /// The names in a folder; none when there is no such folder, or not any more. One that can't be read is not taken for an
    /// empty one: a copy without its files would look whole.
    private static func names(in folder: String) throws(MediaStoreError) -> [String] {
        let (names, error) = MediaFileSystem.list(folder)
        guard error == 0 || error == ENOENT else { throw MediaStoreError(path: folder, number: error) }
        return names
    }
}
