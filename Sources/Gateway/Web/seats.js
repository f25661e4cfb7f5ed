/**
 * Mic seats: elements `seat:1`, `seat:2` … of the room's queue, by the rules of docs/SEATS.md. It shows what the server has
 * said and nothing before that: every change comes back as 317 or 320, and is taken by its seq.
 */
import { dialog, menu } from "./dialogs.js";
import { button, cut, face, freshId, icon, isManager, make, named, nameOf } from "./parts.js";
import { words } from "./words.js";

const say = (key, values) => words.say(`seats.${key}`, values);

const SEATS_MAX = 20;
const SEATS_DEFAULT = 8;
const VALID_MS = 60_000;
const REQUESTS_MAX = 20;
const SETTLED_MAX = 200;
const RECEIVERS_MAX = 50;
const PAGES_MAX = 10;
/** Nothing tells that a connection broke, so whoever needs to know reads the queue again after so long. */
const LOOK_MS = 5_000;
/** Where more are online, only managers and those on a seat look. */
const LOOKERS_MAX = 100;
const OWNERS_LOOK_EVERY = 6;
const PICK_MAX = 50;
const VALUE_MAX = 4_096;

const MIC = "M12 4a3 3 0 0 1 3 3v4a3 3 0 0 1-6 0V7a3 3 0 0 1 3-3zM6 11a6 6 0 0 0 12 0M12 17v3";
const MIC_OFF = `${MIC}M5 4l14 16`;
const LOCK = "M7 11V8a5 5 0 0 1 10 0v3M6 11h12v9H6z";
const PLUS = "M12 6v12M6 12h12";

const keyOf = (seat) => `seat:${seat}`;
const seatOf = (key) => {
  const seat = /^seat:([1-9]\d?)$/.test(key) ? Number(key.slice(5)) : 0;
  return seat <= SEATS_MAX ? seat : 0;
};

function objectOf(text) {
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
  } catch { return {}; }
}

function encode(object) { return btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(object)))); }

/** The words of a COMMAND about seats; null if it says nothing, or not in the right words. */
function decode(payload) {
  if (typeof payload !== "string" || payload.length > 7_000) return null;
  let command;
  try { command = objectOf(new TextDecoder().decode(Uint8Array.from(atob(payload), (letter) => letter.charCodeAt(0)))); }
  catch { return null; }
  const { kind, id, at, seat } = command;
  const isRight = kind === "seat" && typeof id === "string" && id.length > 0 && id.length <= 64 && Number.isFinite(at)
    && (seat === undefined || (Number.isInteger(seat) && seat >= 0 && seat <= SEATS_MAX));
  return isRight ? command : null;
}

export class Seats {
  #container;
  #context;
  #isIn = false;
  // For each seat what is there, and the seq as of which that is known.
  #seats = Array.from({ length: SEATS_MAX + 1 }, () => ({ element: null, seq: -1 }));
  #cards = [];
  #parts = {};
  // Requests that wait for this manager, invitations that it has sent, and IDs that are settled.
  #requests = new Map();
  #invites = new Map();
  #settled = new Set();
  // This person's own request, and the invitation that it is looking at.
  #ask = null;
  #invitation = null;
  #timers = new Set();
  #looking = null;
  #looks = 0;
  #reading = false;
  #counting = null;
  #isDrawing = false;
  #menu = null;
  #end = new AbortController();
  #heard;

