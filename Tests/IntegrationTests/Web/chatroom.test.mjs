// Tests of chatroom.js with Node: first dialogues with a made-up server, then with a real one.
//
// Environment: NODE_PORT_FILE (holds the node's client port, also after a restart), TOKEN_ANN, TOKEN_BOB, ROOM.
// "RESTART" on standard error asks the caller to kill the node, start it again and write the port. The last line of
// standard output is "ok" if all went well.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";

const RealWebSocket = globalThis.WebSocket;
const realNow = performance.now.bind(performance);
const port = () => readFileSync(process.env.NODE_PORT_FILE, "utf8").trim();
const answer = await fetch(`http://127.0.0.1:${port()}/chatroom.js`);
assert.equal(answer.status, 200);
assert.equal(answer.headers.get("content-type"), "text/javascript; charset=utf-8");
// What is served is what is tested.
const module = `${process.env.NODE_PORT_FILE}.chatroom.mjs`;
writeFileSync(module, await answer.text());
const { ChatroomClient } = await import(module);

/** A WebSocket whose other end is the test. */
class FakeSocket {
  static all = [];
  readyState = 0;
  sent = [];
  constructor(url) { this.url = url; FakeSocket.all.push(this); }
  send(text) { this.sent.push(JSON.parse(text)); }
  close() { this.readyState = 3; }
  open() { this.readyState = 1; this.onopen(); }
  say(...objects) { this.onmessage?.({ data: objects.map((object) => JSON.stringify(object)).join("\n") }); }
  lose(code = 1006) { this.readyState = 3; this.onclose?.({ code, reason: "" }); }
  /** The last request of an operation. */
  last(operation) { return this.sent.findLast((request) => operation in request); }
  answer(operation, result) { this.say({ id: this.last(operation).id, [operation]: result }); }
  refuse(operation, code, more = {}) {
    this.say({ id: this.last(operation).id, error: { code, name: "X", message: "no", ...more } });
  }
}

/** Both clocks of the client go by `time` until the function that this returns is called. */
function setClocks(time) {
  const { now } = Date, ticks = realNow() - time();
  Date.now = time;
  performance.now = () => ticks + time();
  return () => [Date.now, performance.now] = [now, realNow];
}

