/** One room: why it is as it is, settings, the messages as they come, members, queue. */
import { every } from "/console/console-api.js";
import { openPerson } from "/console/console-person.js";
import { pollsPart } from "/console/console-polls.js";
import { roomMarks } from "/console/console-rooms.js";
import { Table, act, actions, ask, badge, button, card, confirmed, el, facts, field, notice, person, time, valuesOf } from "/console/console-ui.js";
import { words } from "/console/console-words.js";

const TABS = ["state", "tail", "search", "held", "reports", "members", "queue", "polls"];
const LINES_MAX = 500;
const TEXT_MAX = 1_000;
const KINDS = ["TEMPORARY", "FIXED", "FIXED_ONLINE", "MANAGERS", "MUTED", "BLACKLISTED", "BANNED"];

export async function roomView(context) {
  const { api, main, signal, parts: [room, given], go } = context;
  const tab = TABS.includes(given) ? given : "state";
  const title = el("div", { class: "room-title" });
  const deeds = el("div", { class: "buttons" });
  let offered = "";
  const head = el("div", { class: "room-head" }, title, deeds);
  const tabs = el("nav", { class: "tabs", "aria-label": words.say("room.parts") }, TABS.map((name) => el("a", {
    href: `#room/${encodeURIComponent(room)}/${name}`, "aria-current": name === tab ? "page" : undefined,
  }, words.say(`room.tab.${name}`))));
  const body = el("div", { class: "stack" });
  main.append(head, tabs, body);
  let info;
  /** Called after each reload, with its error if it failed. */
  const watchers = [];

  const call = (name, options) => api.call(name, { room }, options);
  const why = (name) => api.why(name);

  function showHead() {
    title.replaceChildren(el("h2", {}, person(info.name || info.id)), el("span", { class: "id" }, person(info.id)), roomMarks(info),
      el("span", { class: "line" }, words.say("room.online", { online: words.number(info.online) })));
    // Buttons are made anew only when they mean something else: else the keyboard would lose its place.
    if (offered === `${info.muted} ${info.closed}`) return;
    const focused = [...deeds.children].indexOf(document.activeElement);
    offered = `${info.muted} ${info.closed}`;
    const change = async (name, done, options = {}) => { if (await act(() => call(name, options), done)) await reload(); };
    const buttons = [
      button(words.say("room.send"), sendMessage, { why: why("POST /v1/rooms/{room}/messages"), kind: "primary" }),
      button(words.say(info.muted ? "room.unmute" : "room.mute"), async () => {
        if (info.muted || await confirmed({ title: words.say("room.muteTitle"), text: words.say("room.muteText"), action: words.say("room.mute") })) {
          change("PUT /v1/rooms/{room}/mute", words.say(info.muted ? "room.unmuted" : "room.muted"), { body: { enable: !info.muted } });
        }
      }, { why: why("PUT /v1/rooms/{room}/mute") }),
      info.closed
        ? button(words.say("room.reopen"), () => change("POST /v1/rooms/{room}/reopen", words.say("room.reopened")), { why: why("POST /v1/rooms/{room}/reopen") })
        : button(words.say("room.close"), async () => {
          if (await confirmed({ title: words.say("room.closeTitle", { room }), text: words.say("room.closeText", { online: words.number(info.online) }), action: words.say("room.close") })) {
            change("POST /v1/rooms/{room}/close", words.say("room.closed"), { body: {} });
          }
        }, { why: why("POST /v1/rooms/{room}/close") }),
      button(words.say("room.delete"), remove, { why: why("DELETE /v1/rooms/{room}"), kind: "danger" }),
    ];
    deeds.replaceChildren(...buttons);
    deeds.children[focused]?.focus();
  }

  async function remove() {
    const values = await ask({
      title: words.say("room.deleteTitle", { room }), text: [words.say("room.deleteText", { online: words.number(info.online) })],
      fields: [{ name: "now", type: "checkbox", label: words.say("room.deleteNow") }], typed: room, danger: true, action: words.say("room.delete"),
    });
    if (!values) return;
    const done = words.say(values.now ? "room.deletedNow" : "room.deleted", { room });
    if (await act(() => call("DELETE /v1/rooms/{room}", { query: { now: values.now ? "true" : undefined } }), done)) go("#rooms");
  }

  async function sendMessage() {
    const values = await ask({
      title: words.say("room.sendTitle"), text: words.say("room.sendText"), action: words.say("room.send"),
      fields: [
        { name: "type", type: "select", label: words.say("room.sendType"), options: [["TEXT", words.say("room.typeText")], ["TIP", words.say("room.typeTip")]] },
        { name: "text", type: "textarea", label: words.say("room.text"), required: true, maxlength: 32_768 },
      ],
    });
    if (values) await act(() => call("POST /v1/rooms/{room}/messages", { body: values }), (sent) => words.say("room.sent", { seq: sent.seq ?? "–" }));
  }

  async function reload() {
    info = await call("GET /v1/rooms/{room}", { signal });
    if (signal.aborted) return;
    showHead();
    for (const watcher of watchers) watcher();
  }

  try {
    await reload();
  } catch (error) {
    if (!signal.aborted) {
      body.replaceChildren(card(words.say("room.unknown", { room }), el("p", { class: "empty" }, error.sentence ?? String(error)),
        el("p", {}, el("a", { href: "#rooms" }, words.say("room.back")))));
      tabs.hidden = true;
    }
    return;
  }
  if (signal.aborted) return;
  every(5_000, signal, async () => {
    try {
      await reload();
    } catch (error) {
      if (signal.aborted) return;
      // The line above all views tells of a node that gives no answer.
      if (!error.isUnknown) notice(error.sentence, "bad");
      for (const watcher of watchers) watcher(error);
    }
  });
  const parts = { state: statePart, tail: tailPart, search: searchPart, held: heldPart, reports: reportsPart, members: membersPart, queue: queuePart, polls: pollsPart };
  parts[tab]({ ...context, room, body, info: () => info, reload, watch: (watcher) => watchers.push(watcher) });
}

function refused(body, title, why) {
  body.append(card(title, el("p", { class: "empty" }, why)));
}

