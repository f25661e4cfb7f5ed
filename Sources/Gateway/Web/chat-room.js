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
import { People, clean, clock, confirm, dialog } from "./people.js";
import { qr } from "./qr.js";
import { Seats } from "./seats.js";
import { Stage } from "./stage.js";
import { words } from "./words.js";

words.add({
  en: {
    "room.connecting": "Connecting", "room.entering": "Entering", "room.entered": "Live", "room.lost": "Lost for {seconds} s", "room.moving": "Changing the node",
    "room.out": "Outside", "room.online": "{count} online", "room.stage": "Stage", "room.seats": "Seats",
    "room.chat": "Chat", "room.people": "People", "room.side": "Chat and people", "room.settings": "Room settings",
    "room.share": "Share", "room.listener": "Listener", "room.language": "中文", "room.languageName": "Switch to Chinese", "room.dark": "Dark colours",
    "room.light": "Light colours", "room.close": "Close", "room.announcement": "Announcement",
    "room.slow": "Still connecting. The nodes may be busy or away; this page keeps trying.",
    "room.lostConnection": "The connection was lost {seconds} s ago. It is being made again; messages are kept for you.",
    "room.lostNode": "The node that leads this room has been away for {seconds} s. Another one takes over; no message is lost.",
    "room.back": "Back after {seconds} s: nothing was missed.",
    "room.backFilled": "Back after {seconds} s: {missed} messages were missed and {filled} filled.",
    "room.backAnew": "Back after {seconds} s. What was said meanwhile could not be brought in one piece; the newest is shown.",
    "room.muted": "You are muted. You can watch and read.", "room.mutedFor": "You are muted for {time} more.",
    "room.allMuted": "Only hosts can write at the moment.",
    "room.again": "Enter again", "room.retry": "Try again", "room.here": "Use it here",
    "room.kick2": "You were removed", "room.kick2.text": "A host removed you from this room.",
    "room.kick5": "You are blocked here", "room.kick5.text": "A host blocked you from this room.",
    "room.kick7": "Your account is blocked", "room.kick7.text": "It cannot enter any room at the moment.",
    "room.closed": "The room is closed", "room.closed.text": "Thank you for being here. Nobody can enter it at the moment.",
    "room.none": "There is no such room", "room.none.text": "It may have been closed and removed. Check the address.",
    "room.refused": "You cannot enter this room", "room.refused.text": "It is open to others only, or not to listeners without a name.",
    "room.ban": "You cannot enter yet", "room.ban.text": "A host removed you. You can come back in {time}.",
    "room.full": "Too many people at once", "room.full.text": "Try again in {seconds} seconds.",
    "room.many": "You are in too many rooms", "room.many.text": "Leave one of them first.",
    "room.token": "Your ticket is no longer valid", "room.token.text": "It has ended, was withdrawn, or does not open this room.",
    "room.takenOver": "Opened somewhere else", "room.takenOver.text": "You are in this room in another tab or on another device.",
    "room.offline": "You were signed out", "room.offline.text": "The operator ended this connection.",
    "room.away": "The room cannot be reached", "room.away.text": "No node answers. Check your network, or try again in a moment.",
    "room.wrong": "Something went wrong", "room.wrong.text": "This page and the server do not understand each other. Load the page again.",
    "room.shareTitle": "Invite people", "room.shareText": "Scan the code, or send the address.", "room.copy": "Copy",
    "room.copied": "The address is copied.", "room.address": "Address of this room",
    "room.loopback": "This node answers on this computer only: other tabs can join, a phone cannot.",
    "room.figure.deliveries": "deliveries / s", "room.figure.p99": "p99 to the socket", "room.figure.cpu": "CPU",
    "room.figure.node": "Node", "room.figure.online": "online", "room.starting": "This page's node is starting again.", "room.kill": "Kill this node",
    "room.killText": "Node {node} ends at once, without a word to anybody (kill -9), and is started again after 3 seconds. This page goes on at another node.",
    "room.killFailed": "The node could not be killed.", "room.killing": "Node {node} was killed. Watching what this page notices.",
    "room.killed": "Node {node} was killed", "room.silence": "{ms} ms", "room.silence.name": "of silence",
    "room.missed": "{missed} missed, {filled} filled", "room.missed.name": "messages meanwhile",
    "room.ofAll": "{lost} lost of {total}", "room.ofAll.name": "since this page entered",
    "room.unnoticed": "This page was not on it: its connection went on.", "room.figures": "Figures of this node",
  },
  zh: {
    "room.connecting": "连接中", "room.entering": "进入中", "room.entered": "直播中", "room.lost": "已断开 {seconds} 秒", "room.moving": "正在切换节点",
    "room.out": "未在房间", "room.online": "{count} 人在线", "room.stage": "舞台", "room.seats": "麦位",
    "room.chat": "聊天", "room.people": "成员", "room.side": "聊天与成员", "room.settings": "房间设置",
    "room.share": "分享", "room.listener": "听众", "room.language": "EN", "room.languageName": "切换到英文", "room.dark": "深色",
    "room.light": "浅色", "room.close": "关闭", "room.announcement": "公告",
    "room.slow": "仍在连接。节点可能繁忙或不在线，页面会继续尝试。",
    "room.lostConnection": "连接已断开 {seconds} 秒，正在重连；消息会为你保留。",
    "room.lostNode": "本房间的主节点已离线 {seconds} 秒，另一个节点正在接手；消息不会丢失。",
    "room.back": "{seconds} 秒后恢复，没有错过消息。",
    "room.backFilled": "{seconds} 秒后恢复：错过 {missed} 条消息，已补回 {filled} 条。",
    "room.backAnew": "{seconds} 秒后恢复。期间的消息无法完整补回，现显示最新内容。",
    "room.muted": "你已被禁言，仍可观看和阅读。", "room.mutedFor": "你已被禁言，剩余 {time}。",
    "room.allMuted": "目前只有主持人可以发言。",
    "room.again": "重新进入", "room.retry": "重试", "room.here": "在此处使用",
    "room.kick2": "你已被移出", "room.kick2.text": "主持人将你移出了房间。",
    "room.kick5": "你已被拉黑", "room.kick5.text": "主持人将你加入了黑名单。",
    "room.kick7": "账号已被封禁", "room.kick7.text": "目前无法进入任何房间。",
    "room.closed": "房间已关闭", "room.closed.text": "感谢参与，目前无人可以进入。",
    "room.none": "房间不存在", "room.none.text": "它可能已被关闭并删除，请检查地址。",
    "room.refused": "你无法进入此房间", "room.refused.text": "房间仅对部分人开放，或不接受匿名旁听。",
    "room.ban": "暂时无法进入", "room.ban.text": "主持人将你移出了房间，{time} 后可再次进入。",
    "room.full": "人数过多", "room.full.text": "请在 {seconds} 秒后重试。",
    "room.many": "你所在的房间过多", "room.many.text": "请先离开其中一个。",
    "room.token": "凭证已失效", "room.token.text": "凭证已过期、被撤销，或不适用于此房间。",
    "room.takenOver": "已在别处打开", "room.takenOver.text": "你在另一个标签页或设备上进入了这个房间。",
    "room.offline": "你已被下线", "room.offline.text": "管理员结束了此连接。",
    "room.away": "无法连接房间", "room.away.text": "没有节点响应。请检查网络，或稍后重试。",
    "room.wrong": "出现问题", "room.wrong.text": "页面与服务器版本不一致，请重新加载页面。",
    "room.shareTitle": "邀请他人", "room.shareText": "扫描二维码，或发送地址。", "room.copy": "复制",
    "room.copied": "地址已复制。", "room.address": "房间地址",
    "room.loopback": "此节点只在本机可用：其他标签页可以加入，手机无法访问。",
    "room.figure.deliveries": "投递 / 秒", "room.figure.p99": "p99 到套接字", "room.figure.cpu": "CPU",
    "room.figure.node": "节点", "room.figure.online": "在线", "room.starting": "本页面的节点正在重新启动。", "room.kill": "终止此节点",
    "room.killText": "节点 {node} 将立即终止（kill -9），不通知任何人，3 秒后重新启动。本页面会转到另一个节点继续。",
    "room.killFailed": "无法终止节点。", "room.killing": "节点 {node} 已终止，正在观察本页面的情况。",
    "room.killed": "节点 {node} 已终止", "room.silence": "{ms} 毫秒", "room.silence.name": "无消息时间",
    "room.missed": "错过 {missed} 条，补回 {filled} 条", "room.missed.name": "期间的消息",
    "room.ofAll": "{total} 条中丢失 {lost} 条", "room.ofAll.name": "自进入页面以来",
    "room.unnoticed": "本页面未连接到它，连接未受影响。", "room.figures": "此节点的数据",
  },
});

