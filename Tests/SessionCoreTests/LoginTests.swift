import ChatModel
import RoomProtocol
import Testing
import Wire

@testable import SessionCore

/// Dialogues of a `connect`.
@Suite struct LoginTests {
    private let ann = SessionDialogue.user("ann")
    private let held = SessionDialogue.id
    private let claims = SessionDialogue().claims()

    private func connect(
        _ login: inout Login, _ request: ConnectRequest, refusal: String? = nil, isAdmitted: Bool = true
    ) -> [String] {
        login.onConnect(request, id: 1, refusal: refusal) { isAdmitted }.map(Self.name)
    }

    private func found(
        _ login: inout Login, _ session: Session?, isRevoked: Bool = false, hasPlace: Bool = true
    ) -> [String] {
        login.onFound(session, isRevoked: { _ in isRevoked }, takePlace: { _ in hasPlace }).map(Self.name)
    }

    /// A step as one word, with what tells it from others.
    private static func name(_ step: Login.Step) -> String {
        switch step {
        case .check(let token): "check \(token)"
        case .fetch(let session, let user):
            "fetch \(session == nil ? "nothing" : "the session") of \(user.map { "\($0)" } ?? "nobody")"
        case .begin(let session, _, let claims):
            "\(session == nil ? "begin" : "resume") \(claims.map { "\($0.user)" } ?? "anonymously")"
        case .reply(_, let error): "reply \(error.code.number)"
        case .refuse(_, let error): "refuse \(error.code.number)"
        case .turnAway(_, let cause): cause == .tooMany ? "put off" : "turn away"
        case .keep: "keep"
        case .end: "end"
        }
    }

    private func session() -> Session { SessionDialogue.connected(in: "a").handedOver().session }

    @Test func `a token is checked before anything is looked for`() {
        var login = Login()
        #expect(connect(&login, ConnectRequest(token: "t")) == ["check t"])
        #expect(login.onChecked(.success(claims)).map(Self.name) == ["fetch nothing of ann"])
        #expect(found(&login, nil) == ["begin ann"])
        let isConnected = if case .connected = login.state { true } else { false }
        #expect(isConnected)
    }

    @Test func `an anonymous client needs no token, and one that it shows is ignored`() {
        var login = Login()
        #expect(connect(&login, ConnectRequest(anonymous: true, token: "t")) == ["fetch nothing of nobody"])
        #expect(found(&login, nil) == ["begin anonymously"])
    }

    @Test func `a client without a token is refused with 401`() {
        var login = Login()
        #expect(connect(&login, ConnectRequest()) == ["refuse 401"])
    }

    @Test func `a token that is not valid is refused`() {
        var login = Login()
        _ = connect(&login, ConnectRequest(token: "t"))
        #expect(login.onChecked(.failure(ChatError(.unauthorized, "no"))).map(Self.name) == ["refuse 401"])
    }

    @Test func `when tokens can't be checked the client is to come again`() {
        var login = Login()
        _ = connect(&login, ConnectRequest(token: "t"))
        #expect(
            login.onChecked(.failure(ChatError(.unavailable, "no keys"))).map(Self.name) == ["reply 503", "turn away"])
    }

    @Test func `beyond the rate of connects, and while the node takes nobody new, clients are sent elsewhere`() {
        var login = Login()
        #expect(connect(&login, ConnectRequest(token: "t"), refusal: "cut off", isAdmitted: false) == ["put off"])
        login = Login()
        #expect(connect(&login, ConnectRequest(anonymous: true), refusal: "stopping") == ["turn away"])
    }

    @Test func `a second connect is refused and changes nothing`() {
        var login = Login()
        _ = connect(&login, ConnectRequest(anonymous: true))
        _ = found(&login, nil)
        #expect(connect(&login, ConnectRequest(token: "t"), isAdmitted: false) == ["reply 409"])
        #expect(connect(&login, ConnectRequest(token: "t")) == ["reply 409"])
    }

    @Test func `the session that the client names is looked for, and goes on`() {
        var login = Login()
        _ = connect(&login, ConnectRequest(token: "t", session: held))
        #expect(login.onChecked(.success(claims)).map(Self.name) == ["fetch the session of ann"])
        #expect(found(&login, session()) == ["resume ann"])
    }

    @Test func `a session that nobody has is begun anew`() {
        var login = Login()
        #expect(connect(&login, ConnectRequest(anonymous: true, session: held)) == ["fetch the session of nobody"])
        #expect(found(&login, nil) == ["begin anonymously"])
    }

    @Test func `a session that comes after the client has waited too long is kept for its grace`() {
        var login = Login()
        _ = connect(&login, ConnectRequest(token: "t", session: held))
        _ = login.onChecked(.success(claims))
        #expect(found(&login, nil) == ["begin ann"])
        #expect(found(&login, session()) == ["keep"])
    }

    @Test func `a session whose client has gone meanwhile is kept for its grace`() {
        var login = Login()
        _ = connect(&login, ConnectRequest(token: "t", session: held))
        _ = login.onChecked(.success(claims))
        login.onClose()
        #expect(found(&login, session()) == ["keep"])
        #expect(found(&login, nil) == [])
    }

    @Test func `a token that is checked when the client has gone is of no use`() {
        var login = Login()
        _ = connect(&login, ConnectRequest(token: "t"))
        login.onClose()
        #expect(login.onChecked(.success(claims)).isEmpty)
    }

    @Test func `a token that was revoked meanwhile is refused, and the session that it resumes ends`() {
        var login = Login()
        _ = connect(&login, ConnectRequest(token: "t", session: held))
        _ = login.onChecked(.success(claims))
        var second = login
        #expect(found(&login, session(), isRevoked: true) == ["end", "refuse 401"])
        #expect(found(&second, nil, isRevoked: true) == ["refuse 401"])
    }

    @Test func `a user with too many connections is sent away, and the session that was to go on has its grace`() {
        var login = Login()
        _ = connect(&login, ConnectRequest(token: "t", session: held))
        _ = login.onChecked(.success(claims))
        var second = login
        #expect(found(&login, session(), hasPlace: false) == ["keep", "turn away"])
        #expect(found(&second, nil, hasPlace: false) == ["turn away"])
    }

    @Test func `anonymous clients have no user whose connections are counted`() {
        var login = Login()
        _ = connect(&login, ConnectRequest(anonymous: true))
        #expect(found(&login, nil, isRevoked: true, hasPlace: false) == ["begin anonymously"])
    }
}