function statePart({ api, room, body, info, reload, watch, signal }) {
  const list = el("ul", { class: "sentences", lang: "en" });
  const numbers = el("div");
  const lanes = new Table({
    label: words.say("room.lanes"), key: ({ node, lane }) => `${node} ${lane}`, empty: words.say("room.noLanes"),
    columns: [
      { title: words.say("room.lane"), cell: ({ node, lane }) => `${node} / ${lane}` },
      { title: words.say("room.viewers"), number: true, cell: ({ viewers }) => words.number(viewers) },
      { title: words.say("room.slowViewers"), number: true, cell: ({ slow }) => (slow > 0 ? [words.number(slow), "warn"] : "0") },
      { title: words.say("room.waiting"), number: true, cell: ({ waitingBytes }) => words.bytes(waitingBytes) },
      { title: words.say("room.laneDropped"), number: true, cell: ({ messagesDropped }) => words.number(messagesDropped) },
      { title: words.say("room.laneBarrage"), number: true, cell: ({ barrageDropped }) => words.number(barrageDropped) },
    ],
  });
  const explainWhy = api.why("GET /v1/rooms/{room}/explain");
  const explained = card(words.say("room.explain"), explainWhy ? el("p", { class: "empty" }, explainWhy) : [list, numbers, lanes.element]);
  if (!explainWhy) {
    every(3_000, signal, async () => {
      try {
        const answer = await api.call("GET /v1/rooms/{room}/explain", { room }, { signal });
        if (signal.aborted) return;
        list.replaceChildren(...answer.summary.map((line) => el("li", {}, line)));
        numbers.classList.remove("old");
        const { log, state } = answer;
        numbers.replaceChildren(facts([
          [words.say("room.shard"), words.say("rooms.place", { shard: log.shard, leader: log.leader ?? "–" })],
          [words.say("room.sync"), words.ms(log.syncMs)],
          [words.say("room.behind"), words.say("room.entries", { count: words.number(Math.max(0, log.committed - log.applied)) })],
          state && [words.say("room.lastSeq"), words.number(state.lastSeq)],
          state && [words.say("room.sessions"), words.say("room.sessionsOf", { sessions: words.number(state.sessions), robots: words.number(state.robots) })],
          state && [words.say("room.left"), words.number(state.messagesDropped)],
          state && [words.say("room.barrage"), words.say("room.barrageOf", { shown: words.number(state.barrageShown), dropped: words.number(state.barrageDropped) })],
        ]));
        lanes.update(answer.lanes);
      } catch (error) {
        if (signal.aborted) return;
        list.replaceChildren(el("li", { class: "bad" }, error.sentence ?? String(error)));
        numbers.classList.add("old");
        lanes.old(error.sentence ?? String(error));
      }
    });
  }
  const settings = el("div");
  const edit = button(words.say("room.edit"), editSettings, { why: api.why("PATCH /v1/rooms/{room}") });
  const enums = (name, otherwise) => api.choices("Room", name, otherwise);

  let [shown, isEditing] = ["", false];

  /** Shows the settings where they differ from what is shown: a link in them keeps the focus. */
  function showSettings() {
    const room = info();
    const { online, ...rest } = room;
    if (isEditing || shown === JSON.stringify(rest)) return;
    shown = JSON.stringify(rest);
    settings.replaceChildren(facts([
      [words.say("rooms.name"), person(room.name)], [words.say("room.creator"), el("a", { href: `#user/${encodeURIComponent(room.creator)}` }, person(room.creator))],
      [words.say("room.announcement"), person(room.announcement.slice(0, TEXT_MAX))],
      [words.say("room.entry"), choice("entry", room.entry)], [words.say("room.queueLevel"), choice("queueLevel", room.queueLevel)],
      [words.say("room.enterExitNotify"), choice("enterExitNotify", room.enterExitNotify)],
      [words.say("room.slowMode"), room.slowModeSeconds > 0 ? words.span(room.slowModeSeconds * 1000) : words.say("room.off")],
      [words.say("room.viewerBudget"), room.viewerBudget === undefined ? undefined : words.say("overview.rate", { value: words.number(room.viewerBudget) })],
      [words.say("room.highPerSecond"), room.highPerSecond === undefined ? undefined : words.say("overview.rate", { value: words.number(room.highPerSecond) })],
      [words.say("room.seatsPerUser"), words.number(room.seatsPerUser ?? 0)],
      [words.say("room.historyDays"), room.historyDays ? words.number(room.historyDays) : words.say("room.standard")],
      [words.say("room.broadcastUrl"), person(room.broadcastUrl)], [words.say("room.ext"), person(room.ext.slice(0, 400))],
      [words.say("rooms.when"), time(room.createdAt)],
    ]));
  }

  async function editSettings() {
    const room = info();
    const select = (name, otherwise) => ({
      name, type: "select", label: words.say(`room.${name}`), value: room[name],
      options: enums(name, otherwise).map((key) => [key, choice(name, key)]),
    });
    isEditing = true;
    const given = await ask({
      title: words.say("room.editTitle", { room: room.id }), action: words.say("ui.save"),
      fields: [
        { name: "name", label: words.say("rooms.name"), value: room.name, maxlength: 512 },
        { name: "announcement", type: "textarea", label: words.say("room.announcement"), value: room.announcement, maxlength: 16_384 },
        select("entry", ["ANYONE", "USERS", "INVITED"]), select("queueLevel", ["ANY", "OWNER", "MANAGER"]),
        select("enterExitNotify", ["ALL", "FIXED_ONLY", "NONE"]),
        { name: "slowModeSeconds", type: "number", label: words.say("room.slowModeSeconds"), value: room.slowModeSeconds, min: 0, max: 2_592_000, required: true },
        { name: "viewerBudget", type: "number", label: words.say("room.viewerBudgetField"), value: room.viewerBudget ?? "", min: 1, max: 100_000 },
        { name: "highPerSecond", type: "number", label: words.say("room.highPerSecondField"), value: room.highPerSecond ?? "", min: 1, max: 50 },
        { name: "historyDays", type: "number", label: words.say("room.historyDaysField"), value: room.historyDays ?? "", min: 1, max: 3650 },
        { name: "seatsPerUser", type: "number", label: words.say("room.seatsPerUserField"), value: room.seatsPerUser ?? 0, min: 0, max: 1_000_000, required: true },
        { name: "broadcastUrl", label: words.say("room.broadcastUrl"), value: room.broadcastUrl, maxlength: 1_024 },
        { name: "ext", type: "textarea", label: words.say("room.ext"), value: room.ext, maxlength: 4_096 },
        { name: "notify", type: "checkbox", label: words.say("room.notify"), value: true },
      ],
    });
    isEditing = false;
    showSettings();
    if (!given) return;
    const { notify, ...set } = given;
    // Only what was changed is sent: what somebody else changes meanwhile stays.
    const body = Object.fromEntries(Object.entries(set).filter(([name, value]) => value !== undefined && value !== room[name]));
    if (Object.keys(body).length === 0) { notice(words.say("room.nothing"), "warn"); return; }
    if (await act(() => api.call("PATCH /v1/rooms/{room}", { room: room.id }, { body: { ...body, notify } }), words.say("room.saved"))) await reload();
  }

  showSettings();
  watch(showSettings);
  body.append(explained, card(words.say("room.settings"), actions(edit), settings));
}

