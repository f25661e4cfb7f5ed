import ChatModel
import Wire

/// The node's part of the demo (PROTOCOL.md, "The demo"): rooms and tokens for people who try the program on their own
/// machine.
public protocol DemoService: Sendable {
    /// Makes a room, or lets somebody into one that the demo has made.
    /// - Parameter room: nil: a new one.
    /// - Throws: 404 for a room that is not the demo's, 416 when the demo has as many rooms as it may have.
    func enter(_ room: RoomID?) async throws(ChatError) -> DemoPlace
    /// The node's activity at the moment.
    func figures() async -> DemoFigures
    /// Ends the process as `kill -9` does, once the answer has been sent.
    /// - Throws: 404 where nothing starts the node again.
    func kill() throws(ChatError)
}

/// Body of `POST /v1/demo`.
struct DemoRequest: WireMessage {
    var room: RoomID?

    static var blank: DemoRequest { DemoRequest() }
    static var schemaName: String { "DemoRequest" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) { try walker.optional(1, "room", &room) }
}

/// A place in a room of the demo.
public struct DemoPlace: WireMessage {
    public var room: RoomID
    /// A guest's token.
    public var token: String
    /// The token of the room's creator; only for the caller that made the room.
    public var hostToken: String?
    public var gateways: [String]

    public static var blank: DemoPlace { DemoPlace(room: .blank, token: "", hostToken: nil, gateways: []) }
    public static var schemaName: String { "DemoPlace" }

    public init(room: RoomID, token: String, hostToken: String?, gateways: [String]) {
        self.room = room
        self.token = token
        self.hostToken = hostToken
        self.gateways = gateways
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.shown(2, "token", &token)
        try walker.optional(3, "hostToken", &hostToken)
        try walker.list(4, "gateways", &gateways)
    }
}

/// The node's figures for the corner of the page.
public struct DemoFigures: WireMessage {
    public var figures: NodeFigures
    /// How many nodes the cluster lists.
    public var nodes: Int64
    /// Whether `POST /v1/demo/kill` is served.
    public var kill: Bool

    public static var blank: DemoFigures { DemoFigures(figures: .blank, nodes: 0, kill: false) }
    public static var schemaName: String { "DemoFigures" }

    public init(figures: NodeFigures, nodes: Int64, kill: Bool) {
        self.figures = figures
        self.nodes = nodes
        self.kill = kill
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try figures.walk(&walker)
        try walker.shown(40, "nodes", &nodes)
        try walker.shown(41, "kill", &kill)
    }
}
