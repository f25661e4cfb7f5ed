/**
 * The operator's console: signing in, navigation, views. The key lives in `api`, a variable of this module, and nowhere
 * else; the address names a view and never does anything.
 */
import { Api } from "/console/console-api.js";
import { auditView } from "/console/console-audit.js";
import { clusterView, forgetTasks } from "/console/console-cluster.js";
import { Monitor, problems } from "/console/console-monitor.js";
import { overview } from "/console/console-overview.js";
import { roomView } from "/console/console-room.js";
import { roomsView } from "/console/console-rooms.js";
import { settingsView } from "/console/console-settings.js";
import { badge, button, el, field, icon, notice, tick, time } from "/console/console-ui.js";
import { userView, usersView } from "/console/console-users.js";
import { words } from "/console/console-words.js";

/** Sessions are for operators, sanctions for moderators: either is a reason to come here. */
const USERS = ["GET /v1/users/{user}/sessions", "GET /v1/users"];
/** name → [what shows it, its place in the navigation, the call that it lives by, or some]. */
const VIEWS = {
  overview: [overview, "overview", "GET /v1/cluster"], rooms: [roomsView, "rooms", "GET /v1/rooms/{room}"], room: [roomView, "rooms", "GET /v1/rooms/{room}"],
  users: [usersView, "users", USERS], user: [userView, "users", USERS],
  audit: [auditView, "audit", "GET /v1/audit"], cluster: [clusterView, "cluster", "GET /v1/cluster"], settings: [settingsView, "settings", "GET /v1/moderation"],
};
const PLACES = ["overview", "rooms", "users", "audit", "cluster", "settings"];

const root = document.getElementById("console");
let api = null;
let monitor = null;
/** Ends with signing out; `view` ends with each change of the view. */
let stay = new AbortController();
let view = new AbortController();
let main;
/** Above all views: tells that the node gives no answer. */
let silence;
/** Whether the view was opened while the node gave no answer: it has loaded nothing. */
let isOpenedInSilence = false;

function languageSwitch() {
  const other = words.language === "en" ? "zh" : "en";
  return button(other === "zh" ? "中文" : "English", () => {
    words.language = other;
    document.documentElement.lang = other === "zh" ? "zh-CN" : "en";
    if (!api) { signIn(); return; }
    frame();
    show();
    root.querySelector(".language").focus();
  }, { kind: "quiet language", lang: other === "zh" ? "zh-CN" : "en" });
}

function signIn(sentence = "") {
  document.title = words.say("console.title");
  const error = el("p", { class: "error", id: "sign-in-error" }, sentence);
  const key = field({ name: "key", type: "password", label: words.say("console.key"), hint: words.say("console.keyHint"), required: true });
  const submit = el("button", { type: "submit", class: "button primary" }, words.say("console.signIn"));
  const form = el("form", { class: "sign-in" }, el("h1", {}, words.say("console.title")), el("p", { class: "line" }, location.host), key, error, submit,
    el("p", { class: "hint" }, words.say("console.roles")), languageSwitch());
  const input = key.querySelector("input");
  input.setAttribute("aria-describedby", `${input.getAttribute("aria-describedby")} sign-in-error`);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (submit.disabled) return;
    submit.disabled = true;
    error.textContent = "";
    const mine = new Api(input.value.trim());
    try {
      await mine.open();
      input.value = "";
      begin(mine);
    } catch (failure) {
      error.textContent = failure.sentence ?? String(failure);
      submit.disabled = false;
      input.select();
      input.focus();
    }
  });
  root.replaceChildren(el("main", { class: "entrance" }, form));
  input.focus();
}

function begin(signedIn) {
  api = signedIn;
  stay = new AbortController();
  monitor = new Monitor(api, stay.signal);
  api.onRefused = (error) => signOut(error.sentence);
  api.onSilence = showSilence;
  if (!location.hash || location.hash === "#") history.replaceState(null, "", api.may(VIEWS.overview[2]) ? "#overview" : "#rooms");
  frame();
  show();
  notice(words.say("console.signedIn", { role: api.role }), "good");
}

function signOut(sentence) {
  if (!api) return;
  stay.abort();
  view.abort();
  api.close();
  api = null;
  monitor = null;
  forgetTasks();
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
  signIn(sentence);
}

/** Navigation and the place for views. */
function frame() {
  const links = PLACES.map((name) => {
    const reasons = [VIEWS[name][2]].flat().map((call) => api.why(call));
    const why = reasons.includes("") || (api.prefix && name === "rooms") ? "" : reasons[0];
    return el("a", { href: `#${name}`, class: "place", "data-place": name, "aria-disabled": why ? "true" : undefined, title: why || undefined },
      icon(name), el("span", {}, words.say(`console.${name}`)), el("span", { class: "count" }),
      why && el("span", { class: "hidden" }, ` (${why})`));
  });
  main = el("main", { id: "main", tabindex: "-1" });
  silence = el("p", { class: "silence", role: "status" });
  root.replaceChildren(
    el("button", { type: "button", class: "skip", onclick: () => main.focus() }, words.say("console.skip")),
    el("header", { class: "side" },
      el("div", { class: "brand" }, el("b", {}, words.say("console.title")), el("span", {}, location.host)),
      el("nav", { "aria-label": words.say("console.navigation") }, links),
      el("div", { class: "who" },
        el("p", { title: words.say(`console.role.${api.role}`) }, badge(api.role, "accent"), api.name && el("bdi", {}, api.name)),
        el("p", { class: "hint" }, api.prefix ? words.say("console.prefix", { prefix: api.prefix }) : words.say(`console.role.${api.role}`)),
        api.expiresAt && el("p", { class: "hint" }, words.say("console.expires"), " ", time(api.expiresAt)),
        el("div", { class: "buttons" }, button(words.say("console.signOut"), () => signOut("")), languageSwitch()))),
    main);
  const count = root.querySelector("[data-place=overview] .count");
  const session = stay.signal;
  const mine = main;
  monitor.watch(session, () => {
    if (mine !== main) return;
    const found = problems(monitor).filter(({ kind }) => kind !== "info");
    count.textContent = found.length > 0 ? String(found.length) : "";
    count.className = `count ${found[0]?.kind ?? ""}`;
    count.setAttribute("aria-label", words.say("console.problems", { count: found.length }));
    document.title = found.length > 0 ? `(${found.length}) ${words.say("console.title")}` : words.say("console.title");
  });
}

