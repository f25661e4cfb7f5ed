// An app that uses everything of the SDK, and what its types must refuse. It is compiled and never run: see `check`.
import {
  ChatroomClient, ChatroomError, type AppMessage, type BarrageItem, type ClientOptions, type Draft, type HeldMessage, type Member,
  type Message, type PinnedMessage, type Poll, type QueueElement, type Room, type RoomEntry, type Transport,
} from "../../../Sources/Gateway/Web/chatroom.js";

/** Fails to compile when a case of a union is left out. */
function never(rest: never): never { throw new Error(`unexpected: ${JSON.stringify(rest)}`); }

const seen: Record<string, unknown> = {};
function show(key: string, value: unknown): void { seen[key] = value; }

// A transport: mini-programs have sockets of their own.
interface SocketTask {
  send(options: { data: string }): void;
  close(options: { code?: number }): void;
  onOpen(listener: () => void): void;
  onMessage(listener: (event: { data: string }) => void): void;
  onClose(listener: (event: { code: number; reason: string }) => void): void;
  onError(listener: (event: { errMsg: string }) => void): void;
}
declare const wx: { connectSocket(options: { url: string; protocols: string[] }): SocketTask };

function miniProgram(url: string, protocols: string[]): Transport {
  const task = wx.connectSocket({ url, protocols });
  const socket: Transport = {
    onopen: null, onmessage: null, onclose: null, onerror: null,
    send(data) { task.send({ data }); },
    close(code) { task.close(code === undefined ? {} : { code }); },
  };
  task.onOpen(() => socket.onopen?.());
  task.onMessage((event) => socket.onmessage?.(event));
  task.onClose((event) => socket.onclose?.(event));
  task.onError((event) => socket.onerror?.(event));
  return socket;
}

const options: ClientOptions = {
  gateways: ["wss://chat.example.com"], addressProvider: async () => ["wss://a.example.com"], tokenProvider: () => "token",
  anonymous: false, device: "mobile", retryCount: 3, reconnectRetryCount: -1, reconnectMinMs: 500, reconnectMaxMs: 30_000,
  gapWaitMs: 5_000, transport: miniProgram, randomBytes: (count) => new Uint8Array(count),
  log: (level, text) => show(level, text.length),
};
// The browser's own WebSocket is a transport, too.
const inBrowser: ClientOptions = { transport: (url, protocols) => new WebSocket(url, protocols) };

function text(message: Message): string {
  const place = message.seq === undefined ? `after ${message.after.toFixed()}` : `#${message.seq.toFixed()}`;
  const who = message.from?.nick ?? "the room";
  if (message.recalled) return `${place} ${who} took a message of type ${message.type} back`;
  switch (message.type) {
    case "TEXT": case "TIP": return message.text;
    case "COMMAND": return atob(message.payload);
    case "IMAGE": case "AUDIO": case "VIDEO": case "FILE":
      return `${message.media.url} ${message.media.size.toFixed()} ${message.media.width ?? 0}`;
    case "LOCATION": return `${message.title} ${message.latitude.toFixed(3)} ${message.longitude.toFixed(3)}`;
    case "CUSTOM": return `${message.subtype.toFixed()} ${message.content} ${message.searchable ?? ""}`;
    case "COMBINE": return `${message.title} ${message.summary} ${message.messageIds.length}`;
    case "NOTIFICATION": break;
    default: return never(message);
  }
  const targets = message.targets.map(({ nick }) => nick).join();
  switch (message.event) {
    case 301: return `${message.data.role} ${message.data.avatar} ${message.data.ext} ${message.data.online.toFixed()}`;
    case 302: return message.data.online.toFixed();
    case 303: case 304: case 305: case 306: case 307: case 308: case 309: case 310: case 311: case 313: case 315: case 318:
    case 319: return `${targets} by ${message.operator?.nick ?? "the system"} ${message.notifyExt ?? ""}`;
    case 312: return `${message.data.set.name ?? ""} ${message.data.set.slowModeSeconds ?? 0}`;
    case 314: return message.data.seconds.toFixed();
    case 316: return message.data.set.nick ?? "";
    case 317: return message.data.change === "DROP" ? "cleared" : `${message.data.key} ${message.data.version.toFixed()}`;
    case 320: return message.data.elements.map(({ key, held }) => `${key} ${held ?? false}`).join();
    case 323: return message.data.messageIds.join();
    case 360: return `${message.data.messageId} ${message.data.set.text ?? message.data.set.content} ${message.data.editedAt.toFixed()}`;
    case 361: return message.data.pinned.map(({ messageId, seq }) => `${messageId} ${seq.toFixed()}`).join();
    case 362: case 363: {
      const { poll, title, options, counts, closesAt, mayChange } = message.data;
      return `${poll} ${title} ${options.map((option, place) => `${option}: ${counts[place] ?? 0}`).join()} ${closesAt.toFixed()} ${mayChange}`;
    }
    case 350: return `${message.data.entered} ${message.data.members.map(({ user }) => user).join()}`;
    default: return never(message);
  }
}

