import Gateway
import HTTPClient
import Media
import Rooms
import Synchronization
import SystemGroupHost

extension ChatroomNode {
    /// Opens the store of content.
    func openMedia(
        _ common: Common, _ calls: RoomCalls, system: SystemGroup, services: inout StartedServices
    ) async throws -> MediaHost {
        let nodes = MediaNodes(node: configuration.node, nodes: common.nodes, system: system)
        let store: any ContentStore
        switch configuration.mediaStore {
        case .local: store = try await openLocalMedia(common, nodes, calls: calls, services: &services)
        case .s3(let settings):
            store = try await openS3Media(settings, common, nodes: nodes, calls: calls, services: &services)
        }
        let (bytesPerDay, path) = (configuration.mediaBytesPerUserAndDay, common.directory.uploadUse)
        let allowances = try await services.open(close: { $0.close() }) {
            UploadAllowances(node: configuration.node, bytesPerDay: bytesPerDay, path: path, now: common.steady) {
                await nodes.exchange($0)
            }
        }
        let host = MediaHost(
            store, nodes: nodes, calls: calls, keys: keys,
            seal: try KeysFile.read(configuration.keysFile).mediaSeal(), allowances: allowances,
            transfers: TransferShares(
                each: configuration.mediaTransfersPerUser, max: configuration.gateway.transfersMax),
            metrics: common.metrics, system: system, now: WallClock.now)
        media.withLock { $0 = host }
        return host
    }

    private func openLocalMedia(
        _ common: Common, _ nodes: MediaNodes, calls: RoomCalls, services: inout StartedServices
    ) async throws -> LocalMedia {
        let (path, reserve) = (common.directory.media, configuration.mediaReserveBytes)
        let files = try await services.open(
            close: { $0.close() }, orFail: { NodeError(.storage, "the media store can't be used: \($0)") }
        ) { try MediaStore(path: path, reserveBytes: reserve) }
        return LocalMedia(files, nodes: nodes, calls: calls, logger: logger)
    }

    /// Nothing is asked of the store at the start: a node serves without it, except what needs it.
    private func openS3Media(
        _ settings: S3Settings, _ common: Common, nodes: MediaNodes, calls: RoomCalls,
        services: inout StartedServices
    ) async throws -> S3Media {
        let signer = try settings.signer()
        var client = HTTPClientConfiguration()
        client.trustFile = settings.trustFile
        let (loop, logger) = (common.loops[common.loops.count - 1], logger)
        let calling = try await services.open(close: { await $0.shutdown() }) {
            S3Client(
                settings.bucket, signer, HTTPClient(loop: loop, configuration: client), logger: logger,
                now: WallClock.now)
        }
        return S3Media(
            calling, nodes: nodes, calls: calls, owner: common.identity.id, logger: logger, now: WallClock.now)
    }
}
