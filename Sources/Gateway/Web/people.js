/**
 * People: the panel of members, the menu on a name or a message, the settings of the room, and what the chat shares with
 * them: names, faces, times, errors in words, dialogs. Words of people go in as text only.
 */
import { words } from "./words.js";

words.add({
  en: {
    "people.here": "{count} here", "people.search": "Search the names below", "people.view": "Show", "people.more": "Show more",
    "people.view.here": "Here now", "people.view.FIXED": "All members", "people.view.MUTED": "Muted",
    "people.view.BLACKLISTED": "Blacklist", "people.view.BANNED": "Kept out for a time",
    "people.CREATOR": "Host", "people.MANAGERS": "Managers", "people.FIXED_ONLINE": "Members", "people.TEMPORARY": "Guests",
    "people.MANAGER": "Manager", "people.you": "you", "people.away": "away", "people.muted": "muted", "people.nobody": "Nobody",
    "people.found": "No such name in what is loaded", "people.listeners": "Sign in to see who is here.",
    "people.full": "The first {count} are shown. Search by name.", "people.options": "Options for {name}",
    "people.mention": "Mention", "people.copy": "Copy the text", "people.copied": "Copied", "people.recall": "Take the message back",
    "people.mute": "Mute for {time}", "people.muteForGood": "Mute for good", "people.unmute": "Let speak again",
    "people.kick": "Put out…", "people.blacklist": "Blacklist…", "people.unblacklist": "Take off the blacklist",
    "people.unban": "Let in again", "people.makeManager": "Make a manager", "people.dropManager": "No manager any more",
    "people.seat": "Invite to a seat", "people.done": "Done", "people.cancel": "Cancel", "people.close": "Close",
    "people.recall.ask": "Take this message back for everyone?", "people.recall.do": "Take back",
    "people.kick.ask": "Put {name} out of the room?", "people.kick.do": "Put out", "people.kick.back": "May come back",
    "people.kick.now": "at once", "people.kick.after": "after {time}",
    "people.blacklist.ask": "Blacklist {name}? The person is put out and cannot come back until taken off the list.",
    "people.blacklist.do": "Blacklist", "people.blacklist.recall": "Also take back all messages",
    "people.muteForGood.ask": "Mute {name} until someone lifts it?", "people.muteForGood.do": "Mute",
    "people.dropManager.ask": "{name} will be an ordinary member.", "people.dropManager.do": "Remove",
    "people.settings": "Room settings", "people.name": "Name", "people.announcement": "Announcement",
    "people.slow": "Slow mode", "people.slow.off": "Off", "people.slow.on": "One message in {time}",
    "people.muteAll": "Only the host and managers may write", "people.queue": "Who may change the queue and the seats",
    "people.queue.ANY": "Everybody", "people.queue.OWNER": "Everybody, each their own", "people.queue.MANAGER": "Host and managers",
    "people.enters": "Tell who comes and goes", "people.enters.ALL": "Everybody", "people.enters.FIXED_ONLY": "Members only",
    "people.enters.NONE": "Nobody", "people.save": "Save", "people.saved": "Saved", "people.long": "{over} bytes too long",
    "people.error.401": "The sign-in has ended.", "people.error.403": "You may not do this.", "people.error.404": "It is not there any more.",
    "people.error.409": "Someone else has changed it meanwhile.", "people.error.413": "It is too large.",
    "people.error.416": "Too fast. Try again in {time}.", "people.error.416.now": "Too fast. Wait a moment.",
    "people.error.503": "The room cannot take it at the moment. Try again soon.", "people.error.13002": "The room is closed.",
    "people.error.13003": "Not let into this room.", "people.error.13003.time": "Not let into this room for {time} more.",
    "people.error.13004": "You are muted.", "people.error.13004.time": "You are muted for {time} more.",
    "people.error.13006": "Only the host and managers may write now.", "people.error.13007": "You are not in the room.",
    "people.error.13008": "You are in too many rooms.", "people.error.13009": "The moderation refused it.",
    "people.error.lost": "The connection was lost before the answer.", "people.error.unknown": "No answer came. It may have been sent.",
    "people.error": "It did not work.",
  },
  zh: {
    "people.here": "{count} 人在线", "people.search": "在下面的名单中搜索", "people.view": "显示", "people.more": "更多",
    "people.view.here": "当前在线", "people.view.FIXED": "全部成员", "people.view.MUTED": "已禁言",
    "people.view.BLACKLISTED": "黑名单", "people.view.BANNED": "暂时禁止进入",
    "people.CREATOR": "房主", "people.MANAGERS": "管理员", "people.FIXED_ONLINE": "成员", "people.TEMPORARY": "游客",
    "people.MANAGER": "管理员", "people.you": "我", "people.away": "离线", "people.muted": "已禁言", "people.nobody": "没有人",
    "people.found": "已加载的名单中没有这个名字", "people.listeners": "登录后可以查看成员。",
    "people.full": "只显示前 {count} 人，可按名字搜索。", "people.options": "{name} 的操作",
    "people.mention": "提到", "people.copy": "复制文字", "people.copied": "已复制", "people.recall": "撤回消息",
    "people.mute": "禁言 {time}", "people.muteForGood": "永久禁言", "people.unmute": "解除禁言",
    "people.kick": "移出房间…", "people.blacklist": "加入黑名单…", "people.unblacklist": "移出黑名单",
    "people.unban": "允许再次进入", "people.makeManager": "设为管理员", "people.dropManager": "取消管理员",
    "people.seat": "邀请上麦", "people.done": "已完成", "people.cancel": "取消", "people.close": "关闭",
    "people.recall.ask": "为所有人撤回这条消息？", "people.recall.do": "撤回",
    "people.kick.ask": "将 {name} 移出房间？", "people.kick.do": "移出", "people.kick.back": "可以再次进入",
    "people.kick.now": "立即", "people.kick.after": "{time}后",
    "people.blacklist.ask": "将 {name} 加入黑名单？此人会被移出，解除之前不能再进入。",
    "people.blacklist.do": "加入黑名单", "people.blacklist.recall": "同时撤回全部消息",
    "people.muteForGood.ask": "禁言 {name}，直到有人解除？", "people.muteForGood.do": "禁言",
    "people.dropManager.ask": "{name} 将成为普通成员。", "people.dropManager.do": "取消管理员",
    "people.settings": "房间设置", "people.name": "名称", "people.announcement": "公告",
    "people.slow": "慢速模式", "people.slow.off": "关闭", "people.slow.on": "每 {time}一条消息",
    "people.muteAll": "只有房主和管理员可以发言", "people.queue": "谁可以更改队列和麦位",
    "people.queue.ANY": "所有人", "people.queue.OWNER": "所有人，仅限自己的", "people.queue.MANAGER": "房主和管理员",
    "people.enters": "显示进出提示", "people.enters.ALL": "所有人", "people.enters.FIXED_ONLY": "仅成员",
    "people.enters.NONE": "不显示", "people.save": "保存", "people.saved": "已保存", "people.long": "超出 {over} 字节",
    "people.error.401": "登录已失效。", "people.error.403": "你没有权限。", "people.error.404": "内容已不存在。",
    "people.error.409": "内容已被其他人更改。", "people.error.413": "内容过大。",
    "people.error.416": "操作太快，请在 {time}后重试。", "people.error.416.now": "操作太快，请稍候。",
    "people.error.503": "房间暂时无法处理，请稍后重试。", "people.error.13002": "房间已关闭。",
    "people.error.13003": "不能进入这个房间。", "people.error.13003.time": "{time}内不能进入这个房间。",
    "people.error.13004": "你已被禁言。", "people.error.13004.time": "你已被禁言，还剩 {time}。",
    "people.error.13006": "现在只有房主和管理员可以发言。", "people.error.13007": "你不在房间里。",
    "people.error.13008": "你加入的房间太多。", "people.error.13009": "内容未通过审核。",
    "people.error.lost": "连接中断，没有收到答复。", "people.error.unknown": "没有收到答复，可能已经发送。",
    "people.error": "操作未成功。",
  },
});