function choice(name, key) {
  const word = `room.${name}.${key}`;
  return words.has(word) ? words.say(word) : key;
}

/** A notification in words. */
function told({ event, operator, targets = [], data = {} }) {
  const name = (one) => one.nick || one.user;
  const key = `event.${event}`;
  return words.say(words.has(key) ? key : "event.other", {
    event, who: words.list(targets.map(name)), operator: operator ? name(operator) : words.say("event.system"),
    span: words.span((data.seconds ?? 0) * 1000), entered: data.entered ?? 0, exited: data.exited ?? 0, change: data.change ?? "",
    key: data.key ?? "", set: Object.keys(data.set ?? {}).join(", "), count: data.messageIds?.length ?? data.elements?.length ?? 0,
  });
}

/** A message as one line of text. */
function bodyOf(message) {
  if (message.recalled) return words.say("tail.recalled");
  const cut = (text) => (text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}… (${words.bytes(new TextEncoder().encode(text).length)})` : text);
  switch (message.type) {
    case "TEXT": case "TIP": return cut(message.text ?? "");
    case "CUSTOM": return cut(message.content ?? "");
    case "NOTIFICATION": return told(message);
    case "LOCATION": return `${message.title ?? ""} ${message.latitude}, ${message.longitude}`;
    case "COMBINE": return words.say("tail.combine", { title: message.title ?? "", count: message.messageIds?.length ?? 0 });
    default: return message.media ? `${message.media.name} (${words.bytes(message.media.size)})` : "";
  }
}

function tailPart(context) {
  const { api, room, body, signal } = context;
  const why = api.why("GET /v1/rooms/{room}/messages");
  if (why) { refused(body, words.say("room.tab.tail"), why); return; }
  // No live region: a busy room would never let the reader speak of anything else.
  const log = el("ol");
  const box = el("div", { class: "tail", role: "region", "aria-label": words.say("room.tab.tail"), tabindex: "0" }, log);
  const state = el("p", { class: "line" });
  const recallWhy = api.why("POST /v1/rooms/{room}/messages/{messageId}/recall");
  let [last, isPaused, waits] = [undefined, false, 0];
  const pause = button(words.say("tail.pause"), () => {
    isPaused = !isPaused;
    pause.textContent = words.say(isPaused ? "tail.resume" : "tail.pause");
    pause.setAttribute("aria-pressed", String(isPaused));
    say();
  }, { "aria-pressed": "false" });
  const say = (error) => {
    state.textContent = error ? error.sentence : isPaused ? words.say("tail.paused", { seq: last ?? 0 })
      : words.say("tail.state", { count: words.number(log.childElementCount), seq: words.number(last ?? 0) });
  };

  function line(message) {
    const from = message.from;
    const isNotification = message.type === "NOTIFICATION";
    const name = from ? button(person(from.nick || from.user), () => openPerson({ ...context, user: from.user }), {
      kind: "name", title: words.say("tail.person", { user: from.user }),
    }) : el("span", { class: "system" }, isNotification ? words.say("tail.room") : words.say("event.system"));
    const more = isNotification || message.recalled ? null : button(words.say("tail.recall"), async () => {
      if (!await confirmed({ title: words.say("tail.recallTitle"), text: bodyOf(message).slice(0, 300), action: words.say("tail.recall") })) return;
      const done = await act(() => api.call("POST /v1/rooms/{room}/messages/{messageId}/recall", { room, messageId: message.messageId }, { body: {} }), words.say("tail.recalledNow"));
      if (done) item.querySelector(".tail-text").textContent = words.say("tail.recalled");
    }, { kind: "quiet", why: recallWhy, label: words.say("tail.recallLabel", { seq: message.seq }) });
    const item = el("li", { class: isNotification ? "note" : "" },
      el("span", { class: "tail-seq" }, String(message.seq ?? "")),
      el("time", { class: "tail-time", datetime: new Date(message.time).toISOString(), title: words.moment(message.time) }, words.clock(message.time)),
      el("span", { class: "tail-from" }, name, from?.role && from.role !== "GUEST" && badge(words.say(`role.${from.role}`))),
      el("span", { class: "tail-text" }, !["TEXT", "NOTIFICATION"].includes(message.type) && badge(message.type), person(bodyOf(message))),
      el("span", { class: "tail-more" }, more));
    return item;
  }

  function add(messages) {
    if (messages.length === 0) return;
    const isAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
    log.append(...messages.map(line));
    while (log.childElementCount > LINES_MAX) log.firstChild.remove();
    last = messages.at(-1).seq ?? last;
    if (isAtEnd) box.scrollTop = box.scrollHeight;
  }

  every(1_000, signal, async () => {
    if (isPaused || Date.now() < waits) return;
    try {
      if (last === undefined) {
        const page = await api.call("GET /v1/rooms/{room}/messages", { room }, { query: { order: "DESC", limit: 100 }, signal });
        last = 0;
        add(page.messages.reverse());
      } else {
        // A busy room brings more than a page a second; what is older than 500 lines would not be seen anyway.
        for (let page, turn = 0; turn < 5 && !signal.aborted && (page === undefined || page.more); turn += 1) {
          page = await api.call("GET /v1/rooms/{room}/messages", { room }, { query: { order: "ASC", afterSeq: last, limit: 100 }, signal });
          add(page.messages);
        }
      }
      if (!signal.aborted) say();
    } catch (error) {
      if (signal.aborted) return;
      say(error);
      waits = Date.now() + (error.retryAfterMs ?? 2_000);
    }
  });
  body.append(card(words.say("room.tab.tail"), actions(pause), el("p", { class: "hint" }, words.say("tail.hint")), state, box));
}

function membersPart(context) {
  const { api, room, body, watch, signal } = context;
  const why = api.why("GET /v1/rooms/{room}/members");
  if (why) { refused(body, words.say("room.tab.members"), why); return; }
  let [members, next, serial] = [[], undefined, 0];
  const kinds = field({
    name: "kind", type: "select", label: words.say("members.kind"),
    options: KINDS.map((kind) => [kind, words.say(`members.${kind}`)]),
  });
  const select = kinds.querySelector("select");
  const table = new Table({
    label: words.say("room.tab.members"), key: ({ user }) => user, empty: words.say("ui.loading"),
    columns: [
      { title: words.say("members.user"), cell: ({ user }) => el("a", { href: `#user/${encodeURIComponent(user)}` }, person(user)) },
      { title: words.say("members.nick"), cell: ({ nick }) => (nick ? person(nick) : undefined) },
      { title: words.say("members.role"), cell: ({ role }) => words.say(`role.${role}`) },
      { title: words.say("members.state"), cell: memberMarks },
      { title: words.say("members.entered"), cell: ({ enteredAt }) => (enteredAt ? time(enteredAt) : undefined) },
      { title: "", once: true, cell: ({ user }) => button(words.say("members.manage"), () => manage(user), { label: `${words.say("members.manage")}: ${user}` }) },
    ],
  });
  const more = button(words.say("ui.more"), () => load(false));
  const manage = async (user) => { if (await openPerson({ ...context, user })) load(true); };
  const find = el("form", { class: "toolbar" }, kinds,
    field({ name: "user", label: words.say("members.find"), maxlength: 64 }),
    el("div", { class: "buttons" }, el("button", { type: "submit", class: "button" }, words.say("members.open")),
      button(words.say("ui.reload"), () => load(true))));
  find.addEventListener("submit", (event) => {
    event.preventDefault();
    const { user } = valuesOf(find);
    if (user.trim()) manage(user.trim());
  });

  async function load(isNew) {
    const mine = serial += 1;
    const page = await act(() => api.call("GET /v1/rooms/{room}/members", { room },
      { query: { kind: select.value, limit: 100, after: isNew ? undefined : next }, signal }));
    if (mine !== serial || signal.aborted) return;
    if (!page) { table.old(words.say("ui.notLoaded")); return; }
    members = isNew ? page.members : [...members, ...page.members].slice(0, 2_000);
    next = page.next;
    more.hidden = next === undefined || members.length >= 2_000;
    table.update(members, words.say("members.none"));
  }

  let isOld = false;
  watch((error) => {
    if (error) table.old(error.sentence ?? String(error));
    else if (isOld) load(true);
    isOld = error !== undefined;
  });
  select.addEventListener("change", () => load(true));
  body.append(card(words.say("room.tab.members"), find, table.element, more));
  more.hidden = true;
  load(true);
}