const SHEETS = ["chat-room.css", "chat.css", "people.css", "stage.css", "seats.css"];
const ICONS = {
  share: "M12 15V4m0 0L8 8m4-4 4 4M5 13v6h14v-6",
  theme: "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5Z",
  settings: "M4 7h9m5 0h2M4 17h2m5 0h9M15.5 4.5v5m-7 5v5",
  close: "M6 6l12 12M18 6 6 18",
  announcement: "M4 10v4h3l8 4V6l-8 4H4Zm14-1a4 4 0 0 1 0 6",
};
/** The newest messages are kept here for a change of the language, which builds the views anew. */
const KEPT_MAX = 100;
const FIGURES_MS = 2_000;
const FIGURES_WAIT_MS = 5_000;
const BACK_MS = 8_000;
const SLOW_MS = 4_000;
const TOAST_MS = 4_500;
const KILL_WATCH_MS = 6_000;

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.append(document.createElementNS(svg.namespaceURI, "path"));
  svg.firstChild.setAttribute("d", ICONS[name]);
  return svg;
}

const tenths = (milliseconds) => (Math.max(0, milliseconds) / 1000).toFixed(1);

export class ChatRoom extends HTMLElement {
  static observedAttributes = ["room", "token", "gateways", "nick", "avatar", "anonymous", "language", "theme"];

