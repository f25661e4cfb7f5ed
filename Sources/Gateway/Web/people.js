/**
 * People: the panel of members, the menu on a name or a message, and the settings of the room. It is loaded when one of them
 * is opened first.
 */
import { badge, button, bytesOf, clean, errorWords, face, hueOf, isManager, make, named, nameOf, span } from "./parts.js";
import { confirm, dialog, menu } from "./dialogs.js";
import { words } from "./words.js";

const say = (key, values) => words.say(`people.${key}`, values);

function field(label, control, name = "people-field") {
  return make("label", name, ...(name === "people-field" ? [make("span", "people-label", label), control] : [control, label]));
}

function select(options, value) {
  const element = make("select", "people-input");
  for (const [key, label] of options) element.append(new Option(label, key));
  element.value = value;
  return element;
}

const checkbox = (checked) => Object.assign(make("input", { type: "checkbox" }), { checked });

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
  #menu = null;

  constructor(container, context) {
    [this.#container, this.#context] = [container, context];
    this.#count = make("p", "people-count");
    this.#search = make("input", {
      class: "people-input people-search", type: "search", placeholder: say("search"), "aria-label": say("search"), input: () => this.#draw(),
    });
    this.#views = select(["here", "FIXED", "MUTED", "BLACKLISTED", "BANNED"].map((view) => [view, say(`view.${view}`)]), "here");
    this.#views.ariaLabel = say("view");
    this.#views.addEventListener("change", () => { this.#view = this.#views.value; this.#lists.clear(); this.#draw(); this.#read(); });
    this.#sections = make("div", { class: "people-lists", click: ({ target }) => {
      const row = target.closest(".people-row");
      if (row) this.openMenu(row, row.person, {});
      const more = target.closest(".people-more");
      if (more) this.#page(more.kind, true);
    } });
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

  online(count) { this.#count.textContent = say("here", { count: words.number(count) }); }

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
        this.#take(target.user, isManager(known?.role));
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
      this.#sections.replaceChildren(...(isAnonymous ? [make("p", "people-none", say("listeners"))] : []));
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
          content.push(make("h2", "people-section", say(title), count));
        }
        for (const member of members) {
          const row = this.#row(member);
          used.set(member.user, row);
          content.push(row.element);
        }
      }
      if (list.next && list.members.length < SHOWN_MAX) {
        const more = button("part-button people-more", say("more"));
        more.kind = kind;
        content.push(more);
      } else if (list.next) {
        content.push(make("p", "people-none", say("full", { count: words.number(SHOWN_MAX) })));
      }
    }
    if (used.size === 0 && this.#lists.size > 0) {
      content.push(make("p", "people-none", say(wanted ? "found" : "nobody")));
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
    const element = button(`people-row${member.online === false ? " people-off" : ""}`, face(member), undefined, { "aria-haspopup": "menu" });
    element.append(make("bdi", `people-name ${hueOf(member.user)}`, nameOf(member)), badge(member.role),
      make("span", "people-note", notes.map((note) => say(note)).join(" · ")));
    element.person = member;
    return { element, look };
  }

  // The menu

  /** Opens the menu of a person, or of a message and its sender, beside an element. */
  openMenu(anchor, user, { message } = {}) {
    this.#closeMenu();
    // The row may have been drawn anew while this module was loaded.
    if (!anchor.isConnected) return;
    let person = { ...this.#find(user.user), ...user };
    const box = this.#menu = menu(anchor, say("options", { name: named(person) }));
    const draw = () => {
      // The menu has the name as its label.
      const who = make("div", { class: "people-who", "aria-hidden": "true" }, face(person),
        make("span", "people-whom", make("bdi", "people-name", nameOf(person)), make("span", "people-note", person.user)));
      box.draw(this.#actions(person, message), who);
    };
    draw();
    // The lists may not have the person, or not as it is now.
    if (this.#context.canManage() && this.#isIn && user.user !== this.#context.me()?.user) {
      this.#context.room.membersById([user.user]).then(([member]) => {
        if (!member || !box.isConnected) return;
        person = { ...person, ...member, nick: member.nick || person.nick };
        draw();
      }, () => {});
    }
  }

  #closeMenu() { this.#menu?.shut(); }

  /** The actions that the one may take on the other: none that the server would refuse by rank. */
  #actions(person, message) {
    const { client, room, me, info, canManage, isAnonymous, now } = this.#context;
    const { user } = person;
    const isMe = user === me()?.user;
    const actions = [];
    const add = (key, action, values) => actions.push({ label: say(key, values), action, isGrave: ["kick", "blacklist"].includes(key) });
    const grave = (key, work) => async () => {
      if (await this.#asks(key, person)) this.#try(work);
    };
    if (!isMe && !isAnonymous()) add("mention", () => this.#ask("chat-mention", person));
    const text = message?.text ?? message?.content;
    if (text && !message.recalled) add("copy", () => this.#copy(text));
    if (message?.seq && !message.recalled && message.messageId && client.features.includes("pin")) {
      if (!isAnonymous()) add("reply", () => this.#container.dispatchEvent(new CustomEvent("chat-answer", { detail: message, bubbles: true, composed: true })));
      if (canManage()) {
        const isPinned = info()?.pinned?.some(({ messageId }) => messageId === message.messageId);
        add(isPinned ? "unpin" : "pin", () => this.#try(() => room.pin(message.messageId, !isPinned)));
      }
    }
    const mayAmend = isMe && message?.seq && !message.recalled && ["TEXT", "TIP"].includes(message.type)
      && now() - message.time < RECALL_MS && client.features.includes("amend");
    if (mayAmend) add("amend", () => this.#container.dispatchEvent(new CustomEvent("chat-amend", { detail: message, bubbles: true, composed: true })));
    const mayReport = !isMe && !isAnonymous() && message?.seq && message.messageId && client.features.includes("report");
    if (mayReport) add("report", () => this.#report(person, message));
    const mayAct = canManage() && rankOf(person) < rankOf(me()) && !isMe;
    const mayRecall = message?.seq && !message.recalled && message.messageId
      && (mayAct || (isMe && now() - message.time < RECALL_MS));
    if (mayRecall) add("recall", isMe ? () => this.#try(() => room.recall(message.messageId)) : grave("recall", () => room.recall(message.messageId)));
    if (!mayAct || person.role === "ANONYMOUS" && !message) return actions;
    if (person.online !== false && !person.blacklisted && this.#view !== "BANNED") add("seat", () => this.#ask("seat-invite", person));
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
    return confirm(this.#container, say(key).replace("…", ""), say(`${key}.ask`, { name: named(person) }), say(`${key}.do`), ...fields);
  }

  async #kick(person) {
    const times = [[0, say("kick.now")], ...[600, 3600, 86_400, 7 * 86_400, 30 * 86_400].map((seconds) => [seconds, say("kick.after", { time: span(seconds) })])];
    const control = select(times, "0");
    if (!await this.#asks("kick", person, field(say("kick.back"), control))) return;
    const banSeconds = Number(control.value);
    this.#try(() => this.#context.room.kick(person.user, banSeconds ? { banSeconds } : {}));
  }

  async #report(person, { messageId }) {
    const reason = make("input", { class: "people-input", maxlength: 64 });
    if (!await this.#asks("report", person, field(say("report.reason"), reason))) return;
    try {
      await this.#context.room.report(messageId, reason.value.trim() ? { reason: reason.value.trim() } : {});
      this.#context.notice(say("report.done"), "good");
    } catch (error) {
      const isKnown = error?.code === 409;
      this.#context.notice(isKnown ? say("report.again") : errorWords(error), isKnown ? "good" : "bad");
    }
  }

  async #blacklist(person) {
    const recall = checkbox(false);
    if (!await this.#asks("blacklist", person, field(say("blacklist.recall"), recall, "people-check"))) return;
    this.#try(() => this.#context.room.setBlacklist(person.user, true, recall.checked ? { recall: true } : {}));
  }

  async #try(work) {
    try {
      await work();
      this.#context.notice(say("done"), "good");
      if (this.#view !== "here") this.#refreshSoon(0);
    } catch (error) { this.#context.notice(errorWords(error), "bad"); }
  }

  async #copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      this.#context.notice(say("copied"), "good");
    } catch { this.#context.notice(say("error"), "bad"); }
  }

  /** For the other modules: the menu itself knows nothing of the composer and the seats. */
  #ask(name, { user, nick }) {
    this.#container.dispatchEvent(new CustomEvent(name, { detail: { user, nick }, bubbles: true, composed: true }));
  }

  // The settings

  openSettings() {
    const { room, info, notice } = this.#context;
    const before = info() ?? {};
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
    const save = make("button", "part-button part-primary", say("save"));
    const form = make("form", "people-form", field(say("name"), controls.name), field(say("announcement"), controls.announcement),
      field(say("slow"), controls.slowModeSeconds), field(say("queue"), controls.queueLevel), field(say("enters"), controls.enterExitNotify),
      field(say("muteAll"), muteAll, "people-check"), failure,
      make("div", "dialog-foot", button("part-button", say("cancel"), () => box.close()), save));
    const box = dialog(this.#container, say("settings"), "people-settings", form);
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
