// The page at "/": one room, with chatroom.js. Everything that comes from people is put in as text, never as HTML.
import { ChatroomClient } from "/chatroom.js";

const find = (id) => document.getElementById(id);
let client = null;
let room = null;

function show(text, kind = "") {
  const line = document.createElement("p");
  line.textContent = text;
  line.className = kind;
  const log = find("log");
  const isAtEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 20;
  log.append(line);
  while (log.childElementCount > 500) log.firstElementChild.remove();
  if (isAtEnd) log.scrollTop = log.scrollHeight;
}

const name = (person) => person ? person.nick || person.user : "system";

function words(message) {
  const data = message.data ?? {};
  switch (message.type) {
    case "TEXT": case "TIP": return message.text;
    case "NOTIFICATION": {
      const people = (message.targets ?? []).map(name).join(", ");
      const verb = { 301: "entered", 302: "left", 305: "is muted", 306: "may speak again", 311: "The room was closed",
        312: "The room was changed", 313: "was put out", 317: `queue: ${data.change} ${data.key ?? ""}` }[message.event];
      return `${people} ${verb ?? `(${message.event})`}`;
    }
    default: return `(${message.type})`;
  }
}

function showMessage(message) {
  const isNote = message.type === "NOTIFICATION";
  const text = message.recalled ? "(recalled)" : words(message);
  show(isNote ? text : `${name(message.from)}: ${text}`, isNote ? "note" : "");
}

/** How it stands with the room. It is lost with its leader, or with the connection. */
function stateWords(state, error) {
  if (error) return `out of the room: ${error.message}`;
  switch (state) {
    case "entered": return "in the room";
    case "lost":
      return client.isOnline
        ? "the room's node is away: nothing new comes until another one takes over; no message is lost"
        : "the connection is lost: it is being made again";
    case "exited": return "outside";
    default: return `${state}…`;
  }
}

find("entry").addEventListener("submit", async (event) => {
  event.preventDefault();
  const { room: id, nick, token } = Object.fromEntries(new FormData(event.target));
  client?.close();
  client = new ChatroomClient(token ? { tokenProvider: () => token } : { anonymous: true });
  room = client.room(id);
  room.on("state", ({ state, error }) => { find("state").textContent = stateWords(state, error); });
  room.on("message", showMessage);
  room.on("unsupported", ({ type, event }) => show(`(${event ?? type}: this page is too old to show it)`, "note"));
  room.on("filled", (messages) => messages.forEach(showMessage));
  room.on("barrage", (items) => {
    for (const item of items) show(`${name(item.from)}: ${item.text}${item.count > 1 ? ` ×${item.count}` : ""}`, "barrage");
  });
  room.on("online", (online) => { find("online").textContent = `${online} online`; });
  room.on("gap", ({ ranges, cause }) => show(`not received (${cause}): ${ranges.map((range) => range.join("-"))}`, "note"));
  room.on("kicked", ({ reason }) => show(`You were put out (reason ${reason}).`, "note"));
  try {
    await client.connect();
    const avatar = token ? undefined : `${location.origin}/favicon.ico`;
    const entry = await room.enter({ nick, avatar, history: 20 });
    find("online").textContent = `${entry.room.online} online`;
  } catch (error) {
    show(error.message, "note");
    find("state").textContent = error.message;
  }
});

async function speak(how) {
  const input = find("speech").elements.text;
  const text = input.value;
  if (!text || !room) return;
  input.value = "";
  try { await how(text); } catch (error) { show(error.message, "note"); }
}

find("speech").addEventListener("submit", (event) => {
  event.preventDefault();
  speak((text) => room.send(text));
});
find("throw").addEventListener("click", () => speak((text) => room.barrage(text)));