// Shared with the chat

/** An element with a class and children. */
export function make(tag, name, ...children) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  element.append(...children);
  return element;
}

export function button(name, label, action) {
  const element = make("button", name, label);
  element.type = "button";
  if (action) element.addEventListener("click", action);
  return element;
}

/** A picture of lines, 20 by 20. */
export function icon(path) {
  const [svg, line] = ["svg", "path"].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
  svg.setAttribute("viewBox", "0 0 20 20");
  svg.setAttribute("class", "people-icon");
  svg.setAttribute("aria-hidden", "true");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

/** Without what turns the writing of others around, and with at most three marks on a letter. */
export function clean(text) {
  return String(text ?? "").replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "").replace(/(\p{M}{3})\p{M}+/gu, "$1");
}

/** The beginning of a text, not cut through a character. */
export function cut(text, length) {
  if (text.length <= length) return text;
  return text.slice(0, length).replace(/[\ud800-\udbff]$/, "") + "…";
}

export function nameOf(person) { return cut(clean(person?.nick).trim() || person?.user || "?", 32); }

/** The name as part of a sentence: the direction of its writing ends with it. */
export function named(person) { return `\u2068${nameOf(person)}\u2069`; }

/** One of eight colours, the same for a user everywhere. */
export function hueOf(user) {
  let hash = 7;
  for (const letter of String(user)) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
  return `people-hue${(hash ^ (hash >>> 9)) % 8}`;
}