/** The time stays as it is, so that a reader hears the line once. */
function showSilence() {
  const since = api.silentSince;
  main.classList.toggle("is-silent", since !== undefined);
  silence.textContent = since === undefined ? "" : words.say("console.silent", { host: location.host, time: words.clock(since) });
  // A field that somebody fills in stays.
  if (since === undefined && isOpenedInSilence && !main.querySelector(":focus")) show();
}

/** "#room/live-1/tail" → ["room", "live-1", "tail"]. */
function parts() {
  return location.hash.slice(1).split("/").map((part) => {
    try { return decodeURIComponent(part); } catch { return ""; }
  });
}

function show() {
  if (!api) return;
  view.abort();
  view = new AbortController();
  const [name, ...rest] = parts();
  const known = VIEWS[name] && (rest[0] || !["room", "user"].includes(name)) ? name : api.may(VIEWS.overview[2]) ? "overview" : "rooms";
  const [render, place] = VIEWS[known];
  for (const link of root.querySelectorAll(".place")) {
    if (link.dataset.place === place) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  const heading = el("h1", { class: "hidden" }, words.say(`console.${place}`));
  const content = el("div", { class: "stack" });
  // The line stays in the page: a reader hears nothing of a place that comes with its text.
  if (!silence.isConnected) main.append(silence);
  for (const child of [...main.children]) if (child !== silence) child.remove();
  main.prepend(heading);
  main.append(content);
  isOpenedInSilence = api.silentSince !== undefined;
  showSilence();
  window.scrollTo(0, 0);
  render({ api, monitor, main: content, signal: view.signal, parts: rest, go: (hash) => { location.hash = hash; } });
}

addEventListener("hashchange", () => {
  show();
  // The link that was pressed is gone: the keyboard goes on in the new view.
  if (api && document.activeElement === document.body) main.focus({ preventScroll: true });
});
setInterval(() => { if (!document.hidden) tick(); }, 1_000);
document.documentElement.lang = words.language === "zh" ? "zh-CN" : "en";

words.add({
  en: {
    "console.title": "Chatroom console", "console.key": "Admin key or token", "console.keyHint": "It stays in this tab's memory, and is gone when the tab is closed or loaded again.", "console.signIn": "Sign in", "console.signOut": "Sign out",
    "console.roles": "The console shows what the key's role may see and do: ADMIN, OPERATE, MODERATE or READ.", "console.signedIn": "Signed in as {role}.", "console.skip": "Skip navigation", "console.navigation": "Console", "console.problems": "{count} problems", "console.expires": "The token ends",
    "console.silent": "The node at {host}, which serves this console, has not answered since {time}. All that is shown is older, and nothing can be changed here now. If it does not come back, open the console of another node.",
    "console.overview": "Overview", "console.rooms": "Rooms", "console.users": "Users", "console.audit": "Audit", "console.cluster": "Cluster", "console.settings": "Words and hooks",
    "console.role.ADMIN": "may do everything", "console.role.OPERATE": "the cluster and sessions; no content of rooms", "console.role.MODERATE": "rooms, members, messages", "console.role.READ": "looks, changes nothing", "console.prefix": "only rooms that begin with {prefix}",
  },
  zh: {
    "console.title": "聊天室控制台", "console.key": "管理密钥或令牌", "console.keyHint": "仅保存在此标签页的内存中，关闭或刷新后即消失。", "console.signIn": "登录", "console.signOut": "退出",
    "console.roles": "控制台只显示密钥角色可见、可做的内容：ADMIN、OPERATE、MODERATE 或 READ。", "console.signedIn": "已登录，角色 {role}。", "console.skip": "跳过导航", "console.navigation": "控制台", "console.problems": "{count} 个问题", "console.expires": "令牌到期：",
    "console.silent": "提供此控制台的节点 {host} 自 {time} 起没有应答。所示内容均为此前的数据，目前无法进行任何更改。如果它不恢复，请打开其他节点的控制台。",
    "console.overview": "总览", "console.rooms": "房间", "console.users": "用户", "console.audit": "审计", "console.cluster": "集群", "console.settings": "词表与回调",
    "console.role.ADMIN": "可执行所有操作", "console.role.OPERATE": "集群与会话；不含房间内容", "console.role.MODERATE": "房间、成员、消息", "console.role.READ": "只看，不改", "console.prefix": "仅限以 {prefix} 开头的房间",
  },
});

signIn();