/** The state of a member, as badges. */
export function memberMarks(member) {
  const marks = [];
  if (member.online) marks.push(badge(words.say("members.online"), "good"));
  if (member.muted) marks.push(badge(words.say("members.muted"), "warn"));
  if (member.tempMuted) marks.push(badge(words.say("members.tempMuted", { span: words.span(member.tempMuteSeconds * 1000) }), "warn"));
  if (member.blacklisted) marks.push(badge(words.say("members.blacklisted"), "bad"));
  return marks.length > 0 ? el("span", { class: "marks" }, marks) : undefined;
}

/** Messages that have a text. */
function searchPart({ api, room, body, signal }) {
  const why = api.why("GET /v1/rooms/{room}/search");
  if (why) { refused(body, words.say("room.tab.search"), why); return; }
  let [found, next, asked, serial] = [[], undefined, {}, 0];
  const table = new Table({
    label: words.say("room.tab.search"), key: ({ messageId }) => messageId, empty: words.say("search.hint"),
    columns: [
      { title: words.say("held.time"), cell: (message) => time(message.time) },
      { title: words.say("held.from"), cell: ({ from }) => (from ? el("a", { href: `#user/${encodeURIComponent(from.user)}` }, person(from.nick || from.user)) : words.say("event.system")) },
      { title: words.say("held.message"), wide: true, cell: (message) => person(bodyOf(message)) },
    ],
  });
  const more = button(words.say("ui.more"), () => load(false));
  const form = el("form", { class: "toolbar" },
    field({ name: "text", label: words.say("search.text"), maxlength: 64 }), field({ name: "user", label: words.say("search.user"), maxlength: 64 }),
    el("div", { class: "buttons" }, el("button", { type: "submit", class: "button" }, words.say("search.find"))));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { text, user } = valuesOf(form);
    asked = { text: text.trim(), user: user.trim() || undefined };
    if (asked.text) load(true);
  });
  async function load(isNew) {
    const mine = serial += 1;
    const page = await act(() => api.call("GET /v1/rooms/{room}/search", { room },
      { query: { ...asked, limit: 100, after: isNew ? undefined : next }, signal }));
    if (mine !== serial || signal.aborted) return;
    if (!page) { table.old(words.say("ui.notLoaded")); return; }
    found = isNew ? page.messages : [...found, ...page.messages].slice(0, 2_000);
    next = page.next;
    more.hidden = next === undefined || found.length >= 2_000;
    table.update(found, words.say(next === undefined ? "search.none" : "search.notYet"));
  }
  more.hidden = true;
  body.append(card(words.say("room.tab.search"), form, table.element, more));
}

