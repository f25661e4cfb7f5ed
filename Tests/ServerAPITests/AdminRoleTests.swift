import ChatModel
import Foundation
import OpenAPITestKit
import Synchronization
import Testing
import Wire

@testable import ServerAPI

/// The rights of each role, by walking the table of routes (PROTOCOL.md, "Roles of keys").
@Suite struct AdminRoleTests {
    /// The roles that may call each route besides ADMIN, as the protocol says.
    private static let expected: [Set<AdminRole>: [String]] = [
        []: [
            "deleteRoom", "undeleteRoom", "issueToken", "revokeUser", "broadcast", "setLogLevel", "backUp",
            "getWebhook", "setWebhook",
            "getModeration", "setModeration", "importMessages",
        ],
        [.moderate]: [
            "createRoom", "updateRoom", "closeRoom", "reopenRoom", "muteRoom", "sendMessage", "sendBarrage",
            "recallMessage", "recallMessagesOfUser", "amendMessage", "pinMessage", "upload", "setRole", "setBlacklist",
            "setMute",
            "setTempMute",
            "kickMember",
            "setQueueElement", "setQueueElements", "takeQueueElement", "clearQueue", "setTally", "removeTally",
            "removeUpload",
            "addToTally", "openPoll", "closePoll", "listReports",
            "addRobots", "removeRobots",
            "sendDirect", "banUser", "muteUser", "allowHeld", "denyHeld",
        ],
        [.moderate, .read]: [
            "getHistory", "getMessage", "listMembers", "getMember", "getQueue", "getTallies", "getPolls", "getUser",
            "listUsers", "getHeld", "searchMessages", "exportRoom",
        ],
        [.operate]: [
            "forceOffline", "listUserSessions", "listSessions", "endSession", "drainNode", "removeNode", "readmitNode",
            "transferShard", "raiseFeatureLevel", "getAudit",
        ],
        [.operate, .read]: ["getStats", "getFigures", "getCluster", "listShards", "getClusterHealth"],
        [.operate, .moderate, .read]: ["listRooms", "getRoom", "explainRoom", "getAddress", "getOpenAPI"],
    ]

    private static var routes: [Route] { Routes.described.filter(\.needsAuthorization) }

    private static func target(_ route: Route, room: String = "r1") -> String {
        route.path.replacing("{room}", with: room).replacing("{user}", with: "u").replacing("{messageId}", with: "m")
            .replacing("{key}", with: "seat").replacing("{poll}", with: "p").replacing("{session}", with: "s1")
            .replacing("{node}", with: "n2")
            .replacing("{heldId}", with: "h")
            .replacing("{shard}", with: "3")
    }

    @Test func `the column of the table is what the protocol says, for every route`() {
        var wanted: [String: Set<AdminRole>] = [:]
        for (roles, names) in Self.expected {
            for name in names { wanted[name] = roles.union([.admin]) }
        }
        for route in Self.routes {
            #expect(wanted.removeValue(forKey: route.name) == route.roles, "\(route.name)")
        }
        #expect(wanted.isEmpty, "there is no such route")
    }

    @Test func `READ changes nothing, and only ADMIN may everything`() {
        for route in Self.routes {
            #expect(route.roles.contains(.admin), "\(route.name)")
            if route.method.changes { #expect(!route.roles.contains(.read), "\(route.name)") }
        }
        for role in AdminRole.allCases where role != .admin {
            #expect(Self.routes.contains { !$0.roles.contains(role) })
        }
    }

    @Test(arguments: AdminRole.allCases)
    func `a call is 403 for a role that may not, before its body is read, and is not for one that may`(
        role: AdminRole
    ) async throws {
        try await withServer { client, cluster in
            for route in Self.routes {
                let before = cluster.calls.count
                // No body is JSON: who may gets 400 for it.
                let body = route.request == nil ? nil : "{"
                let answer = try await client.call(
                    route.method.rawValue, Self.target(route), body, bearer: role.rawValue)
                if route.roles.contains(role) {
                    #expect(![401, 403].contains(answer.status), "\(route.name)")
                } else {
                    #expect(answer.status == 403 && answer.error?["code"]?.text == nil, "\(route.name)")
                    #expect(cluster.calls.count == before, "\(route.name)")
                }
            }
        }
    }

    @Test func `a key with a prefix is for the rooms that begin so, and for nothing else`() async throws {
        try await withServer { client, cluster in
            for route in Self.routes {
                let body = route.request == nil ? nil : "{"
                func status(_ room: String) async throws -> Int {
                    try await client.call(
                        route.method.rawValue, Self.target(route, room: room), body, bearer: "ADMIN/show-"
                    ).status
                }
                for room in ["other", "show", "Show-1", "sho%77", "%2e"] {
                    #expect(try await status(room) == 403, "\(route.name) of \(room)")
                }
                for room in ["show-", "show-1", "%73how-1"] {
                    let isRefused = try await status(room) == 403
                    #expect(isRefused != route.path.hasPrefix("/v1/rooms/{room}"), "\(route.name)")
                }
            }
            #expect(!cluster.calls.isEmpty)
        }
    }

    @Test func `an unknown role is 401`() async throws {
        try await withServer { client, _ in
            for key in ["OWNER", "admin", "Read", "ADMIN/a b"] {
                let answer = try await client.call("GET", "/v1/rooms/a", bearer: key)
                #expect(answer.status == 401, "\(key)")
            }
        }
    }

    @Test func `a moderator is the operator of what it does, whoever the body names`() async throws {
        try await withServer { client, cluster in
            let moderator = Actor.moderator(
                UserName(user: FakeCluster.user("key-of-MODERATE"), nick: "key-of-MODERATE"))
            for body in [#"{"enable":true}"#, #"{"enable":true,"operator":"ann"}"#] {
                _ = try await client.call("PUT", "/v1/rooms/r1/members/u/mute", body, bearer: "MODERATE")
            }
            _ = try await client.call("POST", "/v1/rooms/r1/messages/m/recall", bearer: "MODERATE")
            _ = try await client.call("PUT", "/v1/rooms/r1/members/u/mute", #"{"enable":true,"operator":"ann"}"#)
            let actors = cluster.calls.compactMap { call -> Actor? in
                switch call {
                case .perform(_, _, let actor, _), .recall(_, _, let actor, _): actor
                default: nil
                }
            }
            #expect(actors.dropLast() == [moderator, moderator, moderator])
            #expect(actors.last == .server(UserName(user: FakeCluster.user("ann"), nick: "")))
        }
    }

    @Test func `the document says whose role each call takes, and that the others get 403`() async throws {
        try await withServer { client, _ in
            let document = try await client.call("GET", "/v1/openapi.json").json
            let deletion = document?["paths"]?["/v1/rooms/{room}"]?["delete"]
            #expect(deletion?["x-roles"] == .array([.text("ADMIN")]))
            #expect(deletion?["responses"]?["403"] != nil)
            let stats = document?["paths"]?["/v1/stats"]?["get"]
            #expect(stats?["x-roles"] == .array([.text("ADMIN"), .text("OPERATE"), .text("READ")]))
            #expect(document?["paths"]?["/healthz"]?["get"]?["x-roles"] == nil)
        }
    }

    @Test func `the audit has the name of a key that may not`() async throws {
        try await withServer { client, cluster in
            _ = try await client.call("DELETE", "/v1/rooms/r1", bearer: "MODERATE")
            let item = try #require(cluster.state.withLock { $0.audited.last })
            #expect(item.administrator == "key-of-MODERATE" && item.status == 403)
        }
    }
}