  // An app may set `tokenProvider` (a function that gives a token, or a promise of one, at each login) and `shareUrl` before
  // this class is known: they are no fields, which would forget that.
  /** The book of the messages that came and were missed; see ledger.js. */
  ledger = new Ledger();

  #parts = {};
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
  #isAnew = false;
  #backUntil = 0;
  #told = null;
  #dismissed = null;
  #ticker = 0;
  #figures = null;
  #figuresTimer = 0;
  #kill = null;

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    // Nothing is shown before it has its looks.
    let awaited = SHEETS.length;
    const done = () => { if (--awaited === 0) this.#parts.room.hidden = false; };
    for (const name of SHEETS) {
      const href = new URL(name, import.meta.url).href;
      root.append(make("link", { rel: "stylesheet", href, load: done, error: done }));
    }
    this.#parts.room = make("div", { class: "room", "data-part": "room", hidden: true });
    root.append(this.#parts.room);
  }

  get state() {
    if (this.#end || !this.#room) return this.#end ? "failed" : "exited";
    // The room is not asked for before the client is connected.
    return this.#room.isWanted ? this.#room.state : "connecting";
  }

  get roomName() { return clean(this.#info?.name || this.getAttribute("room")); }

  connectedCallback() {
    this.#useLanguage();
    this.#build();
    this.#restart();
    document.addEventListener("visibilitychange", this.#pollFigures);
    this.#pollFigures();
  }

  disconnectedCallback() {
    document.removeEventListener("visibilitychange", this.#pollFigures);
    clearTimeout(this.#figuresTimer);
    this.#stop();
  }

  attributeChangedCallback(name, before, after) {
    if (before === after || !this.isConnected) return;
    if (name === "theme") return this.#label();
    if (name !== "language") return this.#restart();
    this.#useLanguage();
    this.#build();
    if (this.#room) this.#rebuildViews();
    this.#render();
  }

  #useLanguage() {
    const language = this.getAttribute("language");
    if (language) words.language = language.toLowerCase().startsWith("zh") ? "zh" : "en";
  }

  // The frame

  #build() {
    const { room } = this.#parts;
    const part = (name, tag = "div", attributes = {}, ...children) => {
      return this.#parts[name] = make(tag, { class: `room-${name}`, "data-part": name, ...attributes }, ...children);
    };
    const button = (name, label, click, ...children) =>
      part(name, "button", { type: "button", class: "room-icon", "aria-label": label, title: label, click }, ...children);
    const region = (name) => part(name, "section", { "aria-label": words.say(`room.${name}`) });
    // Places for what later features bring. Each is empty and hidden until the cluster lists the feature (`data-feature`).
    const later = (name, feature) => part(name, "div", { "data-feature": feature, hidden: true });
    const tab = (name, isChosen) => part(`${name}Tab`, "button", {
      type: "button", role: "tab", class: "room-tab", id: `${name}-tab`, "aria-controls": `${name}-panel`,
      "aria-selected": String(isChosen), tabindex: isChosen ? 0 : -1, click: () => this.#choose(name),
    }, words.say(`room.${name}`));
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
            button("share", words.say("room.share"), () => this.#share(), icon("share")),
            button("language", words.say("room.languageName"), () => this.#switchLanguage(), words.say("room.language")),
            button("theme", "", () => this.#switchTheme(), icon("theme")),
          ] : []),
          button("settings", words.say("room.settings"), () => this.#views?.people.openSettings(), icon("settings")))),
      make("div", { class: "room-strips" },
        part("announcement", "div", { class: "room-strip room-announcement", hidden: true }),
        part("banner", "div", { class: "room-strip", hidden: true }),
        part("report", "div", { class: "room-strip room-report", hidden: true })),
      part("stageArea", "div", { class: "room-stage-area" }, region("stage"), later("likes", "tally")),
      region("seats"),
      part("figures", "section", { "aria-label": words.say("room.figures"), hidden: true }),
      part("side", "section", { "aria-label": words.say("room.side") },
        make("div", { class: "room-tabs", role: "tablist", "aria-label": words.say("room.side"), keydown: this.#tabKey },
          tab("chat", true), tab("people", false)),
        later("pins", "pin"), later("polls", "poll"), later("held", "held"),
        panel("chat", true), panel("people", false)),
      part("card", "div", { hidden: true }),
      part("toasts"),
      part("live", "div", { role: "status", "aria-live": "polite" }));
    this.#label();
    if (this.#figures) this.#showFigures();
    if (this.#kill) this.#kill.isTold = false;
  }

  #label() {
    const { theme } = this.#parts;
    if (!theme) return;
    const label = words.say(this.#isDark() ? "room.light" : "room.dark");
    theme.setAttribute("aria-label", label);
    theme.title = label;
  }

  #isDark() {
    const theme = this.getAttribute("theme");
    return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  #switchTheme() {
    this.setAttribute("theme", this.#isDark() ? "light" : "dark");
    this.#tell("preference", { theme: this.getAttribute("theme") });
  }

  #switchLanguage() {
    this.setAttribute("language", words.language === "zh" ? "en" : "zh");
    this.#tell("preference", { language: words.language });
    this.#parts.language.focus();
  }

  #choose(name) {
    for (const other of ["chat", "people"]) {
      const isChosen = other === name;
      this.#parts[other].hidden = !isChosen;
      this.#parts[`${other}Tab`].setAttribute("aria-selected", String(isChosen));
      this.#parts[`${other}Tab`].tabIndex = isChosen ? 0 : -1;
    }
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
    const client = this.#client = new ChatroomClient({
      gateways: gateways.length > 0 ? gateways : [own.href], retryCount: 5,
      ...(anonymous ? { anonymous } : { tokenProvider: () => this.tokenProvider?.() ?? this.getAttribute("token") }),
    });
    const room = this.#room = client.room(attribute("room"));
    const isCurrent = () => client === this.#client;
    this.#startedAt = performance.now();
    this.ledger = new Ledger();
    this.ledger.watch(room);
    this.ledger.changed = () => isCurrent() && this.#render();
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
    room.on("filled", (messages) => isCurrent() && this.#views.chat.filled(messages));
    room.on("gap", (gap) => {
      if (!isCurrent()) return;
      this.#views.chat.gap(gap);
      if (gap.cause !== "BUDGET") this.#readAgain();
    });
    room.on("barrage", (items) => {
      if (!isCurrent()) return;
      const isOwn = ({ from }) => from?.user !== undefined && from.user === client.user;
      const own = items.filter(isOwn);
      if (own.length > 0) this.#views.stage.push(own, { own: true });
      if (own.length < items.length) {
        this.#views.stage.push(own.length > 0 ? items.filter((item) => !isOwn(item)) : items, { own: false });
      }
    });
    room.on("skipped", ({ barrage }) => isCurrent() && barrage > 0 && this.#views.stage.skipped(barrage));
    room.on("online", (online) => {
      if (!isCurrent() || !this.#info) return;
      this.#info = { ...this.#info, online };
      this.#views.people.online(online);
      this.#showOnline();
    });
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
      const nick = attribute("nick") ?? (anonymous ? words.say("room.listener") : undefined);
      const avatar = attribute("avatar") ?? (anonymous ? "data:," : undefined);
      await room.enter({ ...(nick && { nick }), ...(avatar && { avatar }), history: 50, withQueue: true });
    } catch (error) {
      if (isCurrent()) this.#fail(error);
    }
  }

  #context() {
    const [client, room] = [this.#client, this.#room];
    return {
      client, room, roomId: room.id, words, ledger: this.ledger, confirm,
      me: () => this.#member(),
      info: () => this.#info ?? { id: room.id, name: room.id, announcement: "", online: 0 },
      canManage: () => this.#canManage(),
      isAnonymous: () => this.hasAttribute("anonymous"),
      notice: (text, kind) => this.#notice(text, kind),
      menu: (anchor, user, more = {}) => this.#views?.people.openMenu(anchor, user, more),
      now: () => client.serverTime(),
    };
  }

  #openViews() {
    this.#closeViews();
    const { chat, people, stage, seats } = this.#parts;
    const context = this.#context();
    this.#views = {
      people: new People(people, context), chat: new Chat(chat, context),
      stage: new Stage(stage, context), seats: new Seats(seats, context),
    };
  }

  #closeViews() {
    for (const view of Object.values(this.#views ?? {})) view.destroy();
    this.#views = null;
    for (const name of ["chat", "people", "stage", "seats"]) this.#parts[name]?.replaceChildren();
  }

  /** The views in the other language, with what was shown; the connection does not notice. */
  #rebuildViews() {
    this.#openViews();
    this.#useFeatures();
    if (!this.#entry) return;
    const { seq } = this.#entry;
    this.#views.people.entered({ ...this.#entry, me: this.#member(), room: this.#info });
    this.#views.chat.entered({ recovery: "fresh", seq });
    for (const message of this.#kept) this.#views.chat.message(message);
    if (this.#end) for (const view of ["chat", "people", "seats"]) this.#views[view].exited();
    else this.#readAgain();
  }

  // Messages and notifications

  #entered(entry) {
    const isBack = this.#entry !== null;
    this.#entry = entry;
    this.#info = entry.room;
    this.#setMe(entry.me);
    this.#isAnew = isBack && entry.recovery === "impossible";
    if (entry.recovery !== "complete") this.#kept = [];
    this.#useFeatures();
    this.#views.people.entered(entry);
    this.#views.seats.entered(entry);
    this.#views.chat.entered({ recovery: entry.recovery, seq: entry.seq });
    this.#render();
  }

  #useFeatures() {
    const features = this.#client.features;
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
    // The reply to `enter` holds already what came before it.
    if (message.seq !== undefined && message.seq <= this.#entry.seq) return;
    if (message.type === "NOTIFICATION") {
      this.#note(message);
      this.#views.people.message(message);
    }
    if (message.type === "NOTIFICATION" || message.type === "COMMAND") this.#views.seats.message(message);
  }

  /** Keeps oneself and the room as the notifications change them. */
  #note({ event, targets = [], data = {} }) {
    if (data.online !== undefined) this.#info = { ...this.#info, online: data.online };
    if (event === 312) this.#info = { ...this.#info, ...data.set };
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
      views.seats.entered({ queue: queue.elements, seq: queue.seq, queueNext: queue.next });
      this.#render();
    } catch { /* The next entry brings it. */ } finally { this.#isReading = false; }
  }

  // The looks of the state

  #fail(error) {
    if (this.#end) return;
    this.#end = error ?? new Error("failed");
    for (const view of ["chat", "people", "seats"]) this.#views?.[view].exited();
    this.#tell("statechange", { state: "failed", error });
    this.#render();
  }

  #render() {
    const { name, state, settings } = this.#parts;
    name.textContent = this.roomName;
    this.#showOnline();
    const now = performance.now();
    const current = this.state;
    const { outage } = this.ledger;
    const isLost = !this.#end && outage !== null && !outage.backAt;
    const seconds = isLost ? tenths(now - outage.from) : "";
    const isMoving = this.#isMoving && current === "entered";
    state.dataset.state = isLost ? "lost" : isMoving ? "moving" : current;
    state.textContent = isLost ? words.say("room.lost", { seconds }) : isMoving ? words.say("room.moving")
      : words.say(["connecting", "entering", "entered"].includes(current) ? `room.${current}` : "room.out");
    settings.hidden = !this.#canManage() || this.#end !== null;
    this.#showBanner(isLost, seconds, now);
    this.#showAnnouncement();
    this.#showCard();
    this.#showReport();
    // The clock ticks only while a time is shown.
    const left = this.#mutedUntil - now;
    const isTicking = this.#room && !this.#end
      && (isLost || current !== "entered" || left > 0 || now < this.#backUntil || (this.#kill && !this.#kill.isTold));
    if (isTicking && !this.#ticker) this.#ticker = setInterval(() => this.#render(), 200);
    if (!isTicking) { clearInterval(this.#ticker); this.#ticker = 0; }
  }

  #showOnline() {
    const { online, figures } = this.#parts;
    const count = this.#info ? words.number(this.#info.online) : "";
    const text = count && words.say("room.online", { count });
    if (online.textContent === text) return;
    online.textContent = text;
    figures.querySelector("[data-figure=online] dd")?.replaceChildren(count);
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
    } else if (outage?.backAt && now - outage.backAt < BACK_MS && !this.#kill) {
      this.#backUntil = outage.backAt + BACK_MS;
      const key = this.#isAnew ? "room.backAnew" : outage.missed > 0 ? "room.backFilled" : "room.back";
      text = words.say(key, {
        seconds: tenths(outage.backAt - outage.from), missed: words.number(outage.missed), filled: words.number(outage.filled),
      });
      [kind, spoken] = [this.#isAnew ? "warn" : "good", key + outage.from];
    } else if (this.#entry === null) {
      if (now - this.#startedAt > SLOW_MS) [text, spoken] = [words.say("room.slow"), "room.slow"];
    } else if (me?.muted) [text, spoken] = [words.say("room.muted"), "room.muted"];
    else if (me?.tempMuted) {
      text = words.say("room.mutedFor", { time: clock(me.tempMuteSeconds) });
      spoken = "room.mutedFor";
    } else if (this.#info?.muted && !this.#canManage()) [text, spoken] = [words.say("room.allMuted"), "room.allMuted"];
    if (text && spoken !== this.#told) this.#say(text);
    this.#told = text ? spoken : null;
    banner.hidden = text === "";
    banner.dataset.kind = kind;
    if (banner.textContent !== text) banner.textContent = text;
  }

  #showAnnouncement() {
    const { announcement } = this.#parts;
    const text = this.#info?.announcement ?? "";
    announcement.hidden = text === "" || text === this.#dismissed;
    if (announcement.hidden || announcement.dataset.shown === text) return;
    announcement.dataset.shown = text;
    announcement.replaceChildren(
      icon("announcement"), make("bdi", { class: "room-text", title: words.say("room.announcement"), tabindex: 0 }, clean(text)),
      this.#closer(() => { this.#dismissed = text; announcement.hidden = true; }));
  }

  #closer(click) {
    const label = words.say("room.close");
    return make("button", { type: "button", class: "room-icon room-closer", "aria-label": label, title: label, click }, icon("close"));
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
    const [key, values, action] = this.#why(this.#end);
    const [title, text] = [words.say(key), words.say(`${key}.text`, values)];
    card.replaceChildren(make("div", { class: "room-card-box" }, make("h2", {}, title), make("p", {}, text),
      ...(action ? [make("button", { type: "button", class: "room-primary", "data-part": "again", click: () => this.#restart() },
        words.say(action))] : [])));
    card.hidden = false;
    room.dataset.ended = this.#entry ? "after" : "before";
    this.#say(`${title}. ${text}`);
  }

  #why({ code, refusal }) {
    const wait = refusal?.retryAfterMs;
    if (code === "kicked") code = { 1: 13002, 3: "takenOver", 5: 13003, 6: 401, 7: "banned" }[this.#kickReason] ?? "kicked";
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
    live.textContent = "";
    setTimeout(() => { live.textContent = text; }, 50);
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
    const isLoopback = /^(localhost|127\.[\d.]+|\[::1\])$/.test(new URL(address).hostname);
    const field = make("input", { readonly: true, "aria-label": words.say("room.address"), value: address });
    const copy = async () => {
      field.select();
      try { await navigator.clipboard.writeText(address); } catch { document.execCommand("copy"); }
      box.close();
      this.#notice(words.say("room.copied"), "good");
    };
    const code = make("div", { class: "room-qr" });
    try { code.append(qr(address)); } catch { code.hidden = true; }
    const box = dialog(words.say("room.shareTitle"), "room-share-dialog", make("p", {}, words.say("room.shareText")), code,
      make("div", { class: "room-copy" }, field,
        make("button", { type: "button", class: "room-primary", click: copy }, words.say("room.copy"))),
      ...(isLoopback ? [make("p", { class: "room-hint" }, words.say("room.loopback"))] : []));
    box.dataset.part = "shareDialog";
  }

  // The node's figures, and its end

  #pollFigures = async () => {
    clearTimeout(this.#figuresTimer);
    if (!this.hasAttribute("figures") || !this.isConnected || document.visibilityState !== "visible") return;
    try {
      const answer = await fetch("/v1/demo", { signal: AbortSignal.timeout(FIGURES_WAIT_MS) });
      if (answer.status === 404) { this.#figures = null; this.#parts.figures.hidden = true; return; }
      if (!answer.ok) throw new Error(String(answer.status));
      this.#figures = await answer.json();
    } catch ({ name }) {
      // A node that is slow is not away. If it was never seen, there is nothing to say.
      if (this.#figures && name !== "TimeoutError") this.#figures = { ...this.#figures, isAway: true };
    }
    if (this.#figures) this.#showFigures();
    if (this.isConnected) this.#figuresTimer = setTimeout(this.#pollFigures, FIGURES_MS);
  };

  #showFigures() {
    const { figures } = this.#parts;
    const { node, nodes, kill, isAway = false, deliveriesPerSecond, deliverP99Ms, cpuPercent } = this.#figures;
    const number = (value, digits = 0) => Number.isFinite(value) ? words.number(Number(value.toFixed(digits))) : "–";
    const values = {
      node: `${node} / ${number(nodes)}`, online: number(this.#info?.online), deliveries: number(deliveriesPerSecond),
      p99: `${number(deliverP99Ms, deliverP99Ms < 10 ? 1 : 0)} ms`, cpu: `${number(cpuPercent)} %`,
    };
    if (!figures.firstChild) {
      figures.append(make("p", {}, words.say("room.starting")), make("dl", { tabindex: 0 },
        ...Object.keys(values).map((key) => make("div", { class: "room-figure", "data-figure": key },
          make("dt", {}, words.say(`room.figure.${key}`)), make("dd")))),
      make("button", { type: "button", class: "room-kill", "data-part": "kill", click: () => this.#killNode() },
        words.say("room.kill")));
    }
    const [away, list, button] = figures.children;
    [...list.children].forEach((one) => { one.lastChild.textContent = values[one.dataset.figure]; });
    [away.hidden, list.hidden, button.hidden, button.disabled] = [!isAway, isAway, !(kill === true && nodes >= 3), isAway];
    figures.hidden = false;
  }

  async #killNode() {
    const { node } = this.#figures;
    if (!await confirm(words.say("room.kill"), words.say("room.killText", { node }), words.say("room.kill"))) return;
    this.ledger.mark();
    this.#kill = { node, at: performance.now(), outage: this.ledger.outage, isTold: false };
    this.#render();
    try {
      const answer = await fetch("/v1/demo/kill", { method: "POST" });
      if (answer.status < 400) return;
      this.#kill = null;
      this.#render();
      this.#notice(words.say("room.killFailed"), "bad");
    } catch { /* It died before it could answer. */ }
  }

  /** Shows how this page got over the node's end, from its own ledger. */
  #showReport() {
    const { report } = this.#parts;
    const kill = this.#kill;
    report.hidden = kill === null;
    if (!kill || kill.isTold) return;
    const outage = this.ledger.outage === kill.outage ? null : this.ledger.outage;
    const isLate = performance.now() - kill.at > KILL_WATCH_MS;
    const isOver = outage ? outage.endedAt && (outage.filled >= outage.missed || isLate) : isLate;
    const values = { node: kill.node };
    const title = words.say(isOver ? "room.killed" : "room.killing", values);
    if (!isOver) {
      if (report.textContent !== title) { report.replaceChildren(make("strong", {}, title)); this.#say(title); }
      return;
    }
    const { lost, total } = this.ledger.summary();
    const fact = (key, more) => {
      return make("div", { class: "room-fact" }, make("b", {}, words.say(key, more)), make("span", {}, words.say(`${key}.name`)));
    };
    const facts = [fact("room.ofAll", { lost: words.number(lost), total: words.number(total) })];
    if (outage) {
      facts.unshift(fact("room.silence", { ms: words.number(Math.round(outage.silenceMs)) }),
        fact("room.missed", { missed: words.number(outage.missed), filled: words.number(outage.filled) }));
    }
    report.replaceChildren(make("strong", {}, title),
      ...(outage ? [] : [make("span", {}, words.say("room.unnoticed"))]), make("div", { class: "room-facts" }, ...facts),
      this.#closer(() => { this.#kill = null; this.#render(); }));
    kill.isTold = true;
    this.#say(`${title}. ${facts.map((one) => [...one.children].map((child) => child.textContent).join(" ")).join(", ")}`);
  }
}

customElements.define("chat-room", ChatRoom);