/** Messages that wait for a manager. */
function heldPart({ api, room, body, signal }) {
  const why = api.why("GET /v1/rooms/{room}/held");
  if (why) { refused(body, words.say("room.tab.held"), why); return; }
  const [allow, deny] = ["allow", "deny"].map((name) => `POST /v1/rooms/{room}/held/{heldId}/${name}`);
  const said = ({ text, title, media, content, type }) => text ?? title ?? media?.name ?? content ?? type;
  let waiting = [];
  const table = new Table({
    label: words.say("room.tab.held"), key: ({ messageId }) => messageId, empty: words.say("ui.loading"),
    columns: [
      { title: words.say("held.time"), cell: (message) => time(message.time) },
      { title: words.say("held.from"), cell: ({ from }) => (from ? el("a", { href: `#user/${encodeURIComponent(from.user)}` }, person(from.nick || from.user)) : words.say("event.system")) },
      { title: words.say("held.message"), wide: true, cell: (message) => person(said(message).slice(0, TEXT_MAX)) },
      { title: "", once: true, cell: ({ messageId }) => el("span", { class: "buttons" },
        button(words.say("held.allow"), () => decide(allow, messageId, words.say("held.allowed")), { why: api.why(allow), kind: "primary", label: `${words.say("held.allow")}: ${messageId}` }),
        button(words.say("held.deny"), () => refuse(messageId), { why: api.why(deny), label: `${words.say("held.deny")}: ${messageId}` })) },
    ],
  });
  async function refuse(heldId) {
    const values = await ask({ title: words.say("held.denyTitle"), action: words.say("held.deny"), fields: [{ name: "reason", label: words.say("held.reason"), maxlength: 256 }] });
    if (values) decide(deny, heldId, words.say("held.denied"), values.reason ? { reason: values.reason } : {});
  }
  async function decide(name, heldId, done, given = {}) {
    await act(() => api.call(name, { room, heldId }, name === deny ? { body: given } : {}), done);
    load();
  }
  async function load() {
    try {
      const page = await api.call("GET /v1/rooms/{room}/held", { room }, { query: { limit: 100 }, signal });
      if (signal.aborted) return;
      waiting = page.messages ?? [];
      table.update(waiting, words.say("held.none"));
    } catch (error) {
      if (!signal.aborted) table.old(error.sentence ?? String(error));
    }
  }
  body.append(card(words.say("room.tab.held"), table.element));
  every(3_000, signal, load);
}

function queuePart({ api, room, body, signal }) {
  const why = api.why("GET /v1/rooms/{room}/queue");
  if (why) { refused(body, words.say("room.tab.queue"), why); return; }
  const takeWhy = api.why("POST /v1/rooms/{room}/queue/take");
  let elements = [];
  const table = new Table({
    label: words.say("room.tab.queue"), key: ({ key }) => key, empty: words.say("ui.loading"),
    columns: [
      { title: words.say("queue.key"), cell: ({ key }) => person(key) },
      { title: words.say("queue.value"), wide: true, cell: ({ value }) => person(value.length > 300 ? `${value.slice(0, 300)}…` : value) },
      { title: words.say("queue.owner"), cell: ({ owner }) => el("a", { href: `#user/${encodeURIComponent(owner)}` }, person(owner)) },
      { title: words.say("queue.stays"), cell: ({ transient, held }) => (held ? [words.say("queue.held"), "warn"] : words.say(transient ? "queue.transient" : "queue.lasting")) },
      { title: words.say("queue.version"), number: true, cell: ({ version }) => words.number(version) },
      { title: "", once: true, cell: ({ key }) => button(words.say("queue.take"), () => take(key), { why: takeWhy, label: `${words.say("queue.take")}: ${key}` }) },
    ],
  });
  async function take(key) {
    if (!await confirmed({ title: words.say("queue.takeTitle", { key }), text: words.say("queue.takeText"), action: words.say("queue.take") })) return;
    if (await act(() => api.call("POST /v1/rooms/{room}/queue/take", { room }, { body: { key } }), words.say("queue.taken", { key }))) load();
  }
  async function load() {
    try {
      let found = [], after;
      do {
        const page = await api.call("GET /v1/rooms/{room}/queue", { room }, { query: { limit: 100, after }, signal });
        found = [...found, ...page.elements];
        after = page.next;
      } while (after !== undefined && found.length < 1_000);
      if (signal.aborted) return;
      elements = found;
      table.update(elements, words.say("queue.none"));
      clear.hidden = elements.length === 0;
    } catch (error) {
      if (!signal.aborted) table.old(error.sentence ?? String(error));
    }
  }
  const clear = button(words.say("queue.clear"), async () => {
    if (!await confirmed({ title: words.say("queue.clearTitle"), text: words.say("queue.clearText", { count: elements.length }), action: words.say("queue.clear") })) return;
    if (await act(() => api.call("DELETE /v1/rooms/{room}/queue", { room }, { body: {} }), words.say("queue.cleared"))) load();
  }, { kind: "danger", why: api.why("DELETE /v1/rooms/{room}/queue") });
  clear.hidden = true;
  body.append(card(words.say("room.tab.queue"), actions(clear), table.element));
  every(3_000, signal, load);
}