function explain(error: unknown): string {
  if (!(error instanceof ChatroomError)) return String(error);
  switch (error.code) {
    case "refused": {
      const { code, name, message, retryAfterMs, field } = error.refusal!;
      if (code === 13004) return `muted for ${(retryAfterMs ?? 0) / 1000} s`;
      return `${name} ${message} ${field ?? ""}`;
    }
    case "notConnected": case "closed": case "notInRoom": case "kicked": case "connectionFailed": case "connectionLost":
    case "timedOut": case "outcomeUnknown": case "tooManyPending": case "tokenUnavailable": case "noAddress":
    case "noTransport": case "unauthorized": case "forcedOffline": case "takenOver": case "protocolViolation":
    case "cancelled":
      return error.message;
    default: return never(error.code);
  }
}

function listen(client: ChatroomClient, room: Room): void {
  client
    .on("state", ({ state, error }) => show(state, error?.code))
    .on("moving", ({ cause }) => show("moving", cause))
    .on("moved", () => show("moved", client.state))
    .on("broadcast", (message: AppMessage) => show(message.type, message.messageId))
    .on("devices", (devices) => show("devices", devices.map(({ device, connectedAt, self }) => `${device} ${connectedAt.toFixed()} ${self}`)))
    .on("direct", (message) => show("direct", message.type === "TEXT" ? message.text : ""))
    .on("tokenExpiring", (seconds) => show("seconds", seconds.toFixed()))
    .on("tokenExpired", () => show("token", "expired"))
    .on("forcedOffline", () => show("forced", true))
    .on("takenOver", () => show("taken", true))
    .on("unsupported", (object) => show("unsupported", Object.keys(object)));
  const onMessage = (message: Message) => show("text", text(message));
  room.on("message", onMessage).off("message", onMessage).on("message", onMessage)
    .on("state", ({ state, error }) => show(state, error && explain(error)))
    .on("entered", ({ recovery }) => show("recovery", recovery === "impossible"))
    .on("filled", (messages) => messages.map(text))
    .on("barrage", (items: BarrageItem[]) => show("barrage", items.map(({ text, count }) => `${text} ${count ?? 1}`)))
    .on("gap", ({ ranges, cause }) => show(cause, ranges.map(([from, to]) => to - from + 1)))
    .on("skipped", ({ barrage, unkept }) => show("skipped", barrage + unkept))
    .on("online", (online) => show("online", online.toFixed()))
    .on("tallies", (totals) => show("like", totals["like"]?.toFixed()))
    .on("held", (message: HeldMessage) => show("held", message.messageId))
    .on("denied", ({ heldId, clientId, reason }) => show("denied", [heldId, clientId, reason]))
    .on("kicked", ({ reason, ext }) => show("kicked", reason === 2 ? ext : ""))
    .on("unsupported", ({ seq, type, event }) => show(type, [seq, event]))
    .on("delivery", (delivery) => {
      switch (delivery.status) {
        case "sending": return show(delivery.clientId, "on its way");
        case "sent": return show(delivery.clientId, delivery.receipt.seq);
        case "failed": return show(delivery.clientId, delivery.error.code);
        case "unknown": return show(delivery.clientId, delivery.error?.message);
        default: return never(delivery);
      }
    });
}

