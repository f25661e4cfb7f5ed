// Dialogues of chatroom.js with a made-up server by made-up clocks, for `clock`: the wall clock is set, and the machine sleeps.
// usage: node clock.mjs SDK-PATH
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const HOUR = 3_600_000;
const source = readFileSync(process.argv[2], "utf8");
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A machine: its wall clock, its monotonic clock, which counts sleeps, stops in them or is not there, and its timers. */
class Machine {
  // The time that everybody else lives in; the timers go by the time awake.
  now = 1_795_000_000_000;
  skew = 0;
  slept = 0;
  awake = 0;
  timers = new Map();

  constructor(kind) {
    this.kind = kind;
    const set = (work, delay = 0, every = null) => {
      const timer = { unref: () => timer };
      this.timers.set(timer, { at: this.awake + Math.max(1, delay || 0), work, every });
      return timer;
    };
    globalThis.setTimeout = (work, delay, ...values) => set(() => work(...values), delay);
    globalThis.setInterval = (work, every) => set(work, every, every);
    globalThis.clearTimeout = globalThis.clearInterval = (timer) => { this.timers.delete(timer); };
    Date.now = () => Math.floor(this.now + this.skew);
    const performance = { now: () => this.awake + (kind === "counts" ? this.slept : 0) };
    const value = kind === "none" ? undefined : performance;
    Object.defineProperty(globalThis, "performance", { value, configurable: true, writable: true });
  }

  /** Lets so much time pass awake. */
  async pass(milliseconds) {
    for (const end = this.awake + milliseconds; this.awake < end;) {
      await turn();
      const step = Math.min(50, end - this.awake);
      this.awake += step;
      this.now += step;
      const due = [...this.timers].filter(([, { at }]) => at <= this.awake).sort(([, a], [, b]) => a.at - b.at);
      for (const [timer, entry] of due) {
        if (!this.timers.has(timer)) continue;
        if (entry.every) entry.at = this.awake + entry.every; else this.timers.delete(timer);
        entry.work();
      }
    }
    await turn();
  }

  async sleep(milliseconds) {
    this.now += milliseconds;
    this.slept += milliseconds;
    await turn();
  }

  set(skew) { this.skew += skew; }
}

