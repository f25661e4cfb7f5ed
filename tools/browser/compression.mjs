// Readers in Node for `compression`: plain WebSockets, and the JavaScript SDK. Writes what each is shown to standard output.
// usage: node --experimental-websocket compression.mjs SDK-PATH SETTINGS (JSON: readers [{name, url, token, isSDK, moves}], room)
import { createHash } from "node:crypto";

const [sdkPath, text] = process.argv.slice(2);
const { readers, room } = JSON.parse(text);
const { ChatroomClient } = await import(sdkPath);
const digest = (given) => createHash("md5").update(given).digest("hex");
const tell = (...words) => process.stdout.write(words.join(" ") + "\n");

function readRaw({ name, url, token, moves }) {
  let life = 0;
  const open = () => {
    const stay = `${name}.${++life}`;
    const socket = new WebSocket(url, ["chatroom.v1.json"]);
    let [id, isWanted, beats] = [2, true, null];
    socket.onopen = () => {
      tell("c", stay, socket.extensions.includes("permessage-deflate") ? 1 : 0);
      socket.send(JSON.stringify({ id: 1, connect: { token, prime: true } }));
      socket.send(JSON.stringify({ id: 2, enter: { room } }));
      beats = setInterval(() => socket.send(JSON.stringify({ id: ++id, ping: {} })), 5000);
      if (moves) setTimeout(() => { isWanted = false; tell("x", stay); socket.close(); open(); }, 4000 + Math.random() * 8000);
    };
    socket.onmessage = ({ data }) => {
      if (!isWanted) return;
      for (const line of data.split("\n")) {
        if (line.startsWith('{"message":')) {
          const { seq } = JSON.parse(line).message;
          if (seq !== undefined) tell("m", stay, seq, digest(line));
        } else if (line.startsWith('{"gap":')) {
          for (const [from, to] of JSON.parse(line).gap.ranges) tell("g", stay, from, to);
        } else {
          const reply = JSON.parse(line);
          if (reply.error) tell("!", stay, line);
          if (reply.id === 2) tell("e", stay, reply.enter.seq);
        }
      }
    };
    socket.onclose = ({ code }) => {
      clearInterval(beats);
      if (isWanted) tell("!", stay, `closed with ${code}`);
    };
  };
  open();
}

async function readBySDK({ name, url, token }) {
  const client = new ChatroomClient({
    gateways: [url], tokenProvider: () => token, reconnectMinMs: 100,
    transport: (...given) => {
      const socket = new WebSocket(...given);
      socket.addEventListener("open", () => tell("c", name, socket.extensions.includes("permessage-deflate") ? 1 : 0));
      return socket;
    },
  });
  await client.connect();
  const entered = client.room(room);
  // A recalled message has no text in history.
  const show = (message) => tell(
    "s", name, message.seq ?? 0,
    message.recalled ? "recalled" : digest(`${message.seq}|${message.messageId}|${message.text ?? ""}`));
  entered.on("message", show);
  entered.on("unsupported", show);
  entered.on("filled", (messages) => messages.forEach(show));
  entered.on("gap", ({ ranges, cause }) => ranges.forEach(([from, to]) => tell("g", name, from, to, cause)));
  const { seq } = await entered.enter();
  tell("e", name, seq);
}

for (const reader of readers) if (reader.isSDK) await readBySDK(reader); else readRaw(reader);