async function app(): Promise<void> {
  const client = new ChatroomClient(options);
  new ChatroomClient(inBrowser).close();
  const room: Room = client.room("live-1");
  listen(client, room);
  await client.connect();
  const user: string | null = client.user;
  show("client", [user, client.features.includes("tally"), client.clockSkewMs, client.serverTime(), client.isOnline,
    client.isRunning, client.options.device, await client.ping(), await client.refresh("token")]);

  const entry: RoomEntry = await room.enter({ nick: "Ann", avatar: "", ext: "", notifyExt: "hi", withQueue: true, history: 50 });
  const queue: QueueElement[] = [...(entry.queue ?? [])];
  for (let after = entry.queueNext; after !== undefined;) {
    const page = await room.queue({ after, limit: 100 });
    queue.push(...page.elements);
    after = page.next;
  }
  const receipt = await room.send("hello");
  const drafts: Draft[] = [
    { type: "TEXT", text: "@bob", mentions: ["bob"], priority: "HIGH", mentionAll: false, ext: "", replyTo: receipt.messageId },
    { type: "TIP", text: "rules", history: false, webhook: false },
    { type: "COMMAND", payload: "AAA=", to: ["bob"] },
    { type: "IMAGE", media: { url: "https://x/p.png", name: "p.png", size: 1, contentType: "image/png", width: 1, height: 1 } },
    { type: "LOCATION", latitude: 1, longitude: 2, title: "here" },
    { type: "CUSTOM", content: "{}", subtype: 3, searchable: "gift" },
    { type: "COMBINE", title: "t", summary: "s", messageIds: [receipt.messageId] },
  ];
  for (const draft of drafts) show("delivered", (await room.send(draft, { clientId: "c" })).delivered);
  show("accepted", (await room.barrage("wow", { style: "red", priority: "LOW", ext: "" })).accepted);
  await room.recall(receipt.heldId ?? receipt.messageId);
  for (const { messageId } of (await room.held({ limit: 10 })).messages) show("allowed", (await room.allowHeld(messageId))?.seq);
  await room.denyHeld("h", "rude");
  const pinned: PinnedMessage[] = [...await room.pin(receipt.messageId), ...await room.pin(receipt.messageId, false)];
  show("pinned", [pinned, entry.room.pinned]);
  const amended: Message = await room.amend(receipt.messageId, { text: "hello", ext: "" });
  await room.report(receipt.messageId);
  await room.report(receipt.messageId, { reason: "spam" });
  show("amended", [amended.editedAt, (await room.message(receipt.messageId)).editedAt]);

  const { messages, more } = await room.history({ limit: 100, order: "ASC", afterSeq: 1, types: ["TEXT", "NOTIFICATION"] });
  for (const { replyTo } of messages) show("reply", [replyTo?.messageId, replyTo?.seq, replyTo?.user, replyTo?.nick, replyTo?.excerpt]);
  show("history", [messages.map(text), more, (await room.combined("m")).map(text)]);
  const found = await room.search("hel", { user: "bob", types: ["TEXT"], startTime: 1, endTime: 2, limit: 5, after: "9" });
  show("found", [found.messages.map(text), found.next]);
  const { room: info, seq } = await room.info();
  const { members, next } = await room.members("TEMPORARY", { limit: 10 });
  const some: Member[] = await room.membersById(["bob"]);
  show("members", [info.online, seq, members.concat(some).map(({ role }) => role), next]);

  await room.update({ name: "n", slowModeSeconds: 5, queueLevel: "OWNER", enterExitNotify: "NONE" }, { notify: false });
  await room.updateMe({ nick: "Annie" }, { save: true, notifyExt: "" });
  const changed: Member[] = [
    await room.setManager("bob", true, { notifyExt: "" }), await room.setMember("bob", true), await room.setMute("bob", false),
    await room.setBlacklist("eve", true, { recall: true }), await room.tempMute("eve", 60, { notify: true }),
  ];
  await room.kick("eve", { banSeconds: 60, clientId: "k" });
  await room.muteAll(true);
  const element = await room.queueSet("seat-1", "ann", { transient: true, ifVersion: 0 });
  await room.queueSet("seat-2", "v", { transient: true, owner: "bob", locked: true });
  await room.queueSet("seat-2", "w", { transient: true, keepOwner: true, locked: false });
  show("queue", [changed, element.locked, element.owner, await room.queueSetMany({ "seat-1": "v" }), (await room.queueTake()).value]);
  await room.queueTake("seat-1", { notifyExt: "" });
  room.tap();
  show("taps", [(await room.tally("like", 5, { clientId: "t" })).toFixed(), (await room.enter({ withTallies: true })).tallies?.[0]?.closed]);
  const opened: Poll = await room.openPoll("song", { title: "t", options: ["a", "b"], seconds: 60, mayChange: true });
  show("poll", [opened.closesAt.toFixed(), (await room.vote("song", 1)).counts, (await room.closePoll("song")).closed]);
  await room.queueClear();
  await room.exit();
  client.close();
}

/** Mistakes that must not compile. */
function mistakes(client: ChatroomClient, room: Room, message: Message): void {
  // @ts-expect-error: there is no such event
  room.on("mesage", () => {});
  // @ts-expect-error: `online` is a number
  room.on("online", (online: string) => online);
  // @ts-expect-error: a client has no messages of a room
  client.on("message", () => {});
  // @ts-expect-error: the client gives rooms
  new Room(client, "r");
  // @ts-expect-error: TEXT has no media
  void room.send({ type: "TEXT", media: { url: "u", name: "n", size: 1, contentType: "c" } });
  // @ts-expect-error: only the room sends notifications
  void room.send({ type: "NOTIFICATION", event: 301 });
  // @ts-expect-error: CUSTOM needs a subtype
  void room.send({ type: "CUSTOM", content: "c" });
  // @ts-expect-error: the text may be missing, until the type is known
  message.text.length;
  if (message.type === "TEXT") {
    // @ts-expect-error: it may be recalled
    message.text.length;
  }
  if (!message.recalled && message.type === "NOTIFICATION" && message.event === 314) {
    // @ts-expect-error: 314 has `seconds` only
    message.data.online;
  }
  if (message.seq === undefined) {
    // @ts-expect-error: an unkept message has no seq
    message.seq.toFixed();
  }
  // @ts-expect-error: an unknown kind of members
  void room.members("ALL");
  // @ts-expect-error: seconds are a number
  void room.tempMute("bob", "60");
  // @ts-expect-error: what the server API alone sets
  void room.update({ entry: "USERS" });
  // @ts-expect-error: `state` is read only
  client.state = "connected";
  // @ts-expect-error: a transport has to give an object that can send
  new ChatroomClient({ transport: () => ({ close() {} }) });
  // @ts-expect-error: no such option
  new ChatroomClient({ tokenprovider: () => "t" });
  // @ts-expect-error: a code that the SDK does not have
  new ChatroomError("broken", "no");
}

void app;
void mistakes;
