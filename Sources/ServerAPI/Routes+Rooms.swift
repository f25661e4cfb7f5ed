import ChatModel
import Wire

extension Routes {
    /// Creating, reading, changing and ending rooms.
    static let rooms: [Route] = [
        Route(
            method: .post, path: "/v1/rooms", name: "createRoom", roles: .moderation,
            summary: "Create a room; 409 if it exists.",
            request: RequestDescription(body: CreateRoomRequest.self), answer: .json(RoomView.self),
            isIdempotent: true, refusals: [.conflict]
        ) { request, service throws(ChatError) in
            let create = try request.decode(CreateRoomRequest.self)
            let room = create.id ?? IdempotencyKey.roomID(for: request.idempotencyKey)
            let result = try await service.perform(
                .createRoom(creator: create.creator, set: create.set), in: room, as: .system,
                id: request.callKey)
            guard case .room(let info) = result else { throw request.unexpected(result) }
            var response = APIResponse(await view(info, service))
            response.room = room.text
            return response
        },
        Route(
            method: .get, path: "/v1/rooms", name: "listRooms", roles: .everybody,
            summary: "List rooms, by ID or those with most people.",
            query: [
                QueryDescription(
                    name: "after", meaning: "`next` of an earlier page, with the same sort.",
                    schema: .text(bytes: Limits.opaqueIDBytes)),
                limitQuery,
                QueryDescription(
                    name: "sort",
                    meaning: "Active rooms only, those with the most people first. A room whose number changes between "
                        + "two pages may come twice or not at all.",
                    schema: .oneOf(RoomSort.self)),
                QueryDescription(
                    name: "deleted",
                    meaning: "true: deleted rooms that can be restored, by ID; not together with sort.",
                    schema: .oneOf(TruthValue.self)),
            ],
            answer: .json(RoomsView.self)
        ) { request, service throws(ChatError) in
            let limit = try request.query.limit()
            let after = try request.query.cursor("after")
            let isOfDeleted = try request.query.choice("deleted", of: TruthValue.self) == .true
            if try request.query.choice("sort", of: RoomSort.self) != nil {
                guard !isOfDeleted else {
                    throw ChatError(.badParameter, "deleted and sort cannot go together", field: "deleted")
                }
                let page = try await service.roomsByOnline(after: after, limit: limit)
                return APIResponse(RoomsView(rooms: page.items, next: page.next))
            }
            let cursor = try after.map { text throws(ChatError) in
                guard let room = RoomID(text) else {
                    throw ChatError(.badParameter, "after is not a cursor of an earlier answer", field: "after")
                }
                return room
            }
            let page =
                isOfDeleted
                ? try await service.deletedRooms(after: cursor, limit: limit)
                : try await service.rooms(after: cursor, limit: limit)
            return APIResponse(RoomsView(page))
        },
        Route(
            method: .get, path: "/v1/rooms/{room}", name: "getRoom", roles: .everybody, summary: "Read a room.",
            answer: .json(RoomView.self), refusals: [.notFound]
        ) { request, service throws(ChatError) in
            APIResponse(try await service.room(try request.room))
        },
        Route(
            method: .patch, path: "/v1/rooms/{room}", name: "updateRoom", roles: .moderation,
            summary: "Change a room; what is not given stays.",
            request: RequestDescription(body: UpdateRoomBody.self), answer: .json(RoomView.self),
            isIdempotent: true, refusals: [.notFound, .roomClosed]
        ) { request, service throws(ChatError) in
            let update = try request.decode(UpdateRoomBody.self)
            let info = try await request.performOnRoom(
                .updateRoom(set: update.set, update.options.notify), as: request.actor(update.options), service)
            return APIResponse(await view(info, service))
        },
        Route(
            method: .delete, path: "/v1/rooms/{room}", name: "deleteRoom",
            summary: "Delete a room; everybody leaves. It can be restored for a while, unless now is true.",
            query: [
                QueryDescription(
                    name: "now", meaning: "true: it is gone for good, also one that was deleted before.",
                    schema: .oneOf(TruthValue.self))
            ],
            answer: .json(DoneAnswer.self), isIdempotent: true, refusals: [.notFound]
        ) { request, service throws(ChatError) in
            let isNow = try request.query.choice("now", of: TruthValue.self) == .true
            try await request.performDone(isNow ? .purgeRoom : .deleteRoom, ServerOptions.blank, service)
            return .done
        },
        Route(
            method: .post, path: "/v1/rooms/{room}/undelete", name: "undeleteRoom",
            summary: "Have a deleted room back: closed, with members, history and what of the queue is not transient.",
            answer: .json(RoomView.self), isIdempotent: true, refusals: [.notFound, .conflict]
        ) { request, service throws(ChatError) in
            let info = try await request.performOnRoom(.undeleteRoom, as: .system, service)
            return APIResponse(await view(info, service))
        },
        Route(
            method: .post, path: "/v1/rooms/{room}/close", name: "closeRoom", roles: .moderation,
            summary: "Close a room: everybody leaves, nobody enters.",
            request: RequestDescription(body: ServerOptions.self, required: false), answer: .json(DoneAnswer.self),
            isIdempotent: true, refusals: [.notFound, .roomClosed]
        ) { request, service throws(ChatError) in
            let options = try request.decodeIfGiven(ServerOptions.self)
            _ = try await request.performOnRoom(.closeRoom(options.notify), as: request.actor(options), service)
            return .done
        },
        Route(
            method: .post, path: "/v1/rooms/{room}/reopen", name: "reopenRoom", roles: .moderation,
            summary: "Reopen a closed room with everything in it.", answer: .json(DoneAnswer.self), isIdempotent: true,
            refusals: [.notFound, .conflict]
        ) { request, service throws(ChatError) in
            _ = try await request.performOnRoom(.reopenRoom, as: .system, service)
            return .done
        },
        Route(
            method: .put, path: "/v1/rooms/{room}/mute", name: "muteRoom", roles: .moderation,
            summary: "Only creator and managers may send while a room is muted.",
            request: RequestDescription(body: EnableBody.self), answer: .json(DoneAnswer.self), isIdempotent: true,
            refusals: [.forbidden, .notFound, .roomClosed]
        ) { request, service throws(ChatError) in
            let body = try request.decode(EnableBody.self)
            try await request.performDone(
                .muteRoom(enable: body.enable, body.options.notify), body.options, service)
            return .done
        },
        Route(
            method: .get, path: "/v1/rooms/{room}/explain", name: "explainRoom", roles: .everybody,
            summary: "Why a room is slow or silent, in words and numbers.", answer: .json(RoomExplanation.self),
            refusals: [.notFound]
        ) { request, service throws(ChatError) in
            var explanation = try await service.explain(try request.room)
            explanation.summary = explanation.sentences()
            return APIResponse(explanation)
        },
        Route(
            method: .get, path: "/v1/rooms/{room}/address", name: "getAddress", roles: .everybody,
            summary: "Where clients of a room connect, best first.",
            query: [
                QueryDescription(
                    name: "clientIp",
                    meaning: "Taken as in NIM's requestAddr; makes no difference: every gateway serves "
                        + "every client.", schema: .text(bytes: nil)),
                QueryDescription(
                    name: "clientType", meaning: "Taken as in NIM's requestAddr; makes no difference.",
                    schema: .text(bytes: nil)),
            ],
            answer: .json(AddressAnswer.self),
            refusals: [.notFound]
        ) { request, service throws(ChatError) in
            // Checked like every parameter, though they make no difference.
            _ = (try request.query.text("clientIp"), try request.query.text("clientType"))
            return APIResponse(AddressAnswer(addresses: try await service.gateways(for: try request.room)))
        },
    ]

    /// The room as the command left it, which a repeat shows again, with who is here now and where it is led.
    private static func view(_ info: RoomInfo, _ service: any ClusterService) async -> RoomView {
        // It may have been deleted since.
        guard var view = try? await service.room(info.id) else { return RoomView(info: info, online: 0) }
        let (nodeBudget, nodeHigh) = (view.info.viewerBudget, view.info.highPerSecond)
        view.info = info
        view.info.viewerBudget = info.viewerBudget ?? nodeBudget
        view.info.highPerSecond = info.highPerSecond ?? nodeHigh
        return view
    }
}

/// The orders of a listing of rooms beside the one by ID.
enum RoomSort: String, Sendable, CaseIterable {
    case online
}