function reportsPart(context) {
  const { api, room, body, signal } = context;
  const why = api.why("GET /v1/rooms/{room}/reports");
  if (why) { refused(body, words.say("room.tab.reports"), why); return; }
  const recallWhy = api.why("POST /v1/rooms/{room}/messages/{messageId}/recall");
  const name = (one) => button(person(one.nick || one.user), () => openPerson({ ...context, user: one.user }), {
    kind: "name", title: words.say("tail.person", { user: one.user }),
  });
  let reports = [];
  const table = new Table({
    label: words.say("room.tab.reports"), key: ({ id }) => id, empty: words.say("ui.loading"),
    columns: [
      { title: words.say("reports.time"), cell: (report) => time(report.time) },
      { title: words.say("reports.seq"), number: true, cell: ({ seq }) => words.number(seq) },
      { title: words.say("reports.from"), cell: ({ from }) => (from ? name(from) : words.say("event.system")) },
      { title: words.say("reports.text"), wide: true, cell: ({ excerpt }) => (excerpt === undefined ? words.say("reports.noText") : person(excerpt)) },
      { title: words.say("reports.reporter"), cell: ({ reporter }) => name(reporter) },
      { title: words.say("reports.reason"), wide: true, cell: ({ reason }) => (reason ? person(reason) : undefined) },
      { title: "", once: true, cell: (report) => button(words.say("tail.recall"), () => recall(report), { why: recallWhy, label: words.say("tail.recallLabel", { seq: report.seq }) }) },
    ],
  });
  async function recall({ messageId, excerpt }) {
    if (!await confirmed({ title: words.say("tail.recallTitle"), text: excerpt ?? "", action: words.say("tail.recall") })) return;
    if (await act(() => api.call("POST /v1/rooms/{room}/messages/{messageId}/recall", { room, messageId }, { body: {} }), words.say("tail.recalledNow"))) load();
  }
  async function load() {
    try {
      let found = [], after;
      do {
        const page = await api.call("GET /v1/rooms/{room}/reports", { room }, { query: { limit: 100, after }, signal });
        found = [...found, ...page.reports];
        after = page.next;
      } while (after !== undefined && found.length < 1_000);
      if (signal.aborted) return;
      // The latest are what moderators look for.
      reports = found.reverse();
      table.update(reports, words.say("reports.none"));
    } catch (error) {
      if (!signal.aborted) table.old(error.sentence ?? String(error));
    }
  }
  body.append(card(words.say("room.tab.reports"), el("p", { class: "hint" }, words.say("reports.hint")), table.element));
  every(5_000, signal, load);
}

