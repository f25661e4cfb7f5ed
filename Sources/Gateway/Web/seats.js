/**
 * Mic seats: elements `seat:1`, `seat:2` … of the room's queue, by the rules of docs/SEATS.md. It shows what the server has
 * said and nothing before that: every change comes back as 317 or 320, and is taken by its seq.
 */
import { words } from "./words.js";
import { cut, icon, make, openBeside } from "./stage.js";

words.add({
  en: {
    "seats.label": "Mic seats", "seats.free": "Free", "seats.take": "Take", "seats.ask": "Ask", "seats.locked": "Locked",
    "seats.lost": "lost, kept 10 s", "seats.held": "connection lost, kept for 10 s", "seats.you": "you",
    "seats.seat": "Seat {seat}", "seats.micOn": "microphone on", "seats.micOff": "microphone off",
    "seats.leave": "Leave the seat", "seats.mute": "Microphone off", "seats.unmute": "Microphone on",
    "seats.sit": "Take this seat", "seats.invite": "Invite somebody", "seats.lock": "Lock", "seats.unlock": "Unlock",
    "seats.out": "Move out of the seat", "seats.person": "About {name}",
    "seats.requests": "Asking for a seat", "seats.any": "any seat", "seats.approve": "Accept", "seats.decline": "Decline",
    "seats.asked": "You asked for a seat: {seconds} s", "seats.cancel": "Cancel",
    "seats.newRequest": "{name} asks for a seat.", "seats.nobody": "No host is here to ask.",
    "seats.unanswered": "Nobody answered. You can ask again.", "seats.declined": "The host declined.",
    "seats.approved": "The host accepted: seat {seat}.", "seats.faster": "Somebody was faster.",
    "seats.full": "No seat is free.", "seats.sits": "{name} has a seat.", "seats.away": "{name} is not here.",
    "seats.invited": "{name} is invited to seat {seat}.", "seats.refused": "{name} declined.",
    "seats.invitation": "{name} invites you to seat {seat}", "seats.countdown": "This invitation ends in {seconds} s.",
    "seats.accept": "Take the seat", "seats.no": "Not now", "seats.pick": "Invite to seat {seat}", "seats.find": "Find by name",
    "seats.alone": "Nobody else is here.", "seats.close": "Close",
    "seats.left": "The host was asked to free your seat.",
    "seats.error": "That did not work. Try again in a moment.", "seats.error.403": "You may not do that here.",
    "seats.error.416": "Too fast. Wait a moment.", "seats.error.13004": "You are muted, and a muted person changes no seats.",
    "seats.error.13006": "The room is muted: a host has to invite you.",
  },
  zh: {
    "seats.label": "麦位", "seats.free": "空闲", "seats.take": "上麦", "seats.ask": "申请", "seats.locked": "已锁定",
    "seats.lost": "掉线，保留 10 秒", "seats.held": "连接中断，麦位保留 10 秒", "seats.you": "我",
    "seats.seat": "{seat} 号麦", "seats.micOn": "麦克风已开", "seats.micOff": "麦克风已关",
    "seats.leave": "下麦", "seats.mute": "关闭麦克风", "seats.unmute": "打开麦克风",
    "seats.sit": "坐上此麦位", "seats.invite": "邀请上麦", "seats.lock": "锁定", "seats.unlock": "解锁",
    "seats.out": "请下麦", "seats.person": "关于 {name}",
    "seats.requests": "上麦申请", "seats.any": "任意麦位", "seats.approve": "同意", "seats.decline": "拒绝",
    "seats.asked": "已申请上麦：{seconds} 秒", "seats.cancel": "取消",
    "seats.newRequest": "{name} 申请上麦。", "seats.nobody": "主持人不在，无法申请。",
    "seats.unanswered": "没有人答复，可以再次申请。", "seats.declined": "主持人拒绝了申请。",
    "seats.approved": "主持人已同意：{seat} 号麦。", "seats.faster": "有人抢先了一步。",
    "seats.full": "没有空闲的麦位。", "seats.sits": "{name} 已在麦上。", "seats.away": "{name} 不在房间。",
    "seats.invited": "已邀请 {name} 上 {seat} 号麦。", "seats.refused": "{name} 谢绝了邀请。",
    "seats.invitation": "{name} 邀请你上 {seat} 号麦", "seats.countdown": "邀请将在 {seconds} 秒后结束。",
    "seats.accept": "上麦", "seats.no": "暂不", "seats.pick": "邀请上 {seat} 号麦", "seats.find": "按名字查找",
    "seats.alone": "没有其他人在场。", "seats.close": "关闭",
    "seats.left": "已请主持人释放你的麦位。",
    "seats.error": "操作未成功，请稍后再试。", "seats.error.403": "你没有权限这样做。",
    "seats.error.416": "操作太快，请稍候。", "seats.error.13004": "你已被禁言，不能更改麦位。",
    "seats.error.13006": "房间已禁言，需要主持人邀请你。",
  },
});

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
const isManager = (role) => role === "CREATOR" || role === "MANAGER";
const freshId = () => btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(15))));
const nameOf = (person) => cut(person?.nick, 32) || String(person?.user ?? "?");
/** The name as part of a sentence: the direction of its writing ends with it. */
const named = (person) => `\u2068${nameOf(person)}\u2069`;

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

