import ChatModel
import Gateway
import Rooms
import Telemetry

/// Asks rooms about their content, and counts how often.
struct MediaAsker: Sendable {
    private let calls: RoomCalls
    private let store: any ContentStore
    private let questions: Counter

    init(_ calls: RoomCalls, _ store: any ContentStore, _ metrics: MetricsRegistry) {
        self.calls = calls
        self.store = store
        questions = metrics.counter(
            "chatroom_media_questions_total", "Questions of this node to rooms about content to be read or sent.")
    }

    func status(of id: String, in room: RoomID, for reader: MediaReader?) async throws(MediaRefusal) -> MediaStatus {
        questions.add()
        do throws(ChatError) {
            return try await calls.media(id, in: room, for: reader)
        } catch {
            throw MediaRefusal(error)
        }
    }

    /// An avatar that may be read; nil: there is none.
    func avatar(_ name: AvatarLookups.Name) async -> Result<UploadRecord?, MediaRefusal> {
        do throws(MediaRefusal) {
            var status = try await status(of: name.id, in: name.room, for: nil)
            if store.isElsewhere, status.record.digest == nil {
                // No message names it, so nobody has asked for it before.
                try await settleAvatar(name, status.record.draft)
                status = try await self.status(of: name.id, in: name.room, for: nil)
            }
            return .success(status.isReadable && status.record.draft.kind == .avatar ? status.record : nil)
        } catch {
            return error.status == 404 ? .success(nil) : .failure(error)
        }
    }

    /// Takes over what was sent past the cluster; where nothing was, the room says so itself.
    func settle(_ id: String, _ draft: UploadDraft, in room: RoomID) async throws(ChatError) {
        let found: SettledContent?
        do throws(StoreFailure) {
            found = try await store.settled(id, in: room, draft)
        } catch {
            throw error.chatError
        }
        if let found { try await note(found, of: id, in: room) }
    }

    private func settleAvatar(_ name: AvatarLookups.Name, _ draft: UploadDraft) async throws(MediaRefusal) {
        let found: SettledContent?
        do throws(StoreFailure) {
            found = try await store.settled(name.id, in: name.room, draft)
        } catch {
            throw error.refusal
        }
        do throws(ChatError) {
            if let found { try await note(found, of: name.id, in: name.room) }
        } catch {
            throw MediaRefusal(error)
        }
    }

    private func note(_ found: SettledContent, of id: String, in room: RoomID) async throws(ChatError) {
        do throws(ChatError) {
            _ = try await calls.perform(
                .completeUpload(mediaID: id, digest: found.digest, isInline: found.isInline), in: room, as: .system,
                id: nil)
        } catch {
            // Another asker was faster, and its bytes count.
            guard error.code == .conflict else { throw error }
        }
    }
}
