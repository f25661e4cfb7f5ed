/**
 * A live room as an element: stage, seats, chat and people, with its own connection.
 *
 *     <script type="module" src="https://chat.example.com/chat-room.js"></script>
 *     <chat-room room="live-1" token="eyJ…"></chat-room>
 *
 * Attributes, events and the custom properties for its look are in docs/EMBEDDING.md. The page at "/" is this element, with
 * `standalone` set.
 */
import { Chat } from "./chat.js";
import { ChatroomClient } from "./chatroom.js";
import { Ledger } from "./ledger.js";
import { button, clean, clock, cut, errorWords, icon, make, named } from "./parts.js";
import { bring, words } from "./words.js";

const say = (key, values) => words.say(`room.${key}`, values);

/** The styles of the first view. */
const SHEETS = ["chat-room.css", "chat.css"];
/** The modules that come when they are used, with their sheets. */
const LATER = {
  stage: ["stage"], seats: ["dialogs", "seats"], people: ["dialogs", "people"], dialogs: ["dialogs"], polls: ["dialogs", "polls"],
  held: ["dialogs"], search: ["dialogs"], qr: ["dialogs"], figures: [],
};
const DARK = matchMedia("(prefers-color-scheme: dark)");
const ICONS = {
  share: "M12 15V4m0 0L8 8m4-4 4 4M5 13v6h14v-6",
  theme: "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5Z",
  settings: "M4 7h9m5 0h2M4 17h2m5 0h9M15.5 4.5v5m-7 5v5",
  close: "M6 6l12 12M18 6 6 18",
  pin: "M9 4h6l-1 7 3 3H7l3-3-1-7Zm3 10v6",
  announcement: "M4 10v4h3l8 4V6l-8 4H4Zm14-1a4 4 0 0 1 0 6",
  poll: "M5 20v-8m7 8V4m7 16v-6",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13Zm5 11.5L20 20",
  like: "M12 20 4.5 12.6a4.6 4.6 0 0 1 6.5-6.5l1 1 1-1a4.6 4.6 0 0 1 6.5 6.5Z",
};
/** The newest messages are kept here for a change of the language, which builds the views anew. */
const KEPT_MAX = 100;
const BACK_MS = 8_000;
const SLOW_MS = 4_000;
const TOAST_MS = 4_500;
/** So many messages wait for the seats to be loaded; after more of them the queue is read again. */
const EARLY_MAX = 200;
const AGAIN_MS = 5_000;
const REST_MS = 10_000;
/** Taps of so long are one request: a session has 20 requests a second. */
const LIKE_MS = 250;
const LIKES_MAX = 100;

const tenths = (milliseconds) => (Math.max(0, milliseconds) / 1000).toFixed(1);

export class ChatRoom extends HTMLElement {
  static observedAttributes = ["room", "token", "gateways", "nick", "avatar", "anonymous", "language", "theme"];

  // An app may set `tokenProvider` (a function that gives a token, or a promise of one, at each login) and `shareUrl` before
  // this class is known: they are no fields, which would forget that.
  /** The book of the messages that came and were missed; see ledger.js. */
  ledger = new Ledger();
  #likes = { total: 0, taps: 0, timer: 0 };
  /** The cards of polls, from the first one on; and the counts that came before them. */
  #polls = null;
  #totals = {};

