import ChatModel
import Wire

extension Routes {
    /// Nodes and shards.
    static let cluster: [Route] = [
        Route(
            method: .get, path: "/v1/cluster", name: "getCluster", roles: .figures,
            summary: "The nodes of the cluster.",
            answer: .json(NodesView.self)
        ) { _, service throws(ChatError) in APIResponse(NodesView(nodes: try await service.nodes())) },
        Route(
            method: .get, path: "/v1/cluster/shards", name: "listShards", roles: .figures,
            summary: "The shards: who leads them, and how far they are.", answer: .json(ShardsView.self)
        ) { _, service throws(ChatError) in APIResponse(ShardsView(shards: try await service.shards())) },
        Route(
            method: .get, path: "/v1/cluster/health", name: "getClusterHealth", roles: .figures,
            summary: "Whether the cluster is whole: shards without leader or replicas, nodes that do not answer.",
            answer: .json(ClusterHealthView.self)
        ) { _, service throws(ChatError) in APIResponse(try await service.health()) },
        Route(
            method: .post, path: "/v1/cluster/nodes/{node}/drain", name: "drainNode", roles: .operation,
            summary: "Begin to empty a node: its shards and clients go to others.", answer: .json(DoneAnswer.self),
            isIdempotent: true, keepsAnswer: true, refusals: [.notFound, .conflict, .unavailable]
        ) { request, service throws(ChatError) in
            try await service.drain(try request.node)
            return .done
        },
        Route(
            method: .post, path: "/v1/cluster/nodes/{node}/remove", name: "removeNode", roles: .operation,
            summary: "Take a node out that is dead or empty.", answer: .json(DoneAnswer.self), isIdempotent: true,
            keepsAnswer: true, refusals: [.notFound, .conflict, .unavailable]
        ) { request, service throws(ChatError) in
            try await service.remove(try request.node)
            return .done
        },
        Route(
            method: .post, path: "/v1/cluster/nodes/{node}/readmit", name: "readmitNode", roles: .operation,
            summary: "Let a node that was taken out come again, without the data that it had.",
            answer: .json(DoneAnswer.self), isIdempotent: true, keepsAnswer: true, refusals: [.notFound, .unavailable]
        ) { request, service throws(ChatError) in
            try await service.readmit(try request.node)
            return .done
        },
        Route(
            method: .post, path: "/v1/cluster/shards/{shard}/transfer", name: "transferShard", roles: .operation,
            summary: "Hand the leadership of a shard to one of its replicas.",
            request: RequestDescription(body: TransferBody.self), answer: .json(DoneAnswer.self), isIdempotent: true,
            keepsAnswer: true, refusals: [.notFound, .conflict, .unavailable]
        ) { request, service throws(ChatError) in
            let shard = try request.shard
            try await service.transfer(shard, to: try request.decode(TransferBody.self).to)
            return .done
        },
        Route(
            method: .put, path: "/v1/cluster/featureLevel", name: "raiseFeatureLevel", roles: .operation,
            summary: "Raise the cluster's feature level, when every node's program can do it; nothing lowers it.",
            request: RequestDescription(body: LevelSettings.self), answer: .json(LevelSettings.self),
            isIdempotent: true, keepsAnswer: true, refusals: [.conflict, .unavailable]
        ) { request, service throws(ChatError) in
            let settings = try request.decode(LevelSettings.self)
            try await service.raise(to: FeatureLevel(Int(settings.level)))
            return APIResponse(settings)
        },
        Route(
            method: .post, path: "/v1/backup", name: "backUp",
            summary: "Copy what every node holds, as of now, into a new directory on each of them.",
            answer: .json(BackupView.self), isIdempotent: true, keepsAnswer: true,
            refusals: [.conflict, .unavailable]
        ) { _, service throws(ChatError) in APIResponse(try await service.backup()) },
    ]
}