/** An address that may be shown or followed; else undefined. */
export function safeUrl(text) {
  // Most people have no picture: the check before spares an exception.
  if (!/^https?:/i.test(text)) return undefined;
  try { return new URL(text).href; } catch { return undefined; }
}

export function picture(address, name) {
  const image = make("img", name);
  Object.assign(image, { referrerPolicy: "no-referrer", loading: "lazy", decoding: "async", alt: "" });
  image.addEventListener("error", () => image.remove());
  image.src = address;
  return image;
}

export function face(person) {
  const element = make("span", `people-face ${hueOf(person.user)}`, [...nameOf(person)][0].toUpperCase());
  element.setAttribute("aria-hidden", "true");
  const address = safeUrl(person.avatar);
  if (address?.startsWith("https:")) element.append(picture(address, "people-picture"));
  return element;
}

export function badge(role) {
  if (role !== "CREATOR" && role !== "MANAGER") return "";
  return make("span", `people-badge people-${role.toLowerCase()}`, words.say(`people.${role}`));
}

/** "5 minutes", in the largest unit that fits. */
export function span(seconds) {
  const [unit, length] = [["day", 86_400], ["hour", 3600], ["minute", 60]].find(([, l]) => seconds >= l) ?? ["second", 1];
  const format = { style: "unit", unit, unitDisplay: "long", maximumFractionDigits: 0 };
  return new Intl.NumberFormat(words.language, format).format(Math.max(1, Math.round(seconds / length)));
}

/** Time that is left, as a clock shows it below a day. */
export function clock(seconds) {
  if (seconds >= 86_400) return span(seconds);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, Math.floor(seconds) % 60];
  if (parts[0] === 0) parts.shift();
  return parts.map((part, place) => place ? String(part).padStart(2, "0") : part).join(":");
}

/** The meaning of a failure for the person in front of the page. */
export function errorWords(error) {
  const { code, retryAfterMs } = error?.refusal ?? {};
  const key = `people.error.${code === 414 ? 413 : code === 500 ? 503 : code}`;
  if (retryAfterMs > 0 && [416, 13003, 13004].includes(code)) {
    return words.say(code === 416 ? key : `${key}.time`, { time: span(Math.ceil(retryAfterMs / 1000)) });
  }
  if (code === 416) return words.say(`${key}.now`);
  if (code && words.say(key) !== key) return words.say(key);
  if (["outcomeUnknown", "timedOut"].includes(error?.code)) return words.say("people.error.unknown");
  return words.say(error?.code?.startsWith?.("connection") || error?.code === "notConnected" ? "people.error.lost" : "people.error");
}

export const bytesOf = (text) => new TextEncoder().encode(text).length;

// Dialogs

/** Where dialogs are put: beside the panel, so that they have its style. */
let place = null;
const root = () => {
  const node = place?.isConnected ? place.getRootNode() : document;
  return node === document ? document.body : node;
};
let serial = 0;

/** Opens a dialog. Escape, a click beside it and its button close it; the focus returns to where it was. */
export function dialog(title, name, ...content) {
  const box = make("dialog", `people-dialog ${name}`);
  const heading = make("h2", "people-title", title);
  heading.id = `people-title-${++serial}`;
  box.setAttribute("aria-labelledby", heading.id);
  const close = button("people-plain people-close", icon("M5 5l10 10M15 5L5 15"), () => box.close());
  close.ariaLabel = words.say("people.close");
  box.append(make("header", "people-bar", heading, close), ...content);
  box.addEventListener("close", () => box.remove());
  box.addEventListener("click", (event) => { if (event.target === box) box.close(); });
  root().append(box);
  box.showModal();
  return box;
}