  constructor(container, context) {
    [this.#container, this.#context] = [container, context];
    const strip = make("ul", { class: "seats-strip", role: "list", "aria-label": say("label") });
    const requests = make("div", { class: "seats-requests", role: "group", "aria-label": say("requests") });
    const ask = make("div", { class: "seats-ask", hidden: true });
    this.#parts = { strip, requests, ask };
    container.classList.add("seats");
    container.replaceChildren(strip, ask, requests);
    container.getRootNode().addEventListener("seat-invite", ({ detail }) => {
      const person = typeof detail?.user === "object" ? detail.user : detail;
      if (person?.user) this.#invite(person);
    }, { signal: this.#end.signal });
    // A hole in the stream may hide a change.
    const filled = (messages) => { for (const message of messages) this.message(message); };
    this.#heard = { gap: () => this.#readLater(), filled };
    for (const [event, listener] of Object.entries(this.#heard)) context.room.on(event, listener);
    this.#draw();
  }

  // From the room

  /** The room was entered, or entered again: the queue as of `seq`. */
  entered({ queue, seq, queueNext, recovery }) {
    this.#isIn = true;
    // Not the stream that was known before: its seqs mean nothing now.
    if (recovery === "fresh" || recovery === "impossible") this.#forget();
    if (queue) this.#take([{ elements: queue, seq }], queueNext === undefined);
    if (!queue || queueNext !== undefined) this.#read();
    this.#look();
    this.#draw();
  }

  message(message) {
    if (message.type === "COMMAND") return this.#command(message);
    const { event, data = {}, seq, targets = [] } = message;
    if (event === 317) {
      if (data.change === "DROP") this.#seats.forEach((_, seat) => this.#put(seat, null, seq));
      else this.#put(seatOf(data.key), data.change === "POLL" ? null : data, seq);
    }
    if (event === 320) {
      for (const element of data.elements ?? []) {
        this.#put(seatOf(element.key), data.change === "PARTCLEAR" ? null : element, seq);
      }
    }
    if ([302, 303, 313].includes(event)) this.#free(targets.map(({ user }) => user));
    // A manager who has just come has not heard what was asked.
    if (event === 301 && isManager(data.role) && this.#ask) this.#repeat(targets[0]?.user);
    if ([307, 308, 312, 317, 320].includes(event)) this.#draw();
  }

  exited() {
    this.#isIn = false;
    this.#forget();
    [this.#ask, this.#looks] = [null, 0];
    for (const list of [this.#requests, this.#invites, this.#settled]) list.clear();
    this.#endInvitation();
    this.#menu?.shut(false);
    for (const { number } of this.#timers) clearTimeout(number);
    this.#timers.clear();
    clearTimeout(this.#looking);
    this.#draw();
  }

  destroy() {
    this.exited();
    this.#end.abort();
    clearInterval(this.#counting);
    for (const [event, listener] of Object.entries(this.#heard)) this.#context.room.off(event, listener);
    this.#container.replaceChildren();
  }

  // The state

  get #me() { return this.#context.me() ?? {}; }
  get #level() { return this.#context.info()?.queueLevel ?? "ANY"; }
  get #manages() { return this.#isIn && this.#context.canManage(); }
  /** Whether the server knows owners that managers name, and locks. */
  get #hosts() { return this.#context.client.features.includes("seats"); }
  get #maySpeak() { return this.#isIn && !this.#context.isAnonymous(); }
  /** Whether the server lets this person change its own seat. */
  get #mayWrite() { return this.#maySpeak && (this.#level !== "MANAGER" || this.#manages); }

  get #count() {
    const { seats } = objectOf(this.#context.info()?.ext ?? "");
    return Number.isInteger(seats) && seats >= 0 ? Math.min(seats, SEATS_MAX) : SEATS_DEFAULT;
  }

  #forget() { for (const seat of this.#seats) Object.assign(seat, { element: null, seq: -1 }); }

  /** Takes an element as of a seq, unless a later one is known. */
  #put(seat, element, seq) {
    const known = this.#seats[seat];
    if (seat === 0 || !known || !(seq > known.seq)) return;
    Object.assign(known, { element, seq });
  }

  /** Takes pages of the queue. A key that is on none of them was not there as of the first one; what has happened since is
   * told by messages. */
  #take(pages, isAll) {
    const found = new Set();
    for (const { elements, seq } of pages) {
      for (const element of elements) {
        const seat = seatOf(element.key);
        found.add(seat);
        // The same seq again may bring a new `held`.
        if (seat > 0 && seq >= this.#seats[seat].seq) Object.assign(this.#seats[seat], { element, seq });
      }
    }
    if (isAll) for (let seat = 1; seat <= SEATS_MAX; seat += 1) if (!found.has(seat)) this.#put(seat, null, pages[0].seq);
  }

  async #read() {
    if (this.#reading || !this.#isIn) return;
    this.#reading = true;
    try {
      const pages = [];
      let after;
      do {
        const page = await this.#context.room.queue(after === undefined ? {} : { after });
        pages.push(page);
        after = page.next;
      } while (after !== undefined && pages.length < PAGES_MAX);
      if (this.#isIn) this.#take(pages, after === undefined);
    } catch { /* The next look or the next entry brings it. */ } finally {
      this.#reading = false;
      this.#draw();
    }
  }

  /** One look, at a random time, so that not all viewers come at once. */
  #readLater() {
    this.#later(() => this.#read(), 500 + Math.random() * 4_500, "read");
  }

  #later(work, milliseconds, name) {
    if (name && [...this.#timers].some((timer) => timer.name === name)) return;
    const timer = { name };
    timer.number = setTimeout(() => { this.#timers.delete(timer); work(); }, milliseconds);
    this.#timers.add(timer);
  }

  #look() {
    clearTimeout(this.#looking);
    this.#looking = setTimeout(async () => {
      if (!this.#isIn) return;
      const { user } = this.#me;
      const seen = this.#all();
      const isTaken = seen.some((view) => view.state === "taken" && view.user !== user);
      const isSmall = (this.#context.info()?.online ?? Infinity) <= LOOKERS_MAX;
      const looks = this.#manages || isSmall || seen.some((view) => view.user === user);
      if (isTaken && looks && !document.hidden) await this.#read();
      this.#looks += 1;
      if (this.#manages && this.#looks % OWNERS_LOOK_EVERY === 0) await this.#freeAbsent();
      this.#look();
    }, LOOK_MS * (0.8 + Math.random() * 0.4));
  }

  /** The state of a seat. The owner is the one who sits there: the server vouches for it. Where only managers write, they write
   * for others, and the value says for whom. */
  #view(seat) {
    const { element } = this.#seats[seat];
    if (!element) return { seat, state: "empty" };
    const value = String(element.value ?? "").length <= VALUE_MAX ? objectOf(element.value) : {};
    if (value.locked === true) return { seat, state: "locked", element };
    const writtenFor = this.#level === "MANAGER" && typeof value.user === "string" && value.user !== "";
    const user = writtenFor ? value.user.slice(0, 64) : element.owner;
    return {
      seat, state: "taken", element, user, nick: typeof value.nick === "string" ? value.nick : user,
      avatar: typeof value.avatar === "string" ? value.avatar : "", mic: value.mic !== false, held: element.held === true,
      isLocked: element.locked === true,
    };
  }

  #all() { return Array.from({ length: this.#count }, (_, index) => this.#view(index + 1)); }
  #own() { return this.#all().find((view) => view.state === "taken" && view.user === this.#me.user); }
  #firstFree() { return this.#all().find((view) => view.state === "empty")?.seat; }

  // Changing seats

  /** Does something, and tells in words why it failed. A seat that is gone already needs no words.
   * @param name of the person whom it is about, if that is another one. */
  async #try(work, name) {
    try { return await work(); } catch (error) {
      const { code, field } = error.refusal ?? {};
      if (code === 404 && field === "owner") { this.#context.notice(say("away", { name }), "warn"); return undefined; }
      if (code === 404) return undefined;
      const conflict = field === "transient" ? "enough" : "faster";
      this.#context.notice(say(code === 409 ? conflict : [403, 416, 13004, 13006].includes(code) ? `error.${code}` : "error"), "warn");
      return undefined;
    }
  }

  #write(seat, person, options) {
    const { user, nick, avatar = "", mic } = person;
    const value = { user, nick: cut(nick, 64) || user, avatar, mic: mic !== false };
    return this.#context.room.queueSet(keyOf(seat), JSON.stringify(value), { transient: true, ...options });
  }

  #sit(seat) { return this.#try(() => this.#write(seat, this.#me, { ifVersion: 0 })); }

  /** Writes a seat for somebody else, which only managers may. `owner` makes it the other's own where the server knows that
   * field; else it is the manager's, who frees it when the other has gone. */
  #seatFor(person, seat) {
    const owner = this.#hosts ? { owner: person.user } : {};
    return this.#try(() => this.#write(seat, person, { ifVersion: 0, ...owner }), named(person));
  }

  /** Locks a free seat: nobody sits there. */
  #lock(seat) {
    const lock = this.#hosts ? { locked: true } : {};
    return this.#try(() => this.#context.room.queueSet(keyOf(seat), '{"locked":true}', { ifVersion: 0, ...lock }));
  }

  /** Locks a seat for the one who sits there, or unlocks it: nobody but managers changes it. */
  #setLock(view) {
    const { element } = view;
    return this.#try(() => this.#context.room.queueSet(element.key, element.value,
      { transient: element.transient, ifVersion: element.version, keepOwner: true, locked: !view.isLocked }));
  }

  #empty(seat) { return this.#try(() => this.#context.room.queueTake(keyOf(seat))); }

  #setMic(view) {
    const isOther = view.user !== this.#me.user;
    return this.#try(() => this.#write(view.seat, { ...view, mic: !view.mic },
      { ifVersion: view.element.version, ...(isOther && this.#hosts ? { keepOwner: true } : {}) }));
  }

  async #leave(view) {
    if (this.#manages || (this.#mayWrite && !view.isLocked)) return this.#empty(view.seat);
    const others = await this.#managersHere();
    const to = [...new Set([view.element.owner, ...others])];
    const sent = await this.#tell(to, { action: "leave", seat: view.seat, id: freshId() });
    const isHeard = sent?.delivered > 0;
    if (sent) this.#context.notice(say(isHeard ? "left" : "nobody"), isHeard ? "good" : "warn");
  }

  /** Frees the seats that this manager has written for people who have gone. */
  #free(users) {
    if (!this.#manages || this.#level !== "MANAGER") return;
    const { user } = this.#me;
    for (const view of this.#all()) {
      if (view.user !== user && view.element?.owner === user && users.includes(view.user)) this.#empty(view.seat);
    }
  }

  /** In a big room nothing tells of each one that goes. */
  async #freeAbsent() {
    const { user } = this.#me;
    const seated = this.#all().filter((view) => view.user && view.user !== user && view.element.owner === user);
    if (this.#level !== "MANAGER" || seated.length === 0) return;
    try {
      const members = await this.#context.room.membersById([...new Set(seated.map((view) => view.user))].slice(0, SEATS_MAX));
      const here = new Set(members.filter(({ online }) => online).map((member) => member.user));
      this.#free(seated.map((view) => view.user).filter((seatedUser) => !here.has(seatedUser)));
    } catch { /* The next round does it. */ }
  }

  // Requests and invitations

  async #managersHere() {
    try {
      const { members } = await this.#context.room.members("MANAGERS", { limit: 100 });
      const here = members.filter(({ online, user }) => online && user !== this.#me.user);
      return here.map(({ user }) => user).slice(0, RECEIVERS_MAX);
    } catch { return []; }
  }

  /** Sends a COMMAND about seats; resolves with the ack, or with undefined when it was refused, which is told. */
  #tell(to, command) {
    const { user, nick } = this.#me;
    const payload = encode({ kind: "seat", user, nick: cut(nick, 64), at: Math.round(this.#context.now()), ...command });
    return this.#try(() => this.#context.room.send({ type: "COMMAND", payload, to: to.slice(0, RECEIVERS_MAX) }));
  }

  async #request(seat) {
    if (this.#ask) return;
    const ask = { id: freshId(), seat, at: Math.round(this.#context.now()), until: this.#context.now() + VALID_MS };
    this.#ask = ask;
    this.#draw();
    const to = await this.#managersHere();
    const sent = to.length > 0 ? await this.#tell(to, { action: "ask", seat, id: ask.id, at: ask.at }) : { delivered: 0 };
    if (sent?.delivered > 0) return;
    if (sent) this.#context.notice(say("nobody"), "warn");
    if (this.#ask === ask) this.#ask = null;
    this.#draw();
  }

  #repeat(user) {
    const { id, seat, at } = this.#ask;
    if (user) this.#tell([user], { action: "ask", seat, id, at });
  }

  async #withdraw() {
    const { id } = this.#ask ?? {};
    this.#ask = null;
    this.#draw();
    const to = await this.#managersHere();
    if (id && to.length > 0) this.#tell(to, { action: "cancel", id });
  }

  /** A manager answers. The other managers hear it too, so that nobody answers twice. */
  async #answer(request, isApproved) {
    this.#requests.delete(request.id);
    this.#settle(request.id);
    this.#draw();
    let { seat } = request;
    if (isApproved) {
      if (!seat || this.#view(seat).state !== "empty") seat = this.#firstFree();
      if (!seat) return this.#context.notice(say("full"), "warn");
      if (this.#level === "MANAGER" && !await this.#seatFor(request, seat)) return;
    }
    const to = [request.user, ...await this.#managersHere()];
    await this.#tell(to, { action: isApproved ? "approve" : "decline", id: request.id, seat: seat ?? 0 });
  }

  async #invite(person, seat = this.#firstFree()) {
    if (!this.#manages || person.user === this.#me.user) return;
    const tell = (key, kind) => this.#context.notice(say(key, { name: named(person), seat }), kind);
    if (this.#all().some((view) => view.user === person.user)) return tell("sits", "warn");
    if (!seat) return tell("full", "warn");
    const invite = { id: freshId(), user: person.user, seat, until: this.#context.now() + VALID_MS };
    this.#bound(this.#invites);
    this.#invites.set(invite.id, invite);
    const sent = await this.#tell([person.user], { action: "invite", seat, id: invite.id });
    if (!sent?.delivered) this.#invites.delete(invite.id);
    if (sent) tell(sent.delivered > 0 ? "invited" : "away", sent.delivered > 0 ? "good" : "warn");
  }

  /** Others ask and answer. Only the sender and its role that the server names are believed. */
  #command({ payload, from, time }) {
    const command = decode(payload);
    if (!command || !from || !this.#isIn) return;
    const { action, id } = command;
    const [isMine, byManager] = [from.user === this.#me.user, isManager(from.role)];
    const until = Math.min(command.at, time) + VALID_MS;
    if (until <= this.#context.now()) return;
    switch (action) {
      case "ask":
        if (this.#manages && !isMine && !this.#settled.has(id) && !this.#requests.has(id)) this.#requested(command, from, until);
        break;
      case "cancel":
        if (this.#requests.get(id)?.user === from.user) { this.#requests.delete(id); this.#settle(id); }
        if (this.#invitation?.id === id && this.#invitation.from.user === from.user) this.#endInvitation();
        break;
      case "approve": case "decline":
        // An invited person declines, too.
        this.#declined(action, id, from);
        if (byManager) this.#decided(command, isMine);
        if (isMine && this.#invitation?.id === id) this.#endInvitation();
        break;
      case "invite":
        if (byManager && !isMine && command.seat > 0 && !this.#settled.has(id)) this.#invited(command, from, until);
        break;
      case "accept":
        this.#accepted(id, from);
        if (isMine && this.#invitation?.id === id) this.#endInvitation();
        break;
      case "leave":
        if (this.#manages) this.#freeFor(command.seat, from);
        break;
    }
    this.#draw();
  }

  #requested({ id, seat = 0 }, from, until) {
    // A person has one request; the newest counts.
    for (const [other, request] of this.#requests) if (request.user === from.user) this.#requests.delete(other);
    this.#bound(this.#requests);
    this.#requests.set(id, { id, seat, user: from.user, nick: from.nick, avatar: from.avatar, until });
    this.#context.notice(say("newRequest", { name: named(from) }), "good");
  }

  #decided({ action, id, seat }, isMine) {
    this.#requests.delete(id);
    this.#settle(id);
    if (isMine || this.#ask?.id !== id) return;
    this.#ask = null;
    if (action === "decline") return this.#context.notice(say("declined"), "warn");
    this.#context.notice(say("approved", { seat }), "good");
    // The manager has written the seat before in rooms in which only managers write.
    if (this.#level !== "MANAGER" && seat > 0 && !this.#own()) this.#sit(seat);
  }

  #declined(action, id, from) {
    const invite = this.#invites.get(id);
    if (action !== "decline" || invite?.user !== from.user) return;
    this.#invites.delete(id);
    this.#context.notice(say("refused", { name: named(from) }), "warn");
  }

  #accepted(id, from) {
    const invite = this.#invites.get(id);
    if (invite?.user !== from.user) return;
    this.#invites.delete(id);
    if (this.#level === "MANAGER") this.#seatFor({ ...from }, invite.seat);
  }

  /** Somebody wants to leave a seat that a manager has written. The manager who owns it frees it at once, another one a
   * little later if it is still there. */
  #freeFor(seat, from) {
    if (!seat) return;
    const { element, user } = this.#view(seat);
    if (!element || user !== from.user || (this.#level !== "MANAGER" && !element.locked)) return;
    if (element.owner === this.#me.user) return this.#empty(seat);
    const { version } = element;
    const { seq } = this.#seats[seat];
    this.#later(() => {
      const known = this.#seats[seat];
      const isSame = known.element?.version === version && this.#view(seat).user === from.user && known.seq >= seq;
      if (isSame && this.#manages) this.#empty(seat);
    }, 500 + Math.random() * 2_500);
  }

  #bound(list) { while (list.size >= REQUESTS_MAX) list.delete(list.keys().next().value); }

  #settle(id) {
    this.#settled.add(id);
    if (this.#settled.size > SETTLED_MAX) this.#settled.delete(this.#settled.values().next().value);
  }

  #expire() {
    const now = this.#context.now();
    for (const list of [this.#requests, this.#invites]) for (const [id, { until }] of list) if (until <= now) list.delete(id);
    if (this.#ask && this.#ask.until <= now) {
      this.#ask = null;
      this.#context.notice(say("unanswered"), "warn");
    }
    if (this.#invitation && this.#invitation.until <= now) this.#endInvitation();
  }

  // The invitation

  #invited({ id, seat }, from, until) {
    this.#settle(id);
    if (this.#invitation || this.#own()) return;
    const answer = async (isAccepted) => {
      const invitation = this.#invitation;
      this.#endInvitation();
      if (!invitation) return;
      if (isAccepted && this.#level !== "MANAGER" && !await this.#sit(seat)) return;
      this.#tell([from.user], { action: isAccepted ? "accept" : "decline", id, seat });
    };
    const left = make("p", "seats-left");
    const title = say("invitation", { name: named(from), seat });
    const box = dialog(this.#container, title, "seats-invitation", face(from, "seats"), left, make("div", "dialog-foot",
      button("part-button", say("no"), () => answer(false)), button("part-button part-primary", say("accept"), () => answer(true))));
    this.#invitation = { id, from, until, box, left };
    // Escape, and a click beside it.
    box.addEventListener("close", () => { if (this.#invitation?.box === box) answer(false); });
    // The dialog itself has the focus, so that a key meant for the message being written answers nothing.
    box.tabIndex = -1;
    box.focus();
    this.#countDown();
  }

  #endInvitation() {
    const { box } = this.#invitation ?? {};
    this.#invitation = null;
    box?.close();
  }

  #countDown() {
    const left = (until) => Math.max(0, Math.ceil((until - this.#context.now()) / 1000));
    if (this.#invitation) {
      this.#invitation.left.textContent = say("countdown", { seconds: left(this.#invitation.until) });
    }
    const { asked } = this.#parts;
    if (this.#ask && asked) asked.textContent = say("asked", { seconds: left(this.#ask.until) });
    for (const row of this.#parts.requests.querySelectorAll(".seats-request")) {
      const request = this.#requests.get(row.dataset.id);
      if (request) row.querySelector(".seats-time").textContent = `${left(request.until)} s`;
    }
  }

  /** Runs a clock while something counts down. */
  #clock() {
    const runs = this.#ask || this.#invitation || this.#requests.size + this.#invites.size > 0;
    if (!runs) { clearInterval(this.#counting); this.#counting = null; return; }
    this.#counting ??= setInterval(() => {
      const before = this.#requests.size;
      const asked = this.#ask;
      this.#expire();
      if (this.#requests.size !== before || this.#ask !== asked) this.#draw();
      this.#countDown();
      this.#clock();
    }, 1_000);
  }

  // Drawing

  /** Draws once in a turn, behind everything that the page does with the same message. */
  #draw() {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    setTimeout(() => {
      this.#isDrawing = false;
      if (this.#end.signal.aborted) return;
      this.#drawSeats();
      this.#drawRequests();
      this.#countDown();
      this.#clock();
    }, 0);
  }

  #drawSeats() {
    const count = this.#count;
    const { strip } = this.#parts;
    this.#container.classList.toggle("seats-none", count === 0);
    while (this.#cards.length > count) this.#cards.pop().item.remove();
    while (this.#cards.length < count) {
      const seat = this.#cards.length + 1;
      const card = button("seats-seat", "", () => this.#press(seat));
      const item = make("li", {}, card);
      this.#cards.push({ item, button: card, shown: "" });
      strip.append(item);
    }
    for (const view of this.#all()) this.#drawSeat(view);
  }

  #drawSeat(view) {
    const { seat, state, held, mic, isLocked } = view;
    const card = this.#cards[seat - 1];
    const isOwn = state === "taken" && view.user === this.#me.user;
    const sits = this.#own() !== undefined;
    const offer = state !== "empty" || !this.#maySpeak || sits ? null : this.#mayWrite ? "take" : this.#ask ? null : "ask";
    const shown = JSON.stringify([state, view.user, view.nick, view.avatar, mic, held, isLocked, isOwn, offer, this.#manages]);
    if (shown === card.shown) return;
    card.shown = shown;
    const { button: place } = card;
    place.className = `seats-seat seats-${state}${isOwn ? " seats-own" : ""}${held ? " seats-lost" : ""}`;
    const isUseful = offer !== null || state === "taken" || this.#manages;
    place.setAttribute("aria-disabled", String(!isUseful));
    let label, note = "", picture;
    if (state === "taken") {
      picture = face(view, "seats");
      picture.append(make("span", `seats-mic${mic ? "" : " seats-off"}`, icon(mic ? MIC : MIC_OFF)));
      note = held ? say("lost") : isLocked ? say("locked") : isOwn ? say("you") : "";
      label = [named(view), isOwn && say("you"), say(mic ? "micOn" : "micOff"), isLocked && say("locked"), held && say("held")].filter(Boolean).join(", ");
    } else {
      picture = make("span", { class: "seats-face", "aria-hidden": "true" }, icon(state === "locked" ? LOCK : PLUS));
      label = [say(state === "locked" ? "locked" : "free"), offer && say(offer)].filter(Boolean).join(", ");
    }
    const name = state === "taken" ? nameOf(view) : say(state === "locked" ? "locked" : offer ?? "free");
    place.setAttribute("aria-label", `${say("seat", { seat })}: ${label}`);
    place.title = held ? say("held") : "";
    place.replaceChildren(picture, make("span", "seats-text", make("bdi", "seats-name", name)),
      make("span", "seats-note",
        make("span", "seats-number", String(seat)), make("span", "seats-state", note)));
  }

  #press(seat) {
    const view = this.#view(seat);
    const anchor = this.#cards[seat - 1].button;
    if (!this.#isIn || anchor.getAttribute("aria-disabled") === "true") return;
    const isOwn = view.state === "taken" && view.user === this.#me.user;
    const sits = this.#own() !== undefined;
    const items = [];
    if (view.state === "empty") {
      if (!this.#manages) {
        if (this.#maySpeak && !sits) this.#mayWrite ? this.#sit(seat) : this.#request(seat);
        return;
      }
      if (!sits) items.push(["sit", () => this.#sit(seat)]);
      items.push(["invite", () => this.#pick(seat)]);
      if (this.#hosts) items.push(["place", () => this.#pick(seat, true)]);
      items.push(["lock", () => this.#lock(seat)]);
    } else if (view.state === "locked") {
      if (this.#manages) items.push(["unlock", () => this.#empty(seat)]);
    } else if (isOwn) {
      if (this.#manages || (this.#mayWrite && !view.isLocked)) items.push([view.mic ? "mute" : "unmute", () => this.#setMic(view)]);
      items.push(["leave", () => this.#leave(view)]);
      if (this.#manages && this.#hosts) items.push([view.isLocked ? "unlock" : "lock", () => this.#setLock(view)]);
    } else {
      const person = { user: view.user, nick: view.nick, avatar: view.avatar };
      if (!this.#manages) return this.#context.menu?.(anchor, person, {});
      items.push(["person", () => this.#context.menu?.(anchor, person, {}), { name: named(view) }]);
      if (this.#level === "MANAGER" || this.#hosts) items.push([view.mic ? "mute" : "unmute", () => this.#setMic(view)]);
      if (this.#hosts) items.push([view.isLocked ? "unlock" : "lock", () => this.#setLock(view)]);
      items.push(["out", () => this.#empty(seat)]);
    }
    this.#openMenu(anchor, say("seat", { seat }), items);
  }

  #openMenu(anchor, title, items) {
    if (items.length === 0) return;
    this.#menu?.shut(false);
    this.#menu = menu(anchor, title);
    this.#menu.draw(items.map(([key, action, values]) => ({ label: say(key, values), action })));
  }

  /** A list of people who are here, to invite one of them, or to seat one without asking. */
  async #pick(seat, isPlaced = false) {
    const { room } = this.#context;
    const kinds = ["MANAGERS", "FIXED_ONLINE", "TEMPORARY"];
    const pages = await this.#try(() => Promise.all(kinds.map((kind) => room.members(kind, { limit: PICK_MAX }))));
    if (!pages) return;
    const people = new Map();
    for (const { members } of pages) {
      for (const person of members) {
        const isFit = person.online && person.role !== "ANONYMOUS" && person.user !== this.#me.user
          && !this.#all().some((view) => view.user === person.user);
        if (isFit && people.size < PICK_MAX) people.set(person.user, person);
      }
    }
    const rows = [...people.values()].map((person) => {
      const row = button("dialog-item seats-person", face(person), () => {
        box.close();
        if (isPlaced) this.#seatFor(person, seat); else this.#invite(person, seat);
      });
      row.append(make("bdi", "seats-name", nameOf(person)));
      return make("li", {}, row);
    });
    const list = make("ul", { class: "seats-people", role: "list" }, ...rows);
    const find = make("input", { type: "search", class: "people-input seats-find", placeholder: say("find"), "aria-label": say("find"), input: () => {
      const wanted = find.value.trim().toLowerCase();
      for (const row of list.children) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    } });
    const box = dialog(this.#container, say(isPlaced ? "placing" : "pick", { seat }), "seats-pick",
      ...(people.size > 0 ? [find, list] : [make("p", "seats-left", say("alone"))]));
  }

  #drawRequests() {
    const { requests, ask } = this.#parts;
    if (!this.#manages) this.#requests.clear();
    requests.hidden = this.#requests.size === 0;
    const rows = new Map([...requests.querySelectorAll(".seats-request")].map((row) => [row.dataset.id, row]));
    for (const [id, row] of rows) if (!this.#requests.has(id)) row.remove();
    if (this.#requests.size > 0 && requests.firstElementChild === null) {
      requests.append(make("p", "seats-title", say("requests")));
    }
    for (const request of this.#requests.values()) {
      if (rows.has(request.id)) continue;
      const answer = (key, kind, isApproved) => button(`part-button ${kind}`, say(key), () => this.#answer(request, isApproved),
        { "aria-label": `${say(key)}: ${named(request)}` });
      const row = make("div", "seats-request", face(request), make("bdi", "seats-name", nameOf(request)),
        make("span", "seats-wish", say(request.seat ? "seat" : "any", { seat: request.seat })),
        make("span", "seats-time"), answer("decline", "", false), answer("approve", "part-primary", true));
      row.dataset.id = request.id;
      requests.append(row);
    }
    ask.hidden = this.#ask === null;
    if (this.#ask && !this.#parts.asked) {
      this.#parts.asked = make("span");
      ask.replaceChildren(this.#parts.asked,
        button("part-button", say("cancel"), () => this.#withdraw()));
    }
    if (!this.#ask) { this.#parts.asked = null; ask.replaceChildren(); }
  }
}
