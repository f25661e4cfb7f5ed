import ChatModel

/// The proto3 files of this target, as the walks give them. `Sources/Wire/*.proto` are checked against these.
public enum PublishedSchema {
    /// `chatroom.proto`: the client protocol.
    public static var client: String {
        var schema = SchemaWriter()
        schema.message(ClientRequest.self)
        schema.message(ServerItem.self)
        return schema.file(
            package: "chatroom.v1",
            comment: """
                The client protocol (subprotocol chatroom.v1.protobuf). A binary WebSocket message holds ClientRequests or
                ServerItems, each behind its length as a varint. The JSON subprotocol has the same messages: names in
                camel case, enumerations by the part of their names after the prefix, bytes as base64, GapPush.ranges as
                pairs of numbers, and ServerItem.message_push, barrage_push and held_push as "message", "barrage" and "held"
                without an id.
                Fields 20 to 44 of SendRequest and Message are its body: required for their type, else ignored.
                Written from the code by the tests: UPDATE_SCHEMA=1 tools/test.
                """)
    }

    /// `stored.proto`: what the log and the catalogue hold on disk.
    public static var stored: String {
        var schema = SchemaWriter()
        schema.message(StoredCommand.self)
        schema.message(RoomRecord.self)
        schema.message(MemberRecord.self)
        schema.message(PlacedElement.self)
        schema.message(CommandMemory.self)
        schema.message(SlowRecord.self)
        schema.message(RobotRecord.self)
        schema.message(WebhookRecord.self)
        schema.message(Tally.self)
        schema.message(TapMemory.self)
        schema.message(PollRecord.self)
        schema.message(PollVotes.self)
        schema.message(StoredReport.self)
        schema.message(StoredMessage.self)
        schema.message(KeptCopies.self)
        schema.message(SystemEntry.self)
        schema.message(SystemSnapshot.self)
        schema.message(WebhookSettings.self)
        schema.message(StoredModeration.self)
        return schema.file(
            package: "chatroom.stored.v1",
            comment: """
                What is on disk: LogEntry in the replicated log; RoomRecord, MemberRecord, PlacedElement, CommandMemory,
                SlowRecord, RobotRecord, WebhookRecord, Tally, TapMemory, PollRecord, PollVotes and StoredReport in the catalogue; StoredMessage in history,
                KeptCopies in a table of their own for a COMBINE; SystemEntry in the system group's log and SystemSnapshot in its state file, WebhookSettings
                and StoredModeration as settings of it. Numbers are never changed or used again.
                Written from the code by the tests: UPDATE_SCHEMA=1 tools/test.
                """)
    }
}
