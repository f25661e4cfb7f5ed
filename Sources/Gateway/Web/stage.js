/**
 * The stage: barrage flies over it from right to left, in lanes, and nothing overlaps.
 *
 * Each item is a DOM node with one animation of `transform`, which the compositor runs by itself: the main thread works only
 * when items come and go. A canvas has to be drawn by the page in every frame. Items that do not fit are spared and counted.
 */
import { button, clean, cut, icon, make, openBeside } from "./parts.js";
import { words } from "./words.js";

const say = (key, values) => words.say(`stage.${key}`, values);

/** At most so many nodes fly, and as many wait for use. */
const NODES_MAX = 150;
const WAITING_MAX = 80;
const OWN_WAITING_MAX = 10;
/** Barrage is of the moment: what found no lane for so long is spared. A person's own waits longer. */
const WAIT_MS = 1_200;
const OWN_WAIT_MS = 10_000;
const TICK_MS = 50;
const PER_TICK_MAX = 4;
/** Items come in together, at most so often: the page is laid out once for all of them. A person's own do not wait. */
const LAUNCH_MS = 150;
/** The page is waited for so long to lay out what is to fly. */
const FRAMES_MS = 150;
/** A node whose flight is over goes on, out of sight, until the next item takes it: taking it away would lay out the page. */
const IDLE_MS = 3_000;
const SPACE = 28;
const FIXED_MS = 4_000;
const CALM_MS = 5_000;
const CALM_STEP_MS = 600;
const CALM_LINES_MAX = 6;
const LETTERS_MAX = 120;
const SCANNED_MAX = 1_024;
const STYLE_MAX = 256;
const STORE = "chatroom.stage";
const DENSITIES = ["all", "half", "few", "off"];
const RANKS = { LOW: 0, NORMAL: 1, HIGH: 2 };

/** The first letters of a text in one line. No text costs more than its first kilobyte. */
const lineOf = (text, letters = LETTERS_MAX) =>
  cut(clean(String(text ?? "").slice(0, SCANNED_MAX)).replace(/[\s\u2028\u2029]+/g, " ").trim(), letters);