/** Waits until something is there; fails after 20 s. */
async function until(what, find) {
  // By a clock that no test sets.
  const end = realNow() + 20_000;
  for (;;) {
    const found = await find();
    if (found) return found;
    assert.ok(realNow() < end, `no ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const session = (more) => ({ session: "s", user: "ann", anonymous: false, heartbeatSeconds: 15, time: 1, gateways: [], ...more });
const entry = (seq, more) => ({ room: { id: "r", online: 1 }, me: { user: "ann" }, epoch: "e", seq, ...more });
const message = (seq) => ({ room: "r", seq, messageId: `m${seq}`, time: 1, type: "TEXT", text: `${seq}` });
const push = (seq) => ({ message: message(seq) });
const range = (from, to) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

/** A client in room r at a seq, with what it has been told. */
async function inRoom(seq, options = {}) {
  FakeSocket.all = [];
  const client = new ChatroomClient({
    gateways: ["ws://fake"], tokenProvider: () => "t", reconnectMinMs: 1, reconnectMaxMs: 4, gapWaitMs: 1, ...options,
  });
  const told = [];
  client.on("state", ({ state, error }) => told.push(["client", state, error?.code]));
  const connecting = client.connect();
  const socket = await nextSocket(client);
  await connecting;
  const room = client.room("r");
  for (const event of ["message", "filled", "gap", "skipped", "kicked", "delivery"]) {
    room.on(event, (value) => told.push([event, value]));
  }
  room.on("state", ({ state }) => told.push(["room", state]));
  const entering = room.enter({ nick: "Ann", notifyExt: "hi" });
  socket.answer("enter", entry(seq));
  await entering;
  const seqs = () => told.filter(([event]) => event === "message").map(([, { seq }]) => seq);
  return { client, room, socket, told, seqs };
}

/** The next socket that the client opens, connected. */
async function nextSocket(client, number = FakeSocket.all.length + 1) {
  const socket = await until("socket", () => FakeSocket.all[number - 1]);
  socket.open();
  socket.answer("connect", session({ resumed: number > 1 }));
  return socket;
}

/** The next socket that the client opens after a node has asked it to leave. */
async function successor(socket) {
  const number = FakeSocket.all.length;
  socket.say({ reconnect: { minMs: 0, maxMs: 1, cause: "DRAIN", gateways: ["ws://other"] } });
  return until("successor", () => FakeSocket.all[number]);
}

/** Runs a test by a clock that it sets: `after` passes time and runs the timers of a second and more that are due then. */
async function withClock(test) {
  const { setTimeout, clearTimeout, setInterval } = globalThis;
  let time = Date.now(), looks = [];
  const timers = new Map();
  globalThis.setTimeout = (work, milliseconds, ...values) => {
    if (!(milliseconds >= 1000)) return setTimeout(work, milliseconds, ...values);
    const timer = { unref() {} };
    timers.set(timer, { at: time + milliseconds, work: () => work(...values) });
    return timer;
  };
  globalThis.clearTimeout = (timer) => { if (!timers.delete(timer)) clearTimeout(timer); };
  globalThis.setInterval = (work) => {
    looks.push(work);
    return setInterval(() => {}, 1 << 30).unref();
  };
  const resetClocks = setClocks(() => time);
  const pause = () => new Promise((resolve) => setTimeout(resolve, 5));
  const after = async (milliseconds) => {
    time += milliseconds;
    for (const look of looks.slice(-1)) look();
    for (const [timer, { at, work }] of [...timers]) if (at <= time && timers.delete(timer)) work();
    await pause();
  };
  try { await test(after); } finally {
    Object.assign(globalThis, { setTimeout, clearTimeout, setInterval });
    resetClocks();
  }
}

/** A browser's request whose other end is the test. */
class FakeRequest {
  static all = [];
  upload = {};
  constructor() { FakeRequest.all.push(this); }
  open(method, url) { this.url = url; }
  setRequestHeader() {}
  send() {}
  progress(loaded, total) { this.upload.onprogress({ loaded, total }); }
  answer(status) { [this.status, this.responseText] = [status, "{}"]; this.onload(); }
  abort() {
    if (this.isAborted) return;
    this.isAborted = true;
    this.onabort({ type: "abort" });
  }
}

/** An upload under way, in browsers or elsewhere; then each connection is at another node. `puts` are its PUTs. */
async function uploading(isBrowser, more = {}) {
  let nodes = 0;
  const puts = FakeRequest.all = [];
  if (isBrowser) globalThis.XMLHttpRequest = FakeRequest;
  globalThis.fetch = (url, { signal }) => new Promise((resolve, reject) => {
    const put = { url, answer: (status) => resolve({ ok: status === 200, status, text: () => "{}" }) };
    puts.push(put);
    signal.addEventListener("abort", () => {
      put.isAborted = true;
      reject(new Error("aborted"));
    });
  });
  const given = await inRoom(0, { addressProvider: () => [`ws://node${nodes += 1}`] });
  const upload = given.room.upload(new Uint8Array(8 << 20), more);
  upload.catch(() => {});
  given.socket.answer("upload", { mediaId: "m", url: "/v1/media/r/m?upload=x", method: "PUT", headers: {} });
  await until("PUT", () => puts[0]);
  assert.equal(puts[0].url, "http://node1/v1/media/r/m?upload=x");
  return { ...given, upload, puts };
}

async function inBoth(test) {
  const { fetch, XMLHttpRequest } = globalThis;
  for (const isBrowser of [false, true]) {
    try { await withClock((after) => test(isBrowser, after)); } finally {
      globalThis.fetch = fetch;
      if (XMLHttpRequest) globalThis.XMLHttpRequest = XMLHttpRequest; else delete globalThis.XMLHttpRequest;
    }
  }
}

const tests = {
  async "a message comes once and in order"() {
    const { socket, seqs, client } = await inRoom(10);
    for (const seq of [11, 11, 10, 12, 11]) socket.say(push(seq));
    assert.deepEqual(seqs(), [11, 12]);
    client.close();
  },

  async "coming back asks from where it was; history is read while live pushes wait"() {
    const { socket, seqs, client, told } = await inRoom(0);
    socket.say(push(1));
    socket.lose();
    const next = await nextSocket(client, 2);
    assert.deepEqual(next.last("enter").enter, { room: "r", nick: "Ann", since: 1, epoch: "e" });
    assert.equal(next.last("connect").connect.session, "s");
    next.answer("enter", entry(250, { recovered: true, missed: range(2, 101).map(message), missedMore: true }));
    next.say(push(251));
    assert.deepEqual(next.last("history").history, { room: "r", order: "ASC", afterSeq: 101, limit: 100 });
    next.answer("history", { messages: range(102, 201).map(message), more: true });
    next.answer("history", { messages: range(202, 251).map(message), more: false });
    assert.deepEqual(seqs(), range(1, 251));
    assert.deepEqual(told.filter(([event]) => event === "room").map(([, state]) => state),
      ["connecting", "entering", "entered", "lost", "entering", "entered"]);
    client.close();
  },

  async "a gateway that nobody answers for is left at once, also where only onerror says so"() {
    FakeSocket.all = [];
    const options = { gateways: ["ws://dead", "ws://live"], tokenProvider: () => "t", reconnectMinMs: 1, reconnectMaxMs: 4 };
    const client = new ChatroomClient(options);
    const start = performance.now();
    const connecting = client.connect();
    const dead = await until("socket", () => FakeSocket.all[0]);
    assert.match(dead.url, /dead/);
    // As Node's: it fails once more while it is closed.
    dead.close = () => dead.onerror({});
    dead.onerror?.({});
    const live = await nextSocket(client, 2);
    assert.match(live.url, /live/);
    await connecting;
    assert.ok(performance.now() - start < 5_000, "before its time is up");
    // An open one ends with onclose only.
    live.onerror?.({});
    assert.equal(client.state, "connected");
    client.close();
  },

  async "the fault of a token provider is told"() {
    const tokenProvider = () => { throw new Error("my server is down"); };
    const client = new ChatroomClient({ gateways: ["ws://fake"], tokenProvider, retryCount: 0 });
    await assert.rejects(client.connect(), /the token provider failed: my server is down/);
    client.close();
  },

  async "a server that does not know of the stay makes the client enter from where it was, and ask again"() {
    const { socket, seqs, client, told, room } = await inRoom(10);
    socket.say(push(11));
    const sending = room.send("hello");
    socket.refuse("send", 13007);
    assert.deepEqual(socket.last("enter").enter, { room: "r", nick: "Ann", since: 11, epoch: "e" });
    const first = socket.last("send");
    socket.answer("enter", entry(13, { recovered: true, missed: range(12, 13).map(message), missedMore: false }));
    assert.deepEqual(seqs(), [11, 12, 13]);
    const again = socket.last("send");
    assert.notEqual(again.id, first.id);
    assert.deepEqual(again.send, first.send);
    // Not for ever.
    socket.refuse("send", 13007);
    socket.answer("enter", entry(13, { recovered: true, missed: [], missedMore: false }));
    socket.refuse("send", 13007);
    await assert.rejects(sending, (error) => error.refusal.code === 13007);
    assert.equal(told.filter(([event, state]) => event === "room" && state === "lost").length, 2);
    client.close();
  },

  async "a viewer who never sends, whose reads the server refuses for not being in the room, loses nothing"() {
    const { socket, seqs, client, told } = await inRoom(0);
    socket.lose();
    const next = await nextSocket(client, 2);
    next.answer("enter", entry(250, { recovered: true, missed: range(1, 100).map(message), missedMore: true }));
    next.say(push(251));
    const read = next.last("history");
    next.refuse("history", 13007);
    assert.deepEqual(next.last("enter").enter, { room: "r", nick: "Ann", since: 100, epoch: "e" });
    next.answer("enter", entry(252, { recovered: true, missed: range(101, 200).map(message), missedMore: true }));
    assert.notEqual(next.last("history").id, read.id);
    assert.equal(next.last("history").history.afterSeq, 200);
    next.answer("history", { messages: range(201, 252).map(message), more: false });
    assert.deepEqual(seqs(), range(1, 252));
    next.say(push(253));
    assert.deepEqual(seqs(), range(1, 253));
    assert.equal(told.filter(([event]) => event === "gap").length, 0);
    // A SLOW gap is read once more, too.
    next.say({ gap: { room: "r", ranges: [[254, 255]], cause: "SLOW" } });
    await until("the read of the gap", () => next.last("history").history.afterSeq === 253);
    next.refuse("history", 13007);
    const before = next.last("history").id;
    next.answer("enter", entry(255, { recovered: true, missed: [], missedMore: false }));
    await until("the gap to be read again", () => next.last("history").id !== before);
    next.answer("history", { messages: range(254, 255).map(message), more: false });
    assert.deepEqual(told.filter(([event]) => event === "gap").map(([, gap]) => gap.cause), ["SLOW"]);
    // Not for ever.
    next.say({ gap: { room: "r", ranges: [[256, 256]], cause: "SLOW" } });
    for (let count = 0; count < 2; count += 1) {
      const last = next.last("history").id;
      await until("a read", () => next.last("history").id !== last);
      next.refuse("history", 13007);
      next.answer("enter", entry(256, { recovered: true, missed: [], missedMore: false }));
    }
    const last = next.last("history").id;
    await until("a read", () => next.last("history").id !== last);
    next.refuse("history", 13007);
    assert.equal(told.filter(([event]) => event === "gap").at(-1)[1].cause, "UNAVAILABLE");
    client.close();
  },

  async "entering again while history is read changes nothing of what is read"() {
    const { socket, room, seqs, told, client } = await inRoom(0);
    socket.lose();
    const next = await nextSocket(client, 2);
    next.answer("enter", entry(400, { recovered: true, missed: range(1, 100).map(message), missedMore: true }));
    const reads = () => next.sent.filter((request) => "history" in request);
    const again = room.enter({ nick: "Annie" });
    next.answer("enter", entry(400, { recovered: true, missed: range(101, 200).map(message), missedMore: true }));
    await again;
    assert.equal(reads().length, 1);
    next.answer("history", { messages: range(101, 200).map(message), more: true });
    assert.deepEqual(reads().map(({ history }) => history.afterSeq), [100, 200]);
    next.answer("history", { messages: range(201, 300).map(message), more: true });
    next.answer("history", { messages: range(301, 400).map(message), more: false });
    assert.deepEqual(seqs(), range(1, 400));
    assert.ok(!told.some(([event]) => event === "gap"));
    client.close();
  },

  async "what a later version says is told in its place, never a failure"() {
    const { socket, room, seqs, told, client } = await inRoom(0);
    const unknown = [];
    room.on("unsupported", ({ seq }) => unknown.push(seq));
    client.on("unsupported", (object) => unknown.push(Object.keys(object)[0] ?? object));
    const hologram = (seq) => ({ message: { ...message(seq), type: "HOLOGRAM" } });
    const event = { ...message(3), type: "NOTIFICATION", event: 399 };
    socket.say(push(1), hologram(2), { message: event }, push(4), { message: null }, { hologram: 1 });
    assert.deepEqual(seqs(), [1, 4]);
    assert.deepEqual(unknown, [2, 3, "hologram"]);
    socket.say({ gap: { room: "r", ranges: [[5, 6]], cause: "SLOW" } }, { broadcast: { type: "HOLOGRAM" } });
    await until("read", () => socket.last("history"));
    socket.answer("history", { messages: [message(5), hologram(6).message], more: false });
    assert.deepEqual(told.at(-1), ["filled", [message(5)]]);
    assert.deepEqual(unknown.slice(3), ["type", 6]);
    socket.say({ gap: { room: "r", ranges: [[7, 7]], cause: "WEATHER" } });
    assert.deepEqual(told.at(-1), ["gap", { ranges: [[7, 7]], cause: "WEATHER" }]);
    const sending = room.send("x");
    socket.refuse("send", 13099);
    await assert.rejects(sending, (error) => error.refusal.code === 13099);
    socket.say({ kicked: { room: "r", reason: 42 } });
    assert.equal(room.state, "failed");
    assert.equal(client.state, "connected");
    client.close();
  },

  async "SLOW gaps beyond the bound are told as not read"() {
    const { socket, told, client } = await inRoom(0, { gapWaitMs: 60_000 });
    const ranges = range(1, 65).map((number) => [number * 2, number * 2]);
    socket.say({ gap: { room: "r", ranges, cause: "SLOW" } });
    assert.deepEqual(told.at(-1), ["gap", { ranges: [[130, 130]], cause: "UNAVAILABLE" }]);
    client.close();
  },

  async "a send is not repeated after 10 minutes, even if no timer has run meanwhile"() {
    for (const [late, isRepeated] of [[589_000, true], [590_000, false]]) {
      const { socket, room, client } = await inRoom(0);
      // The clock stands, so that what the test itself takes counts for nothing.
      let time = Date.now();
      const resetClocks = setClocks(() => time);
      try {
        const sending = room.send("hello");
        socket.lose();
        const next = await nextSocket(client, 2);
        time += late;
        next.answer("enter", entry(0, { recovered: true, missed: [], missedMore: false }));
        assert.equal(next.last("send") !== undefined, isRepeated);
        if (isRepeated) next.answer("send", { messageId: "m1", time: 1, seq: 1 });
        else await assert.rejects(sending, (error) => error.code === "outcomeUnknown");
      } finally { resetClocks(); }
      client.close();
    }
  },

  async "a ping without an answer ends a connection; silence alone does not, where timers come once a minute"() {
    const { setInterval } = globalThis;
    let look, time = Date.now();
    globalThis.setInterval = (work) => { look = work; return setInterval(() => {}, 1 << 30); };
    const resetClocks = setClocks(() => time);
    const after = (milliseconds) => { time += milliseconds; look(); };
    try {
      const { socket, told, client } = await inRoom(0);
      const pings = () => socket.sent.filter((request) => "ping" in request).length;
      const isLost = () => told.some(([what, state]) => what === "client" && state === "lost");
      for (const minute of range(1, 5)) {
        after(60_000);
        assert.equal(pings(), minute);
        socket.answer("ping", { time });
      }
      after(1_000);
      after(14_000);
      assert.equal(pings(), 6);
      for (const _ of range(1, 9)) after(1_000);
      assert.ok(!isLost());
      after(1_000);
      assert.ok(isLost());
      client.close();
    } finally {
      globalThis.setInterval = setInterval;
      resetClocks();
    }
  },

  async "a token for media goes to content of rooms, and to no other path"() {
    const { client, room, socket } = await inRoom(0);
    const id = "0a".repeat(24);
    const others = [
      "../../go?to=//evil.example", `../${id}`, `./${id}`, `%2e%2E/${id}`, `.\t./${id}`, `..%2Fa/${id}`, `a%5c/${id}`,
      `r/../${id}`, `r/${id}?x`, `r/${id}#x`, `r/${id}/`, `r/${id}\n`, `r\\${id}`, "r/m",
    ];
    for (const path of others) assert.equal(await room.mediaUrl(`/v1/media/${path}`), `/v1/media/${path}`);
    assert.equal(await room.mediaUrl("https://a/b"), "https://a/b");
    assert.equal(await room.mediaUrl(undefined), undefined);
    assert.equal(socket.last("mediaToken"), undefined);
    const asked = room.mediaUrl(`/v1/media/a%23.b/${id}`);
    await until("question", () => socket.last("mediaToken"));
    socket.answer("mediaToken", { token: "T", expiresAt: 1e15 });
    assert.equal(await asked, `http://fake/v1/media/a%23.b/${id}?token=T`);
    client.close();
  },

  async "an upload to a node that is silent begins anew where the client is connected then"() {
    await inBoth(async (isBrowser, after) => {
      const { client, upload, puts } = await uploading(isBrowser);
      if (isBrowser) puts[0].progress(1000, 8 << 20);
      for (const _ of range(1, 24)) await after(1_000);
      assert.ok(!puts[0].isAborted);
      await after(1_000);
      assert.ok(puts[0].isAborted, "the ping was not answered");
      await nextSocket(client, 2);
      await after(1_000);
      await until("the second PUT", () => puts[1]);
      assert.equal(puts[1].url, "http://node2/v1/media/r/m?upload=x");
      puts[1].answer(200);
      assert.equal(await upload, "m");
      client.close();
    });
  },

  async "an upload that goes on after its connection was lost, or after a move, is left alone"() {
    await inBoth(async (isBrowser, after) => {
      const { client, socket, upload, puts } = await uploading(isBrowser);
      const next = await successor(socket);
      next.open();
      next.answer("connect", session({ resumed: true }));
      for (const _ of range(1, 100)) {
        next.say({ online: { room: "r", online: 1 } });
        await after(1_000);
      }
      assert.ok(!puts[0].isAborted, "the node that stops waits for it");
      puts[0].answer(200);
      assert.equal(await upload, "m");
      client.close();
      if (!isBrowser) return;
      const other = await uploading(true);
      other.socket.lose();
      for (const part of range(1, 6)) {
        await after(5_000);
        other.puts[0].progress(part, 10);
      }
      await after(9_000);
      assert.ok(!other.puts[0].isAborted);
      await after(1_000);
      assert.ok(other.puts[0].isAborted);
      other.client.close();
      await assert.rejects(other.upload, (error) => error.code === "notConnected");
    });
  },

  async "an upload ends in any case: at its limit, when it is cancelled, and after three that broke off"() {
    await inBoth(async (isBrowser, after) => {
      const late = await uploading(isBrowser);
      for (let part = 1; part <= 500 && !late.puts[0].isAborted; part += 1) {
        late.socket.say({ online: { room: "r", online: 1 } });
        if (isBrowser) late.puts[0].progress(part, 500);
        await after(9_000);
      }
      assert.ok(late.puts[0].isAborted);
      await assert.rejects(late.upload, (error) => error.code === "timedOut");
      late.client.close();
      const ender = new AbortController();
      const cancelled = await uploading(isBrowser, { signal: ender.signal });
      ender.abort();
      await assert.rejects(cancelled.upload, (error) => error.code === "cancelled");
      assert.ok(cancelled.puts[0].isAborted);
      cancelled.client.close();
      if (!isBrowser) return;
      const stalled = await uploading(true);
      for (const number of range(0, 2)) {
        await until("PUT", () => stalled.puts[number]);
        const isOver = () => stalled.puts[number].isAborted;
        for (let part = 1; part <= 130 && !isOver(); part += 1) {
          stalled.socket.say({ online: { room: "r", online: 1 } });
          await after(1_000);
        }
        assert.ok(isOver(), "two minutes without progress");
        await after(1_000);
      }
      await assert.rejects(stalled.upload, (error) => error.code === "connectionLost");
      stalled.client.close();
    });
  },

  async "the node that was silent is known by whichever address: another one comes first"() {
    await withClock(async (after) => {
      FakeSocket.all = [];
      const client = new ChatroomClient({
        gateways: ["ws://h:1", "ws://h:2"], tokenProvider: () => "t", reconnectMinMs: 1, reconnectMaxMs: 4,
      });
      const connecting = client.connect();
      const socket = await until("socket", () => FakeSocket.all[0]);
      socket.open();
      socket.answer("connect", session({ gateways: ["ws://h:1/v1/ws", "ws://h:2/v1/ws"] }));
      await connecting;
      for (const _ of range(1, 25)) await after(1_000);
      assert.equal(client.state, "lost");
      const next = await until("another", () => FakeSocket.all[1]);
      assert.equal(next.url, "ws://h:2/v1/ws");
      client.close();
    });
  },

  async "a token that ends soon is told once, and the provider is asked in growing haste until it has another"() {
    await withClock(async (after) => {
      let token = "t", asked = 0;
      const tokenProvider = () => {
        asked += 1;
        return token;
      };
      const { client, socket } = await inRoom(0, { tokenProvider });
      const expiring = [];
      client.on("tokenExpiring", (seconds) => expiring.push(seconds));
      const refreshes = () => socket.sent.filter((request) => "refresh" in request).map(({ refresh }) => refresh.token);
      const expire = (seconds) => socket.say({ token: { expiresInSeconds: seconds } });
      assert.equal(asked, 1);
      // It was asked just now.
      expire(40);
      const times = [];
      for (const second of range(1, 40)) {
        const before = asked;
        socket.say({ online: { room: "r", online: 1 } });
        await after(1_000);
        if (asked > before) times.push(second);
      }
      assert.deepEqual(times, [20, 30, 35, 38]);
      assert.deepEqual([refreshes(), expiring], [[], [40]]);
      // Tokens of half a minute are no reason to hurry either.
      await after(60_000);
      token = "t2";
      expire(60);
      await until("refresh", () => refreshes().length === 1);
      socket.answer("refresh", { expiresAt: 1 });
      expire(30);
      token = "t3";
      await after(10_000);
      assert.equal(refreshes().length, 1);
      await after(5_000);
      await until("refresh", () => refreshes().length === 2);
      socket.refuse("refresh", 401);
      await after(8_000);
      assert.deepEqual([refreshes(), expiring], [["t2", "t3"], [40, 30]], "once for each token, and nothing that was refused");
      client.close();
    });
  },

  async "a token that has ended is not used again: another one is, or the client stops"() {
    for (const later of ["t", "t2"]) {
      let token = "t", asked = 0;
      const tokenProvider = () => {
        // A provider may need a moment, too.
        if (later !== "t" && asked === 2) token = later;
        asked += 1;
        return token;
      };
      const { client, socket, told } = await inRoom(0, { tokenProvider });
      let expired = 0;
      client.on("tokenExpired", () => { expired += 1; });
      socket.lose(4401);
      if (later === "t") {
        await until("the end", () => client.state === "failed");
        assert.equal(FakeSocket.all.length, 1);
        assert.equal(asked, 4);
        assert.ok(told.some(([who, state, code]) => who === "client" && state === "failed" && code === "unauthorized"));
      } else {
        const next = await nextSocket(client, 2);
        assert.equal(next.last("connect").connect.token, later);
        assert.equal(client.state, "connected");
      }
      assert.equal(expired, 1);
      client.close();
    }
  },

  async "closing leaves the rooms, and says no more than that"() {
    const { socket, told, client } = await inRoom(0);
    client.close();
    assert.deepEqual(socket.last("exit").exit, { room: "r" });
    assert.deepEqual(told.slice(-2), [["room", "exited"], ["client", "closed", "closed"]]);
    assert.ok(!told.some(([who, state]) => who === "room" && state === "lost"));
  },

  async "a room that is entered through another object is left through the first"() {
    const { socket, room, client } = await inRoom(0);
    socket.say({ kicked: { room: "r", reason: 2 } });
    const other = client.room("r");
    const entering = other.enter();
    socket.answer("enter", entry(5));
    await entering;
    const again = room.enter();
    assert.equal(other.state, "exited");
    socket.answer("enter", entry(5));
    await again;
    assert.equal(client.room("r"), room);
    client.close();
  },

  async "a SLOW gap is read, a BUDGET gap is not"() {
    const { socket, told, client } = await inRoom(10);
    socket.say({ gap: { room: "r", ranges: [[9, 12]], cause: "SLOW" } }, push(13), push(16));
    socket.say({ gap: { room: "r", ranges: [[14, 15]], cause: "BUDGET" } });
    const gaps = told.filter(([event]) => event === "gap").map(([, gap]) => gap);
    assert.deepEqual(gaps, [{ ranges: [[11, 12]], cause: "SLOW" }, { ranges: [[14, 15]], cause: "BUDGET" }]);
    await until("read", () => socket.last("history"));
    assert.deepEqual(socket.last("history").history, { room: "r", order: "ASC", afterSeq: 10, limit: 2 });
    socket.answer("history", { messages: [message(12)], more: true });
    assert.deepEqual(told.at(-2), ["filled", [message(12)]]);
    assert.deepEqual(told.at(-1), ["gap", { ranges: [[11, 11]], cause: "UNAVAILABLE" }]);
    assert.equal(socket.sent.filter((request) => "history" in request).length, 1);
    client.close();
  },

  async "another epoch is told"() {
    const { socket, room, client } = await inRoom(10);
    const entries = [];
    room.on("entered", ({ recovery }) => entries.push(recovery));
    socket.lose();
    const next = await nextSocket(client, 2);
    next.answer("enter", entry(3, { epoch: "other", recovered: false }));
    assert.deepEqual(entries, ["impossible"]);
    client.close();
  },

  async "a lost ack is repaired with the same clientId"() {
    const { socket, room, told, client } = await inRoom(0);
    const sending = room.send("hello");
    const first = socket.last("send").send;
    socket.lose();
    const next = await nextSocket(client, 2);
    assert.equal(next.last("send"), undefined, "the room comes first");
    next.answer("enter", entry(1, { recovered: true, missed: [message(1)], missedMore: false }));
    assert.deepEqual(next.last("send").send, first);
    next.answer("send", { messageId: "m1", time: 1, seq: 1 });
    assert.equal((await sending).seq, 1);
    const statuses = told.filter(([event]) => event === "delivery").map(([, { status }]) => status);
    assert.deepEqual(statuses, ["sending", "unknown", "sending", "sent"]);
    client.close();
  },

  async "a short refusal is waited for, a long one and a real one are told"() {
    const { socket, room, client } = await inRoom(0);
    const sending = room.send("hello");
    socket.refuse("send", 416, { retryAfterMs: 20 });
    await until("repeat", () => socket.sent.filter((request) => "send" in request).length === 2);
    socket.refuse("send", 416, { retryAfterMs: 5001 });
    await assert.rejects(sending, (error) => error.code === "refused" && error.refusal.code === 416);
    const muted = room.send("hello");
    socket.refuse("send", 13004);
    await assert.rejects(muted, (error) => error.refusal.code === 13004);
    client.close();
  },

  async "calls beyond the rate go on one at a time, in their order"() {
    const { socket, room, client } = await inRoom(0);
    const sends = range(1, 8).map((number) => room.send(`${number}`));
    const first = socket.sent.filter((request) => "send" in request);
    assert.equal(first.length, 8);
    for (const { id } of first) socket.say({ id, error: { code: 416, name: "X", message: "no", retryAfterMs: 10 } });
    for (const number of range(1, 8)) {
      const asked = await until("turn", () => socket.sent.filter((request) => "send" in request)[7 + number]);
      assert.equal(asked.send.text, `${number}`);
      assert.equal(socket.sent.at(-1), asked, "one at a time");
      socket.answer("send", { messageId: `m${number}`, time: 1, seq: number });
      assert.equal((await sends[number - 1]).seq, number);
    }
    // From here on they go out at once again.
    for (const text of ["x", "y"]) {
      room.send(text).catch(() => {});
      assert.equal(socket.sent.at(-1).send.text, text);
    }
    client.close();
  },

  async "a call that can't be sent rejects, and the others go on"() {
    const { socket, room, client } = await inRoom(0);
    const before = socket.sent.length;
    await assert.rejects(room.send("x".repeat(1 << 20)), (error) => error.refusal.code === 413);
    await assert.rejects(room.send("\u4e00".repeat(1 << 19)), (error) => error.refusal.code === 413);
    await assert.rejects(room.send({ type: "CUSTOM", content: 1n }), (error) => error.refusal.code === 414);
    assert.equal(socket.sent.length, before);
    // The server could not read its ID.
    const deep = room.send("deep");
    socket.say({ error: { code: 400, name: "MALFORMED", message: "nested too deep" } });
    await assert.rejects(deep, (error) => error.refusal.code === 400);
    const next = room.send("next");
    socket.answer("send", { messageId: "m1", time: 1, seq: 1 });
    assert.equal((await next).seq, 1);
    client.close();
  },

  async "leaving, coming back and leaving again: each is answered"() {
    const { socket, room, client } = await inRoom(0);
    const first = room.exit(), entering = room.enter(), second = room.exit();
    await assert.rejects(entering, (error) => error.code === "notInRoom");
    for (const request of socket.sent.filter((request) => "exit" in request)) socket.say({ id: request.id, exit: {} });
    await Promise.all([first, second]);
    client.close();
  },

  async "who is refused for the rate of entering comes in, however often"() {
    const { socket, client } = await inRoom(0, { retryCount: 1 });
    const entering = client.room("other").enter();
    for (const count of range(1, 5)) {
      const enters = await until("enter", () => {
        const all = socket.sent.filter((request) => request.enter?.room === "other");
        return all.length === count && all;
      });
      socket.say({ id: enters.at(-1).id, error: { code: 416, name: "X", message: "no", retryAfterMs: 10 } });
    }
    await until("enter", () => socket.sent.filter((request) => request.enter?.room === "other").length === 6);
    socket.answer("enter", entry(0));
    await entering;
    client.close();
  },

  async "a log that throws is no fault of the client's"() {
    const { error } = console;
    console.error = () => {};
    try {
      const { room, socket, client } = await inRoom(0, { log: () => { throw new Error("disk full"); } });
      const sending = room.send("hello");
      socket.answer("send", { messageId: "m1", time: 1, seq: 1 });
      await sending;
      client.close();
    } finally { console.error = error; }
  },

  async "a kick ends the stay and nothing comes back"() {
    const { socket, told, client } = await inRoom(0);
    socket.say({ kicked: { room: "r", reason: 2, ext: "why" } });
    assert.deepEqual(told.slice(-2), [["kicked", { reason: 2, ext: "why" }], ["room", "failed"]]);
    socket.lose();
    const next = await nextSocket(client, 2);
    assert.equal(next.last("enter"), undefined);
    client.close();
  },

  async "a kick in front of the reply to connect ends the stay as well"() {
    const { socket, told, client } = await inRoom(0);
    socket.lose();
    const next = await until("socket", () => FakeSocket.all[1]);
    next.open();
    next.say({ kicked: { room: "r", reason: 2, ext: "why" } });
    next.answer("connect", session({ resumed: true }));
    assert.deepEqual(told.filter(([event]) => event === "kicked"), [["kicked", { reason: 2, ext: "why" }]]);
    assert.deepEqual(told.filter(([who]) => who === "room").at(-1), ["room", "failed"]);
    assert.equal(next.last("enter"), undefined);
    client.close();
  },

  async "4403, 4410 and mistakes stop; anything else reconnects"() {
    for (const [code, reason] of [[4403, "forcedOffline"], [4410, "takenOver"], [1008, "protocolViolation"]]) {
      const { socket, client, told } = await inRoom(0);
      socket.lose(code);
      assert.equal(client.state, "failed");
      assert.ok(told.some(([who, state, error]) => who === "client" && state === "failed" && error === reason));
    }
    for (const code of [1001, 1006, 4408, 4429]) {
      const { socket, client } = await inRoom(0);
      socket.lose(code);
      assert.equal(client.state, "lost");
      await until("socket", () => FakeSocket.all.length === 2);
      client.close();
    }
  },

  async "the first connection is retried as often as asked"() {
    for (const [retryCount, tries] of [[0, 1], [3, 4]]) {
      FakeSocket.all = [];
      const options = { gateways: ["ws://fake"], tokenProvider: () => "t", reconnectMinMs: 1, reconnectMaxMs: 2 };
      const client = new ChatroomClient({ ...options, retryCount });
      const connecting = assert.rejects(client.connect(), (error) => error.code === "connectionFailed");
      for (let number = 1; number <= tries; number += 1) {
        (await until("socket", () => FakeSocket.all[number - 1])).lose();
      }
      await connecting;
      assert.equal(FakeSocket.all.length, tries);
    }
  },

  async "a token that is refused thrice stops"() {
    FakeSocket.all = [];
    let asked = 0;
    const tokenProvider = () => `t${asked += 1}`;
    const client = new ChatroomClient({ gateways: ["ws://fake"], tokenProvider, reconnectMinMs: 1, reconnectMaxMs: 2 });
    const connecting = assert.rejects(client.connect(), (error) => error.code === "unauthorized");
    for (let number = 1; number <= 3; number += 1) {
      const socket = await until("socket", () => FakeSocket.all[number - 1]);
      socket.open();
      assert.equal(socket.last("connect").connect.token, `t${number}`);
      socket.refuse("connect", 401);
    }
    await connecting;
  },

  async "a listener that is added twice hears once; what is unknown is told"() {
    const { socket, room, client } = await inRoom(0);
    let heard = 0;
    const listener = () => { heard += 1; };
    room.on("online", listener).on("online", listener);
    socket.say({ online: { room: "r", online: 5 } });
    assert.equal(heard, 1);
    const unknown = [];
    client.on("unsupported", (object) => unknown.push(object));
    socket.say({ hologram: { room: "r" } });
    assert.deepEqual(unknown, [{ hologram: { room: "r" } }]);
    client.close();
  },

  async "a reconnect push moves within its window"() {
    const { socket, client } = await inRoom(0);
    socket.say({ reconnect: { minMs: 10, maxMs: 20, gateways: ["ws://other"] } });
    assert.equal(client.state, "connected");
    const next = await until("socket", () => FakeSocket.all[1]);
    assert.equal(next.url, "ws://other/v1/ws");
    client.close();
  },

  async "a move is not noticed: the old connection serves until the new one is connected"() {
    const { socket, room, told, seqs, client } = await inRoom(10);
    told.length = 0;
    const first = room.send("one");
    const next = await successor(socket);
    assert.equal(next.url, "ws://other/v1/ws");
    const second = room.send("two");
    assert.equal(socket.last("send").send.text, "two", "it is in use");
    next.open();
    assert.equal(next.last("connect").connect.session, "s");
    socket.answer("send", { messageId: "m12", time: 1, seq: 12 });
    socket.say(push(11), push(12));
    next.say(push(13));
    assert.deepEqual(seqs(), [11, 12], "the new connection has nothing to say yet");
    next.answer("connect", session({ resumed: true }));
    assert.equal(socket.readyState, 3);
    socket.say(push(13));
    socket.lose(4410);
    assert.deepEqual(next.sent.map((request) => Object.keys(request)[1]), ["connect", "enter"]);
    assert.deepEqual(next.last("enter").enter, { room: "r", nick: "Ann", since: 12, epoch: "e" });
    const third = room.send("three");
    assert.equal(next.last("send"), undefined, "the room comes first");
    next.answer("enter", entry(14, { recovered: true, missed: range(13, 14).map(message), missedMore: false }));
    const sends = next.sent.filter((request) => "send" in request);
    assert.deepEqual(sends.map(({ send }) => send.text), ["one", "three"]);
    assert.deepEqual(sends[0].send, socket.sent.find((request) => "send" in request).send);
    for (const { id } of sends) next.say({ id, send: { messageId: `m${id}`, time: 1, seq: id } });
    await Promise.all([first, second, third]);
    next.say(push(15));
    assert.deepEqual(seqs(), range(11, 15));
    const statuses = told.filter(([event]) => event === "delivery").map(([, { status }]) => status);
    assert.deepEqual(statuses, ["sending", "sending", "sent", "sending", "sent", "sent"]);
    assert.deepEqual(told.filter(([event]) => ["client", "room", "gap", "skipped"].includes(event)), []);
    assert.equal(FakeSocket.all.length, 2);
    client.close();
  },

  async "4410 on the old connection may come before the new one is connected"() {
    const { socket, told, client, room } = await inRoom(10);
    told.length = 0;
    const next = await successor(socket);
    next.open();
    socket.lose(4410);
    const sending = room.send("hello");
    next.answer("connect", session({ resumed: true }));
    next.answer("enter", entry(10, { recovered: true, missed: [], missedMore: false }));
    next.answer("send", { messageId: "m11", time: 1, seq: 11 });
    await sending;
    assert.deepEqual(told.filter(([event]) => event === "client" || event === "room"), []);
    client.close();
  },

  async "4410 is the end if the client has not replaced the connection itself"() {
    const { socket, told, client } = await inRoom(10);
    const next = await successor(socket);
    socket.lose(4410);
    assert.equal(client.state, "failed");
    assert.ok(told.some(([who, state, error]) => who === "client" && state === "failed" && error === "takenOver"));
    assert.equal(next.readyState, 3);
  },

  async "a successor that fails is followed by another, and the connection in use stays so"() {
    const { socket, told, client, room } = await inRoom(10, { gateways: ["ws://fake", "ws://third"] });
    told.length = 0;
    (await successor(socket)).lose();
    const next = await until("another", () => FakeSocket.all[2]);
    assert.equal(next.url, "ws://third/v1/ws");
    next.open();
    next.refuse("connect", 403);
    const last = await until("a third", () => FakeSocket.all[3]);
    assert.equal(last.url, "ws://fake/v1/ws", "the node that is to be left comes last");
    const sending = room.send("hello");
    socket.answer("send", { messageId: "m11", time: 1, seq: 11 });
    await sending;
    last.open();
    // Its answer is lost, and the old connection ends for it.
    last.lose();
    socket.lose(4410);
    assert.equal(client.state, "lost");
    await nextSocket(client, 5);
    assert.equal(client.state, "connected");
    client.close();
  },

  async "a connection that is lost while the client moves is followed by the attempt under way"() {
    for (const step of ["opening", "open", "resting"]) {
      const { socket, told, client } = await inRoom(10, { reconnectMinMs: 20, reconnectMaxMs: 40 });
      const next = await successor(socket);
      if (step === "open") next.open();
      if (step === "resting") next.lose();
      socket.lose(1001);
      assert.deepEqual(told.slice(-2), [["room", "lost"], ["client", "lost", undefined]]);
      const last = step === "resting" ? await until("another", () => FakeSocket.all[2]) : next;
      if (step !== "open") last.open();
      last.answer("connect", session({ resumed: true }));
      assert.equal(last.last("enter").enter.since, 10);
      assert.equal(client.state, "connected");
      client.close();
      assert.equal(FakeSocket.all.length, step === "resting" ? 3 : 2);
    }
  },

  async "a successor waits for the answers to what must not be repeated"() {
    const { socket, client, room } = await inRoom(10);
    const barrage = room.barrage("one");
    const next = await successor(socket);
    next.open();
    assert.equal(next.last("connect"), undefined);
    const waiting = room.barrage("two");
    assert.equal(socket.last("barrage").barrage.text, "one", "another one waits for the successor");
    socket.answer("barrage", {});
    await barrage;
    next.answer("connect", session({ resumed: true }));
    next.answer("enter", entry(10, { recovered: true, missed: [], missedMore: false }));
    assert.equal(next.last("barrage").barrage.text, "two");
    next.answer("barrage", {});
    await waiting;
    // Not for ever.
    const lost = room.barrage("three");
    const third = await successor(next);
    third.open();
    await until("patience", () => third.last("connect"));
    third.answer("connect", session({ resumed: true }));
    await assert.rejects(lost, (error) => error.code === "connectionLost");
    client.close();
  },

  async "a planned move is told by events of its own, and by no state"() {
    const { socket, told, client } = await inRoom(10);
    told.length = 0;
    client.on("moving", ({ cause }) => told.push(["client", "moving", cause]));
    client.on("moved", () => told.push(["client", "moved"]));
    const next = await successor(socket);
    assert.deepEqual(told, [["client", "moving", "DRAIN"]]);
    next.open();
    next.answer("connect", session({ resumed: true }));
    assert.deepEqual(told, [["client", "moving", "DRAIN"], ["client", "moved"]]);
    next.answer("enter", entry(10, { recovered: true, missed: [], missedMore: false }));
    // One that becomes a lost connection is not told as done.
    await successor(next);
    next.lose();
    await nextSocket(client, 3);
    // With FULL the connection is lost at once.
    FakeSocket.all[2].say({ reconnect: { minMs: 0, maxMs: 1, cause: "FULL", gateways: [] } });
    assert.deepEqual(told.filter(([who]) => who === "client").slice(2),
      [["client", "moving", "DRAIN"], ["client", "lost", undefined], ["client", "connected", undefined]]);
    client.close();
  },

  async "a transport takes the place of WebSocket, also one that has no readyState"() {
    const asked = [];
    const transport = (url, protocols) => {
      asked.push([url, protocols]);
      return Object.defineProperty(new FakeSocket(url), "readyState", { get: () => undefined, set() {} });
    };
    globalThis.WebSocket = undefined;
    try {
      const bytes = (count) => new Uint8Array(count).fill(7);
      const { socket, room, client } = await inRoom(0, { transport, randomBytes: bytes });
      assert.deepEqual(asked, [["ws://fake/v1/ws", ["chatroom.v1.json"]]]);
      const sending = room.send("hello");
      assert.equal(socket.last("send").send.clientId, "07".repeat(16));
      socket.answer("send", { messageId: "m1", time: 1, seq: 1 });
      await sending;
      client.close();
      const without = new ChatroomClient({ gateways: ["ws://fake"], anonymous: true });
      await assert.rejects(without.connect(), (error) => error.code === "noTransport");
      assert.equal(without.state, "idle");
    } finally { globalThis.WebSocket = FakeSocket; }
  },

  async "it needs neither URL nor crypto"() {
    const kept = ["URL", "crypto"].map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)]);
    for (const [name] of kept) Object.defineProperty(globalThis, name, { value: undefined, configurable: true });
    try {
      const addresses = [
        ["ws://h:1", "ws://h:1/v1/ws"], ["wss://h/", "wss://h/v1/ws"], ["wss://h?a=b", "wss://h/v1/ws?a=b"],
        ["wss://h/own/way?a", "wss://h/own/way?a"],
      ];
      for (const [address, url] of addresses) {
        const { socket, room, client } = await inRoom(0, { gateways: [address] });
        assert.equal(socket.url, url);
        const ids = range(1, 50).map(() => {
          room.send("x").catch(() => {});
          return socket.last("send").send.clientId;
        });
        assert.ok(ids.every((id) => /^[0-9a-f]{32}$/.test(id)));
        assert.equal(new Set(ids).size, 50);
        client.close();
      }
    } finally { for (const [name, property] of kept) Object.defineProperty(globalThis, name, property); }
  },

  async "what the cluster can do and its clock are those of the last connect"() {
    FakeSocket.all = [];
    const client = new ChatroomClient({ gateways: ["ws://fake"], anonymous: true, reconnectMinMs: 1, reconnectMaxMs: 2 });
    assert.deepEqual([client.features, client.clockSkewMs], [[], 0]);
    const connecting = client.connect();
    FakeSocket.all[0].open();
    FakeSocket.all[0].answer("connect", session({ time: Date.now() + 60_000, features: ["tally"] }));
    await connecting;
    assert.deepEqual(client.features, ["tally"]);
    assert.ok(Math.abs(client.serverTime() - Date.now() - 60_000) < 5_000);
    FakeSocket.all[0].lose();
    await nextSocket(client, 2);
    assert.deepEqual(client.features, []);
    client.close();
  },

  async "a room that is not there on the new connection is lost after all"() {
    const { socket, told, client } = await inRoom(10);
    const next = await successor(socket);
    next.open();
    next.answer("connect", session({ resumed: true }));
    assert.deepEqual(told.at(-1), ["room", "entered"]);
    next.refuse("enter", 503, { retryAfterMs: 10 });
    assert.deepEqual(told.at(-1), ["room", "lost"]);
    await until("another try", () => next.sent.filter((request) => "enter" in request).length === 2);
    next.refuse("enter", 13002);
    assert.deepEqual(told.at(-1), ["room", "failed"]);
    client.close();
  },
};