/** Asks before something that cannot be undone. Resolves with whether the person agreed. */
export function confirm(title, text, action, ...fields) {
  return new Promise((resolve) => {
    let agreed = false;
    const yes = button("people-danger", action, () => { agreed = true; box.close(); });
    const no = button("people-quiet", words.say("people.cancel"), () => box.close());
    const box = dialog(title, "people-confirm", ...(text ? [make("p", "people-text", text)] : []), ...fields,
      make("footer", "people-foot", no, yes));
    box.addEventListener("close", () => resolve(agreed));
    no.focus();
  });
}

function field(label, control, name = "people-field") {
  return make("label", name, ...(name === "people-field" ? [make("span", "people-label", label), control] : [control, label]));
}

function select(options, value) {
  const element = make("select", "people-input");
  for (const [key, label] of options) element.append(new Option(label, key));
  element.value = value;
  return element;
}

function checkbox(checked) {
  const element = make("input");
  Object.assign(element, { type: "checkbox", checked });
  return element;
}

// The panel

const PAGE = 100;
/** More than this is looked for by name. */
const SHOWN_MAX = 1000;
/** After an event the lists are read again, at most once in so long; after a digest of many later. */
const REFRESH_MS = 4_000;
const DIGEST_MS = 15_000;
const RECALL_MS = 120_000;
const HERE = ["MANAGERS", "FIXED_ONLINE", "TEMPORARY"];
const RANKS = { CREATOR: 3, MANAGER: 2, ANONYMOUS: 0 };
const rankOf = (person) => RANKS[person?.role] ?? 1;
const SLOW = [0, 3, 5, 10, 30, 60, 300];

export class People {
  #container;
  #context;
  #lists = new Map();
  #view = "here";
  #rows = new Map();
  #sections;
  #count;
  #search;
  #views;
  #isVisible = false;
  #isIn = false;
  #stale = false;
  #timer = null;
  #lastRead = 0;
  #drawing = null;
  #watch;
  #openMenu = null;