/** An app may ask for a colour and a place by `style`. Anything else is as if nothing were said. */
function styleOf(text) {
  if (typeof text !== "string" || text.length > STYLE_MAX || !text.startsWith("{")) return {};
  let given;
  try { given = JSON.parse(text); } catch { return {}; }
  const style = {};
  if (typeof given.color === "string" && /^#[0-9a-f]{6}$/i.test(given.color)) style.color = given.color;
  if (given.position === "top" || given.position === "bottom") style.position = given.position;
  return style;
}

const PAUSE = "M9 5v14M15 5v14";
const PLAY = "M8 5l11 7-11 7z";
const SLIDERS = "M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4";

export class Stage {
  #context;
  #container;
  #field;
  #settings = { opacity: 1, speed: 1, density: "all" };
  #width = 0;
  #height = 0;
  // A lane that is not in use remembers what still flies in it.
  #lanes = [];
  #laneCount = 0;
  #waiting = [];
  // Nodes that fly, with their animations; nodes that are out of sight; and nodes that are out of the page.
  #flying = new Map();
  #idle = new Map();
  #pool = [];
  #sweeping = null;
  #nextLaunchAt = 0;
  // Nodes with their texts: they fly as soon as the page has laid them out.
  #ready = [];
  #isLaidOut = false;
  #readyAt = 0;
  #widths = new WeakMap();
  #lines = [];
  #nextLineAt = 0;
  // Time on the stage: it stands while the stage is held, and runs at the speed that the viewer has chosen.
  #clock = 0;
  #clockReadAt = performance.now();
  #isPaused = false;
  #tick = null;
  #telling = null;
  #spared = { full: 0, away: 0, server: 0 };
  #calm = matchMedia("(prefers-reduced-motion: reduce)");
  #end = new AbortController();
  #observer;
  // It tells the widths of nodes: a node that is asked has the page compute the styles of all that fly.
  #ruler = new ResizeObserver((entries) => {
    for (const { target, borderBoxSize: [{ inlineSize }] } of entries) this.#widths.set(target, inlineSize);
  });
  #parts = {};

  constructor(container, context) {
    [this.#container, this.#context] = [container, context];
    this.#restore();
    this.#build();
    const { signal } = this.#end;
    this.#calm.addEventListener("change", () => this.#begin(), { signal });
    document.addEventListener("visibilitychange", () => { if (document.hidden) this.#spareWaiting("away"); }, { signal });
    this.#field.addEventListener("click", (event) => this.#pick(event), { signal });
    context.room?.on("entered", this.#named).on("message", this.#named);
    this.#observer = new ResizeObserver(() => this.#measure());
    this.#observer.observe(container);
    this.#begin();
  }

  // From the room

  /** Takes the items of a barrage push. */
  push(items, { own } = {}) {
    const [me, now] = [this.#context.me?.()?.user ?? this.#context.client?.user, performance.now()];
    for (const item of items ?? []) {
      const isOwn = own === true || (item.from !== undefined && item.from.user === (typeof own === "string" ? own : me));
      const rank = isOwn ? 3 : RANKS[item.priority] ?? RANKS.NORMAL;
      const entry = { item, isOwn, rank, at: now };
      const { density } = this.#settings;
      if (density === "off" || document.hidden || (this.#isPaused && !isOwn)) this.#spare(entry, "away");
      else this.#waiting.push(entry);
    }
    if (this.#waiting.length > WAITING_MAX) this.#shorten();
    this.#wake();
  }

  /** The server has left out so many for this viewer. */
  skipped(count) {
    this.#spared.server += Number(count) || 0;
    this.#tellLater();
  }

  /** The room's name may have come or changed; the page hears of it in the same turn. */
  #named = (message) => { if (message.room?.id !== undefined || message.event === 312) queueMicrotask(() => this.#showEmpty()); };

  /** For tests: what flies, waits and was not shown. */
  get figures() { return { flying: this.#flying.size + this.#lines.length, waiting: this.#waiting.length + this.#ready.length, ...this.#spared }; }

  destroy() {
    this.#end.abort();
    this.#observer.disconnect();
    this.#ruler.disconnect();
    this.#context.room?.off("entered", this.#named).off("message", this.#named);
    clearTimeout(this.#tick);
    clearTimeout(this.#telling);
    clearTimeout(this.#sweeping);
    this.#clear();
    this.#container.replaceChildren();
  }

  // The frame around it

  #build() {
    const name = make("bdi", "stage-name");
    const empty = make("div", "stage-empty", name, make("span", {}, say("ready")));
    this.#field = make("div", { class: "stage-field", "aria-hidden": "true" });
    const spared = make("span", { class: "stage-spared", hidden: true });
    const held = make("span", { class: "stage-held", hidden: true }, say("held"));
    const pause = button("stage-button", "", () => this.#hold(!this.#isPaused));
    const gear = button("stage-button", icon(SLIDERS), () => { this.#explain(); openBeside(gear, panel, true); },
      { "aria-label": say("settings"), title: say("settings"), "aria-haspopup": "dialog" });
    const why = make("p", "stage-why");
    const panel = make("div", { class: "stage-panel", popover: "auto", role: "dialog", "aria-label": say("settings") },
      this.#slider("opacity", 0.2, 1), this.#slider("speed", 0.5, 2), this.#choice(), why);
    this.#parts = { name, empty, spared, held, pause, why };
    this.#container.classList.add("stage");
    this.#container.replaceChildren(
      make("p", "stage-label", say("label")), empty, this.#field,
      make("div", { class: "stage-controls", role: "group", "aria-label": say("controls") }, held, spared, pause, gear), panel);
    this.#showPaused();
  }

  #slider(key, min, max) {
    const input = make("input", { type: "range", min, max, step: 0.05, class: "stage-slider", value: this.#settings[key], input: () => {
      if (key === "speed") this.#now();
      this.#settings[key] = Number(input.value);
      this.#apply();
    } });
    return make("label", "stage-row", make("span", {}, say(key)), input);
  }

  #choice() {
    const title = say("density");
    const group = make("div", { class: "stage-choice", role: "radiogroup", "aria-label": title });
    for (const density of DENSITIES) {
      const input = make("input", { type: "radio", name: "stage-density", value: density, checked: density === this.#settings.density, change: () => {
        this.#settings.density = density;
        if (density === "off") { this.#spareWaiting("away"); this.#clear(); }
        this.#apply();
        this.#measure();
      } });
      group.append(make("label", {}, input, make("span", {}, say(density))));
    }
    return make("div", {}, make("p", "stage-title", title), group);
  }

  #restore() {
    let kept = {};
    // Without a store the settings last as long as the page.
    try { kept = JSON.parse(localStorage.getItem(STORE)) ?? {}; } catch { /* No store. */ }
    const within = (value, low, high) => typeof value === "number" && value >= low && value <= high;
    if (within(kept.opacity, 0.2, 1)) this.#settings.opacity = kept.opacity;
    if (within(kept.speed, 0.5, 2)) this.#settings.speed = kept.speed;
    if (DENSITIES.includes(kept.density)) this.#settings.density = kept.density;
  }

  #apply() {
    this.#field.style.opacity = this.#settings.opacity;
    this.#followAll();
    try { localStorage.setItem(STORE, JSON.stringify(this.#settings)); } catch { /* No store. */ }
  }

  #hold(isPaused) {
    this.#now();
    this.#isPaused = isPaused;
    this.#followAll();
    if (isPaused) this.#spareWaiting("away");
    this.#showPaused();
    this.#wake();
  }

  #showPaused() {
    const { pause, held } = this.#parts;
    const text = say(this.#isPaused ? "play" : "pause");
    pause.replaceChildren(icon(this.#isPaused ? PLAY : PAUSE));
    pause.setAttribute("aria-label", text);
    pause.title = text;
    held.hidden = !this.#isPaused;
  }

  /** A click on an item opens the menu of its sender. For the keyboard there is the list of members. */
  #pick({ target }) {
    const node = target.closest?.(".stage-item");
    const from = node?.stageFrom;
    if (from && this.#context.menu) this.#context.menu(node, from, {});
  }

  // The lanes

  /** Begins with an empty stage: flying, or the calm list. */
  #begin() {
    this.#clear();
    this.#field.classList.toggle("stage-calm", this.#calm.matches);
    this.#apply();
    this.#measure();
    this.#showEmpty();
  }

  /** Takes the size of the stage, and makes as many lanes as fit. Items that fly stay as they are. */
  #measure() {
    const { width, height } = this.#container.getBoundingClientRect();
    const narrower = Math.max(0, this.#width - width);
    [this.#width, this.#height] = [width, height];
    const step = this.#step();
    const fit = Math.max(1, Math.floor((height - 12) / step));
    const { density } = this.#settings;
    const count = { all: fit, half: Math.ceil(fit / 2), few: Math.min(2, fit), off: 0 }[density];
    this.#laneCount = count;
    // The tail of the item before has a longer way to the edge that has moved in.
    for (const lane of this.#lanes) lane.openAt += narrower / lane.speed;
    while (this.#lanes.length < fit) this.#lanes.push({ openAt: 0, leaveAt: 0, speed: 1 });
  }

  #step() { return this.#width < 520 ? 30 : 38; }

  #now() {
    const read = performance.now();
    if (!this.#isPaused) this.#clock += (read - this.#clockReadAt) * this.#settings.speed;
    this.#clockReadAt = read;
    return this.#clock;
  }

  #wake() {
    if (this.#tick !== null || this.#waiting.length + this.#ready.length + this.#lines.length + this.#flying.size === 0) return;
    if (this.#isPaused) return;
    this.#tick = setTimeout(() => {
      this.#tick = null;
      this.#land();
      if (this.#calm.matches) this.#showLines(); else this.#fly();
      this.#expire();
      this.#wake();
    }, TICK_MS);
  }

  /** Own ones first, then by priority, then the newest. */
  #sort() { this.#waiting.sort((a, b) => b.rank - a.rank || b.at - a.at); }

  #expire() {
    const now = performance.now();
    this.#waiting = this.#waiting.filter((entry) => {
      const isFresh = now - entry.at < (entry.isOwn ? OWN_WAIT_MS : WAIT_MS);
      if (!isFresh) this.#spare(entry, "full");
      return isFresh;
    });
  }

  #shorten() {
    this.#sort();
    let own = 0;
    this.#waiting = this.#waiting.filter((entry, place) => {
      const stays = entry.isOwn ? (own += 1) <= OWN_WAITING_MAX : place < WAITING_MAX;
      if (!stays) this.#spare(entry, "full");
      return stays;
    });
  }

  /** Lets in what the lanes have room for: nodes get their texts in one tick and fly from a later one, when the page has laid
   * them out, so that no frame has both to do. */
  #fly() {
    const [clock, now] = [this.#now(), this.#clockReadAt];
    const open = this.#openLanes(clock);
    if (this.#ready.length > 0) return this.#launchReady(open, clock);
    if (now < this.#nextLaunchAt && !this.#waiting.some((entry) => entry.isOwn)) return;
    const room = Math.min(open.length, PER_TICK_MAX, NODES_MAX - this.#flying.size);
    if (room <= 0 || this.#waiting.length === 0) return;
    this.#nextLaunchAt = now + LAUNCH_MS;
    this.#sort();
    this.#ready = this.#waiting.splice(0, room).map((entry) => ({ entry, node: this.#node(entry) }));
    this.#field.append(...this.#ready.map(({ node }) => node).filter((node) => !node.isConnected));
    [this.#isLaidOut, this.#readyAt] = [false, now];
    // The second frame begins after the first one was laid out and the ruler has heard of it.
    const batch = this.#ready;
    requestAnimationFrame(() => requestAnimationFrame(() => { if (this.#ready === batch) this.#isLaidOut = true; }));
  }

  #launchReady(open, clock) {
    // A page that is out of sight gets no frames, and a machine may be late with them.
    if (!this.#isLaidOut && this.#clockReadAt - this.#readyAt < FRAMES_MS) return;
    for (const { entry, node } of this.#ready.splice(0, open.length)) {
      const width = (this.#isLaidOut ? this.#widths.get(node) : undefined) ?? node.offsetWidth;
      const { position } = styleOf(entry.item.style);
      const place = position && width < this.#width ? this.#clearLane(position, open, clock) : null;
      if (place !== null) this.#pin(node, place, width, clock);
      else this.#launch(node, open.shift(), width, clock);
    }
    this.#showEmpty();
  }

  /** The lanes whose last item is wholly in, in any order. */
  #openLanes(clock) {
    const open = [];
    for (let index = 0; index < this.#laneCount; index += 1) if (this.#lanes[index].openAt <= clock) open.push(index);
    for (let last = open.length - 1; last > 0; last -= 1) {
      const other = Math.floor(Math.random() * (last + 1));
      [open[last], open[other]] = [open[other], open[last]];
    }
    return open;
  }

  /** One of the two outer lanes, if nothing is in it; what asks for a fixed place flies if there is none. */
  #clearLane(position, open, clock) {
    const end = this.#laneCount - 1;
    for (const index of position === "top" ? [0, 1] : [end, end - 1]) {
      const place = open.indexOf(index);
      // One lane at least is left to those that fly.
      if (place < 0 || this.#laneCount < 3 || this.#lanes[index].leaveAt > clock) continue;
      open.splice(place, 1);
      return index;
    }
    return null;
  }

  /** An item flies faster the longer it is, and never so fast that it catches up with the one before it. */
  #launch(node, index, width, clock) {
    const lane = this.#lanes[index];
    const base = Math.max(50, this.#width / 9) / 1000;
    const wanted = base * (1 + 0.45 * Math.min(2, width / this.#width));
    const speed = lane.leaveAt > clock ? Math.min(wanted, this.#width / (lane.leaveAt - clock)) : wanted;
    const duration = (this.#width + width) / speed;
    Object.assign(lane, { openAt: clock + (width + SPACE) / speed, leaveAt: clock + duration, speed });
    const y = 6 + index * this.#step();
    // The animation goes on beyond the edge for as long again: its end would cost a frame, and is of no interest.
    this.#animate(node, [
      { transform: `translate3d(${this.#width}px, ${y}px, 0)` }, { transform: `translate3d(${-width * 2 - this.#width}px, ${y}px, 0)` },
    ], { duration: duration * 2, endsAt: clock + duration });
  }

  #pin(node, index, width, clock) {
    Object.assign(this.#lanes[index], { openAt: clock + FIXED_MS, leaveAt: clock + FIXED_MS, speed: 1 });
    const transform = `translate3d(${(this.#width - width) / 2}px, ${6 + index * this.#step()}px, 0)`;
    const frame = (opacity, offset) => ({ transform, opacity, offset });
    this.#animate(node, [frame(0, 0), frame(1, 0.06), frame(1, 0.94), frame(0, 1)],
      { duration: FIXED_MS, endsAt: clock + FIXED_MS, isPinned: true });
  }

  #animate(node, frames, { duration, endsAt, isPinned = false }) {
    const flight = { animation: node.animate(frames, { duration, fill: "both" }), begunAt: this.#clock, endsAt, isPinned };
    this.#flying.set(node, flight);
    this.#follow(flight);
  }

  /** Ends the flights whose time is over. */
  #land() {
    const clock = this.#now();
    for (const [node, { endsAt, isPinned }] of this.#flying) {
      if (endsAt > clock) continue;
      // A pinned one ends in the middle of the stage, so it can't stay there.
      if (isPinned) this.#release(node); else this.#rest(node);
    }
    this.#showEmpty();
  }

  /** Ties an animation to the stage's clock. Left to itself it would begin with the next frame, which on a busy machine is
   * late, and its lane would not be as free as the stage believes. */
  #follow({ animation, begunAt }) {
    const { speed } = this.#settings;
    animation.playbackRate = speed;
    if (this.#isPaused) { animation.pause(); animation.currentTime = this.#clock - begunAt; }
    else animation.startTime = this.#clockReadAt - (this.#clock - begunAt) / speed;
  }

  #followAll() {
    this.#now();
    for (const flight of this.#flying.values()) this.#follow(flight);
  }

  // The calm list

  #showLines() {
    const clock = this.#now();
    const most = Math.max(1, Math.min(CALM_LINES_MAX, Math.floor((this.#height - 60) / this.#step())));
    for (const line of this.#lines.filter(({ endsAt }) => endsAt <= clock)) this.#dropLine(line);
    if (this.#waiting.length > 0 && clock >= this.#nextLineAt) {
      this.#sort();
      const entry = this.#waiting.shift();
      const node = this.#node(entry);
      this.#field.append(node);
      this.#lines.push({ node, endsAt: clock + CALM_MS });
      this.#nextLineAt = clock + CALM_STEP_MS;
      while (this.#lines.length > most) this.#dropLine(this.#lines[0]);
    }
    this.#showEmpty();
  }

  #dropLine(line) {
    this.#lines.splice(this.#lines.indexOf(line), 1);
    this.#release(line.node);
  }

  // Nodes

  #node({ item, isOwn, rank }) {
    const node = this.#again() ?? this.#pool.pop() ?? make("div", "stage-item", make("bdi"), make("span", "stage-count"));
    this.#ruler.observe(node);
    const [text, count] = node.children;
    text.textContent = lineOf(item.text);
    const times = Number(item.count);
    count.textContent = times > 1 ? `×${words.number(times)}` : "";
    node.classList.toggle("stage-own", isOwn);
    node.classList.toggle("stage-high", rank === RANKS.HIGH);
    const { color } = styleOf(item.style);
    node.classList.toggle("stage-colored", color !== undefined);
    if (color) node.style.setProperty("--stage-color", color);
    node.stageFrom = item.from;
    return node;
  }

  /** A node that is out of sight, if there is one. */
  #again() {
    const [first] = this.#idle;
    if (!first) return undefined;
    const [node, animation] = first;
    animation.cancel();
    this.#idle.delete(node);
    return node;
  }

  /** The flight is over: the node is beyond the left edge. */
  #rest(node) {
    this.#idle.set(node, this.#flying.get(node).animation);
    this.#flying.delete(node);
    node.stageFrom = undefined;
    this.#sweeping ??= setTimeout(() => {
      this.#sweeping = null;
      for (const node of [...this.#idle.keys()]) this.#release(node);
    }, IDLE_MS);
  }

  #release(node) {
    (this.#flying.get(node)?.animation ?? this.#idle.get(node))?.cancel();
    this.#flying.delete(node);
    this.#idle.delete(node);
    this.#ruler.unobserve(node);
    node.remove();
    node.stageFrom = undefined;
    if (this.#pool.length < NODES_MAX) this.#pool.push(node);
  }

  #clear() {
    for (const node of [...this.#flying.keys(), ...this.#idle.keys()]) this.#release(node);
    for (const { node } of [...this.#lines.splice(0), ...this.#ready.splice(0)]) this.#release(node);
    this.#lanes = [];
    if (this.#parts.empty) this.#showEmpty();
  }

  #showEmpty() {
    const { empty, name } = this.#parts;
    const isEmpty = this.#flying.size + this.#lines.length === 0;
    if (isEmpty) {
      const info = this.#context.info?.();
      const title = lineOf(info?.name || info?.id || this.#context.roomId, 60);
      if (name.textContent !== title) name.textContent = title;
    }
    empty.classList.toggle("stage-away", !isEmpty);
  }

  // The count of what was not shown

  #spare({ item }, why) {
    this.#spared[why] += Math.max(1, Number(item.count) || 1);
    this.#tellLater();
  }

  #spareWaiting(why) {
    this.#waiting = this.#waiting.filter((entry) => {
      const stays = entry.isOwn && this.#isPaused;
      if (!stays) this.#spare(entry, why);
      return stays;
    });
  }

  #tellLater() {
    this.#telling ??= setTimeout(() => {
      this.#telling = null;
      const { spared } = this.#parts;
      const { full, away, server } = this.#spared;
      spared.hidden = full + away + server === 0;
      spared.textContent = say("spared", { count: words.number(full + away + server) });
      spared.dataset.count = full + away + server;
      spared.title = this.#explain();
    }, 1_000);
  }

  /** The sentence behind the count. */
  #explain() {
    const counts = Object.entries(this.#spared).map(([why, count]) => [why, words.number(count)]);
    const text = say("why", Object.fromEntries(counts));
    const { why } = this.#parts;
    if (why.textContent !== text) why.textContent = text;
    return text;
  }
}
