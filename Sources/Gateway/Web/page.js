/**
 * The page at "/": the address decides. `/?room=ID` joins that room, "/" makes one, both by the demo; a node without a demo
 * shows a form. Tokens are kept in the tab (sessionStorage) and never in the address; whoever made the room is its host.
 */
import "./chat-room.js";
import { make } from "./parts.js";
import { words } from "./words.js";

const say = (key, values) => words.say(`page.${key}`, values);

const ROOM_ID = /^(?!\.{1,2}$)[A-Za-z0-9_.@:#|+~!$-]{1,64}$/;
/** A text around an address leaves these at its end; no ID has one of them. */
const TAIL = /[\s,;?()[\]{}<>'"，。、；：？！（）「」『』《》“”‘’…]+$/;

/** A storage that may be forbidden: then the page forgets. */
function recall(storage, key) { try { return JSON.parse(window[storage].getItem(`chatroom:${key}`)); } catch { return null; } }
function keep(storage, key, value) {
  try { window[storage].setItem(`chatroom:${key}`, JSON.stringify(value)); } catch { /* Nothing is kept. */ }
}

const look = recall("localStorage", "look") ?? {};

async function useLook(changes = {}) {
  Object.assign(look, changes);
  await words.use(look.language);
  if (look.theme) document.documentElement.dataset.theme = look.theme;
  document.documentElement.lang = words.language === "zh" ? "zh-CN" : "en";
}

function showCard(key, values = {}, ...more) {
  document.title = say("app");
  document.body.replaceChildren(make("main", { class: "page-card", role: "status" },
    make("h1", {}, words.say(key)), make("p", {}, words.say(`${key}.text`, values)), ...more));
}

/** The demo's answer {room, token, [hostToken], gateways}, or {status, seconds}. */
async function askDemo(room) {
  try {
    const answer = await fetch("/v1/demo", {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(room ? { room } : {}),
    });
    if (answer.ok) return await answer.json();
    return { status: answer.status, seconds: Number(answer.headers.get("Retry-After")) || 5 };
  } catch { return { status: 0, seconds: 2 }; }
}

const later = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

/** When a token ends, in milliseconds; the signature is the node's affair. */
function endOf(token) {
  try { return 1000 * JSON.parse(atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/"))).exp; } catch { return Infinity; }
}

/** Shows a room. `mine` is what this tab keeps of it: {token, hostToken, gateways, form, nick}. */
function open(room, mine) {
  history.replaceState(null, "", `/?room=${encodeURIComponent(room)}`);
  keep("sessionStorage", room, mine);
  const element = document.createElement("chat-room");
  const own = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/v1/ws`;
  element.tokenProvider = async () => {
    const token = mine.hostToken ?? mine.token;
    if (mine.form || (token && endOf(token) > Date.now() + 5_000)) return token;
    // Its hour is over, or the node has forgotten its keys: on as a guest.
    const answer = await askDemo(room);
    if (!answer.token) return token;
    mine = { token: answer.token, hostToken: answer.hostToken, gateways: answer.gateways };
    keep("sessionStorage", room, mine);
    return mine.hostToken ?? mine.token;
  };
  const attributes = {
    room, gateways: [...new Set([own, ...(mine.gateways ?? [])])].join(" "), language: words.language, theme: look.theme,
    nick: mine.nick, role: "main", standalone: "", figures: mine.form ? undefined : "", anonymous: mine.form && !mine.token ? "" : undefined,
  };
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(name, value);
  element.addEventListener("preference", ({ detail }) => {
    useLook(detail);
    keep("localStorage", "look", look);
  });
  element.addEventListener("tokenexpired", () => { if (!mine.form) mine = { gateways: mine.gateways }; });
  element.addEventListener("statechange", ({ detail: { state, error } }) => {
    // The room's name comes with the answer that makes the state.
    if (state === "entered") queueMicrotask(() => { document.title = `${element.roomName} · ${say("app")}`; });
    if (mine.form && ["unauthorized", "tokenUnavailable"].includes(error?.code)) showForm(room, say("refused"));
  });
  document.body.replaceChildren(element);
}

function showForm(room = "", complaint = "") {
  document.title = say("app");
  const field = (name, properties, hint) => make("label", {}, make("span", {}, say(`${name}`)),
    make("input", { name, autocomplete: "off", ...properties }), ...(hint ? [make("small", {}, hint)] : []));
  const language = make("select", { name: "language", change: async () => {
    await useLook({ language: language.value });
    keep("localStorage", "look", look);
    showForm(form.elements.room.value, "");
  } }, new Option("English", "en"), new Option("中文", "zh"));
  language.value = words.language;
  const form = make("form", { class: "page-card", submit: (event) => {
    event.preventDefault();
    const entry = Object.fromEntries(new FormData(form));
    open(entry.room, { form: true, token: entry.token.trim(), nick: entry.name.trim() || undefined });
  } },
    make("h1", {}, say("title")), make("p", {}, say("about")),
    field("room", { required: true, maxlength: 64, pattern: "[A-Za-z0-9_.@:#\\|+~!$\\-]+", value: room }),
    field("name", { maxlength: 64, autocomplete: "nickname" }),
    field("token", { type: "password" }, say("hint")),
    make("label", {}, make("span", {}, say("language")), language),
    ...(complaint ? [make("p", { class: "page-complaint", role: "alert" }, complaint)] : []),
    make("button", "part-button part-primary", say("enter")));
  document.body.replaceChildren(make("main", {}, form));
  form.elements[room ? "name" : "room"].focus();
}

async function start() {
  await useLook();
  const asked = new URLSearchParams(location.search).get("room");
  const room = asked?.replace(TAIL, "") ?? null;
  const isBroken = room !== null && !ROOM_ID.test(room);
  const mine = room && !isBroken && recall("sessionStorage", room);
  if (mine) return open(room, mine);
  while (!isBroken) {
    const answer = await askDemo(room);
    if (answer.room) return open(answer.room, { token: answer.token, hostToken: answer.hostToken, gateways: answer.gateways });
    if (answer.status >= 400 && answer.status < 500 && answer.status !== 429) break;
    if (answer.status === 429) {
      for (let left = answer.seconds; left > 0; left -= 1) {
        showCard("page.often", { seconds: left });
        await later(1);
      }
      continue;
    }
    showCard("page.away");
    await later(answer.seconds);
  }
  // A node with a demo tells its figures: then it is the room that is not there.
  const hasDemo = room !== null && (await fetch("/v1/demo").catch(() => ({ ok: false }))).ok;
  if (!hasDemo) return isBroken ? showForm("", say("broken")) : showForm(room ?? "");
  const fresh = make("button", { class: "part-button part-primary", click: () => {
    history.replaceState(null, "", "/");
    start();
  } }, say("fresh"));
  showCard(isBroken ? "page.broken" : "page.none", {}, fresh);
}

// iOS lays its keyboard over the page: the room takes what is left of it.
visualViewport?.addEventListener("resize", () => {
  if (visualViewport.scale !== 1) return;
  document.body.style.height = `${visualViewport.height}px`;
  scrollTo(0, 0);
});

// A file that misses the room does not open in place of the page.
for (const event of ["dragover", "drop"]) {
  addEventListener(event, (drag) => { if (drag.dataTransfer?.types.includes("Files")) drag.preventDefault(); });
}

start();
