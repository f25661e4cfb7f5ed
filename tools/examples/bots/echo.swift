// Answers "hello". This is the main.swift of a package that depends on the product ChatroomClient:
//     CHATROOM_TOKEN=$(chatroomctl token echo) swift run echo ws://127.0.0.1:7400 lobby
import ChatroomClient
import Foundation

let token = ProcessInfo.processInfo.environment["CHATROOM_TOKEN"] ?? ""
var configuration = ChatroomConfiguration(gateways: [CommandLine.arguments[1]])
configuration.tokenProvider = { token }
let client = ChatroomClient(configuration)
try await client.connect()
let room = try client.room(CommandLine.arguments[2])
let events = await room.events()
try await room.enter()
for await case .message(let message) in events where message.body == .text("hello") {
    try await room.send("hello, \(message.from?.user.text ?? "you")")
}