  #parts = {};
  #sheets = new Map();
  #views = null;
  #client = null;
  #room = null;
  #isStarting = false;
  #isReading = false;
  #entry = null;
  #me = null;
  #info = null;
  #mutedUntil = 0;
  #kept = [];
  #isMoving = false;
  #startedAt = 0;
  #kickReason = null;
  #end = null;
  #endedAt = 0;
  #isAnew = false;
  #backUntil = 0;
  #told = null;
  #saying = [];
  #dismissed = null;
  #ticker = 0;
  /** The node's figures and its end, for an element with `figures`. */
  #figures = null;

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    // Nothing is shown before it has its looks.
    this.#parts.room = make("div", { class: "room", "data-part": "room", hidden: true });
    root.append(this.#parts.room);
    Promise.allSettled(SHEETS.map((name) => this.#sheet(name))).then(() => { this.#parts.room.hidden = false; });
  }

  get state() {
    if (this.#end || !this.#room) return this.#end ? "failed" : "exited";
    // The room is not asked for before the client is connected.
    return this.#room.isWanted ? this.#room.state : "connecting";
  }

  get roomName() { return clean(this.#info?.name || this.getAttribute("room")); }

  async connectedCallback() {
    await this.#useLanguage();
    if (!this.isConnected) return;
    DARK.addEventListener("change", this.#label);
    this.#build();
    this.#restart();
  }

  disconnectedCallback() {
    DARK.removeEventListener("change", this.#label);
    this.#figures?.destroy();
    this.#figures = null;
    this.#stop();
  }

  attributeChangedCallback(name, before, after) {
    // Before the words are there nothing has been built.
    if (before === after || !this.isConnected || !this.#parts.header) return;
    if (name === "theme") this.#label(); else if (name === "language") this.#changeLanguage(); else this.#restart();
  }

  #useLanguage() { return words.use(this.getAttribute("language") ?? words.language); }

  async #changeLanguage() {
    await this.#useLanguage();
    if (!this.isConnected) return;
    this.#build();
    if (this.#room) this.#rebuildViews();
    this.#render();
  }

  // Modules that are loaded when they are used

  /** A style sheet in this tree; one that can't be loaded is asked for again the next time. */
  #sheet(name) {
    let sheet = this.#sheets.get(name);
    if (!sheet) {
      sheet = new Promise((load, fail) => {
        const link = make("link", { rel: "stylesheet", href: new URL(name, import.meta.url), load, error: () => {
          this.#sheets.delete(name);
          link.remove();
          fail(new Error(name));
        } });
        this.shadowRoot.append(link);
      });
      this.#sheets.set(name, sheet);
    }
    return sheet;
  }

  async #bring(name) {
    const [module] = await Promise.all([bring(`${name}.js`), ...LATER[name].map((sheet) => this.#sheet(`${sheet}.css`))]);
    return module;
  }

  /** The node that serves the files may die before they are used. The next entry asks for the rest again. */
  #bringRest() {
    const idle = globalThis.requestIdleCallback ?? ((work) => setTimeout(work, REST_MS));
    idle(async () => {
      for (const name of Object.keys(LATER)) await this.#bring(name).catch(() => {});
      bring(`words-${words.language === "zh" ? "en" : "zh"}.js`).catch(() => {});
    }, { timeout: REST_MS });
  }

  /** Does something with a module; that it can't be loaded is told, and the next use tries again. */
  async #with(work, name) {
    let module;
    try { module = await this.#bring(name); } catch { return this.#notice(say("unloaded"), "warn"); }
    return work(module);
  }

  #withDialogs(work) { return this.#with(work, "dialogs"); }

  /** Does something with the people, who come when they are wanted first: `(people) => …`. */
  #withPeople(work = () => {}) {
    const views = this.#views;
    return this.#with(({ People }) => {
      if (!views || views !== this.#views) return;
      if (!views.people) {
        views.people = new People(this.#parts.people, views.context);
        if (this.#entry) views.people.entered({ ...this.#entry, room: this.#info });
        if (this.#end) views.people.exited();
      }
      work(views.people);
    }, "people");
  }

  #makePolls({ Polls }) {
    if (this.#polls || !this.#entry || this.#end) return this.#polls;
    this.#polls = new Polls(this.#parts.polls, this.#views.context);
    this.#polls.entered(this.#entry, this.#totals);
    for (const message of this.#kept) this.#polls.message(message);
    return this.#polls;
  }

  /** The polls come when one is open. */
  async #bringPolls() {
    const views = this.#views;
    const isNeeded = this.#client.features.includes("poll") && Object.keys(this.#totals).some((key) => key.startsWith("poll:"));
    if (this.#polls || views.hasPolls || !isNeeded) return;
    views.hasPolls = true;
    const module = await this.#comes(views, "polls");
    if (module) this.#makePolls(module);
  }

  /** Tries to load what comes behind the chat until it is there, or not wanted any more. */
  async #comes(views, name) {
    while (views === this.#views) {
      const module = await this.#bring(name).catch(() => null);
      if (module) return views === this.#views ? module : null;
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
    return null;
  }

  async #bringStage() {
    const views = this.#views;
    if (views.hasStage) return;
    views.hasStage = true;
    const module = await this.#comes(views, "stage");
    if (module) views.stage = new module.Stage(this.#parts.stage, views.context);
  }

  /** Messages that come before the seats are kept for them. */
  async #bringSeats(entry) {
    const views = this.#views;
    if (views.seats) return views.seats.entered(entry);
    const isFirst = !views.early;
    [views.seatsEntry, views.early] = [entry, []];
    const module = isFirst && await this.#comes(views, "seats");
    if (!module) return;
    const seats = views.seats = new module.Seats(this.#parts.seats, views.context);
    if (this.#end) return seats.exited();
    seats.entered(views.early.length < EARLY_MAX ? views.seatsEntry : { recovery: "fresh" });
    for (const message of views.early.splice(0)) seats.message(message);
  }

  /** The figures come behind the chat, too; at the next entry if they can't be loaded. */
  async #bringFigures() {
    if (!this.hasAttribute("figures") || this.#figures) return;
    const { Figures } = await this.#bring("figures").catch(() => ({}));
    if (!Figures || this.#figures || !this.isConnected) return;
    this.#figures = new Figures({
      parts: () => this.#parts, ledger: () => this.ledger, online: () => this.#info?.online, render: () => this.#render(),
      say: (text) => this.#say(text), notice: (text, kind) => this.#notice(text, kind), closer: (click) => this.#closer(click),
      confirm: (...question) => this.#withDialogs(({ confirm }) => confirm(this.#parts.room, ...question)),
    });
  }

  // The frame

  #build() {
    const { room } = this.#parts;
    const part = (name, tag = "div", attributes = {}, ...children) => {
      return this.#parts[name] = make(tag, { class: `room-${name}`, "data-part": name, ...attributes }, ...children);
    };
    const tool = (name, label, click, ...children) =>
      part(name, "button", { type: "button", class: "room-icon", "aria-label": label, title: label, click }, ...children);
    const region = (name) => part(name, "section", { "aria-label": say(`${name}`) });
    // Places for what later features bring. Each is empty and hidden until the cluster lists the feature (`data-feature`).
    const later = (name, feature) => part(name, "div", { "data-feature": feature, hidden: true });
    const tab = (name, isChosen) => part(`${name}Tab`, "button", {
      type: "button", role: "tab", class: "room-tab", id: `${name}-tab`, "aria-controls": `${name}-panel`,
      "aria-selected": String(isChosen), tabindex: isChosen ? 0 : -1, click: () => this.#choose(name),
    }, say(`${name}`));
    const panel = (name, isChosen) => part(name, "div", {
      class: "room-panel", role: "tabpanel", id: `${name}-panel`, "aria-labelledby": `${name}-tab`, hidden: !isChosen,
    });
    const isPage = this.hasAttribute("standalone");
    room.lang = words.language === "zh" ? "zh-CN" : "en";
    room.replaceChildren(
      part("header", "div", {},
        make("div", { class: "room-title" },
          part("name", "h1", { dir: "auto" }),
          make("div", { class: "room-status" }, part("state", "span"), part("online", "span"))),
        make("div", { class: "room-tools" },
          ...(isPage ? [
            tool("share", say("share"), () => this.#share(), icon(ICONS.share)),
            tool("language", say("languageName"), () => this.#switchLanguage(), say("language")),
            tool("theme", "", () => this.#switchTheme(), icon(ICONS.theme)),
          ] : []),
          tool("settings", say("settings"), () => this.#withPeople((people) => people.openSettings()), icon(ICONS.settings)))),
      make("div", { class: "room-strips" },
        part("announcement", "div", { class: "room-strip room-announcement", hidden: true }),
        part("banner", "div", { class: "room-strip", hidden: true }),
        part("report", "div", { class: "room-strip room-report", hidden: true })),
      part("stageArea", "div", { class: "room-stage-area" }, region("stage"), later("likes", "tally")),
      region("seats"),
      // Its place is kept, so that nothing moves when they come.
      part("figures", "section", { "aria-label": say("figures"), hidden: !this.hasAttribute("figures") }),
      part("side", "section", { "aria-label": say("side") },
        make("div", "room-tabs",
          make("div", { class: "room-tablist", role: "tablist", "aria-label": say("side"), keydown: this.#tabKey },
            tab("chat", true), tab("people", false)),
          tool("search", words.say("search.title"), () => this.#openSearch(), icon(ICONS.search)),
          tool("newPoll", words.say("polls.new"), () => this.#with((module) => this.#makePolls(module)?.openDialog(), "polls"),
            icon(ICONS.poll))),
        later("pins", "pin"), later("polls", "poll"), later("held", "held"),
        panel("chat", true), panel("people", false)),
      part("card", "div", { hidden: true }),
      part("toasts"),
      part("live", "div", { role: "status", "aria-live": "polite" }));
    this.#label();
    this.#figures?.built();
    this.#polls?.built(this.#parts.polls);
  }

  #label = () => {
    const { theme } = this.#parts;
    if (!theme) return;
    const label = say(this.#isDark() ? "light" : "dark");
    theme.setAttribute("aria-label", label);
    theme.title = label;
  };

  #isDark() {
    const theme = this.getAttribute("theme");
    return theme ? theme === "dark" : DARK.matches;
  }

  #switchTheme() {
    this.setAttribute("theme", this.#isDark() ? "light" : "dark");
    this.#tell("preference", { theme: this.getAttribute("theme") });
  }

  async #switchLanguage() {
    const language = words.language === "zh" ? "en" : "zh";
    await words.use(language);
    if (words.language !== language) return this.#notice(say("unloaded"), "warn");
    this.setAttribute("language", language);
    this.#tell("preference", { language });
    // The button is built anew.
    await this.#useLanguage();
    setTimeout(() => this.#parts.language.focus());
  }

  #choose(name) {
    for (const other of ["chat", "people"]) {
      const isChosen = other === name;
      this.#parts[other].hidden = !isChosen;
      this.#parts[`${other}Tab`].setAttribute("aria-selected", String(isChosen));
      this.#parts[`${other}Tab`].tabIndex = isChosen ? 0 : -1;
    }
    if (name === "people") this.#withPeople();
  }

  #tabKey = (event) => {
    if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    const name = event.target === this.#parts.chatTab ? "people" : "chat";
    this.#choose(name);
    this.#parts[`${name}Tab`].focus();
  };

  #tell(name, detail) { this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true })); }

  // The connection

  /** Several attributes that change together make one new start. */
  #restart() {
    if (this.#isStarting) return;
    this.#isStarting = true;
    queueMicrotask(() => {
      this.#isStarting = false;
      this.#stop();
      if (!this.isConnected) return;
      if (this.getAttribute("room")) this.#start(); else this.#render();
    });
  }

  #stop() {
    clearInterval(this.#ticker);
    this.#ticker = 0;
    this.#closeViews();
    this.#polls?.destroy();
    [this.#polls, this.#totals] = [null, {}];
    const client = this.#client;
    [this.#client, this.#room, this.#entry, this.#me, this.#info, this.#end] = [null, null, null, null, null, null];
    [this.#kickReason, this.#mutedUntil, this.#kept, this.#isAnew, this.#backUntil] = [null, 0, [], false, 0];
    this.#isMoving = false;
    client?.close();
  }

  async #start() {
    const attribute = (name) => this.getAttribute(name) ?? undefined;
    const own = new URL("/v1/ws", import.meta.url);
    own.protocol = own.protocol === "https:" ? "wss:" : "ws:";
    const gateways = attribute("gateways")?.split(/[\s,]+/).filter(Boolean) ?? [];
    const anonymous = this.hasAttribute("anonymous");
    const ledger = this.ledger = new Ledger();
    const client = this.#client = new ChatroomClient({
      gateways: gateways.length > 0 ? gateways : [own.href], retryCount: 5,
      transport: (...given) => {
        const socket = new WebSocket(...given);
        socket.addEventListener("message", () => ledger.alive());
        socket.addEventListener("close", () => ledger.closed());
        return socket;
      },
      ...(anonymous ? { anonymous } : { tokenProvider: () => this.tokenProvider?.() ?? this.getAttribute("token") }),
    });
    const room = this.#room = client.room(attribute("room"));
    const isCurrent = () => client === this.#client;
    this.#startedAt = performance.now();
    ledger.watch(room);
    ledger.changed = () => isCurrent() && this.#render();
    client.on("state", ({ state, error }) => {
      if (!isCurrent()) return;
      this.#isMoving = false;
      if (state === "failed") this.#fail(error);
      this.#render();
    });
    for (const event of ["moving", "moved"]) {
      client.on(event, () => { if (isCurrent()) { this.#isMoving = event === "moving"; this.#render(); } });
    }
    client.on("tokenExpired", () => this.#tell("tokenexpired"));
    for (const event of ["broadcast", "direct"]) client.on(event, ({ text }) => isCurrent() && text && this.#notice(text, "good"));
    room.on("state", ({ state, error }) => {
      if (!isCurrent()) return;
      if (state === "failed") this.#fail(error);
      this.#render();
      this.#tell("statechange", { state, error });
    });
    room.on("entered", (entry) => isCurrent() && this.#entered(entry));
    room.on("message", (message) => isCurrent() && this.#message(message));
    room.on("unsupported", (message) => isCurrent() && this.#views.chat.unsupported(message));
    room.on("filled", (messages) => {
      if (!isCurrent()) return;
      this.#views.chat.filled(messages);
      for (const message of messages) {
        this.#polls?.message(message);
        this.#amendPin(message);
      }
    });
    room.on("gap", (gap) => {
      if (!isCurrent()) return;
      this.#views.chat.gap(gap);
      // Not all viewers at once: a gap is everybody's.
      if (gap.cause !== "BUDGET") setTimeout(() => isCurrent() && this.#readAgain(), 5_000 * Math.random());
    });
    room.on("barrage", (items) => {
      if (!isCurrent()) return;
      const isOwn = ({ from }) => from?.user !== undefined && from.user === client.user;
      const own = items.filter(isOwn);
      if (own.length > 0) this.#views.stage?.push(own, { own: true });
      if (own.length < items.length) {
        this.#views.stage?.push(own.length > 0 ? items.filter((item) => !isOwn(item)) : items, { own: false });
      }
    });
    room.on("skipped", ({ barrage }) => isCurrent() && barrage > 0 && this.#views.stage?.skipped(barrage));
    room.on("online", (online) => {
      if (!isCurrent() || !this.#info) return;
      this.#info = { ...this.#info, online };
      this.#views.people?.online(online);
      this.#showOnline();
    });
    room.on("tallies", (totals) => isCurrent() && this.#count(totals));
    room.on("held", (message) => isCurrent() && this.#views.held?.told(message));
    room.on("denied", (denial) => isCurrent() && this.#views.chat.denied(denial));
    room.on("kicked", ({ reason, ext }) => {
      if (!isCurrent()) return;
      this.#kickReason = reason;
      this.#tell("kicked", { reason, ext });
    });
    this.#openViews();
    this.#render();
    try {
      await client.connect();
      if (!isCurrent()) return;
      // The protocol wants both of anonymous members.
      const nick = attribute("nick") ?? (anonymous ? say("listener") : undefined);
      const avatar = attribute("avatar") ?? (anonymous ? "data:," : undefined);
      await room.enter({ ...(nick && { nick }), ...(avatar && { avatar }), history: 50, withQueue: true,
        ...(client.features.includes("tally") && { withTallies: true }) });
    } catch (error) {
      if (isCurrent()) this.#fail(error);
    }
  }

  #context() {
    const [client, room] = [this.#client, this.#room];
    return {
      client, room, roomId: room.id, words, ledger: this.ledger,
      me: () => this.#member(),
      info: () => this.#info ?? { id: room.id, name: room.id, announcement: "", online: 0 },
      canManage: () => this.#canManage(),
      isAnonymous: () => this.hasAttribute("anonymous"),
      notice: (text, kind) => this.#notice(text, kind),
      say: (text) => this.#say(text),
      menu: (anchor, user, more = {}) => this.#withPeople((people) => people.openMenu(anchor, user, more)),
      dialog: (...content) => this.#withDialogs(({ dialog }) => dialog(this.#parts.room, ...content)),
      now: () => client.serverTime(),
    };
  }

  #openViews() {
    this.#closeViews();
    const { chat, people } = this.#parts;
    const context = this.#context();
    this.#views = { context, chat: new Chat(chat, context) };
    if (!people.hidden) this.#withPeople();
  }

  #closeViews() {
    const views = this.#views ?? {};
    this.#views = null;
    for (const name of ["chat", "people", "stage", "seats", "held"]) {
      views[name]?.destroy();
      this.#parts[name]?.replaceChildren();
    }
  }

  /** The views in the other language, with what was shown; the connection does not notice. */
  #rebuildViews() {
    const { chat: before } = this.#views;
    this.#views.chat = undefined;
    this.#openViews();
    this.#useFeatures();
    const { chat } = this.#views;
    if (this.#entry) chat.entered({ recovery: "fresh", seq: this.#entry.seq });
    for (const message of this.#kept) chat.message(message);
    chat.take(before);
    if (!this.#entry) return;
    this.#bringStage();
    this.#bringSeats({ recovery: "fresh" });
    this.#bringPolls();
    this.#bringHeld();
    if (this.#end) this.#views.chat.exited();
  }

  // Messages and notifications

  #entered(entry) {
    const isBack = this.#entry !== null;
    this.#entry = entry;
    this.#info = entry.room;
    this.#setMe(entry.me);
    this.#isAnew = isBack && entry.recovery === "impossible";
    if (entry.recovery !== "complete") this.#kept = [];
    this.#totals = Object.fromEntries(entry.tallies?.map(({ key, total }) => [key, total]) ?? []);
    this.#likes.total = this.#totals.like ?? 0;
    this.#useFeatures();
    this.#views.people?.entered(entry);
    this.#views.chat.entered({ recovery: entry.recovery, seq: entry.seq });
    this.#bringStage();
    this.#bringSeats(entry);
    this.#polls?.entered(entry, this.#totals);
    this.#bringPolls();
    this.#bringFigures();
    this.#bringRest();
    this.#views.held?.read();
    this.#render();
  }

  /** Managers decide about messages that wait for them. */
  async #bringHeld() {
    const views = this.#views;
    const isWanted = this.#canManage() && this.#client?.features.includes("held") && !this.#end;
    if (!views || isWanted === Boolean(views.wantsHeld)) return;
    views.wantsHeld = isWanted;
    if (!isWanted) {
      views.held?.destroy();
      views.held = undefined;
      return;
    }
    const { Held } = await this.#comes(views, "held") ?? {};
    if (Held && views.wantsHeld && !views.held) views.held = new Held(this.#parts.held, views.context, () => this.#useFeatures());
  }

  #useFeatures() {
    const features = this.#client.features;
    this.#showLikes(this.#likes.total);
    for (const place of this.#parts.room.querySelectorAll("[data-feature]")) {
      place.hidden = !features.includes(place.dataset.feature) || place.childElementCount === 0;
    }
  }

  #message(message) {
    if (message.type !== "COMMAND") {
      this.#kept.push(message);
      if (this.#kept.length > KEPT_MAX) this.#kept.shift();
      this.#views.chat.message(message);
    }
    this.#polls?.message(message);
    this.#amendPin(message);
    // The reply to `enter` holds already what came before it.
    if (message.seq !== undefined && message.seq <= this.#entry.seq) return;
    if (message.type === "NOTIFICATION") {
      this.#note(message);
      if (message.event === 362) {
        this.#totals[`poll:${message.data.poll}:0`] ??= 0;
        this.#bringPolls();
      }
      this.#views.people?.message(message);
    }
    if (message.type === "NOTIFICATION" || message.type === "COMMAND") {
      const { seats, early } = this.#views;
      if (seats) seats.message(message); else if (early?.length < EARLY_MAX) early.push(message);
    }
  }

  /** Keeps oneself and the room as the notifications change them. */
  #note({ event, targets = [], data = {} }) {
    if (data.online !== undefined) this.#info = { ...this.#info, online: data.online };
    if (event === 312) this.#info = { ...this.#info, ...data.set };
    if (event === 361) this.#info = { ...this.#info, pinned: data.pinned };
    if (event === 323) this.#info = { ...this.#info, pinned: this.#info.pinned?.filter(({ messageId }) => !data.messageIds.includes(messageId)) };
    if (event === 318 || event === 319) this.#info = { ...this.#info, muted: event === 318 };
    if (targets.some(({ user }) => user === this.#client.user)) {
      const changes = {
        305: { muted: true }, 306: { muted: false }, 314: { tempMuted: true, tempMuteSeconds: data.seconds },
        315: { tempMuted: false, tempMuteSeconds: 0 }, 316: data.set, 307: { role: "MANAGER" },
      }[event];
      if (changes) this.#setMe({ ...this.#member(), ...changes });
      if ([303, 304, 308, 309, 310].includes(event)) this.#readMe();
    }
    if (![301, 302, 350].includes(event)) this.#render(); else this.#showOnline();
  }

  #setMe(me) {
    this.#me = me;
    this.#mutedUntil = me.tempMuted ? performance.now() + 1000 * me.tempMuteSeconds : 0;
    this.#views?.chat.refresh();
    this.#bringHeld();
  }

  #member() {
    if (!this.#me) return undefined;
    const left = Math.ceil((this.#mutedUntil - performance.now()) / 1000);
    return { ...this.#me, tempMuted: this.#me.tempMuted && left > 0, tempMuteSeconds: Math.max(0, left) };
  }

  #canManage() { return ["CREATOR", "MANAGER"].includes(this.#me?.role); }

  async #readMe() {
    const client = this.#client;
    try {
      const [me] = await this.#room.membersById([client.user]);
      if (me && client === this.#client) { this.#setMe({ ...this.#me, ...me }); this.#render(); }
    } catch { /* The next entry brings it. */ }
  }

  /** Reads what a lost notification may have changed. */
  async #readAgain() {
    if (this.#isReading) return;
    this.#isReading = true;
    const [room, views] = [this.#room, this.#views];
    try {
      const [{ room: info }, queue] = await Promise.all([room.info(), room.queue()]);
      if (views !== this.#views) return;
      this.#info = info;
      views.seats?.entered({ queue: queue.elements, seq: queue.seq, queueNext: queue.next });
      this.#render();
      this.#polls?.readAgain();
      this.#readMe();
    } catch { /* The next entry brings it. */ } finally { this.#isReading = false; }
  }

  // The looks of the state

  #fail(error) {
    if (this.#end) return;
    this.#end = error ?? new Error("failed");
    this.#endedAt = performance.now();
    // Only those who are banned everywhere are refused by `connect` like this.
    if (error?.refusal?.code === 403 && !this.#client.isOnline) this.#kickReason = 7;
    for (const view of ["chat", "people", "seats"]) this.#views?.[view]?.exited();
    this.#polls?.exited();
    this.#tell("statechange", { state: "failed", error });
    this.#render();
  }

  #render() {
    const { name, state, settings, newPoll, search } = this.#parts;
    name.textContent = this.roomName;
    this.#showOnline();
    const now = performance.now();
    const current = this.state;
    const { outage } = this.ledger;
    const isLost = !this.#end && outage !== null && !outage.backAt;
    const seconds = isLost ? tenths(now - outage.from) : "";
    const isMoving = this.#isMoving && current === "entered";
    state.dataset.state = isLost ? "lost" : isMoving ? "moving" : current;
    state.textContent = isLost ? say("lost", { seconds }) : isMoving ? say("moving")
      : say(["connecting", "entering", "entered"].includes(current) ? current : "out");
    settings.hidden = !this.#canManage() || this.#end !== null;
    newPoll.hidden = settings.hidden || !this.#client?.features.includes("poll");
    search.hidden = settings.hidden || !this.#client?.features.includes("search");
    this.#showBanner(isLost, seconds, now);
    this.#showAnnouncement();
    this.#showPins();
    this.#showCard();
    this.#figures?.showReport();
    // The clock ticks only while a time is shown.
    const left = this.#mutedUntil - now;
    const isTicking = this.#room && !this.#end
      && (isLost || current !== "entered" || left > 0 || now < this.#backUntil || this.#figures?.isWatching);
    if (isTicking && !this.#ticker) this.#ticker = setInterval(() => this.#render(), 200);
    if (!isTicking) { clearInterval(this.#ticker); this.#ticker = 0; }
  }

  // Tallies

  #count(totals) {
    Object.assign(this.#totals, totals);
    if (totals.like !== undefined) this.#showLikes(totals.like);
    this.#polls?.tallies(totals);
    this.#bringPolls();
  }

  /** Taps are added up here, too, and sent without an answer: the count comes to all. */
  #like() {
    if (this.#likes.taps >= LIKES_MAX) return;
    this.#likes.taps += 1;
    this.#showLikes(this.#likes.total);
    this.#likes.timer ||= setTimeout(() => {
      this.#room?.tap("like", this.#likes.taps);
      Object.assign(this.#likes, { taps: 0, timer: 0 });
    }, LIKE_MS);
  }

  #showLikes(total) {
    const { likes } = this.#parts;
    this.#likes.total = total;
    likes.firstChild ?? likes.append(button("room-icon room-like", icon(ICONS.like), () => this.#like(), {
      "aria-label": say("like"), title: say("like") }));
    likes.firstChild.disabled = this.hasAttribute("anonymous");
    const count = likes.querySelector("span") ?? likes.firstChild.appendChild(make("span", "room-like-count"));
    // Taps that are not sent yet are shown at once.
    count.textContent = words.number(total + this.#likes.taps);
  }

  #showOnline() {
    const { online } = this.#parts;
    const count = this.#info ? words.number(this.#info.online) : "";
    const text = count && say("online", { count });
    if (online.textContent === text) return;
    online.textContent = text;
    this.#figures?.showOnline(count);
  }

  #showBanner(isLost, seconds, now) {
    const { banner } = this.#parts;
    const { outage } = this.ledger;
    const me = this.#member();
    // `spoken` is said aloud once; the running figures are not.
    let [text, kind, spoken] = ["", "warn", ""];
    if (this.#end || !this.#room) text = "";
    else if (isLost) {
      const key = this.#client.isOnline ? "room.lostNode" : "room.lostConnection";
      text = words.say(key, { seconds });
      spoken = key;
    } else if (outage?.backAt && now - outage.backAt < BACK_MS && !this.#figures?.hasReport) {
      this.#backUntil = outage.backAt + BACK_MS;
      const key = this.#isAnew ? "room.backAnew" : outage.missed > 0 ? "room.backFilled" : "room.back";
      text = words.say(key, {
        seconds: tenths(outage.backAt - outage.from), missed: words.number(outage.missed), filled: words.number(outage.filled),
      });
      [kind, spoken] = [this.#isAnew ? "warn" : "good", key + outage.from];
    } else if (this.#entry === null) {
      if (now - this.#startedAt > SLOW_MS) [text, spoken] = [say("slow"), "room.slow"];
    } else if (me?.muted) [text, spoken] = [say("muted"), "room.muted"];
    else if (me?.tempMuted) {
      text = say("mutedFor", { time: clock(me.tempMuteSeconds) });
      spoken = "room.mutedFor";
    } else if (this.#info?.muted && !this.#canManage()) [text, spoken] = [say("allMuted"), "room.allMuted"];
    if (text && spoken !== this.#told) this.#say(text);
    this.#told = text ? spoken : null;
    banner.hidden = text === "";
    banner.dataset.kind = kind;
    if (banner.textContent !== text) banner.textContent = text;
  }

  /** A line with the latest pinned message; all of them in a dialog. */
  #showPins() {
    const { pins } = this.#parts;
    const pinned = this.#info?.pinned ?? [];
    const key = this.#views ? pinned.map(({ messageId }) => messageId).join() : "";
    if (pins.dataset.shown === key) return;
    pins.dataset.shown = key;
    pins.replaceChildren();
    if (key !== "") {
      const text = make("bdi", "room-pin-text");
      const count = pinned.length > 1 ? make("span", "room-pin-count", words.number(pinned.length)) : "";
      pins.append(button("room-strip room-pin", icon(ICONS.pin), () => this.#openPins(), { "aria-label": say("pins"), title: say("pins") }));
      pins.firstChild.append(text, count);
      this.#tellPin(pinned.at(-1), text, 5_000 * Math.random());
    }
    if (this.#client) this.#useFeatures(); else pins.hidden = true;
  }

  /** The line shows the text as it is now. */
  #amendPin({ event, data }) {
    if (event !== 360 || data.messageId !== this.#info?.pinned?.at(-1)?.messageId) return;
    delete this.#parts.pins.dataset.shown;
    this.#showPins();
  }

  /** Writes what a pinned message says. Not all viewers read at once what their lists do not have. */
  async #tellPin({ messageId, seq }, element, waitMs = 0) {
    const [room, views] = [this.#room, this.#views];
    let message = views.chat.find(messageId);
    if (!message) {
      element.textContent = "…";
      await new Promise((resolve) => { setTimeout(resolve, waitMs); });
      if (!element.isConnected || room.state !== "entered") return;
      message = views.chat.find(messageId)
        ?? (await room.history({ order: "ASC", afterSeq: seq - 1, limit: 1 }).catch(() => undefined))?.messages[0];
    }
    if (message?.messageId !== messageId) return;
    const said = clean(message.text ?? message.title ?? message.media?.name ?? message.content ?? "");
    element.textContent = [message.from && named(message.from), cut(said, 160)].filter(Boolean).join(": ");
  }

  #openPins() {
    const { chat } = this.#views;
    const rows = (this.#info?.pinned ?? []).toReversed().map((pin) => {
      const text = make("bdi", "room-pin-text");
      const row = make("div", "room-pin-row", button("room-pin", text, () => { if (chat.show(pin.messageId)) row.closest("dialog")?.close(); }));
      if (this.#canManage()) {
        row.append(this.#closer(() => this.#room.pin(pin.messageId, false).then(() => row.remove(), (error) => this.#notice(errorWords(error), "bad"))));
      }
      return [row, () => this.#tellPin(pin, text)];
    });
    this.#withDialogs(({ dialog }) => {
      dialog(this.#parts.room, say("pins"), "room-pinned", ...rows.map(([row]) => row));
      for (const [, tell] of rows) tell();
    });
  }

  #openSearch() {
    const { context, chat } = this.#views;
    this.#with(({ Search }) => new Search(context, chat).open(this.#parts.room), "search");
  }

  #showAnnouncement() {
    const { announcement } = this.#parts;
    const text = this.#info?.announcement ?? "";
    announcement.hidden = text === "" || text === this.#dismissed;
    if (announcement.hidden || announcement.dataset.shown === text) return;
    announcement.dataset.shown = text;
    announcement.replaceChildren(
      icon(ICONS.announcement), make("bdi", { class: "room-text", title: say("announcement"), tabindex: 0 }, clean(text)),
      this.#closer(() => { this.#dismissed = text; announcement.hidden = true; }));
  }

  #closer(click) {
    const label = say("close");
    return button("room-icon room-closer", icon(ICONS.close), click, { "aria-label": label, title: label });
  }

  /** Why one is not in the room, and the way back. */
  #showCard() {
    const { card, room } = this.#parts;
    if (!this.#end) {
      card.hidden = true;
      delete room.dataset.ended;
      return;
    }
    if (!card.hidden) return;
    const [key, values, action, until = 0] = this.#why(this.#end);
    const title = words.say(key);
    const line = make("p");
    const again = action && button("part-button part-primary", words.say(action), () => this.#restart(), { "data-part": "again" });
    card.replaceChildren(make("div", { class: "room-card-box" }, make("h2", {}, title), line, again ?? ""));
    // Before that time another try is in vain.
    const tick = () => {
      const left = Math.max(0, until - performance.now());
      line.textContent = words.say(`${key}.text`, { time: clock(Math.ceil(left / 1000)), ...values });
      if (!until) return;
      again.disabled = left > 0;
      line.hidden = left === 0;
      if (left > 0) setTimeout(() => line.isConnected && tick(), Math.min(left, 1000));
    };
    tick();
    card.hidden = false;
    room.dataset.ended = this.#entry ? "after" : "before";
    this.#say(`${title}. ${line.textContent}`);
  }

  #why({ code, refusal }) {
    const wait = refusal?.retryAfterMs;
    if (code === "kicked") code = { 1: 13002, 3: "takenOver", 5: 13003, 6: 401, 7: "banned" }[this.#kickReason] ?? "kicked";
    if (refusal && this.#kickReason === 7) return wait ? ["room.kick7.time", {}, "room.retry", this.#endedAt + wait] : ["room.kick7", {}];
    switch (refusal?.code ?? code) {
      case 404: return ["room.none", {}, "room.retry"];
      case "kicked": return ["room.kick2", {}, "room.again"];
      case "banned": return ["room.kick7", {}];
      case 403: return ["room.refused", {}, "room.retry"];
      case 13002: return ["room.closed", {}, "room.retry"];
      case 13003: return wait ? ["room.ban", { time: clock(wait / 1000) }, "room.retry"] : ["room.kick5", {}];
      case 13008: return ["room.many", {}, "room.retry"];
      case 416: case 503: return ["room.full", { seconds: Math.ceil((wait ?? 5000) / 1000) }, "room.retry"];
      case 401: case "unauthorized": case "tokenUnavailable": return ["room.token", {}, "room.again"];
      case "takenOver": return ["room.takenOver", {}, "room.here"];
      case "forcedOffline": return ["room.offline", {}, "room.again"];
      case "connectionFailed": case "connectionLost": case "noAddress": case "timedOut": case "notInRoom": case 500:
        return ["room.away", {}, "room.retry"];
      default: return ["room.wrong", {}, "room.retry"];
    }
  }

  /** The one place that a screen reader is told from. A text that is the same again is said again. */
  #say(text) {
    const { live } = this.#parts;
    if (live.textContent) live.textContent = "";
    this.#saying.push(text);
    if (this.#saying.length === 1) setTimeout(() => { live.textContent = this.#saying.splice(0).join(". "); }, 50);
  }

  #notice(text, kind = "good") {
    const { toasts } = this.#parts;
    for (const old of [...toasts.children]) if (old.textContent === text) old.remove();
    const toast = make("div", { class: "room-toast", "data-kind": kind, dir: "auto" }, text);
    toasts.append(toast);
    while (toasts.childElementCount > 3) toasts.firstElementChild.remove();
    setTimeout(() => toast.remove(), TOAST_MS);
    this.#say(text);
  }

  #share() {
    const address = this.shareUrl ?? location.href;
    this.#with(({ share }) => share(this.#parts.room, address, (text) => this.#notice(text)), "qr");
  }
}

customElements.define("chat-room", ChatRoom);