globalThis.WebSocket = FakeSocket;
for (const [name, test] of Object.entries(tests)) {
  try { await test(); } catch (error) {
    console.error(`FAILED: ${name}`);
    throw error;
  }
}

// With a real node. `sockets` are all connections that were made; `swallow` loses an answer and its connection.
const sockets = [];
let swallow = null;
globalThis.WebSocket = class extends RealWebSocket {
  constructor(...options) {
    super(...options);
    sockets.push(this);
  }

  set onmessage(listener) {
    super.onmessage = listener && ((event) => {
      if (swallow && event.data.includes(swallow)) {
        swallow = null;
        return this.close();
      }
      listener(event);
    });
  }
};

const options = (token) => ({
  addressProvider: () => [`ws://127.0.0.1:${port()}`], tokenProvider: () => token, gapWaitMs: 100,
  // Well within the patience of `until`, however long the node is away.
  reconnectMinMs: 50, reconnectMaxMs: 500,
});
const ann = new ChatroomClient(options(process.env.TOKEN_ANN));
const bob = new ChatroomClient(options(process.env.TOKEN_BOB));
await Promise.all([ann.connect(), bob.connect()]);
assert.equal(ann.user, "ann");
assert.ok(await ann.ping() > 0);
const [annRoom, bobRoom] = [ann.room(process.env.ROOM), bob.room(process.env.ROOM)];
const heard = [];
bobRoom.on("message", (message) => { if (message.type === "TEXT") heard.push(message); });
await annRoom.enter({ nick: "Ann" });
await bobRoom.enter({ nick: "Bob" });
const texts = () => heard.map((message) => message.text);

