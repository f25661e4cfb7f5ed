// Answers "hello". Node 22 has WebSocket; Node 20 has it with --experimental-websocket; else give the option `transport`.
//     curl -o tools/examples/bots/chatroom.mjs http://127.0.0.1:7400/chatroom.js
//     CHATROOM_TOKEN=$(chatroomctl token echo) node tools/examples/bots/echo.mjs ws://127.0.0.1:7400 lobby
import { ChatroomClient } from "./chatroom.mjs";

const [gateway, id] = process.argv.slice(2);
const client = new ChatroomClient({ gateways: [gateway], tokenProvider: () => process.env.CHATROOM_TOKEN });
await client.connect();
const room = client.room(id);
room.on("message", ({ from, text }) => {
  if (text === "hello") room.send(`hello, ${from?.user}`).catch(console.error);
});
await room.enter();