/** A client in a room on a machine, and the server's side of it. */
async function world(kind, options = {}) {
  const machine = new Machine(kind);
  const server = { sockets: [], sends: [], refreshes: [], holdsSends: false, holdsReads: false, refuse: null, ...options.server };
  class Socket {
    readyState = 0;
    constructor() {
      server.sockets.push(this);
      setTimeout(() => { this.readyState = 1; this.onopen?.(); }, 20);
    }
    say(object) { if (!this.isDead) setTimeout(() => this.onmessage?.({ data: JSON.stringify(object) }), 20); }
    close() { this.readyState = 3; }
    send(text) {
      if (this.isDead) return;
      const { id, ...rest } = JSON.parse(text);
      const [[operation, fields]] = Object.entries(rest);
      const time = server.hasNoTime ? undefined : machine.now;
      const answers = {
        connect: () => ({
          session: "s", user: "ann", anonymous: false, heartbeatSeconds: 15, time, gateways: [], resumed: server.sockets.length > 1,
        }),
        enter: () => ({
          room: { id: "r", online: 1 }, me: { user: "ann" }, epoch: "e", seq: 0,
          ...fields.since !== undefined && { recovered: true },
        }),
        ping: () => ({ time }),
        refresh: () => { server.refreshes.push(fields.token); return { expiresAt: time + HOUR }; },
        send: () => {
          server.sends.push(fields.clientId);
          return server.holdsSends ? null : { messageId: "m", time, seq: 1 };
        },
        history: () => server.holdsReads ? null : { messages: [], more: false },
      };
      const error = server.refuse?.(operation);
      if (error) return this.say({ id, error });
      const result = answers[operation]?.();
      if (result) this.say({ id, [operation]: result });
    }
  }
  // Each machine has a module of its own, whose clock begins with it.
  const { ChatroomClient } = await import(`data:text/javascript,${encodeURIComponent(`// ${Math.random()}\n${source}`)}`);
  const client = new ChatroomClient({
    gateways: ["ws://fake"], tokenProvider: () => "t", transport: () => new Socket(), ...options.client,
  });
  const connecting = client.connect();
  await machine.pass(200);
  await connecting;
  const room = client.room("r"), entering = room.enter();
  await machine.pass(200);
  await entering;
  await machine.pass(2_000);
  /** Follows a call: `is` is "waits", "ok" or the code of its error. */
  const outcome = (call) => {
    const seen = { is: "waits" };
    call.then(() => { seen.is = "ok"; }, (error) => { seen.is = error.code; });
    return seen;
  };
  return { machine, server, client, room, outcome };
}

const dies = (server) => { server.sockets.at(-1).isDead = true; };

/** Three sends without an answer, on a connection that dies. */
async function withThreeSends(kind) {
  const given = await world(kind, { server: { holdsSends: true } });
  const { server, room, outcome, machine } = given;
  const sends = ["a", "b", "c"].map((clientId) => outcome(room.send("hello", { clientId })));
  await machine.pass(500);
  assert.deepEqual(server.sends.splice(0), ["a", "b", "c"]);
  dies(server);
  server.holdsSends = false;
  return { ...given, is: () => sends.map((send) => send.is).join(" ") };
}

const tests = {
  async "a connection that dies when the clock is set back is noticed"(kind) {
    const { machine, server, client } = await world(kind);
    machine.set(-HOUR);
    dies(server);
    await machine.pass(60_000);
    assert.equal(server.sockets.length, 2);
    assert.equal(client.state, "connected");
    client.close();
  },

  async "a clock that is set often ends no connection that lives"(kind) {
    const { machine, server, client } = await world(kind);
    for (const skew of [HOUR, -HOUR, -3 * HOUR, 60_000, 4 * HOUR]) {
      machine.set(skew);
      await machine.pass(20_300);
    }
    assert.equal(server.sockets.length, 1);
    client.close();
  },

  async "a token is renewed in time, however the clock is set"(kind) {
    for (const skew of [-HOUR, HOUR]) {
      let asked = 0;
      // The provider has the next one at the third question.
      const tokenProvider = () => (asked += 1) > 2 ? "next" : "t";
      const { machine, server, client } = await world(kind, { client: { tokenProvider } });
      machine.set(skew);
      await machine.pass(12_000);
      server.sockets[0].say({ token: { expiresInSeconds: 60 } });
      await machine.pass(20_000);
      machine.set(skew);
      await machine.pass(30_000);
      assert.deepEqual(server.refreshes, ["next"]);
      client.close();
    }
  },

  async "sends are repeated when the clock was set forward, and reads go on"(kind) {
    const { machine, server, client, room, outcome, is } = await withThreeSends(kind);
    const read = outcome(room.history());
    machine.set(HOUR);
    await machine.pass(2_000);
    assert.equal(is(), "waits waits waits");
    assert.equal(read.is, "waits");
    await machine.pass(20_000);
    assert.deepEqual(server.sends, ["a", "b", "c"]);
    assert.equal(is(), "ok ok ok");
    assert.equal(read.is, "ok");
    client.close();
  },

  async "sends are repeated after a short sleep, though the clock was set, too"(kind) {
    for (const skew of [0, -HOUR, HOUR]) {
      const { machine, server, client, is } = await withThreeSends(kind);
      await machine.sleep(300_000);
      machine.set(skew);
      await machine.pass(60_000);
      assert.deepEqual(server.sends, ["a", "b", "c"]);
      assert.equal(is(), "ok ok ok");
      client.close();
    }
  },

  async "after a sleep of an hour no send is repeated, whatever the clock says"(kind) {
    for (const skew of [0, -HOUR, HOUR]) {
      const { machine, server, client, is } = await withThreeSends(kind);
      await machine.sleep(HOUR);
      machine.set(skew);
      await machine.pass(60_000);
      assert.equal(client.state, "connected");
      assert.deepEqual(server.sends, []);
      assert.equal(is(), "outcomeUnknown outcomeUnknown outcomeUnknown");
      client.close();
    }
  },

  async "a send just after a sleep is repeated; one just after a setting and before a sleep is not"(kind) {
    for (const isSleepFirst of [true, false]) {
      const { machine, server, client, room, outcome } = await world(kind);
      dies(server);
      if (isSleepFirst) await machine.sleep(HOUR); else machine.set(HOUR);
      const send = outcome(room.send("hello", { clientId: "a" }));
      await machine.pass(200);
      if (!isSleepFirst) await machine.sleep(HOUR);
      await machine.pass(30_000);
      assert.deepEqual(server.sends, isSleepFirst ? ["a"] : []);
      assert.equal(send.is, isSleepFirst ? "ok" : "outcomeUnknown");
      client.close();
    }
  },

  async "changes end in their time when the server names no time"(kind) {
    const { machine, server, client, room, outcome } = await world(kind, { server: { hasNoTime: true, holdsSends: true } });
    const send = outcome(room.send("hello"));
    await machine.pass(500);
    dies(server);
    await machine.sleep(HOUR);
    await machine.pass(30_000);
    assert.equal(server.sends.length, 1);
    assert.equal(send.is, "outcomeUnknown");
    client.close();
  },

  async "a sleep of an hour is noticed soon after it"(kind) {
    const { machine, server, client } = await world(kind);
    dies(server);
    await machine.sleep(HOUR);
    await machine.pass(8_000);
    assert.equal(server.sockets.length, 2);
    assert.equal(client.state, "connected");
    client.close();
  },

  async "a call without a connection ends in its time when the clock is set back"(kind) {
    const { machine, server, client, room, outcome } = await world(kind, { server: { holdsReads: true } });
    const read = outcome(room.history());
    machine.set(-HOUR);
    await machine.pass(31_000);
    assert.equal(read.is, "timedOut");
    server.sockets[0].onclose({ code: 1006, reason: "" });
    client.close();
  },

  async "a refused send waits as long as it was told, however the clock is set"(kind) {
    for (const skew of [-HOUR, HOUR]) {
      const { machine, server, client, room, outcome } = await world(kind);
      const refusal = { code: 416, name: "RATE_LIMITED", message: "", retryAfterMs: 3_000 };
      server.refuse = (operation) => operation === "send" && refusal;
      const send = outcome(room.send("hello"));
      await machine.pass(500);
      server.refuse = null;
      machine.set(skew);
      await machine.pass(2_000);
      assert.equal(send.is, "waits");
      await machine.pass(1_500);
      assert.equal(send.is, "ok");
      client.close();
    }
  },

  async "the server's time is known again soon after the clock was set"(kind) {
    for (const skew of [-HOUR, HOUR]) {
      const { machine, client } = await world(kind);
      machine.set(skew);
      await machine.pass(3_000);
      assert.ok(Math.abs(client.serverTime() - machine.now) < 1_000);
      client.close();
    }
  },
};

let failures = 0, count = 0;
for (const [name, test] of Object.entries(tests)) {
  for (const kind of ["counts", "stops", "none"]) {
    count += 1;
    try { await test(kind); } catch (error) {
      failures += 1;
      console.error(`FAILED  ${name} (monotonic clock: ${kind}): ${error.message}`);
    }
  }
}
const dialogues = `${count} dialogues of chatroom.js by clocks that are set and stop`;
console.log(failures ? `${failures} of ${dialogues} failed` : `ok  ${dialogues}`);
process.exit(failures ? 1 : 0);
