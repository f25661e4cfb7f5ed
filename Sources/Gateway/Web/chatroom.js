/**
 * The JavaScript SDK of the Chatroom Cluster: one ES module, nothing else needed. It runs in browsers and wherever there is
 * a WebSocket or the option `transport` gives one: Node, mini-programs. Its types are in `chatroom.d.ts`.
 *
 *     import { ChatroomClient } from "/chatroom.js";
 *     const client = new ChatroomClient({ tokenProvider: () => myServer.chatToken() });
 *     await client.connect();
 *     const room = client.room("live-1");
 *     room.on("message", (message) => show(message));
 *     await room.enter({ nick: "Ann" });
 *     await room.send("hello");
 *
 * It behaves as the Swift SDK does: it reconnects with jitter, resumes without holes or duplicates, repeats changes
 * whose answer was lost with the same clientId, and tells what was not received. It leaves a node that stops over a second
 * connection, which takes the place of the first without a word to the app (docs/PROTOCOL.md, "Moving"). Names, fields and
 * codes are those of docs/PROTOCOL.md.
 */

/** Why a call failed. `code` is for programs: refused, notConnected, closed, notInRoom, kicked, connectionFailed,
 * connectionLost, timedOut, outcomeUnknown, tooManyPending, tokenUnavailable, noAddress, noTransport, unauthorized,
 * forcedOffline, takenOver, protocolViolation. `refusal` is the server's error {code, name, message, retryAfterMs, field}, if it was
 * one. */
export class ChatroomError extends Error {
  constructor(code, message, refusal) {
    super(message);
    this.name = "ChatroomError";
    this.code = code;
    this.refusal = refusal;
  }

  static of(refusal) {
    return new ChatroomError("refused", `${refusal.code} ${refusal.name}: ${refusal.message}`, refusal);
  }
}

/** A list of listeners by event name. Adding the same function twice has no effect. */
class Emitter {
  #listeners = new Map();