/** A picture over the first letter of the name; what cannot be loaded leaves the letter. */
function face(person) {
  let hash = 7;
  for (const letter of String(person.user)) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
  const element = make("span", { class: `seats-face people-hue${(hash ^ (hash >>> 9)) % 8}`, "aria-hidden": "true" },
    [...nameOf(person)][0].toUpperCase());
  let address;
  try { address = new URL(person.avatar); } catch { return element; }
  if (!["https:", "http:"].includes(address.protocol)) return element;
  const image = make("img", {
    alt: "", referrerpolicy: "no-referrer", loading: "lazy", decoding: "async", error: () => image.remove(),
  });
  image.src = address.href;
  element.append(image);
  return element;
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
    const strip = make("ul", { class: "seats-strip", role: "list", "aria-label": words.say("seats.label") });
    const requests = make("div", { class: "seats-requests", role: "group", "aria-label": words.say("seats.requests") });
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
    this.#menu?.remove();
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
    };
  }

  #all() { return Array.from({ length: this.#count }, (_, index) => this.#view(index + 1)); }
  #own() { return this.#all().find((view) => view.state === "taken" && view.user === this.#me.user); }
  #firstFree() { return this.#all().find((view) => view.state === "empty")?.seat; }

  // Changing seats

  /** Does something, and tells in words why it failed. A seat that is gone already needs no words. */
  async #try(work, conflict = "seats.faster") {
    try { return await work(); } catch (error) {
      const { code } = error.refusal ?? {};
      if (code === 404) return undefined;
      const key = `seats.error.${code}`;
      this.#context.notice(words.say(code === 409 ? conflict : words.say(key) === key ? "seats.error" : key), "warn");
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
  #seatFor(person, seat) { return this.#try(() => this.#write(seat, person, { ifVersion: 0, owner: person.user })); }

  #empty(seat) { return this.#try(() => this.#context.room.queueTake(keyOf(seat))); }

  #setMic(view) {
    const isOther = view.user !== this.#me.user;
    return this.#try(() => this.#write(view.seat, { ...view, mic: !view.mic },
      { ifVersion: view.element.version, ...(isOther ? { owner: view.user } : {}) }));
  }

  async #leave(view) {
    if (this.#mayWrite) return this.#empty(view.seat);
    const others = await this.#managersHere();
    const to = [...new Set([view.element.owner, ...others])];
    const sent = await this.#tell(to, { action: "leave", seat: view.seat, id: freshId() });
    const isHeard = sent?.delivered > 0;
    if (sent) this.#context.notice(words.say(isHeard ? "seats.left" : "seats.nobody"), isHeard ? "good" : "warn");
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
    if (sent) this.#context.notice(words.say("seats.nobody"), "warn");
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
      if (!seat) return this.#context.notice(words.say("seats.full"), "warn");
      if (this.#level === "MANAGER" && !await this.#seatFor(request, seat)) return;
    }
    const to = [request.user, ...await this.#managersHere()];
    await this.#tell(to, { action: isApproved ? "approve" : "decline", id: request.id, seat: seat ?? 0 });
  }

  async #invite(person, seat = this.#firstFree()) {
    if (!this.#manages || person.user === this.#me.user) return;
    const say = (key, kind) => this.#context.notice(words.say(key, { name: named(person), seat }), kind);
    if (this.#all().some((view) => view.user === person.user)) return say("seats.sits", "warn");
    if (!seat) return say("seats.full", "warn");
    const invite = { id: freshId(), user: person.user, seat, until: this.#context.now() + VALID_MS };
    this.#bound(this.#invites);
    this.#invites.set(invite.id, invite);
    const sent = await this.#tell([person.user], { action: "invite", seat, id: invite.id });
    if (!sent?.delivered) this.#invites.delete(invite.id);
    if (sent) say(sent.delivered > 0 ? "seats.invited" : "seats.away", sent.delivered > 0 ? "good" : "warn");
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
    this.#context.notice(words.say("seats.newRequest", { name: named(from) }), "good");
  }

  #decided({ action, id, seat }, isMine) {
    this.#requests.delete(id);
    this.#settle(id);
    if (isMine || this.#ask?.id !== id) return;
    this.#ask = null;
    if (action === "decline") return this.#context.notice(words.say("seats.declined"), "warn");
    this.#context.notice(words.say("seats.approved", { seat }), "good");
    // Where only managers write, the manager has written the seat before.
    if (this.#level !== "MANAGER" && seat > 0 && !this.#own()) this.#sit(seat);
  }

  #declined(action, id, from) {
    const invite = this.#invites.get(id);
    if (action !== "decline" || invite?.user !== from.user) return;
    this.#invites.delete(id);
    this.#context.notice(words.say("seats.refused", { name: named(from) }), "warn");
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
    if (!element || user !== from.user || this.#level !== "MANAGER") return;
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
      this.#context.notice(words.say("seats.unanswered"), "warn");
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
    const left = make("p", { class: "seats-left" });
    // The dialog itself has the focus, so that a key meant for the message being written answers nothing.
    const title = words.say("seats.invitation", { name: named(from), seat });
    const dialog = make("dialog", { class: "seats-dialog", autofocus: true, "aria-label": title, cancel: () => answer(false) },
      face(from), make("h2", {}, title), left,
      make("div", { class: "seats-actions" },
        make("button", { type: "button", class: "seats-plain", click: () => answer(false) }, words.say("seats.no")),
        make("button", { type: "button", class: "seats-primary", click: () => answer(true) }, words.say("seats.accept"))));
    this.#invitation = { id, from, until, dialog, left };
    this.#container.append(dialog);
    this.#countDown();
    dialog.showModal();
  }

  #endInvitation() {
    const { dialog } = this.#invitation ?? {};
    this.#invitation = null;
    dialog?.close();
    dialog?.remove();
  }

  #countDown() {
    const left = (until) => Math.max(0, Math.ceil((until - this.#context.now()) / 1000));
    if (this.#invitation) {
      this.#invitation.left.textContent = words.say("seats.countdown", { seconds: left(this.#invitation.until) });
    }
    const { asked } = this.#parts;
    if (this.#ask && asked) asked.textContent = words.say("seats.asked", { seconds: left(this.#ask.until) });
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
      const button = make("button", { type: "button", class: "seats-seat", click: () => this.#press(seat) });
      const item = make("li", {}, button);
      this.#cards.push({ item, button, shown: "" });
      strip.append(item);
    }
    for (const view of this.#all()) this.#drawSeat(view);
  }

  #drawSeat(view) {
    const { seat, state, held, mic } = view;
    const card = this.#cards[seat - 1];
    const isOwn = state === "taken" && view.user === this.#me.user;
    const sits = this.#own() !== undefined;
    const offer = state !== "empty" || !this.#maySpeak || sits ? null : this.#mayWrite ? "take" : this.#ask ? null : "ask";
    const shown = JSON.stringify([state, view.user, view.nick, view.avatar, mic, held, isOwn, offer, this.#manages]);
    if (shown === card.shown) return;
    card.shown = shown;
    const { button } = card;
    button.className = `seats-seat seats-${state}${isOwn ? " seats-own" : ""}${held ? " seats-lost" : ""}`;
    const isUseful = offer !== null || state === "taken" || this.#manages;
    button.setAttribute("aria-disabled", String(!isUseful));
    const say = (key) => words.say(`seats.${key}`);
    let label, note = "", picture;
    if (state === "taken") {
      picture = face(view);
      picture.append(make("span", { class: `seats-mic${mic ? "" : " seats-off"}` }, icon(mic ? MIC : MIC_OFF)));
      note = held ? say("lost") : isOwn ? say("you") : "";
      label = [named(view), isOwn && say("you"), say(mic ? "micOn" : "micOff"), held && say("held")].filter(Boolean).join(", ");
    } else {
      picture = make("span", { class: "seats-face", "aria-hidden": "true" }, icon(state === "locked" ? LOCK : PLUS));
      label = [say(state === "locked" ? "locked" : "free"), offer && say(offer)].filter(Boolean).join(", ");
    }
    const name = state === "taken" ? nameOf(view) : say(state === "locked" ? "locked" : offer ?? "free");
    button.setAttribute("aria-label", `${words.say("seats.seat", { seat })}: ${label}`);
    button.title = held ? say("held") : "";
    button.replaceChildren(picture, make("span", { class: "seats-text" }, make("bdi", { class: "seats-name" }, name)),
      make("span", { class: "seats-note" },
        make("span", { class: "seats-number" }, String(seat)), make("span", { class: "seats-state" }, note)));
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
      items.push(["invite", () => this.#pick(seat)],
        ["lock", () => this.#try(() => this.#context.room.queueSet(keyOf(seat), '{"locked":true}', { ifVersion: 0 }))]);
    } else if (view.state === "locked") {
      if (this.#manages) items.push(["unlock", () => this.#empty(seat)]);
    } else if (isOwn) {
      if (this.#mayWrite) items.push([view.mic ? "mute" : "unmute", () => this.#setMic(view)]);
      items.push(["leave", () => this.#leave(view)]);
    } else {
      const person = { user: view.user, nick: view.nick, avatar: view.avatar };
      if (!this.#manages) return this.#context.menu?.(anchor, person, {});
      items.push(["person", () => this.#context.menu?.(anchor, person, {}), { name: named(view) }]);
      if (this.#level === "MANAGER") items.push([view.mic ? "mute" : "unmute", () => this.#setMic(view)]);
      items.push(["out", () => this.#empty(seat)]);
    }
    this.#openMenu(anchor, words.say("seats.seat", { seat }), items);
  }

  #openMenu(anchor, title, items) {
    if (items.length === 0) return;
    this.#menu?.remove();
    const menu = make("div", { class: "seats-menu", role: "menu", popover: "auto", "aria-label": title });
    for (const [key, action, values] of items) {
      menu.append(make("button", { type: "button", role: "menuitem", class: "seats-item", click: () => {
        menu.hidePopover();
        anchor.focus({ preventScroll: true });
        action();
      } }, words.say(`seats.${key}`, values)));
    }
    menu.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const all = [...menu.children];
      const focused = all.indexOf(menu.getRootNode().activeElement);
      all[(focused + step + all.length) % all.length].focus();
    });
    menu.addEventListener("toggle", ({ newState }) => { if (newState === "closed") menu.remove(); });
    this.#menu = menu;
    this.#container.append(menu);
    openBeside(anchor, menu);
    menu.firstElementChild.focus();
  }

  /** A list of people who are here, to invite one of them. */
  async #pick(seat) {
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
    const list = make("ul", { class: "seats-people", role: "list" });
    const title = words.say("seats.pick", { seat });
    const dialog = make("dialog", { class: "seats-dialog", "aria-label": title, close: () => dialog.remove(),
      click: ({ target }) => { if (target === dialog) dialog.close(); } }, make("h2", {}, title));
    for (const person of people.values()) {
      list.append(make("li", {}, make("button", { type: "button", class: "seats-item", click: () => {
        dialog.close();
        this.#invite(person, seat);
      } }, face(person), make("bdi", { class: "seats-name" }, nameOf(person)))));
    }
    const find = make("input", { type: "search", class: "seats-find", placeholder: words.say("seats.find"),
      "aria-label": words.say("seats.find"), input: () => {
        const wanted = find.value.trim().toLowerCase();
        for (const row of list.children) row.hidden = !row.textContent.toLowerCase().includes(wanted);
      } });
    dialog.append(...(people.size > 0 ? [find, list] : [make("p", { class: "seats-left" }, words.say("seats.alone"))]),
      make("div", { class: "seats-actions" },
        make("button", { type: "button", class: "seats-plain", click: () => dialog.close() }, words.say("seats.close"))));
    this.#container.append(dialog);
    dialog.showModal();
  }

  #drawRequests() {
    const { requests, ask } = this.#parts;
    if (!this.#manages) this.#requests.clear();
    requests.hidden = this.#requests.size === 0;
    const rows = new Map([...requests.querySelectorAll(".seats-request")].map((row) => [row.dataset.id, row]));
    for (const [id, row] of rows) if (!this.#requests.has(id)) row.remove();
    if (this.#requests.size > 0 && requests.firstElementChild === null) {
      requests.append(make("p", { class: "seats-title" }, words.say("seats.requests")));
    }
    for (const request of this.#requests.values()) {
      if (rows.has(request.id)) continue;
      const button = (key, kind, isApproved) => make("button", { type: "button", class: kind,
        "aria-label": `${words.say(key)}: ${named(request)}`, click: () => this.#answer(request, isApproved) }, words.say(key));
      const row = make("div", { class: "seats-request" }, face(request), make("bdi", { class: "seats-name" }, nameOf(request)),
        make("span", { class: "seats-wish" }, words.say(request.seat ? "seats.seat" : "seats.any", { seat: request.seat })),
        make("span", { class: "seats-time" }),
        button("seats.decline", "seats-plain", false), button("seats.approve", "seats-primary", true));
      row.dataset.id = request.id;
      requests.append(row);
    }
    ask.hidden = this.#ask === null;
    if (this.#ask && !this.#parts.asked) {
      this.#parts.asked = make("span");
      ask.replaceChildren(this.#parts.asked,
        make("button", { type: "button", class: "seats-plain", click: () => this.#withdraw() }, words.say("seats.cancel")));
    }
    if (!this.#ask) { this.#parts.asked = null; ask.replaceChildren(); }
  }
}