await annRoom.send("one");
swallow = '"send":{"messageId"';
await annRoom.send("two");
await annRoom.queueSet("seat", "ann", { ifVersion: 0 });
await assert.rejects(annRoom.queueSet("seat", "x", { ifVersion: 0 }), (error) => error.refusal.code === 409);
assert.equal((await bobRoom.queue()).elements[0].value, "ann");
assert.equal((await bobRoom.queueTake()).key, "seat");
assert.equal((await bobRoom.members("TEMPORARY")).members.length, 2);
const items = [];
annRoom.on("barrage", (list) => items.push(...list));
await bobRoom.barrage("wow");
await until("barrage", () => items.some((item) => item.text === "wow"));
await until("two", () => texts().length === 2);

console.error("RESTART");
await until("loss", () => bob.state === "lost");
const waiting = range(1, 150).map((number) => annRoom.send(`away ${number}`));
await Promise.all(waiting);
await annRoom.send("end");
await until("end", () => texts().includes("end"));
assert.equal(new Set(texts()).size, 153);
assert.deepEqual(heard.map(({ seq }) => seq), [...heard.map(({ seq }) => seq)].sort((a, b) => a - b));
const { messages } = await bobRoom.history({ limit: 100, types: ["TEXT"] });
assert.equal(messages[0].text, "end");
await annRoom.exit();
assert.equal(annRoom.state, "exited");
ann.close();
bob.close();
assert.equal(bobRoom.state, "exited");
console.log("ok");
process.exit(0);