  on(event, listener) {
    if (!this.#listeners.has(event)) this.#listeners.set(event, new Set());
    this.#listeners.get(event).add(listener);
    return this;
  }

  off(event, listener) {
    this.#listeners.get(event)?.delete(listener);
    return this;
  }

  emit(event, value) {
    for (const listener of [...(this.#listeners.get(event) ?? [])]) {
      // One listener's fault is not the next one's, nor the client's.
      try { listener(value); } catch (error) { console.error(error); }
    }
  }
}

/** A set of seqs as ascending, disjoint pairs [from, to]. */
class SeqRanges {
  list = [];

  insert(from, to) {
    const kept = [];
    for (const [low, high] of this.list) {
      if (low > to + 1 || high + 1 < from) kept.push([low, high]);
      else [from, to] = [Math.min(from, low), Math.max(to, high)];
    }
    kept.push([from, to]);
    this.list = kept.sort((a, b) => a[0] - b[0]);
  }

  /** Takes the seqs of the pair out; what of them was there. */
  remove(from, to) {
    const kept = [], removed = [];
    for (const [low, high] of this.list) {
      if (low > to || high < from) { kept.push([low, high]); continue; }
      removed.push([Math.max(low, from), Math.min(high, to)]);
      if (low < from) kept.push([low, from - 1]);
      if (high > to) kept.push([to + 1, high]);
    }
    this.list = kept;
    return removed;
  }
}

const HISTORY_PAGE = 100;
const HELD_PUSHES_MAX = 1024;
const UNEXPLAINED_MAX = 256;
const GAP_READS_MAX = 64;
const PENDING_MAX = 256;
/** A longer frame would end the connection (docs/PROTOCOL.md, "Frames"). */
const FRAME_BYTES_MAX = 1 << 20;
const LOSSES_MAX = 2;
/** The server remembers a clientId for 10 minutes; a little less is safe. */
const CHANGE_MS = 590_000;
const READ_MS = 30_000;
const PROVIDER_MS = 10_000;
const CONNECT_MS = 10_000;
const STEADY_MS = 10_000;
/** For so long `connect` waits for answers to requests that must not be repeated. */
const SETTLE_MS = 1_000;
/** A refusal for now is waited for by itself if it asks for no more than this. */
const REFUSAL_WAIT_MS = 5_000;
const WINDOW_MS_MAX = 600_000;
const REFUSED_TOKENS_MAX = 3;
const SPENT_TOKENS_MAX = 8;
/** Half of a pair, as a cut emoji leaves it, is no text that JSON can carry: the server could not even read the request's id. */
const wellFormed = (_, value) => typeof value === "string" ? value.replace(/\p{Surrogate}/gu, "\uFFFD") : value;

const READS = new Set(["ping", "message", "combined", "history", "room", "members", "membersById", "queue", "mediaToken", "held", "search"]);
/** Pushes that do not wait for what was missed. */
const AT_ONCE = new Set(["online", "tallies", "held", "denied"]);
const NOTICES_MAX = 256;
/** A token for media is renewed when it holds no longer than this. */
const MEDIA_RENEW_MS = 60_000;
/** Whether the cluster stores the content, so that its address needs a token: exactly the paths that nodes make. A browser
 * resolves dot segments, and a token must not come to another path. */
export const isStored = (url) => /^\/v1\/media\/(?!(\.|%2e){1,2}\/|[^/]*%(2f|5c))[\w.~%-]+\/[\da-f]{48}$/i.test(url);
/** Sendings of the same content to the same place. */
const PUTS_MAX = 3;
/** A sending without progress is given up after this; after less if the connection to its node is lost. */
const STALL_MS = 120_000;
const LOST_STALL_MS = 10_000;
/** Until a token ends, the provider is asked for the next one no sooner than this after the last time. */
const RENEW_MS = 2_000;
/** The types and events that this version knows; anything else is told as `unsupported`. */
const TYPES = new Set(["TEXT", "TIP", "COMMAND", "IMAGE", "AUDIO", "VIDEO", "FILE", "LOCATION", "CUSTOM", "COMBINE"]);
const EVENTS = new Set([
  301, 302, 303, 304, 305, 306, 307, 308, 309, 310, 311, 312, 313, 314, 315, 316, 317, 318, 319, 320, 323, 350,
  360, 361, 362, 363,
]);
const STOPS = { 4403: "forcedOffline", 4410: "takenOver" };
const MISTAKES = new Set([1002, 1003, 1007, 1008, 1009]);

/** The wall clock was set, or the machine slept, if it goes so much farther between two looks than the monotonic clock. */
const STEP_MS = 2_000;
/** Without a monotonic clock, one step of the wall clock counts as no more than this. */
const BLIND_MS = 10_000;

/**
 * Measures how much time passes. Phones set their wall clock just when the network changes, so no duration is a difference of
 * two of its times. A step back never counts. A step forward is a setting or a sleep: the monotonic clock of some platforms (Node
 * on Linux, older browsers) stops in a sleep, and then nothing here tells one from the other. Hence there are two readings:
 *
 * - `passed` believes in a sleep. The watch over a silent connection uses it, since its mistake costs one ping.
 * - `awake` does not count the step. Everything that gives up or waits uses it, since a set clock must not end a request. A sleep
 *   is told by the server's time, which every `connect` and `ping` answers.
 */
const clock = {
  awakeMs: 0,
  passedMs: 0,
  /** How many steps there were. */
  steps: 0,
  wall: Date.now(),
  ticks: globalThis.performance?.now(),
  look() {
    const wall = Date.now(), ticks = globalThis.performance?.now();
    const wallMs = wall - this.wall;
    const awakeMs = Math.max(0, ticks === undefined ? Math.min(wallMs, BLIND_MS) : ticks - this.ticks);
    const isStep = Math.abs(wallMs - awakeMs) > STEP_MS;
    if (isStep) this.steps += 1;
    this.awakeMs += awakeMs;
    this.passedMs += isStep ? Math.max(awakeMs, wallMs) : awakeMs;
    [this.wall, this.ticks] = [wall, ticks];
    return this;
  },
};
const awake = () => clock.look().awakeMs;
const passed = () => clock.look().passedMs;

/** Whether a message is of a later version of the protocol. */
function isUnknown({ type, event, recalled }) {
  if (recalled) return false;
  return type === "NOTIFICATION" ? !EVENTS.has(event) : !TYPES.has(type);
}

/** Where a client connects at an address. Mini-programs have no URL. */
function endpoint(address) {
  if (globalThis.URL) {
    const url = new URL(address);
    if (url.pathname === "/") url.pathname = "/v1/ws";
    return url.href;
  }
  const [, origin, query = ""] = /^(wss?:\/\/[^/?#]+)\/?(\?[^#]*)?$/i.exec(address) ?? [];
  return origin ? `${origin}/v1/ws${query}` : address;
}

/** An address in the one form in which addresses are compared: apps leave out the path with which servers name the same node. */
function comparable(address) {
  // The attempt to connect tells the fault.
  try { return endpoint(address); } catch { return address; }
}

/** Sends content to its place, which takes it once. After a sending that broke off, "sent already" is its lost answer.
 * `over` rejects when nobody wants it any more; `puts` has the PUTs under way. */
async function put(url, content, headers, onProgress, over, puts, connected) {
  for (let tries = 1, broke = false, wait = null; ; tries++) {
    await Promise.race([over, wait]);
    try { return await putOnce(url(), content, headers, onProgress, over, puts); } catch (error) {
      const { code, retryAfterMs = 0 } = error.refusal ?? {};
      if (broke && code === 409) return;
      broke ||= error.code === "connectionLost";
      if (tries === PUTS_MAX || !(error.code === "connectionLost" || code === 503 && retryAfterMs <= REFUSAL_WAIT_MS)) throw error;
      wait = new Promise((resolve) => { setTimeout(resolve, Math.max(retryAfterMs, 500 * tries)); }).then(connected);
    }
  }
}

/** One PUT; a browser's request tells how far it is. */
async function putOnce(url, content, headers, onProgress, over, puts) {
  const refused = (status, text) => {
    let refusal;
    try { refusal = JSON.parse(text).error; } catch { /* It is not the node's. */ }
    return refusal ? ChatroomError.of(refusal) : new ChatroomError("connectionFailed", `the upload was answered with ${status}`);
  };
  const lost = (words) => new ChatroomError("connectionLost", `the upload was broken off: ${words}`);
  const request = globalThis.XMLHttpRequest ? new XMLHttpRequest() : new AbortController();
  let timer, patience, heardAt = awake();
  const under = {
    url,
    hurry(milliseconds) {
      patience = milliseconds;
      clearTimeout(timer);
      timer = setTimeout(() => request.abort(), heardAt + patience - awake());
    },
  };
  over.catch(() => request.abort());
  puts.add(under);
  try {
    if (!globalThis.XMLHttpRequest) {
      let answer, text;
      try {
        answer = await fetch(url, { method: "PUT", body: content, headers, signal: request.signal });
        text = answer.ok ? "" : await answer.text();
      } catch (error) { throw lost(error.message); }
      if (!answer.ok) throw refused(answer.status, text);
      return;
    }
    await new Promise((resolve, reject) => {
      request.open("PUT", url);
      for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
      request.upload.onprogress = ({ loaded, total }) => {
        heardAt = awake();
        under.hurry(patience);
        onProgress?.(loaded, total);
      };
      request.onload = () => request.status === 200 ? resolve() : reject(refused(request.status, request.responseText));
      request.onerror = request.onabort = ({ type }) => reject(lost(type));
      under.hurry(STALL_MS);
      request.send(content);
    });
  } finally {
    clearTimeout(timer);
    puts.delete(under);
  }
}

function bytesOf(text) {
  let count = 0;
  for (const character of text) {
    const code = character.codePointAt(0);
    count += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return count;
}

/** Random bytes for clientIds, which have to be unique and need not be secret: so Math.random does where nothing better
 * is, as in mini-programs. */
function randomBytes(count) {
  const bytes = new Uint8Array(count);
  if (globalThis.crypto?.getRandomValues) return crypto.getRandomValues(bytes);
  return bytes.map(() => Math.random() * 256);
}

/** A room. Events: state (connecting, entering, entered, lost, failed, exited; with `error`), entered (with `recovery`:
 * fresh, complete, impossible), message, filled, barrage, gap {ranges, cause: SLOW, BUDGET, UNAVAILABLE}, skipped,
 * online, kicked, delivery {clientId, status: sending, sent, failed, unknown}, unsupported (a message of a later version,
 * in its place). Kept messages come in the order of seq, each once; `filled` brings what a SLOW gap had left out, to be
 * sorted in by seq. A gap is UNAVAILABLE when nobody brings it. */
export class Room extends Emitter {
  #client;
  #options = {};
  #waiters = [];
  #asking = false;
  // The connection was replaced since the last entry: entered for the app, and not yet on the new one.
  #moving = false;
  #refusals = 0;
  #retry = null;
  // The stream: below `#seq` everything came, is in one of the two sets, or was told.
  #epoch = null;
  #seq = 0;
  #unexplained = new SeqRanges();
  #slow = new SeqRanges();
  #reads = 0;
  #catchUpEnd = null;
  // Where the page of history begins that is being read while live pushes wait: one at a time.
  #readingFrom = null;
  #held = [];
  #notices = new Set();
  #timers = new Set();
  #media = null;
  #renewing = null;
  /** For the client: how often in a row the server did not know of this stay when it read for itself. */
  _losses = 0;

  constructor(client, id) {
    super();
    this.#client = client;
    this.id = id;
    this.state = "exited";
  }

  /** Whether the app wants to be in it. */
  get isWanted() { return !["exited", "failed"].includes(this.state); }
  /** For the client: whether requests may be sent, and pushes count. */
  get _takesRequests() { return this.state === "entered" && !this.#moving; }

  // Entering and leaving

  /** Enters, and stays over lost connections until exit, a kick or a failure. Options: nick, avatar, ext, notifyExt,
   * withQueue, withTallies, history (so many of the newest messages, at most 100, come as `message` in front of the live ones, and
   * again where what was missed can't be told). Resolves with the answer {room, me, epoch, seq, recovery, [queue, queueNext, tallies]}. */
  enter(options = {}) {
    if (!this.#client.isRunning) return Promise.reject(new ChatroomError("notConnected", "the client is not connected"));
    if (!this.isWanted) {
      this.#forget();
      // There is one stay in a room; another object that had it has it no more.
      const other = this.#client._rooms.get(this.id);
      other?._end("exited", new ChatroomError("notInRoom", `${this.id} was entered through another object`));
      this.#client._rooms.set(this.id, this);
      this._move("connecting");
    }
    this.#options = options;
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      this._ask();
    });
  }

  async exit() {
    if (!this.isWanted) throw new ChatroomError("notInRoom", `the user is not in ${this.id}`);
    this._end("exited", new ChatroomError("notInRoom", `the app left ${this.id}`));
    await this.#client._exit(this.id);
  }

  // Speaking

  /** Sends a text, or a message {type, text, …}. Resolves when it is on disk on a majority of the room's replicas; with {heldId} it
   * waits for a manager: it comes as a message with this `clientId`, or else as `denied`. */
  send(message, { clientId = this.#client._freshId() } = {}) {
    const draft = typeof message === "string" ? { type: "TEXT", text: message } : message;
    return this.#ask("send", { ...draft, clientId });
  }

  barrage(text, options = {}) { return this.#ask("barrage", { text, ...options }); }
  /** Counts as so many taps, 1 to 100. Resolves with the total when it is on disk; repeated only with a `clientId`. */
  async tally(key = "like", delta = 1, options = {}) { return (await this.#ask("tally", { key, delta, ...options })).total; }
  /** Opens a poll {title, options, seconds, mayChange}; for managers. */
  async openPoll(poll, draft) { return (await this.#change("poll", { poll, ...draft })).poll; }
  async closePoll(poll) { return (await this.#change("poll", { poll, close: true })).poll; }
  async vote(poll, option) { return (await this.#change("vote", { poll, option })).poll; }
  /** The same as `tally` without an answer: sent now or not at all. */
  tap(key = "like", delta = 1) { if (this._takesRequests) this.#client._say({ tally: { room: this.id, key, delta } }); }
  /** Takes a message back; with a `heldId` it withdraws one that waits for a manager. */
  recall(messageId) { return this.#change("recall", { messageId }); }
  /** For managers: a page {messages, [next]} of the messages that wait, the oldest first. Options: after, limit. */
  held(options = {}) { return this.#ask("held", options); }
  /** For managers: a page {messages, [next]} of the messages that have a text, the newest first; two a second. Options: user, types,
   * startTime, endTime, limit, after. A page with few or none may have a `next`. */
  search(text, options = {}) { return this.#ask("search", { text, ...options }); }
  /** Lets a held message through. Resolves with the message that it is then; 409 when somebody else was faster. */
  async allowHeld(heldId) { return (await this.#change("held", { heldId, allow: true })).message; }
  /** Denies a held message. Its sender is told the reason. */
  async denyHeld(heldId, reason) { await this.#change("held", { heldId, deny: true, ...reason && { reason } }); }
  /** Pins a kept message, or takes its pin away. Resolves with all that are pinned then: [{messageId, seq}]. */
  async pin(messageId, enable = true) { return (await this.#change("pin", { messageId, enable })).pinned; }

  /** Changes an own kept message: {text} of TEXT and TIP, {content} of CUSTOM, {ext} of any. Resolves with the message as it is then. */
  async amend(messageId, set) { return (await this.#change("amend", { messageId, set })).message; }

  /** Tells the room's moderators of a kept message, once and for each message; one report in 10 s. */
  report(messageId, { reason } = {}) { return this.#change("report", { messageId, reason }); }

  // Media

  /** Sends content (a Blob, a File or bytes) that messages of this room can name. Options: kind (IMAGE, AUDIO, VIDEO, FILE,
   * AVATAR; FILE without), name, contentType, sha256, onProgress(sent, all), signal (of an AbortController). Resolves with the
   * mediaId; content that no message names in an hour goes. After 10 minutes and a second
   * for each 4 KB it is given up: `timedOut`. */
  async upload(content, options = {}) {
    const { kind = "FILE", name = content.name ?? "", sha256, onProgress, signal } = options;
    const contentType = options.contentType || content.type || "application/octet-stream";
    const size = content.size ?? content.byteLength;
    const place = await this.#change("upload", { kind, name, contentType, size, ...sha256 && { sha256 } });
    // A store elsewhere has its own origin; else it is where the client is when it tries.
    const url = () => /^https?:/.test(place.url) ? place.url : this.#client._origin() + place.url;
    const connected = () => {
      if (!place.url.startsWith("/")) return;
      if (!this.#client.isRunning) throw new ChatroomError("notConnected", "the client stopped before the upload had arrived");
      return this.#client.connect();
    };
    let giveUp;
    const over = new Promise((_, reject) => { giveUp = (code, words) => reject(new ChatroomError(code, words)); });
    const cancel = () => giveUp("cancelled", "the upload was cancelled");
    // Nodes don't take it slower than at 4 KB a second.
    const timer = setTimeout(giveUp, CHANGE_MS + size / 4, "timedOut", "the upload did not end in time");
    if (signal?.aborted) cancel();
    signal?.addEventListener("abort", cancel);
    try {
      await Promise.race([over, put(url, content, place.headers ?? {}, onProgress, over, this.#client._puts, connected)]);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancel);
    }
    onProgress?.(size, size);
    return place.mediaId;
  }

  /** Sends content, and then a message that shows it; `type` is IMAGE, AUDIO, VIDEO or FILE. Further fields of the message's
   * `media` (width, height, durationSeconds, thumbnail: {id}) are in `media`. Resolves as `send` does. */
  async sendMedia(content, { type = "FILE", media = {}, message = {}, clientId = message.clientId, ...options } = {}) {
    const id = await this.upload(content, { ...options, kind: type });
    const { clientId: _, ...fields } = message;
    return this.send({ ...fields, type, media: { ...media, id } }, { clientId });
  }

  /** The address at which this client can read content now: of a message's `media.url` or `media.thumbnail`. It holds for some
   * minutes. Content of elsewhere is where its URL says. */
  async mediaUrl(url) {
    if (!isStored(url)) return url;
    if (!this.#media || this.#media.expiresAt - this.#client.serverTime() < MEDIA_RENEW_MS) {
      this.#renewing ??= this.#ask("mediaToken", {}).finally(() => { this.#renewing = null; });
      this.#media = await this.#renewing;
    }
    return `${this.#client._origin()}${url}?token=${this.#media.token}`;
  }

  // Reading

  async message(messageId) { return (await this.#ask("message", { messageId })).message; }
  async combined(messageId) { return (await this.#ask("combined", { messageId })).messages; }
  history(query = {}) { return this.#ask("history", query); }
  info() { return this.#ask("room", {}); }
  members(kind, options = {}) { return this.#ask("members", { kind, ...options }); }
  async membersById(users) { return (await this.#ask("membersById", { users })).members; }

  // Changing

  async update(set, options = {}) { return (await this.#change("updateRoom", { set, ...options })).room; }
  async updateMe(set, options = {}) { return (await this.#change("updateMe", { set, ...options })).member; }
  setManager(user, enable, options = {}) { return this.#member("setManager", { user, enable, ...options }); }
  setMember(user, enable, options = {}) { return this.#member("setMember", { user, enable, ...options }); }
  setMute(user, enable, options = {}) { return this.#member("setMute", { user, enable, ...options }); }
  setBlacklist(user, enable, options = {}) { return this.#member("setBlacklist", { user, enable, ...options }); }
  tempMute(user, seconds, options = {}) { return this.#member("tempMute", { user, seconds, ...options }); }
  kick(user, options = {}) { return this.#change("kick", { user, ...options }); }
  muteAll(enable, options = {}) { return this.#change("muteRoom", { enable, ...options }); }

  // The queue

  queue(options = {}) { return this.#ask("queue", options); }
  async queueSet(key, value, options = {}) {
    return (await this.#change("queueSet", { key, value, ...options })).element;
  }
  async queueSetMany(values, options = {}) {
    return (await this.#change("queueSetMany", { values, ...options })).missing;
  }
  async queueTake(key, options = {}) {
    return (await this.#change("queueTake", key === undefined ? options : { key, ...options })).element;
  }
  queueClear(options = {}) { return this.#change("queueClear", options); }

  #ask(operation, fields) { return this.#client._perform(operation, { room: this.id, ...fields }, this); }
  #change(operation, fields) { return this.#ask(operation, { clientId: this.#client._freshId(), ...fields }); }
  async #member(operation, fields) { return (await this.#change(operation, fields)).member; }

  // For the client

  _move(state, error) {
    if (state === this.state) return;
    this.state = state;
    this.emit("state", { state, error });
  }

  /** Sends `enter` if there is a connection and none is on it. */
  _ask() {
    this.#client._cancel(this.#retry);
    if (!this.#client.isOnline || this.#asking || !this.isWanted) return;
    if (this.state !== "entered") this._move("entering");
    const { notifyExt, ...options } = this.#options;
    const fields = { room: this.id, ...options };
    if (this.#epoch === null) { if (notifyExt !== undefined) fields.notifyExt = notifyExt; }
    else Object.assign(fields, { since: this.#seq, epoch: this.#epoch });
    this.#asking = true;
    this.#client._internal("enter", fields, (error, result) => {
      if (!this.isWanted) return;
      this.#asking = false;
      if (error) this.#refused(error); else this.#entered(result, fields.since !== undefined);
    });
  }

  #entered(result, resumes) {
    const comesBack = !this._takesRequests;
    this.#moving = false;
    this.#refusals = 0;
    const recovered = resumes && result.recovered === true && result.epoch === this.#epoch;
    const recovery = recovered ? "complete" : resumes ? "impossible" : "fresh";
    const { missed = [], missedMore, recovered: _, media = null, ...entry } = result;
    this.#media = media;
    if (!recovered) {
      this.#forget();
      // Without `since`, `missed` has the newest messages that `history` asks for: live ones follow them.
      [this.#epoch, this.#seq] = [result.epoch, missed.length > 0 ? missed[0].seq - 1 : result.seq];
    }
    entry.recovery = recovery;
    this._move("entered");
    this.emit("entered", entry);
    for (const message of missed) this.#kept(message);
    if (recovered && this.#seq < result.seq && missedMore) {
      this.#catchUpEnd = Math.max(this.#catchUpEnd ?? 0, result.seq);
      if (this.#readingFrom === null) this.#catchUp();
    } else if (this.#catchUpEnd === null) {
      this.#giveUp(result.seq);
    }
    if (comesBack) {
      this.#reads = 0;
      for (const [from, to] of this.#slow.list) this.#fetchLater(from, to);
    }
    for (const waiter of this.#waiters.splice(0)) waiter.resolve(entry);
    this.#client._transmit();
  }

  #refused(refusal) {
    // The room is away after all.
    if (this.#moving) this._interrupt();
    const mayPass = [416, 500, 503].includes(refusal.code);
    const { retryCount } = this.#client.options;
    // A rate is no failure: who enters many rooms at once comes into each.
    const isRate = refusal.code === 416 && waitingTime(refusal, this.#refusals + 1) <= REFUSAL_WAIT_MS;
    if (!isRate) this.#refusals += 1;
    if (mayPass && (this.#epoch !== null || retryCount < 0 || this.#refusals <= retryCount)) {
      this.#retry = this.#client._later(() => this._ask(), waitingTime(refusal, this.#refusals));
      return;
    }
    const error = ChatroomError.of(refusal);
    if (this.state !== "entered") return this._end("failed", error);
    for (const waiter of this.#waiters.splice(0)) waiter.reject(error);
  }

  _end(state, error) {
    if (!this.isWanted) return;
    this.#client._abandonRoom(this, error);
    this.#forget();
    this.#client._rooms.delete(this.id);
    this._move(state, error);
    for (const waiter of this.#waiters.splice(0)) waiter.reject(error);
  }

  /** The connection is gone. */
  _interrupt() {
    this.#leaveOff();
    this._move(this.#epoch === null ? "connecting" : "lost");
  }

  /** Another connection has taken the place of the one in use. */
  _carryOver() {
    this.#leaveOff();
    this.#moving = this.state === "entered";
  }

  #leaveOff() {
    [this.#asking, this.#moving] = [false, false];
    this.#cancelTimers();
    this.#loseHeld();
    [this.#catchUpEnd, this.#readingFrom] = [null, null];
    const ranges = this.#unexplained.list;
    this.#unexplained = new SeqRanges();
    // A SLOW gap is told before the messages behind it, so these are BUDGET's.
    if (ranges.length > 0) this.emit("gap", { ranges, cause: "BUDGET" });
  }

  /** The server does not know of this stay. */
  _lose() {
    this.#client._log("warning", `the server does not know that this client is in ${this.id}: it enters again`);
    this._interrupt();
    this._ask();
  }

  #cancelTimers() {
    for (const timer of [this.#retry, ...this.#timers]) this.#client._cancel(timer);
    this.#timers.clear();
  }

  #forget() {
    this.#cancelTimers();
    [this.#epoch, this.#seq, this.#reads, this.#catchUpEnd, this.#readingFrom, this.#held] = [null, 0, 0, null, null, []];
    [this.#unexplained, this.#slow] = [new SeqRanges(), new SeqRanges()];
    [this.#asking, this.#moving] = [false, false];
  }

  // The stream

  /** Takes a push of this room. */
  _push(key, value) {
    if (key === "kicked") {
      this.emit("kicked", { reason: value.reason, ext: value.ext });
      return this._end("failed", new ChatroomError("kicked", `put out of ${this.id} with reason ${value.reason}`));
    }
    if (this.state !== "entered" && this.state !== "lost") return;
    if (key === "state") return this.#ownerIs(value);
    if (this.#moving) return;
    if (AT_ONCE.has(key) || this.#catchUpEnd === null) return this.#live(key, value);
    this.#held.push([key, value]);
    if (this.#held.length > HELD_PUSHES_MAX) this.#shorten();
  }

  #ownerIs({ state, error }) {
    if (state === "LOST") this._move("lost");
    if (state === "ENTERED") { this._move("entered"); this.#client._transmit(); }
    if (state === "FAILED") {
      const reason = error ? ChatroomError.of(error) : new ChatroomError("notInRoom", `${this.id} does not come back`);
      this._end("failed", reason);
    }
  }

  #live(key, value) {
    if (key === "message") return value.seq === undefined ? this.#show(value) : this.#kept(value);
    if (key === "barrage") return this.emit("barrage", value.items);
    if (key === "gap") return this.#gap(value);
    if (key === "skipped") return this.emit("skipped", { barrage: value.barrage ?? 0, unkept: value.unkept ?? 0 });
    if (key === "online") return this.emit("online", value.online);
    if (key === "tallies") return this.emit("tallies", value.totals);
    // The next leader tells again what the former one may not have told.
    const notice = `${key} ${value.heldId ?? value.message?.messageId}`;
    if (this.#notices.has(notice)) return;
    this.#notices.add(notice);
    if (this.#notices.size > NOTICES_MAX) this.#notices.delete(this.#notices.values().next().value);
    this.emit(key, key === "held" ? value.message : { heldId: value.heldId, clientId: value.clientId, reason: value.reason });
  }

  #kept(message) {
    const { seq } = message;
    if (seq <= this.#seq) {
      const wasMissing = this.#unexplained.remove(seq, seq).length + this.#slow.remove(seq, seq).length > 0;
      if (wasMissing) this.#fill([message]);
      return;
    }
    if (seq > this.#seq + 1) {
      this.#unexplained.insert(this.#seq + 1, seq - 1);
      if (this.#unexplained.list.length > UNEXPLAINED_MAX) {
        this.emit("gap", { ranges: [this.#unexplained.list.shift()], cause: "BUDGET" });
      }
    }
    this.#seq = seq;
    this.#show(message);
  }

  #show(message) { this.emit(isUnknown(message) ? "unsupported" : "message", message); }

  /** The missing messages have come. */
  #fill(messages) {
    const known = messages.filter((message) => !isUnknown(message));
    if (known.length > 0) this.emit("filled", known);
    for (const message of messages) if (isUnknown(message)) this.emit("unsupported", message);
  }

  #gap({ ranges, cause }) {
    const missing = new SeqRanges();
    for (const [from, to] of ranges) {
      if (from > to) continue;
      for (const [low, high] of this.#unexplained.remove(from, to)) missing.insert(low, high);
      if (to <= this.#seq) continue;
      const first = Math.max(from, this.#seq + 1);
      if (first > this.#seq + 1) this.#unexplained.insert(this.#seq + 1, first - 1);
      missing.insert(first, to);
      this.#seq = to;
    }
    if (missing.list.length === 0) return;
    this.emit("gap", { ranges: missing.list, cause });
    if (cause !== "SLOW") return;
    const reads = missing.list.slice(0, Math.max(0, GAP_READS_MAX - this.#reads));
    for (const [from, to] of reads) {
      this.#slow.insert(from, to);
      this.#fetchLater(from, to);
    }
    const rest = missing.list.slice(reads.length);
    if (rest.length > 0) this.emit("gap", { ranges: rest, cause: "UNAVAILABLE" });
  }

  /** SLOW gaps are read after a random 0 to 5 s, so that not all viewers come at once. */
  #fetchLater(from, to) {
    this.#reads += 1;
    const timer = this.#client._later(() => {
      this.#timers.delete(timer);
      this.#fetch(from, to);
    }, Math.random() * this.#client.options.gapWaitMs);
    this.#timers.add(timer);
  }

  #read(from, to, then) {
    const limit = Math.min(to - from + 1, HISTORY_PAGE);
    const done = (error, page) => {
      if (!error) this._losses = 0;
      then(error, page);
    };
    this.#client._internal("history", { room: this.id, order: "ASC", afterSeq: from - 1, limit }, done, { stay: this });
  }

  #fetch(from, to) {
    this.#read(from, to, (error, page) => {
      const messages = (page?.messages ?? []).filter((message) => {
        return message.seq >= from && message.seq <= to && this.#slow.remove(message.seq, message.seq).length > 0;
      });
      this.#fill(messages);
      const last = lastSeq(page);
      const goesOn = !error && page.more && last >= from && last < to;
      const gone = this.#slow.remove(from, goesOn ? last : to);
      if (gone.length > 0) this.emit("gap", { ranges: gone, cause: "UNAVAILABLE" });
      if (goesOn) this.#fetch(last + 1, to); else this.#reads -= 1;
    });
  }

  /** Reads what was missed, while live pushes wait. */
  #catchUp() {
    const from = this.#seq + 1;
    this.#readingFrom = from;
    this.#read(from, this.#catchUpEnd, (error, page) => {
      if (this.#catchUpEnd === null || this.#readingFrom !== from) return;
      this.#readingFrom = null;
      for (const message of page?.messages ?? []) if (message.seq <= this.#catchUpEnd) this.#kept(message);
      const last = lastSeq(page);
      if (!error && page.more && last >= from && this.#seq < this.#catchUpEnd) return this.#catchUp();
      this.#giveUp(this.#catchUpEnd);
      this.#catchUpEnd = null;
      for (const [key, value] of this.#held.splice(0)) this.#live(key, value);
    });
  }

  /** Tells what is not there up to `end`, and is not going to come. */
  #giveUp(end) {
    const missing = new SeqRanges();
    for (const [low, high] of this.#unexplained.remove(0, end)) missing.insert(low, high);
    if (this.#seq < end) missing.insert(this.#seq + 1, end);
    this.#seq = Math.max(this.#seq, end);
    if (missing.list.length > 0) this.emit("gap", { ranges: missing.list, cause: "UNAVAILABLE" });
  }

  /** Too much waits: what history has too is left to it, the rest is counted. */
  #shorten() {
    for (const [key, value] of this.#held) {
      if (key === "message" && value.seq > this.#catchUpEnd) this.#catchUpEnd = value.seq;
      if (key === "gap") for (const [, to] of value.ranges) this.#catchUpEnd = Math.max(this.#catchUpEnd, to);
    }
    this.#loseHeld();
  }

  #loseHeld() {
    const skipped = { barrage: 0, unkept: 0 };
    for (const [key, value] of this.#held.splice(0)) {
      if (key === "message" && value.seq === undefined) skipped.unkept += 1;
      if (key === "barrage") skipped.barrage += value.items.length;
      if (key === "skipped") {
        skipped.barrage += value.barrage ?? 0;
        skipped.unkept += value.unkept ?? 0;
      }
    }
    if (skipped.barrage + skipped.unkept > 0) this.emit("skipped", skipped);
  }
}

/** The seq of the last message of a page; 0 if there is none. */
function lastSeq(page) { return page?.messages[page.messages.length - 1]?.seq ?? 0; }

/** The time that the server asked for, else doubling from half a second. */
function waitingTime(refusal, refusals) {
  if (refusal.retryAfterMs !== undefined) return Math.min(Math.max(refusal.retryAfterMs, 10), WINDOW_MS_MAX);
  return Math.min(500 * 2 ** Math.min(refusals, 6), 30_000);
}

/** Whether a request must not be repeated when its connection ends before the answer. */
function isSpentByLoss({ internal, repeating }) { return !internal && repeating === "never"; }

/** Gives up on a promise after a while; resolves with undefined then, and when it fails. */
function within(milliseconds, work, failed) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    const fail = (error) => { resolve(); failed?.(error); };
    Promise.resolve().then(work).then(resolve, fail).finally(() => clearTimeout(timer));
  });
}

/** A client: one session, any number of rooms. Events: state (connecting, connected, lost, failed, closed; with
 * `error`), moving {cause} when the node has asked to leave it, and moved when another one has taken its place (`state`
 * stays connected; if it changes, the move has become a lost connection, and no `moved` comes), broadcast, direct,
 * tokenExpiring, tokenExpired, forcedOffline, takenOver, unsupported. */
export class ChatroomClient extends Emitter {
  /** Options: gateways (URLs; the page's own host if there are none), addressProvider (asked at each connect, 10 s),
   * tokenProvider (asked at each login, 10 s), anonymous, device, retryCount (3; 0 none, -1 endless), reconnectRetryCount
   * (-1), reconnectMinMs, reconnectMaxMs, gapWaitMs, log (level, text), transport (url, protocols) that gives an object
   * with what is used of a WebSocket: send, close, onopen, onmessage, onclose, onerror, and readyState if it has one;
   * randomBytes (count), where there is no `crypto`. */
  constructor(options = {}) {
    super();
    const host = globalThis.location?.host;
    const own = host ? [`${location.protocol === "https:" ? "wss" : "ws"}://${host}/v1/ws`] : [];
    this.options = {
      gateways: own, device: "web", retryCount: 3, reconnectRetryCount: -1, reconnectMinMs: 500, reconnectMaxMs: 30_000,
      gapWaitMs: 5_000, log: () => {}, randomBytes,
      // Many apps pass what may be undefined on.
      ...Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)),
    };
    this.state = "idle";
    this.user = null;
    /** The names of what the cluster serves beyond level 1 (docs/PROTOCOL.md, "Versions"). Use nothing that has a name
     * there and is not listed here. */
    this.features = [];
    /** How far the server's clock was ahead when it last answered `connect` or `ping`; late by as long as that was on its way. */
    this.clockSkewMs = 0;
    this._rooms = new Map();
    /** The PUTs of rooms that are under way. */
    this._puts = new Set();
  }

  // The connection in use, and the one that is being made. There are two only while the client moves.
  #socket = null;
  #trial = null;
  #usedAddress = null;
  #triedAddress = null;
  // The address at which nothing was heard any more, until there is a connection again.
  #silent = null;
  #onlineSince = 0;
  #attempt = 0;
  // Whether the node has asked to leave; whether the attempt under way is at a connection that replaces the one in use;
  // whether it rests until the next try.
  #leaving = false;
  #moving = false;
  #resting = false;
  // Whether `moving` was told and nothing since.
  #isMoveTold = false;
  // Those of a transport without `readyState` that are open.
  #opened = new WeakSet();
  // Sends `connect`, while that waits for answers. And where a successor has sent it last: if the connection in use ends
  // with 4410 then, the client itself has replaced it.
  #authenticate = null;
  #offered = null;
  #tries = 0;
  #failures = 0;
  #addressIndex = 0;
  // Whether the attempt under way has reached a node; and how many addresses have been passed by since the last rest.
  #hasOpened = false;
  #skipped = 0;
  #refusedTokens = 0;
  // The token of the connection in use, that of the latest attempt, and the one of which `tokenExpiring` was told.
  #token = null;
  #triedToken = null;
  #toldToken = null;
  // The latest tokens that have ended, or were refused as the next one.
  #spent = [];
  // When the provider was asked last, and the timer of its next question.
  #askedAt = 0;
  #renewal = null;
  #wasConnected = false;
  #window = null;
  #found = [];
  #named = [];
  #known = [];
  #session = null;
  #waiters = [];
  #owedExits = new Set();
  #pending = new Map();
  // Queues of calls that were refused for their rate, and whose turn it is: one at a time is asked.
  #turns = new Map();
  #onWire = new Map();
  #nextSerial = 1;
  #nextId = 1;
  #heartbeatMs = 15_000;
  // When something was heard, in time that passed; when a ping was sent that is unanswered, in time awake.
  #lastHeard = 0;
  #pingedAt = null;
  // The latest time that the server has named, and when: in time awake, and after how many steps of the wall clock.
  #served = null;
  #timers = new Set();
  #watch = null;
  #patience = null;

  get isOnline() { return this.#socket !== null; }
  get isRunning() { return ["connecting", "connected", "lost"].includes(this.state); }

  /** Connects, and stays connected until `close`. Resolves when the first connection is up. */
  connect() {
    if (this.isOnline) return Promise.resolve();
    if (!this.options.transport && !globalThis.WebSocket) {
      const words = "there is no WebSocket here: the option `transport` has to give one";
      return Promise.reject(new ChatroomError("noTransport", words));
    }
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      if (this.isRunning) return;
      [this.#wasConnected, this.#tries, this.#failures, this.#refusedTokens, this.#window] = [false, 0, 0, 0, null];
      this.#spent = [];
      this.#move("connecting");
      this.#attemptConnection();
    });
  }

  /** Leaves all rooms and closes. */
  close() {
    for (const id of this._rooms.keys()) this._say({ id: this.#takeId(), exit: { room: id } });
    this.#stop("closed", new ChatroomError("closed", "the client was closed"), "exited");
  }

  /** A room; the same object for the same ID while it is wanted. */
  room(id) { return this._rooms.get(id) ?? new Room(this, id); }

  /** The server's time now, in Unix milliseconds, as far as `clockSkewMs` tells it. */
  serverTime() { return Date.now() + this.clockSkewMs; }

  async ping() { return (await this._perform("ping", {})).time; }
  async refresh(token) { return (await this._perform("refresh", { token })).expiresAt; }

  /** For rooms: where the node that this client is connected to speaks HTTP. */
  _origin() { return /^ws(s?:\/\/[^/?#]+)/i.exec(this.#usedAddress ?? "")?.[1].replace(/^/, "http") ?? ""; }

  /** For rooms: 16 random bytes in hexadecimal. */
  _freshId() {
    return Array.from(this.options.randomBytes(16), (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  // Connecting

  #move(state, error) {
    if (state === this.state) return;
    this.state = state;
    this.#isMoveTold = false;
    this.emit("state", { state, error });
  }

  #mayTry() {
    const count = this.#wasConnected ? this.options.reconnectRetryCount : this.options.retryCount;
    return count < 0 || this.#tries < (this.#wasConnected ? count : count + 1);
  }

  /** Where a `reconnect` push has sent the client, then what the provider has just given; only when it gave nothing those
      that were known before: they may be out of date. */
  #addresses(given) {
    const current = given ?? [...this.#found, ...this.#known, ...this.options.gateways];
    const all = [...new Set([...this.#named, ...current].map(comparable))];
    // The node that is to be left or was silent comes last: it may be the only one, or hidden behind an address of all.
    const last = this.#moving ? this.#usedAddress : this.#silent;
    return last ? all.sort((a, b) => (a === last) - (b === last)) : all;
  }

  async #attemptConnection() {
    const attempt = (this.#attempt += 1);
    this.#resting = false;
    // No connection is lost while there is one to be replaced.
    if (!this.#moving) this.#tries += 1;
    const { addressProvider, tokenProvider, anonymous } = this.options;
    let given;
    if (addressProvider) {
      const urls = await within(PROVIDER_MS, addressProvider);
      if (attempt !== this.#attempt) return;
      if (Array.isArray(urls) && urls.length > 0) given = this.#found = urls.slice(0, 64);
    }
    const addresses = this.#addresses(given);
    if (addresses.length === 0) return this.#failed(new ChatroomError("noAddress", "no address of a gateway is known"));
    let token;
    if (!anonymous) {
      let words = "gave no token";
      this.#askedAt = awake();
      token = await within(PROVIDER_MS, tokenProvider ?? (() => undefined), (error) => { words = `failed: ${error?.message ?? error}`; });
      if (attempt !== this.#attempt) return;
      if (!token) return this.#failed(new ChatroomError("tokenUnavailable", `the token provider ${words}`));
      // The server might take it for a moment more, and end the session again and again.
      if (this.#spent.includes(token)) return this.#noToken("the token provider gave a token that has ended again");
    }
    this.#triedToken = token;
    this.#open(addresses[this.#addressIndex % addresses.length], token);
  }

  #open(address, token) {
    this._log("info", `connecting to ${address}`);
    let socket;
    try {
      const { transport = (...given) => new WebSocket(...given) } = this.options;
      socket = transport(endpoint(address), ["chatroom.v1.json"]);
    } catch (error) {
      return this.#failed(new ChatroomError("noAddress", String(error)));
    }
    [this.#trial, this.#triedAddress, this.#hasOpened] = [socket, address, false];
    const isWanted = () => socket === this.#socket || socket === this.#trial;
    this.#patience = this._later(() => this.#drop(socket, "the server did not answer in time"), CONNECT_MS);
    socket.onopen = () => {
      if (!isWanted()) return socket.close();
      this.#opened.add(socket);
      this.#authenticate = () => {
        this.#authenticate = null;
        this.#offered = this.#moving ? socket : null;
        const fields = { device: this.options.device, prime: true };
        if (this.#session) fields.session = this.#session;
        if (this.options.anonymous) fields.anonymous = true; else fields.token = token;
        this._internal("connect", fields, (error, result) => {
          this._cancel(this.#patience);
          if (error) this.#connectRefused(error); else this.#connected(result);
        }, { isConnect: true });
      };
      // It ends the connection in use, which still owes answers.
      if (this.#moving && this.#isOwed()) this._later(() => socket === this.#trial && this.#authenticate?.(), SETTLE_MS);
      else this.#authenticate();
    };
    socket.onmessage = ({ data }) => { if (isWanted()) this.#received(socket, data); };
    socket.onclose = ({ code, reason }) => { if (isWanted()) this.#closed(socket, code, reason); };
    // One that was never open may end with this alone.
    socket.onerror = () => { if (isWanted() && !this.#opened.has(socket)) this.#closed(socket, 1006, ""); };
  }

  #connected(result) {
    if (this.#moving) this.#succeed();
    [this.#socket, this.#trial, this.#usedAddress] = [this.#trial, null, this.#triedAddress];
    [this.#onlineSince, this.#silent] = [passed(), null];
    [this.#wasConnected, this.#tries, this.#refusedTokens, this.#token] = [true, 0, 0, this.#triedToken];
    this.#session = result.session;
    this.user = result.user;
    this.features = result.features ?? [];
    this.#serverSays(result.time);
    this.#heartbeatMs = Math.min(Math.max(result.heartbeatSeconds, 1), 3600) * 1000;
    this.#known = (result.gateways ?? []).slice(0, 64);
    this.#named = [];
    this.#watchOver();
    this.#move("connected");
    if (result.devices?.length > 0) this.emit("devices", result.devices);
    for (const waiter of this.#waiters.splice(0)) waiter.resolve();
    if (result.resumed) for (const room of this.#owedExits) this._internal("exit", { room }, () => {});
    this.#owedExits.clear();
    for (const room of [...this._rooms.values()]) room._ask();
    this._transmit();
    if (!this.#isMoveTold) return;
    this.#isMoveTold = false;
    this.emit("moved");
  }

  #serverSays(time) {
    this.clockSkewMs = time - Date.now();
    const { awakeMs: at, passedMs, steps } = clock.look();
    this.#served = { time: time ?? passedMs, at, steps };
    // Sent after a step that may have been a sleep, so that only the time since then is known.
    for (const request of this.#pending.values()) {
      if (Number.isNaN(request.sentTime)) request.sentTime = this.#served.time - (passedMs - request.sentPassed);
    }
  }

  #connectRefused(refusal) {
    const error = ChatroomError.of(refusal);
    if (refusal.code === 401) return this.#tokenRefused();
    if ([416, 500, 503].includes(refusal.code)) {
      if (refusal.retryAfterMs !== undefined) {
        // Those who were refused together do not come back together.
        const low = Math.min(Math.max(refusal.retryAfterMs, 0), WINDOW_MS_MAX);
        this.#window = [low, Math.min(low + Math.max(500, low / 4), WINDOW_MS_MAX)];
      }
      return this.#failed(error);
    }
    if (this.#moving) this.#failed(error); else this.#stop("failed", error);
  }

  #tokenRefused() {
    this.emit("tokenExpired");
    // Another node may have the key that this one lacks.
    this.#noToken("the token was refused");
  }

  /** A token that has ended is not used again. */
  #spend(token) { this.#spent = [token, ...this.#spent].slice(0, SPENT_TOKENS_MAX); }

  #noToken(words) {
    const error = new ChatroomError("unauthorized", words);
    this.#refusedTokens += 1;
    const isLast = this.#refusedTokens >= REFUSED_TOKENS_MAX || this.options.anonymous;
    if (isLast && !this.#moving) this.#stop("failed", error); else this.#failed(error);
  }

  /** A try came to nothing. A connection in use stays so. */
  #failed(error) {
    this.#endAttempt();
    this.#failures += 1;
    if (!this.#window) this.#addressIndex += 1;
    this._log("warning", `connecting failed: ${error.message}`);
    if (this.#moving) {
      this.#rest();
      // Requests that waited for the successor go on.
      return this._transmit();
    }
    this.#endConnection();
    if (this.state === "connected") this.#move("lost");
    this.#wait(error);
  }

  #wait(error) {
    if (this.#mayTry()) this.#rest(); else this.#stop("failed", error);
  }

  /** Full jitter below a bound that doubles, or the window of a reconnect push. */
  #rest() {
    const { reconnectMinMs, reconnectMaxMs } = this.options;
    const [low, high] = this.#window
      ?? [reconnectMinMs, Math.min(reconnectMaxMs, reconnectMinMs * 2 ** Math.min(this.#failures + 1, 30))];
    [this.#window, this.#resting, this.#skipped] = [null, true, 0];
    const attempt = this.#attempt;
    this._later(() => attempt === this.#attempt && this.#attemptConnection(), low + Math.random() * (high - low));
  }

  #closed(socket, code, reason) {
    const words = `${code} ${reason}`;
    const inUse = socket === this.#socket;
    const isReplaced = inUse && code === 4410 && this.#offered !== null;
    // The expected end. Else the answer to `connect` was lost.
    if (isReplaced && this.#offered === this.#trial) return this.#succeed();
    if (STOPS[code] && !isReplaced) {
      this.emit(STOPS[code]);
      return this.#stop("failed", new ChatroomError(STOPS[code], `the server closed: ${words}`));
    }
    if (MISTAKES.has(code) && (inUse || !this.#moving)) {
      return this.#stop("failed", new ChatroomError("protocolViolation", words));
    }
    if (code === 4401) {
      if (!inUse) return this.#tokenRefused();
      this.emit("tokenExpired");
      this.#spend(this.#token);
      return this.#lost(new ChatroomError("unauthorized", "the token has ended"), { isToken: true });
    }
    if (!inUse) {
      const error = new ChatroomError("connectionFailed", `the connection was closed: ${words}`);
      // Nobody is there: the next address is not made to wait for this one, unless all are like it.
      if (!this.#hasOpened && this.#wasConnected && !this.#moving && this.#skipped < this.#addresses().length - 1) {
        this.#skipped += 1;
        this.#addressIndex += 1;
        this.#endAttempt();
        this._log("warning", `connecting failed: ${error.message}`);
        return void this.#attemptConnection();
      }
      return this.#failed(error);
    }
    this.#lost(new ChatroomError("connectionLost", `the connection was lost: ${words}`));
  }

  /** The connection in use is gone. An attempt under way goes on; else another begins, after a wait or with a new token. */
  #lost(error, { isToken = false } = {}) {
    const wasMoving = this.#moving;
    // A node that has ended a token is there.
    if (!isToken) this.#hurryPuts();
    if (passed() - this.#onlineSince >= STEADY_MS) this.#failures = 0;
    // One that does not hold is as good as none, unless the node asked to leave.
    else if (!this.#window && !wasMoving) { this.#failures += 1; if (!this.#silent) this.#addressIndex += 1; }
    this.#endConnection();
    this.#move("lost");
    if (!wasMoving) {
      return isToken && this.#mayTry() && this.#failures === 0 ? void this.#attemptConnection() : this.#wait(error);
    }
    if (!this.#mayTry()) return this.#stop("failed", error);
    if (!this.#resting) this.#tries += 1;
    this.#authenticate?.();
  }

  /** The node that was in use may be gone, and what is sent there then makes no progress any more. */
  #hurryPuts() {
    const origin = `${this._origin()}/`;
    for (const under of this._puts) if (under.url.startsWith(origin)) under.hurry(LOST_STALL_MS);
  }

  /** Ends a connection from this side and makes another. */
  #drop(socket, words) {
    if (socket === this.#trial) this.#failed(new ChatroomError("connectionFailed", words));
    else if (socket === this.#socket) this.#lost(new ChatroomError("connectionLost", words));
  }

  /** The new connection takes the place of the one in use: what is unanswered is asked again and the rooms are entered
   * again, without a word to the app. */
  #succeed() {
    this.#leave();
    this.#requestsLost(true);
    for (const room of [...this._rooms.values()]) room._carryOver();
  }

  #endConnection(isTold = true) {
    this.#leave();
    this.#requestsLost(false);
    if (isTold) for (const room of [...this._rooms.values()]) room._interrupt();
  }

  #leave() {
    this.#release(this.#socket);
    [this.#socket, this.#offered, this.#leaving, this.#moving] = [null, null, false, false];
    clearInterval(this.#watch);
  }

  #endAttempt() {
    this.#release(this.#trial);
    [this.#trial, this.#authenticate] = [null, null];
    this.#attempt += 1;
    this._cancel(this.#patience);
    for (const [serial, request] of [...this.#pending]) if (request.isConnect) this.#abandon(serial);
  }

  #release(socket) {
    if (!socket) return;
    socket.onmessage = socket.onclose = null;
    // Node's says once more that it failed, while it is closed.
    socket.onerror = () => {};
    try { socket.close(1000); } catch { /* It was never open. */ }
  }

  /** The connection in use is gone: what may be repeated waits for the next one. If that is there already, no word is said
   * about it. */
  #requestsLost(isMoving) {
    for (const [serial, request] of [...this.#pending]) {
      if (request.isConnect) continue;
      if (request.internal) { this.#abandon(serial); continue; }
      if (request.wireId === null) continue;
      this.#onWire.delete(request.wireId);
      request.wireId = null;
      if (request.operation === "exit") {
        this.#owedExits.add(request.fields.room);
        this.#finish(serial, null, {});
      } else if (request.repeating === "never") {
        this.#finish(serial, new ChatroomError("connectionLost", "the connection was lost before the answer"));
      } else {
        request.isMoving = isMoving;
        if (!isMoving) this.#tell(request, "unknown");
      }
    }
  }

  #stop(state, error, roomState = "failed") {
    this.#hurryPuts();
    this.#endAttempt();
    this.#endConnection(state !== "closed");
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#session = null;
    this.#owedExits.clear();
    for (const room of [...this._rooms.values()]) room._end(roomState, error);
    for (const serial of [...this.#pending.keys()]) this.#abandon(serial, error);
    this.#move(state, error);
    for (const waiter of this.#waiters.splice(0)) waiter.reject(error);
  }

  /**
   * Browsers don't show the server's pings, so silence is broken by one of our own. Its answer decides, not the silence: timers
   * of hidden pages come once a minute, when nothing need be wrong.
   */
  #watchOver() {
    let patienceMs = 0, { steps } = clock;
    [this.#lastHeard, this.#pingedAt] = [passed(), null];
    clearInterval(this.#watch);
    this.#watch = setInterval(() => {
      const now = awake(), silence = passed() - this.#lastHeard;
      if (this.#pingedAt !== null && now - this.#pingedAt >= patienceMs) {
        [this.#silent, this.#addressIndex] = [this.#usedAddress, 0];
        return this.#drop(this.#socket, "nothing was heard, and a ping was not answered");
      }
      // After a step of the wall clock the answer tells how much time has passed for the server.
      if (this.#pingedAt === null && (silence >= this.#heartbeatMs || steps !== clock.steps)) {
        [this.#pingedAt, steps] = [now, clock.steps];
        // Behind a long silence the machine slept, or timers were late.
        patienceMs = silence >= 2.5 * this.#heartbeatMs ? 3_000 : Math.min(10_000, 1.5 * this.#heartbeatMs);
        this._internal("ping", {}, () => {});
      }
      this.#expire();
    }, Math.min(1000, this.#heartbeatMs / 4));
    this.#watch.unref?.();
  }

  /** A fault of the app's log is not the client's. */
  _log(level, text) {
    try { this.options.log(level, text); } catch (error) { console.error(error); }
  }

  _later(work, milliseconds) {
    const timer = setTimeout(() => { this.#timers.delete(timer); work(); }, milliseconds);
    this.#timers.add(timer);
    return timer;
  }

  _cancel(timer) {
    clearTimeout(timer);
    this.#timers.delete(timer);
  }

  // Requests

  _perform(operation, fields, room) {
    if (!this.isRunning) return Promise.reject(new ChatroomError("notConnected", "the client is not connected"));
    if (room && !room.isWanted) {
      return Promise.reject(new ChatroomError("notInRoom", `the user is not in ${room.id}`));
    }
    if (this.#pending.size >= PENDING_MAX) {
      return Promise.reject(new ChatroomError("tooManyPending", `${PENDING_MAX} requests wait for an answer`));
    }
    const refused = (code, name, message) => Promise.reject(ChatroomError.of({ code, name, message }));
    let text;
    try { text = JSON.stringify(fields, wellFormed); } catch (error) { return refused(414, "BAD_PARAMETER", error.message); }
    // The rest of the frame is less than 64 bytes.
    if (text.length > FRAME_BYTES_MAX / 4 && bytesOf(text) > FRAME_BYTES_MAX - 64) {
      return refused(413, "TOO_LARGE", "a call is at most 1 MB");
    }
    return new Promise((resolve, reject) => {
      const repeating = fields.clientId !== undefined ? "change" : READS.has(operation) ? "read" : "never";
      const queue = room && repeating !== "never" ? `${repeating} ${room.id}` : null;
      const done = (error, result) => error ? reject(error) : resolve(result);
      this.#add({ operation, fields, text, room, repeating, queue, done });
    });
  }

  _exit(room) {
    if (!this.isOnline) {
      if (this.#session) this.#owedExits.add(room);
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const done = (error) => error && error.refusal?.code !== 13007 ? reject(error) : resolve();
      this.#add({ operation: "exit", fields: { room }, repeating: "read", done });
    });
  }

  /** A request of the client's own: it ends with the connection. */
  _internal(operation, fields, done, more = {}) {
    this.#add({ operation, fields, repeating: READS.has(operation) ? "read" : "never", internal: true, done, ...more });
  }

  #add(request) {
    const serial = this.#nextSerial++;
    Object.assign(request, { createdAt: awake(), sentAt: null, wireId: null, isWaiting: false, refusals: 0, losses: 0 });
    this.#pending.set(serial, request);
    if (!request.internal) this.#tell(request, "sending");
    this.#renewTurns();
    if (this.#canSend(serial, request)) this.#put(serial, request);
    this.#watchOut(serial, request);
  }

  /** Without a connection nobody else watches over the time of the app's requests. */
  #watchOut(serial, request) {
    if (request.internal) return;
    clearTimeout(request.timer);
    request.timer = setTimeout(() => this.#timeOut(serial), this.#expiry(request) - awake());
    request.timer.unref?.();
  }

  #canSend(serial, request) {
    if (request.wireId !== null || request.isWaiting) return false;
    if (request.queue && (this.#turns.get(request.queue) ?? serial) !== serial) return false;
    if (!this.#connectionOf(request)) return false;
    // The server is about to end the connection in use.
    if (this.#moving && this.#isOpen(this.#trial) && isSpentByLoss(request)) return false;
    return !request.room || request.room._takesRequests;
  }

  /** The connection on which a request is asked. */
  #connectionOf(request) { return request.isConnect ? this.#trial : this.#socket; }

  /** Whether the connection in use owes answers to requests that must not be repeated. */
  #isOwed() { return [...this.#pending.values()].some((request) => request.wireId !== null && isSpentByLoss(request)); }

  /** Sends what can be sent, in the order in which it was asked. */
  _transmit() {
    // Time may have passed without a timer, in a device that slept.
    this.#expire();
    this.#renewTurns();
    for (const [serial, request] of [...this.#pending]) if (this.#canSend(serial, request)) this.#put(serial, request);
  }

  /** The oldest call of each queue has the turn. Where none waits any more, calls go out as they come again. */
  #renewTurns() {
    for (const [queue, turn] of this.#turns) {
      if (this.#pending.has(turn)) continue;
      this.#turns.delete(queue);
      for (const [serial, request] of this.#pending) {
        if (request.queue !== queue || request.wireId !== null) continue;
        this.#turns.set(queue, serial);
        break;
      }
    }
  }

  #takeId() { return this.#nextId = this.#nextId >= 4_294_967_295 ? 1 : this.#nextId + 1; }

  #put(serial, request) {
    if (request.sentAt !== null && !request.isMoving) this.#tell(request, "sending");
    request.isMoving = false;
    request.wireId = this.#takeId();
    if (request.sentAt === null) {
      [request.sentAt, request.sentPassed, request.sentTime] = [awake(), passed(), this.#serverNow()];
      this.#watchOut(serial, request);
    }
    request.lastSentAt = awake();
    this.#onWire.set(request.wireId, serial);
    const fields = request.text ?? JSON.stringify(request.fields, wellFormed);
    this.#write(this.#connectionOf(request), `{"id":${request.wireId},"${request.operation}":${fields}}`);
  }

  /** A request without an answer. */
  _say(object) { this.#write(this.#socket, JSON.stringify(object, wellFormed)); }

  #write(socket, text) { if (this.#isOpen(socket)) socket.send(text); }

  #isOpen(socket) { return (socket?.readyState ?? (this.#opened.has(socket) ? 1 : 0)) === 1; }

  #tell(request, status, more = {}) {
    if (request.operation !== "send") return;
    request.room?.emit("delivery", { clientId: request.fields.clientId, status, ...more });
  }

  #finish(serial, error, result) {
    const request = this.#pending.get(serial);
    this.#pending.delete(serial);
    clearTimeout(request.timer);
    request.done(error, result);
  }

  #answered(socket, id, error, result) {
    const serial = this.#onWire.get(id);
    const request = this.#pending.get(serial);
    if (!request || socket !== this.#connectionOf(request)) return;
    this.#onWire.delete(id);
    request.wireId = null;
    if (!error) {
      if (request.operation === "refresh") {
        this.#token = request.fields.token;
        this._cancel(this.#renewal);
      }
      if (request.operation === "ping") this.#serverSays(result.time);
      this.#tell(request, "sent", { receipt: result });
      this.#finish(serial, null, result);
      return this.#takeTurn();
    }
    if (this.#isLost(error, request)) {
      // The client reads what it itself wanted to read when it has entered.
      if (request.internal) this.#pending.delete(serial);
      return;
    }
    const wait = this.#waitAfter(error, request);
    if (wait !== null) {
      // Those that are made at once would be refused at once each time, all but a few.
      if (error.code === 416 && request.queue) {
        const turn = this.#turns.get(request.queue);
        if (turn !== undefined && turn !== serial && this.#pending.has(turn)) return;
        this.#turns.set(request.queue, serial);
      }
      request.refusals += 1;
      request.isWaiting = true;
      this._later(() => { request.isWaiting = false; this._transmit(); }, wait);
      return;
    }
    const failure = ChatroomError.of(error);
    this.#tell(request, "failed", { error: failure });
    this.#finish(serial, request.internal ? error : failure);
    this.#takeTurn();
  }

  #takeTurn() { if (this.#turns.size > 0) this._transmit(); }

  /**
   * Whether the server does not know that this client is in a room where it believes to be. Then it enters with `since`,
   * as after a lost connection, and the request is sent again after that, if it may be. Reads of the client's own in a
   * row count as one request.
   */
  #isLost(refusal, request) {
    const { operation, stay } = request;
    const room = request.room ?? stay;
    if (refusal.code !== 13007 || !room?.isWanted || operation === "exit") return false;
    if (stay && room.state !== "entered") return true;
    const losses = stay ? room._losses : request.losses;
    if (losses >= LOSSES_MAX) return false;
    if (stay) room._losses += 1; else request.losses += 1;
    if (room.state === "entered") room._lose();
    return request.repeating !== "never";
  }

  /** How long to wait before a refused request is sent again; null if the refusal is its answer. */
  #waitAfter(refusal, request) {
    if (request.repeating === "never") return null;
    const wait = waitingTime(refusal, request.refusals);
    if (awake() + wait >= this.#expiry(request)) return null;
    // An upgrade takes longer than anybody waits.
    if (refusal.code === 503) return refusal.name === "UPGRADING" ? null : wait;
    if (refusal.code === 416) return wait <= REFUSAL_WAIT_MS ? wait : null;
    if (refusal.code === 500) return request.refusals < 3 ? wait : null;
    return null;
  }

  /** When a request is given up. One of the client's own that waits for its room takes as long as that takes. */
  #expiry(request) {
    if (request.internal) return request.wireId === null ? Infinity : request.lastSentAt + READ_MS;
    return request.repeating === "change" ? (request.sentAt ?? request.createdAt) + CHANGE_MS : request.createdAt + READ_MS;
  }

  /** The server's time; NaN from a step of the wall clock, which may have been a sleep, until the server names its time again. */
  #serverNow() {
    const { awakeMs, steps } = clock.look();
    return this.#served?.steps === steps ? this.#served.time + awakeMs - this.#served.at : NaN;
  }

  /** Whether the server may have forgotten a change that it was sent: its own clock counts while this machine sleeps. */
  #isForgotten({ repeating, internal, sentTime }) {
    return repeating === "change" && !internal && this.#serverNow() - sentTime >= CHANGE_MS;
  }

  #expire() {
    const now = awake();
    for (const [serial, request] of [...this.#pending]) {
      if (this.#expiry(request) > now && !this.#isForgotten(request)) continue;
      if (request.internal) return this.#drop(this.#connectionOf(request), "no answer to a request in time");
      this.#timeOut(serial);
    }
  }

  #timeOut(serial) { this.#abandon(serial, new ChatroomError("timedOut", "no answer in time")); }

  /** Gives a request up. A change that was sent may have been made. */
  #abandon(serial, error) {
    const request = this.#pending.get(serial);
    if (!request) return;
    if (request.wireId !== null) this.#onWire.delete(request.wireId);
    if (request.internal) return void this.#pending.delete(serial);
    const isUnknown = request.sentAt !== null && request.repeating === "change";
    this.#tell(request, isUnknown ? "unknown" : "failed", { error });
    const unknown = new ChatroomError("outcomeUnknown", `sent and never answered: ${error.message}`);
    this.#finish(serial, isUnknown ? unknown : error);
  }

  _abandonRoom(room, error) {
    for (const [serial, request] of [...this.#pending]) {
      // An exit of the stay before is the app's to wait for.
      if (request.fields.room === room.id && request.operation !== "exit") this.#abandon(serial, error);
    }
  }

  // Input from the server

  #received(socket, data) {
    if (socket === this.#socket) [this.#lastHeard, this.#pingedAt] = [passed(), null];
    for (const line of String(data).split("\n")) {
      if (line.trim() === "") continue;
      let object;
      try { object = JSON.parse(line); } catch { return this.#drop(socket, "the server said what cannot be read"); }
      this.#item(socket, object);
      if (socket !== this.#socket && socket !== this.#trial) return;
    }
    if (this.#authenticate && !this.#isOwed()) this.#authenticate();
  }

  #item(socket, object) {
    const { id, error, ...rest } = object;
    if (id !== undefined) return this.#answered(socket, id, error, Object.values(rest)[0]);
    if (error) return this.#notUnderstood(socket, error);
    const [key, value] = Object.entries(rest)[0] ?? [];
    if (key === "reconnect") return this.#sentAway(socket, value);
    // A connection that is not in use yet has nothing to say about rooms, but for kicks that came while this client was away.
    if (socket !== this.#socket && key !== "kicked") return;
    switch (key) {
      case "message": case "barrage": case "kicked": case "gap": case "skipped": case "online": case "tallies": case "state":
      case "held": case "denied":
        return this._rooms.get(value?.room)?._push(key, value);
      case "broadcast": case "direct": return this.emit(isUnknown(value) ? "unsupported" : key, value);
      case "devices": return this.emit("devices", value.devices);
      case "token": return this.#renew(value.expiresInSeconds);
      default: this.emit("unsupported", object);
    }
  }

  /** The server could not even read the ID of a request. If it is one of several, nobody knows which, and its time ends it. */
  #notUnderstood(socket, error) {
    this._log("error", `the server did not understand a request: ${error.message}`);
    const [id, other] = this.#onWire.keys();
    if (id === undefined || other !== undefined) return;
    this.#answered(socket, id, error);
  }

  /** The token in use ends soon. Where the provider has no other one yet, or only such as end soon, it is asked again after
   * half of the time that is left: the server says so anew after each `refresh`. */
  #renew(seconds) {
    const socket = this.#socket, end = awake() + seconds * 1000, { anonymous, tokenProvider } = this.options;
    if (this.#toldToken !== this.#token) {
      this.#toldToken = this.#token;
      this.emit("tokenExpiring", seconds);
    }
    if (anonymous || !tokenProvider) return;
    const askLater = () => {
      if (socket !== this.#socket) return;
      const at = this.#askedAt + Math.max(RENEW_MS, (end - this.#askedAt) / 2);
      this._cancel(this.#renewal);
      if (at < end) this.#renewal = this._later(ask, Math.max(0, at - awake()));
    };
    const ask = async () => {
      const inUse = this.#token;
      if (socket !== this.#socket) return;
      this.#askedAt = awake();
      const token = await within(PROVIDER_MS, tokenProvider);
      if (socket !== this.#socket || inUse !== this.#token) return;
      if (!token || token === inUse || this.#spent.includes(token)) return askLater();
      this._internal("refresh", { token }, (error) => {
        if (error?.code === 401) this.#spend(token);
        if (error) askLater();
      });
    };
    askLater();
  }

  /** Moves to another node after a random wait in the window that was named. One such push counts at a time. On a
   * connection that is being made it says when and where to try again. */
  #sentAway(socket, { minMs = 500, maxMs = 30_000, cause, gateways = [] }) {
    const inUse = socket === this.#socket;
    if (inUse && this.#leaving) return;
    this.#named = gateways.slice(0, 64);
    this.#addressIndex = 0;
    const low = Math.min(Math.max(minMs, 0), WINDOW_MS_MAX);
    this.#window = [low, Math.min(Math.max(low, maxMs), WINDOW_MS_MAX)];
    if (!inUse) return;
    this.#leaving = true;
    this._later(() => {
      if (socket !== this.#socket) return;
      // The wait was before.
      [this.#moving, this.#window] = [true, null];
      this._log("info", "moving to another node");
      this.#attemptConnection();
    }, low + Math.random() * (this.#window[1] - low));
    // With FULL the connection ends at once.
    if (cause === "FULL") return;
    this.#isMoveTold = true;
    this.emit("moving", { cause });
  }
}