  constructor(container, context) {
    [this.#container, this.#context] = [container, context];
    place = container;
    this.#count = make("p", "people-count");
    this.#search = make("input", "people-input people-search");
    Object.assign(this.#search, { type: "search", placeholder: words.say("people.search"), ariaLabel: words.say("people.search") });
    this.#search.addEventListener("input", () => this.#draw());
    this.#views = select(["here", "FIXED", "MUTED", "BLACKLISTED", "BANNED"].map((view) => [view, words.say(`people.view.${view}`)]), "here");
    this.#views.ariaLabel = words.say("people.view");
    this.#views.addEventListener("change", () => { this.#view = this.#views.value; this.#lists.clear(); this.#draw(); this.#read(); });
    this.#sections = make("div", "people-lists");
    this.#sections.addEventListener("click", ({ target }) => {
      const row = target.closest(".people-row");
      if (row) this.openMenu(row, row.person, {});
      const more = target.closest(".people-more");
      if (more) this.#page(more.kind, true);
    });
    container.classList.add("people");
    container.append(make("div", "people-head", this.#count, this.#views, this.#search), this.#sections);
    this.#watch = new IntersectionObserver((seen) => {
      this.#isVisible = seen.at(-1).isIntersecting;
      if (this.#isVisible && this.#stale) this.#refreshSoon(0);
      if (this.#isVisible) this.#draw();
    });
    this.#watch.observe(container);
    this.#draw();
  }

  entered(entry) {
    this.#isIn = true;
    this.#lists.clear();
    if (entry?.room) this.online(entry.room.online);
    this.#refreshSoon(0);
  }

  online(count) { this.#count.textContent = words.say("people.here", { count: words.number(count) }); }

  exited() {
    this.#isIn = false;
    this.#lists.clear();
    this.#closeMenu();
    this.#draw();
  }

  /** Keeps the lists by what the room tells. Nothing is asked for each event. */
  message({ event, targets = [], data = {} }) {
    if (event === 350) return this.#refreshSoon(DIGEST_MS);
    for (const target of targets) {
      const known = this.#find(target.user);
      if (event === 301) {
        this.#take(target.user, known?.role === "CREATOR" || known?.role === "MANAGER");
        this.#put({ ...target, avatar: data.avatar, role: data.role ?? "GUEST", online: true });
      } else if ([302, 303, 313].includes(event)) {
        this.#take(target.user, event === 302 && rankOf(known) > 1);
      } else if (known) {
        if (event === 305 || event === 306) known.muted = event === 305;
        if (event === 314 || event === 315) known.tempMuted = event === 314;
        if (event === 316) Object.assign(known, data.set);
      }
    }
    if (this.#view !== "here" || (event >= 307 && event <= 310)) return this.#refreshSoon(REFRESH_MS);
    this.#draw();
  }

  destroy() {
    this.#watch.disconnect();
    clearTimeout(this.#timer);
    clearTimeout(this.#drawing);
    this.#closeMenu();
    this.#container.replaceChildren();
    this.#container.classList.remove("people");
  }

  // The lists

  #kinds() { return this.#view === "here" ? HERE : [this.#view]; }

  #find(user) {
    for (const { members } of this.#lists.values()) {
      const known = members.find((member) => member.user === user);
      if (known) return known;
    }
    return undefined;
  }

  #take(user, staysListed) {
    for (const list of this.#lists.values()) {
      const at = list.members.findIndex((member) => member.user === user);
      if (at < 0) continue;
      if (staysListed) list.members[at].online = false; else list.members.splice(at, 1);
    }
  }

  #put(member) {
    const kind = rankOf(member) > 1 ? "MANAGERS" : ["NORMAL", "RESTRICTED"].includes(member.role) ? "FIXED_ONLINE" : "TEMPORARY";
    const list = this.#lists.get(kind);
    if (!list || this.#view !== "here") return;
    const at = list.members.findIndex(({ user }) => user === member.user);
    if (at >= 0) Object.assign(list.members[at], member); else list.members.unshift(member);
    if (list.members.length > SHOWN_MAX) list.members.length = SHOWN_MAX;
  }

  /** One read for any number of events; none while nobody looks. */
  #refreshSoon(wait) {
    this.#stale = true;
    if (!this.#isVisible || this.#timer) return;
    const rest = Math.max(0, this.#lastRead + wait - Date.now());
    this.#timer = setTimeout(() => { this.#timer = null; this.#read(); }, rest + Math.random() * Math.min(wait, 1000));
  }

  async #read() {
    if (!this.#isIn || this.#context.isAnonymous()) return this.#draw();
    [this.#stale, this.#lastRead] = [false, Date.now()];
    await Promise.all(this.#kinds().map((kind) => this.#page(kind, false)));
  }

  async #page(kind, isMore) {
    const view = this.#view;
    const old = this.#lists.get(kind);
    if (isMore && !old?.next) return;
    try {
      const page = await this.#context.room.members(kind, { limit: PAGE, ...(isMore ? { after: old.next } : {}) });
      if (view !== this.#view) return;
      const fresh = new Set(page.members.map(({ user }) => user));
      const kept = (this.#lists.get(kind)?.members ?? []).filter(({ user }) => !fresh.has(user));
      // Further pages stay behind the first one.
      const isPaged = old?.isPaged || isMore;
      const members = isMore ? [...kept, ...page.members] : isPaged ? [...page.members, ...kept] : page.members;
      const next = isPaged && !isMore ? old.next : page.next;
      this.#lists.set(kind, { members: members.slice(0, SHOWN_MAX), next, isPaged });
      this.#draw();
    } catch (error) {
      if (isMore) this.#context.notice(errorWords(error), "bad");
      else if (this.#isIn) this.#stale = true;
    }
  }

  #draw() {
    // Many events make one drawing, and a long list is drawn less often.
    this.#drawing ??= setTimeout(() => { this.#drawing = null; if (this.#isVisible) this.#drawNow(); }, this.#rows.size > PAGE ? 1000 : 100);
  }

  #drawNow() {
    const isAnonymous = this.#context.isAnonymous();
    this.#views.hidden = !this.#context.canManage();
    this.#search.hidden = isAnonymous;
    if (isAnonymous || !this.#isIn) {
      this.#sections.replaceChildren(...(isAnonymous ? [make("p", "people-none", words.say("people.listeners"))] : []));
      return;
    }
    const wanted = clean(this.#search.value).trim().toLowerCase();
    const content = [], used = new Map(), seen = new Set();
    for (const kind of this.#kinds()) {
      const list = this.#lists.get(kind);
      if (!list) continue;
      const groups = kind === "MANAGERS" ? [["CREATOR", (m) => m.role === "CREATOR"], ["MANAGERS", (m) => m.role !== "CREATOR"]]
        : [[kind, (m) => kind !== "FIXED_ONLINE" || rankOf(m) < 2]];
      for (const [title, belongs] of groups) {
        const members = list.members.filter((member) => belongs(member) && !seen.has(member.user)
          && (!wanted || `${nameOf(member)} ${member.user}`.toLowerCase().includes(wanted)));
        for (const { user } of members) seen.add(user);
        if (members.length === 0) continue;
        if (this.#view === "here") {
          const count = make("span", "people-number", words.number(members.length) + (list.next && kind === title ? "+" : ""));
          content.push(make("h3", "people-section", words.say(`people.${title}`), count));
        }
        for (const member of members) {
          const row = this.#row(member);
          used.set(member.user, row);
          content.push(row.element);
        }
      }
      if (list.next && list.members.length < SHOWN_MAX) {
        const more = button("people-quiet people-more", words.say("people.more"));
        more.kind = kind;
        content.push(more);
      } else if (list.next) {
        content.push(make("p", "people-none", words.say("people.full", { count: words.number(SHOWN_MAX) })));
      }
    }
    if (used.size === 0 && this.#lists.size > 0) {
      content.push(make("p", "people-none", words.say(wanted ? "people.found" : "people.nobody")));
    }
    this.#rows = used;
    // Elements that stay are not taken out: the focus is in one of them.
    const box = this.#sections;
    const stays = new Set(content);
    for (const child of [...box.children]) if (!stays.has(child)) child.remove();
    let next = box.firstElementChild;
    for (const child of content) {
      if (child === next) next = next.nextElementSibling;
      else box.insertBefore(child, next);
    }
  }

  #row(member) {
    const isMe = member.user === this.#context.me()?.user;
    const notes = [isMe && "you", member.online === false && "away", (member.muted || member.tempMuted) && "muted"].filter(Boolean);
    const look = JSON.stringify([member.nick, member.avatar, member.role, notes]);
    const known = this.#rows.get(member.user);
    if (known?.look === look) { known.element.person = member; return known; }
    const element = button(`people-row${member.online === false ? " people-off" : ""}`, face(member));
    element.append(make("bdi", `people-name ${hueOf(member.user)}`, nameOf(member)), badge(member.role),
      make("span", "people-note", notes.map((note) => words.say(`people.${note}`)).join(" · ")));
    element.ariaHasPopup = "menu";
    element.person = member;
    return { element, look };
  }

  // The menu

  /** Opens the menu of a person, or of a message and its sender, beside an element. */
  openMenu(anchor, user, { message } = {}) {
    this.#closeMenu();
    let person = { ...this.#find(user.user), ...user };
    const box = make("div", "people-menu");
    box.ariaLabel = words.say("people.options", { name: named(person) });
    box.popover = "manual";
    const root = anchor.getRootNode();
    (anchor.closest("dialog") ?? (root === document ? document.body : root)).append(box);
    const draw = () => {
      const at = [...box.querySelectorAll("button")].findIndex((item) => item === box.getRootNode().activeElement);
      const who = make("div", "people-who", face(person),
        make("span", "people-whom", make("bdi", "people-name", nameOf(person)), make("span", "people-note", person.user)));
      // The menu has the name as its label.
      who.ariaHidden = "true";
      box.replaceChildren(who);
      for (const { label, action, isGrave } of this.#actions(person, message)) {
        const item = button(isGrave ? "people-item people-grave" : "people-item", label, () => { this.#closeMenu(); action(); });
        item.role = "menuitem";
        item.tabIndex = -1;
        box.append(item);
      }
      const items = box.querySelectorAll("button");
      box.role = items.length > 0 ? "menu" : "note";
      (items[Math.max(0, at)] ?? box).focus({ preventScroll: true });
    };
    box.tabIndex = -1;
    box.showPopover();
    draw();
    const from = anchor.getBoundingClientRect(), size = box.getBoundingClientRect();
    const low = from.bottom + 4 + size.height > innerHeight - 8 ? Math.max(8, from.top - 4 - size.height) : from.bottom + 4;
    box.style.top = `${Math.max(8, Math.min(low, innerHeight - 8 - size.height))}px`;
    box.style.left = `${Math.max(8, Math.min(from.left, innerWidth - 8 - size.width))}px`;
    box.addEventListener("keydown", (event) => {
      const items = [...box.querySelectorAll("button")];
      const at = items.indexOf(box.getRootNode().activeElement);
      const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
      if (to !== undefined) items.at(to % items.length)?.focus();
      else if (event.key === "Escape" || event.key === "Tab") this.#closeMenu();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    box.addEventListener("focusout", ({ relatedTarget }) => { if (relatedTarget && !box.contains(relatedTarget)) this.#closeMenu(false); });
    const outside = (event) => { if (!event.composedPath().includes(box)) this.#closeMenu(false); };
    document.addEventListener("pointerdown", outside, true);
    this.#openMenu = { box, anchor, outside };
    // The lists may not have the person, or not as it is now.
    if (this.#context.canManage() && this.#isIn && user.user !== this.#context.me()?.user) {
      this.#context.room.membersById([user.user]).then(([member]) => {
        if (!member || this.#openMenu?.box !== box) return;
        person = { ...person, ...member, nick: member.nick || person.nick };
        draw();
      }, () => {});
    }
  }

  #closeMenu(returnsFocus = true) {
    const menu = this.#openMenu;
    if (!menu) return;
    this.#openMenu = null;
    document.removeEventListener("pointerdown", menu.outside, true);
    menu.box.remove();
    if (returnsFocus && menu.anchor.isConnected) menu.anchor.focus({ preventScroll: true });
  }

  /** The actions that the one may take on the other: none that the server would refuse by rank. */
  #actions(person, message) {
    const { room, me, canManage, isAnonymous, now } = this.#context;
    const { user } = person;
    const isMe = user === me()?.user;
    const actions = [];
    const add = (key, action, values) => actions.push({ label: words.say(`people.${key}`, values), action, isGrave: ["kick", "blacklist"].includes(key) });
    const grave = (key, work) => async () => {
      if (await this.#asks(key, person)) this.#try(work);
    };
    if (!isMe && !isAnonymous()) add("mention", () => this.#say("chat-mention", person));
    const text = message?.text ?? message?.content;
    if (text && !message.recalled) add("copy", () => this.#copy(text));
    const mayAct = canManage() && rankOf(person) < rankOf(me()) && !isMe;
    const mayRecall = message?.seq && !message.recalled && message.messageId
      && (mayAct || (isMe && now() - message.time < RECALL_MS));
    if (mayRecall) add("recall", isMe ? () => this.#try(() => room.recall(message.messageId)) : grave("recall", () => room.recall(message.messageId)));
    if (!mayAct || person.role === "ANONYMOUS" && !message) return actions;
    if (person.online !== false && !person.blacklisted && this.#view !== "BANNED") add("seat", () => this.#say("seat-invite", person));
    if (person.muted || person.tempMuted) {
      add("unmute", () => this.#try(async () => {
        if (person.muted) await room.setMute(user, false);
        if (person.tempMuted) await room.tempMute(user, 0);
      }));
    } else if (!person.blacklisted) {
      for (const seconds of [300, 3600, 86_400]) add("mute", () => this.#try(() => room.tempMute(user, seconds)), { time: span(seconds) });
      add("muteForGood", grave("muteForGood", () => room.setMute(user, true)));
    }
    if (me()?.role === "CREATOR" && !person.blacklisted) {
      if (person.role === "MANAGER") add("dropManager", grave("dropManager", () => room.setManager(user, false)));
      else if (person.role !== "ANONYMOUS") add("makeManager", () => this.#try(() => room.setManager(user, true)));
    }
    if (this.#view === "BANNED") add("unban", () => this.#try(() => room.kick(user, { banSeconds: 0 })));
    if (person.blacklisted) add("unblacklist", () => this.#try(() => room.setBlacklist(user, false)));
    else {
      if (person.online !== false) add("kick", () => this.#kick(person));
      add("blacklist", () => this.#blacklist(person));
    }
    return actions;
  }

  #asks(key, person, ...fields) {
    return confirm(words.say(`people.${key}`).replace("…", ""), words.say(`people.${key}.ask`, { name: named(person) }),
      words.say(`people.${key}.do`), ...fields);
  }

  async #kick(person) {
    const times = [[0, words.say("people.kick.now")], ...[600, 3600, 86_400, 7 * 86_400, 30 * 86_400].map((seconds) => [seconds, words.say("people.kick.after", { time: span(seconds) })])];
    const control = select(times, "0");
    if (!await this.#asks("kick", person, field(words.say("people.kick.back"), control))) return;
    const banSeconds = Number(control.value);
    this.#try(() => this.#context.room.kick(person.user, banSeconds ? { banSeconds } : {}));
  }

  async #blacklist(person) {
    const recall = checkbox(false);
    if (!await this.#asks("blacklist", person, field(words.say("people.blacklist.recall"), recall, "people-check"))) return;
    this.#try(() => this.#context.room.setBlacklist(person.user, true, recall.checked ? { recall: true } : {}));
  }

  async #try(work) {
    try {
      await work();
      this.#context.notice(words.say("people.done"), "good");
      if (this.#view !== "here") this.#refreshSoon(0);
    } catch (error) { this.#context.notice(errorWords(error), "bad"); }
  }

  async #copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      this.#context.notice(words.say("people.copied"), "good");
    } catch { this.#context.notice(words.say("people.error"), "bad"); }
  }

  /** For the other modules: the menu itself knows nothing of the composer and the seats. */
  #say(name, { user, nick }) {
    this.#container.dispatchEvent(new CustomEvent(name, { detail: { user, nick }, bubbles: true, composed: true }));
  }

  // The settings

  openSettings() {
    const { room, info, notice } = this.#context;
    const before = info() ?? {};
    const say = (key, values) => words.say(`people.${key}`, values);
    const text = (tag, value, max) => {
      const element = make(tag, "people-input");
      element.value = value ?? "";
      element.addEventListener("input", () => {
        const over = bytesOf(element.value) - max;
        element.setCustomValidity(over > 0 ? say("long", { over: words.number(over) }) : "");
        element.reportValidity();
      });
      return element;
    };
    const choices = (key, names) => names.map((name) => [name, say(`${key}.${name}`)]);
    const slow = [...new Set([...SLOW, before.slowModeSeconds ?? 0])].sort((a, b) => a - b);
    const controls = {
      name: text("input", before.name, 512),
      announcement: text("textarea", before.announcement, 16_384),
      slowModeSeconds: select(slow.map((seconds) => [seconds, seconds ? say("slow.on", { time: span(seconds) }) : say("slow.off")]), String(before.slowModeSeconds ?? 0)),
      queueLevel: select(choices("queue", ["ANY", "OWNER", "MANAGER"]), before.queueLevel ?? "ANY"),
      enterExitNotify: select(choices("enters", ["ALL", "FIXED_ONLY", "NONE"]), before.enterExitNotify ?? "ALL"),
    };
    const muteAll = checkbox(before.muted === true);
    const failure = make("p", "people-failure");
    const save = make("button", "people-primary", say("save"));
    const form = make("form", "people-form", field(say("name"), controls.name), field(say("announcement"), controls.announcement),
      field(say("slow"), controls.slowModeSeconds), field(say("queue"), controls.queueLevel), field(say("enters"), controls.enterExitNotify),
      field(say("muteAll"), muteAll, "people-check"), failure,
      make("footer", "people-foot", button("people-quiet", say("cancel"), () => box.close()), save));
    const box = dialog(say("settings"), "people-settings", form);
    const initial = Object.fromEntries(Object.entries(controls).map(([key, control]) => [key, control.value]));
    let isMuted = muteAll.checked;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const changed = Object.entries(controls).filter(([key, control]) => control.value !== initial[key]);
      const set = Object.fromEntries(changed.map(([key, { value }]) => [key, key === "slowModeSeconds" ? Number(value) : value]));
      save.disabled = true;
      try {
        if (changed.length > 0) await room.update(set);
        Object.assign(initial, Object.fromEntries(changed.map(([key, { value }]) => [key, value])));
        if (muteAll.checked !== isMuted) {
          await room.muteAll(muteAll.checked);
          isMuted = muteAll.checked;
        }
        box.close();
        notice(say("saved"), "good");
      } catch (error) { failure.textContent = errorWords(error); }
      save.disabled = false;
    });
  }
}