words.add({
  en: {
    "room.parts": "Parts of the room", "room.tab.state": "State and settings", "room.tab.tail": "Messages, live", "room.tab.members": "Members", "room.tab.queue": "Queue", "room.tab.polls": "Polls", "room.tab.reports": "Reports", "room.tab.held": "Held messages", "room.tab.search": "Search",
    "search.text": "Beginnings of words, or characters", "search.user": "Only of this user", "search.find": "Search", "search.none": "Nothing was found.", "search.notYet": "Nothing so far: there is more to look through.", "search.hint": "Look for messages by their text.",
    "held.time": "Sent", "held.from": "From", "held.message": "Message", "held.allow": "Let through", "held.deny": "Deny", "held.allowed": "It is let through.", "held.denied": "It is denied.", "held.denyTitle": "Deny this message?", "held.reason": "Reason, for its sender", "held.none": "No message waits.",
    "room.unknown": "The room {room} can't be shown", "room.back": "All rooms", "room.online": "{online} online",
    "room.send": "Send a message", "room.sendTitle": "Send a message as the system", "room.sendText": "Everybody in the room sees it, and it stays in history.",
    "room.sendType": "Kind", "room.typeText": "text", "room.typeTip": "tip (a hint, shown apart)", "room.text": "Text", "room.sent": "Sent, with number {seq}.",
    "room.mute": "Mute all", "room.unmute": "Unmute all", "room.muteTitle": "Mute everybody?", "room.muteText": "Only the creator and managers can send until it is lifted.", "room.muted": "Everybody is muted.", "room.unmuted": "Everybody may send again.",
    "room.close": "Close", "room.reopen": "Reopen", "room.closeTitle": "Close {room}?", "room.closeText": "The {online} people in it are put out, and nobody can enter until it is reopened.", "room.closed": "The room is closed.", "room.reopened": "The room is open again.",
    "room.delete": "Delete", "room.deleteTitle": "Delete {room}?", "room.deleteText": "The {online} people in it are put out. Unless it is deleted for good, it can be restored for some time (24 hours, if nobody set it otherwise).",
    "room.deleteNow": "For good: nobody can have it back", "room.deleted": "{room} is deleted and can be restored for some time.", "room.deletedNow": "{room} is deleted for good.",
    "room.explain": "Why it is as it is", "room.lanes": "Gateway lanes", "room.noLanes": "No gateway shows this room to anybody.", "room.lane": "Node / lane", "room.viewers": "Viewers", "room.slowViewers": "Slow", "room.waiting": "Waiting", "room.laneDropped": "Messages dropped", "room.laneBarrage": "Barrage dropped",
    "room.shard": "Shard and leader", "room.sync": "Last sync to disk", "room.behind": "Behind in applying", "room.entries": "{count} entries", "room.lastSeq": "Last message", "room.sessions": "Sessions", "room.sessionsOf": "{sessions}, {robots} of them robots", "room.left": "Left out by the viewer budget", "room.barrage": "Barrage", "room.barrageOf": "{shown} shown, {dropped} left out",
    "room.settings": "Settings", "room.edit": "Change", "room.editTitle": "Settings of {room}", "room.saved": "The settings are changed.", "room.nothing": "Nothing was changed.", "room.notify": "Tell the room (312)",
    "room.creator": "Creator", "room.announcement": "Announcement", "room.entry": "May enter", "room.queueLevel": "May use the queue", "room.enterExitNotify": "Enters and exits are told", "room.slowMode": "Slow mode", "room.slowModeSeconds": "Slow mode: seconds between two messages of one user (0: off)", "room.highPerSecond": "HIGH messages", "room.highPerSecondField": "HIGH messages a second (1 to 50)", "room.historyDays": "Days of history", "room.historyDaysField": "Days of history (1 to 3650; empty: as it is)", "room.standard": "as the nodes are set", "room.seatsPerUser": "Seats of one user", "room.seatsPerUserField": "Seats of one user (0: any number)", "room.viewerBudget": "Viewer budget", "room.viewerBudgetField": "Viewer budget: messages a second to one viewer of a big room", "room.broadcastUrl": "Broadcast URL", "room.ext": "App data (ext)", "room.off": "off",
    "room.entry.ANYONE": "everybody, anonymous too", "room.entry.USERS": "users with a token", "room.entry.INVITED": "fixed members",
    "room.queueLevel.ANY": "everybody", "room.queueLevel.OWNER": "everybody, own elements only", "room.queueLevel.MANAGER": "managers",
    "room.enterExitNotify.ALL": "of all", "room.enterExitNotify.FIXED_ONLY": "of fixed members", "room.enterExitNotify.NONE": "of nobody",
    "tail.hint": "Kept messages, asked for every second; the last 500 stay here. Barrage and messages without history are not among them.",
    "tail.pause": "Pause", "tail.resume": "Go on", "tail.paused": "Paused after number {seq}.", "tail.state": "{count} lines, up to number {seq}.",
    "tail.person": "Person: {user}", "tail.room": "room", "tail.recall": "Recall", "tail.recallLabel": "Recall message {seq}", "tail.recallTitle": "Recall this message?", "tail.recalledNow": "The message is recalled.", "tail.recalled": "(recalled)", "tail.combine": "{title} ({count} messages)",
    "event.system": "system", "event.other": "Event {event}: {who}",
    "event.301": "{who} entered", "event.302": "{who} left", "event.303": "{who} was blacklisted by {operator}", "event.304": "{who} was taken off the blacklist by {operator}",
    "event.305": "{who} was muted by {operator}", "event.306": "{who} was unmuted by {operator}", "event.307": "{who} was made a manager by {operator}", "event.308": "{who} is no longer a manager ({operator})",
    "event.309": "{who} was made a fixed member by {operator}", "event.310": "{who} is no longer a fixed member ({operator})", "event.311": "The room was closed by {operator}", "event.312": "Settings were changed by {operator}: {set}",
    "event.313": "{who} was kicked by {operator}", "event.314": "{who} was muted for {span} by {operator}", "event.315": "The temporary mute of {who} was lifted by {operator}", "event.316": "{who} changed: {set}",
    "event.317": "Queue: {change} {key} by {operator}", "event.318": "Everybody was muted by {operator}", "event.319": "Everybody was unmuted by {operator}", "event.320": "Queue: {change}, {count} elements", "event.323": "{count} messages were recalled by {operator}", "event.350": "{entered} entered, {exited} left", "event.361": "The pinned messages were changed by {operator}",
    "event.360": "A message was amended by {operator}", "event.361": "Pins were changed by {operator}", "event.362": "A poll was opened by {operator}", "event.363": "A poll was closed",
    "members.kind": "Who", "members.TEMPORARY": "guests who are here", "members.FIXED": "fixed members", "members.FIXED_ONLINE": "fixed members who are here", "members.MANAGERS": "creator and managers", "members.MUTED": "muted", "members.BLACKLISTED": "blacklisted", "members.BANNED": "kicked with a ban",
    "members.find": "User ID", "members.open": "Manage this user", "members.user": "User", "members.nick": "Name", "members.role": "Role", "members.state": "State", "members.entered": "Entered", "members.manage": "Manage", "members.none": "Nobody.",
    "members.online": "here", "members.muted": "muted", "members.tempMuted": "muted, {span} left", "members.blacklisted": "blacklisted",
    "role.CREATOR": "creator", "role.MANAGER": "manager", "role.NORMAL": "fixed member", "role.RESTRICTED": "restricted", "role.GUEST": "guest", "role.ANONYMOUS": "anonymous",
    "queue.key": "Key", "queue.value": "Value", "queue.owner": "Owner", "queue.stays": "Stays", "queue.version": "Version", "queue.held": "held, owner is away", "queue.transient": "while its owner is here", "queue.lasting": "lasting",
    "queue.take": "Take out", "queue.takeTitle": "Take {key} out of the queue?", "queue.takeText": "The room is told.", "queue.taken": "{key} is out of the queue.", "queue.clear": "Clear", "queue.clearTitle": "Clear the queue?", "queue.clearText": "{count} elements go, and cannot be restored.", "queue.cleared": "The queue is empty.", "queue.none": "The queue is empty.",
    "reports.hint": "Messages that members have reported, the latest first; the last 1,000 stay here.", "reports.time": "Reported", "reports.seq": "Message", "reports.from": "Sender", "reports.text": "Text", "reports.noText": "(none, recalled or expired)", "reports.reporter": "Reported by", "reports.reason": "Reason", "reports.none": "Nothing was reported.",
  },
  zh: {
    "room.parts": "房间各部分", "room.tab.state": "状态与设置", "room.tab.tail": "实时消息", "room.tab.members": "成员", "room.tab.queue": "队列", "room.tab.polls": "投票", "room.tab.reports": "举报", "room.tab.held": "待审消息", "room.tab.search": "搜索",
    "search.text": "词的开头或单个字", "search.user": "仅此用户", "search.find": "搜索", "search.none": "没有找到。", "search.notYet": "暂未找到，还有更早的消息。", "search.hint": "按文字查找消息。",
    "held.time": "发送时间", "held.from": "发送者", "held.message": "消息", "held.allow": "通过", "held.deny": "拒绝", "held.allowed": "已通过。", "held.denied": "已拒绝。", "held.denyTitle": "拒绝这条消息？", "held.reason": "原因（告知发送者）", "held.none": "没有等待审核的消息。",
    "room.unknown": "无法显示房间 {room}", "room.back": "全部房间", "room.online": "在线 {online}",
    "room.send": "发送消息", "room.sendTitle": "以系统身份发送消息", "room.sendText": "房间内所有人可见，并保留在历史中。",
    "room.sendType": "类型", "room.typeText": "文本", "room.typeTip": "提示（单独显示）", "room.text": "内容", "room.sent": "已发送，序号 {seq}。",
    "room.mute": "全员禁言", "room.unmute": "解除全员禁言", "room.muteTitle": "全员禁言？", "room.muteText": "解除之前，只有创建者和管理员可以发言。", "room.muted": "已全员禁言。", "room.unmuted": "已解除全员禁言。",
    "room.close": "关闭", "room.reopen": "重新开放", "room.closeTitle": "关闭 {room}？", "room.closeText": "房间内 {online} 人会被移出，重新开放之前无人能进入。", "room.closed": "房间已关闭。", "room.reopened": "房间已重新开放。",
    "room.delete": "删除", "room.deleteTitle": "删除 {room}？", "room.deleteText": "房间内 {online} 人会被移出。除非彻底删除，否则在一段时间内（默认 24 小时）可以恢复。",
    "room.deleteNow": "彻底删除：无法恢复", "room.deleted": "{room} 已删除，一段时间内可以恢复。", "room.deletedNow": "{room} 已彻底删除。",
    "room.explain": "当前状况及原因", "room.lanes": "网关通道", "room.noLanes": "没有网关正在展示此房间。", "room.lane": "节点/通道", "room.viewers": "观众", "room.slowViewers": "过慢", "room.waiting": "待发送", "room.laneDropped": "丢弃消息", "room.laneBarrage": "丢弃弹幕",
    "room.shard": "分片与主节点", "room.sync": "最近一次落盘", "room.behind": "应用滞后", "room.entries": "{count} 条", "room.lastSeq": "最后一条消息", "room.sessions": "会话", "room.sessionsOf": "{sessions}，其中机器人 {robots}", "room.left": "因观看预算省略", "room.barrage": "弹幕", "room.barrageOf": "展示 {shown}，省略 {dropped}",
    "room.settings": "设置", "room.edit": "修改", "room.editTitle": "{room} 的设置", "room.saved": "设置已修改。", "room.nothing": "没有改动。", "room.notify": "通知房间（312）",
    "room.creator": "创建者", "room.announcement": "公告", "room.entry": "谁可进入", "room.queueLevel": "谁可使用队列", "room.enterExitNotify": "进出通知", "room.slowMode": "慢速模式", "room.slowModeSeconds": "慢速模式：同一用户两条消息的间隔秒数（0 为关闭）", "room.highPerSecond": "重要消息", "room.highPerSecondField": "每秒重要消息数（1 至 50）", "room.historyDays": "历史天数", "room.historyDaysField": "历史天数（1 至 3650；留空则不变）", "room.standard": "按节点设置", "room.seatsPerUser": "每人麦位数", "room.seatsPerUserField": "每人麦位数（0：不限）", "room.viewerBudget": "观看预算", "room.viewerBudgetField": "观看预算：大房间中每位观众每秒的消息数", "room.broadcastUrl": "直播地址", "room.ext": "应用数据（ext）", "room.off": "关闭",
    "room.entry.ANYONE": "所有人，包括匿名", "room.entry.USERS": "持令牌的用户", "room.entry.INVITED": "固定成员",
    "room.queueLevel.ANY": "所有人", "room.queueLevel.OWNER": "所有人，仅限自己的元素", "room.queueLevel.MANAGER": "管理员",
    "room.enterExitNotify.ALL": "所有人", "room.enterExitNotify.FIXED_ONLY": "固定成员", "room.enterExitNotify.NONE": "不通知",
    "tail.hint": "每秒查询一次保留的消息，此处最多 500 条。不含弹幕和不存历史的消息。",
    "tail.pause": "暂停", "tail.resume": "继续", "tail.paused": "已暂停，停在序号 {seq}。", "tail.state": "{count} 条，至序号 {seq}。",
    "tail.person": "用户：{user}", "tail.room": "房间", "tail.recall": "撤回", "tail.recallLabel": "撤回消息 {seq}", "tail.recallTitle": "撤回这条消息？", "tail.recalledNow": "消息已撤回。", "tail.recalled": "（已撤回）", "tail.combine": "{title}（{count} 条消息）",
    "event.system": "系统", "event.other": "事件 {event}：{who}",
    "event.301": "{who} 进入", "event.302": "{who} 离开", "event.303": "{operator} 拉黑了 {who}", "event.304": "{operator} 将 {who} 移出黑名单",
    "event.305": "{operator} 禁言了 {who}", "event.306": "{operator} 解除了 {who} 的禁言", "event.307": "{operator} 将 {who} 设为管理员", "event.308": "{operator} 取消了 {who} 的管理员",
    "event.309": "{operator} 将 {who} 设为固定成员", "event.310": "{operator} 取消了 {who} 的固定成员", "event.311": "{operator} 关闭了房间", "event.312": "{operator} 修改了设置：{set}",
    "event.313": "{operator} 踢出了 {who}", "event.314": "{operator} 将 {who} 禁言 {span}", "event.315": "{operator} 解除了 {who} 的临时禁言", "event.316": "{who} 修改了：{set}",
    "event.317": "队列：{change} {key}（{operator}）", "event.318": "{operator} 开启全员禁言", "event.319": "{operator} 解除全员禁言", "event.320": "队列：{change}，{count} 个元素", "event.323": "{operator} 撤回了 {count} 条消息", "event.350": "{entered} 人进入，{exited} 人离开", "event.361": "{operator} 更改了置顶消息",
    "event.360": "{operator} 修改了一条消息", "event.361": "{operator} 修改了置顶", "event.362": "{operator} 发起了投票", "event.363": "投票结束",
    "members.kind": "范围", "members.TEMPORARY": "在场的游客", "members.FIXED": "固定成员", "members.FIXED_ONLINE": "在场的固定成员", "members.MANAGERS": "创建者与管理员", "members.MUTED": "被禁言的", "members.BLACKLISTED": "黑名单", "members.BANNED": "被踢出且限时禁入的",
    "members.find": "用户 ID", "members.open": "管理此用户", "members.user": "用户", "members.nick": "昵称", "members.role": "角色", "members.state": "状态", "members.entered": "进入时间", "members.manage": "管理", "members.none": "没有人。",
    "members.online": "在场", "members.muted": "禁言", "members.tempMuted": "禁言，剩余 {span}", "members.blacklisted": "黑名单",
    "role.CREATOR": "创建者", "role.MANAGER": "管理员", "role.NORMAL": "固定成员", "role.RESTRICTED": "受限", "role.GUEST": "游客", "role.ANONYMOUS": "匿名",
    "queue.key": "键", "queue.value": "值", "queue.owner": "所有者", "queue.stays": "保留", "queue.version": "版本", "queue.held": "保留中，所有者离线", "queue.transient": "所有者在场时", "queue.lasting": "持久",
    "queue.take": "取出", "queue.takeTitle": "将 {key} 从队列取出？", "queue.takeText": "房间会收到通知。", "queue.taken": "{key} 已取出。", "queue.clear": "清空", "queue.clearTitle": "清空队列？", "queue.clearText": "{count} 个元素将被移除，无法恢复。", "queue.cleared": "队列已清空。", "queue.none": "队列为空。",
    "reports.hint": "成员举报的消息，最新的在前，保留最近 1,000 条。", "reports.time": "举报时间", "reports.seq": "消息", "reports.from": "发送者", "reports.text": "内容", "reports.noText": "（无、已撤回或已过期）", "reports.reporter": "举报人", "reports.reason": "原因", "reports.none": "没有举报。",
  },
});
