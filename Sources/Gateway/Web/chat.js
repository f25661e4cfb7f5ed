/**
 * The chat: a list of up to 10,000 messages of which only those in view are in the document, and the composer.
 *
 * Kept messages stand in the order of seq, each once; what is not kept stands after the seq that it follows. All changes
 * of the document happen once per frame: rows are written, their heights are read once, then the place of the reader is
 * restored.
 */
import { isStored } from "./chatroom.js";
import {
  badge, button, bytesOf, clean, clock, cut, errorWords, face, freshId, hueOf, icon, linkTo, make, named, nameOf, picture, safeUrl, span,
} from "./parts.js";
import { words } from "./words.js";

const say = (key, values) => words.say(`chat.${key}`, values);

const ROWS_MAX = 10_000;
/** So many of the oldest go at once, not one with each message. */
const DROP = 200;
const HISTORY_PAGE = 50;
const UNSENT_MAX = 50;
const SPEAKERS_MAX = 500;
const MENTIONS_MAX = 50;
const SUGGESTIONS_MAX = 8;
/** A reader of screens is told of so many messages in a second. */
const SPOKEN_MAX = 3;
/** The rest of a longer text is shown when asked for. */
const TEXT_SHOWN = 600;
const LINES_SHOWN = 12;
const GROUP_MS = 60_000;
const GAP_MERGE_MS = 60_000;
const SLOW_GAPS_MAX = 64;
const TEXT_BYTES = 32_768;
const BARRAGE_BYTES = 5_120;
const FILE_NAME_BYTES = 256;
const ESTIMATE = 40;
const SPARED = 12;
const PATHS = {
  send: "M3 10l14-7-4 14-3.5-5.5z M9.500 11.500L17 3", barrage: "M8 5h9 M3 10h11 M9 15h8", high: "M10 3v9 M10 16v.5", down: "M10 4v12 M5 11l5 5 5-5", file: "M6 3h6l3 3v11H6z M12 3v4h3", picture: "M3 4h14v12H3z M3 14l4-4 3 3 3-3 4 4 M7 7.500h.01",
  place: "M10 17s5-5 5-9a5 5 0 0 0-10 0c0 4 5 9 5 9z M10 8h.01", box: "M4 6l6-3 6 3v8l-6 3-6-3z M4 6l6 3 6-3 M10 9v8",
  pile: "M4 7h12v9H4z M6 4h8", clip: "M15 9l-5 5a3 3 0 0 1-4-4l6-6a2 2 0 0 1 3 3l-6 6a1 1 0 0 1-1.500-1.500l5-5", reply: "M8 6l-4 4 4 4 M4 10h8a4 4 0 0 1 4 4",
};

/** The size of a picture, so that its box has it before it is there; nothing for what the browser can't show. */
async function sizeOfPicture(file) {
  try {
    const bitmap = await createImageBitmap(file);
    const { width, height } = bitmap;
    bitmap.close();
    return { width, height };
  } catch { return {}; }
}

/** A name that the cluster takes. Its end tells the kind of the file. */
function fileName(name) {
  const letters = [...name];
  while (bytesOf(letters.join("")) > FILE_NAME_BYTES) letters.splice(-16, 1);
  return letters.join("");
}

const before = (a, b) => a.seq - b.seq || a.sub - b.sub || a.number - b.number;

/** A list of rows {seq, sub, number, …} in order, of which those near the view are in the document. */
class VirtualList {
  rows = [];
  /** Whether the view stays at the newest row. */
  isFollowing = true;
  onScroll = () => {};
  #scroller;
  #box;
  #draw;
  #shown = [];
  #anchor = null;
  #view = 0;
  #width = 0;
  #total = 0;
  #knownTop = 0;
  #holdUntil = 0;
  #frame = 0;
  #sizes;
  #number = 0;
  /** From this row on the places are to be added up again. */
  #from = 0;

  /** `draw(row, previous)` makes the element of a row; `look(row, previous)` says by which neighbours it differs. */
  constructor(scroller, box, { draw, look, onFlush }) {
    [this.#scroller, this.#box, this.#draw, this.look, this.onFlush] = [scroller, box, draw, look, onFlush];
    // The list's own scrolling is known already.
    scroller.addEventListener("scroll", () => { if (Math.abs(scroller.scrollTop - this.#knownTop) >= 1) this.#scrolled(); }, { passive: true });
    // The first step of a smooth scroll upwards is small: following would take it back.
    const up = () => {
      this.#holdUntil = performance.now() + 300;
      this.release();
      // Nothing may have moved, as there is nothing above.
      setTimeout(() => this.#scrolled(), 350);
    };
    scroller.addEventListener("wheel", (event) => { if (event.deltaY < 0) up(); }, { passive: true });
    scroller.addEventListener("touchmove", () => { this.#holdUntil = performance.now() + 300; }, { passive: true });
    scroller.addEventListener("keydown", (event) => { if (["PageUp", "Home", "ArrowUp"].includes(event.key)) up(); });
    this.#sizes = new ResizeObserver(([{ contentRect }]) => {
      [this.#view, this.#width] = [contentRect.height, contentRect.width];
      // Before it is painted.
      cancelAnimationFrame(this.#frame);
      this.#flush();
    });
    this.#sizes.observe(scroller);
  }

  destroy() {
    cancelAnimationFrame(this.#frame);
    this.#sizes.disconnect();
  }

  schedule() { this.#frame ||= requestAnimationFrame(() => this.#flush()); }

  /** Where the row stands, or would. */
  place(row) {
    let [low, high] = [0, this.rows.length];
    if (high > 0 && before(this.rows[high - 1], row) < 0) return high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (before(this.rows[middle], row) < 0) low = middle + 1; else high = middle;
    }
    return low;
  }

  insert(row) {
    row.number ??= ++this.#number;
    const at = this.place(row);
    this.rows.splice(at, 0, Object.assign(row, { height: row.height ?? ESTIMATE }));
    this.#moves(at);
  }

  /** Puts rows in that are in order and stand together. */
  insertAll(rows) {
    if (rows.length === 0) return;
    for (const row of rows) Object.assign(row, { number: ++this.#number, height: ESTIMATE });
    const at = this.place(rows[0]);
    this.rows.splice(at, 0, ...rows);
    this.#moves(at);
  }

  remove(row) {
    const at = this.rows.indexOf(row);
    if (at < 0) return;
    if (this.#anchor?.row === row) this.#anchor = { row: this.rows[at + 1] ?? this.rows[at - 1], delta: 0 };
    this.rows.splice(at, 1);
    this.#moves(at);
  }

  /** Drops rows behind the first one, which stays. */
  drop(count) {
    const dropped = new Set(this.rows.splice(1, count));
    if (dropped.has(this.#anchor?.row)) this.#anchor = { row: this.rows[1], delta: 0 };
    this.#moves(1);
  }

  clear(rows = []) {
    this.rows = rows;
    [this.#anchor, this.isFollowing] = [null, true];
    this.#moves(0);
  }

  #moves(at) {
    this.#from = Math.min(this.#from, at);
    this.schedule();
  }

  change(row) {
    row.isStale = true;
    this.schedule();
  }

  follow() {
    this.isFollowing = true;
    this.#holdUntil = 0;
    this.schedule();
    this.onScroll();
  }

  /** The reader looks at something: the view stays there. */
  release() {
    if (!this.isFollowing || this.#total <= this.#view) return;
    this.isFollowing = false;
    this.#keepPlace(this.#knownTop);
    this.onScroll();
  }

  show(row) {
    this.isFollowing = false;
    this.#anchor = { row, delta: -this.#view / 3 };
    this.#holdUntil = performance.now() + 300;
    this.schedule();
    this.onScroll();
  }

  /** How far the view is from the oldest row. */
  get top() { return this.#knownTop; }
  get fills() { return this.#total > this.#view; }

  #keepPlace(top) {
    const isAt = (row) => row.top + row.height > top;
    // The first row tells of the history: what is put behind it must not move the view.
    const row = this.#shown.find((r) => r !== this.rows[0] && isAt(r) && r.top <= top) ?? this.rows.find((r, at) => at > 0 && isAt(r));
    this.#anchor = row ? { row, delta: top - row.top } : null;
  }

  #scrolled() {
    const top = this.#scroller.scrollTop;
    const rest = this.#scroller.scrollHeight - this.#scroller.clientHeight - top;
    if (top < this.#knownTop - 1 && rest > 4) this.isFollowing = false;
    else if (rest <= 4 && performance.now() > this.#holdUntil && !this.#box.contains(this.#box.getRootNode().activeElement)) this.isFollowing = true;
    this.#knownTop = top;
    if (!this.isFollowing) this.#keepPlace(top);
    this.schedule();
    this.onScroll();
  }

  #index() {
    const { rows } = this;
    let top = this.#from > 0 ? rows[this.#from - 1].top + rows[this.#from - 1].height : 0;
    for (let at = this.#from; at < rows.length; at += 1) {
      rows[at].top = top;
      top += rows[at].height;
    }
    [this.#total, this.#from] = [top, rows.length];
  }

  #flush() {
    this.#frame = 0;
    if (this.#view === 0) return;
    let top = 0;
    // The heights of new rows are estimates until they have been drawn once.
    for (let round = 0; round < 4; round += 1) {
      this.#index();
      top = this.isFollowing || !this.#anchor ? this.#total - this.#view : this.#anchor.row.top + this.#anchor.delta;
      top = Math.max(0, Math.min(top, this.#total - this.#view));
      if (!this.#render(top)) break;
    }
    if (Math.abs(top - this.#knownTop) >= 1 || this.isFollowing) {
      this.#scroller.scrollTop = this.isFollowing ? 1e9 : top;
      this.#knownTop = this.#scroller.scrollTop;
    }
    this.onFlush();
  }

  /** Draws the rows near the view. Returns whether one is not as high as was thought. */
  #render(top) {
    const { rows } = this;
    const margin = this.#view * 0.75;
    let [first, high] = [0, rows.length];
    while (first < high) {
      const middle = (first + high) >> 1;
      if (rows[middle].top + rows[middle].height < top - margin) first = middle + 1; else high = middle;
    }
    // Rows above the view go a dozen at a time, not one with each message.
    for (let more = 1; this.isFollowing && more <= SPARED && more <= first; more += 1) {
      if (rows[first - more] === this.#shown[0]) { first -= more; break; }
    }
    const wanted = [];
    for (let at = first; at < rows.length && rows[at].top < top + this.#view + margin; at += 1) wanted.push(rows[at]);
    const stays = new Set(wanted);
    for (const row of this.#shown) if (!stays.has(row)) { row.element?.remove(); row.element = null; }
    let next = this.#box.firstElementChild;
    const toRead = [];
    wanted.forEach((row, place) => {
      const look = this.look(row, rows[first + place - 1]);
      if (row.isStale || look !== row.look || !row.element) {
        const element = this.#draw(row, look);
        element.row = row;
        if (row.element) { if (next === row.element) next = element; row.element.replaceWith(element); }
        [row.element, row.isStale, row.look, row.width] = [element, false, look, 0];
      }
      if (row.element === next) next = next.nextElementSibling;
      else this.#box.insertBefore(row.element, next);
      if (row.width !== this.#width) toRead.push(first + place);
    });
    this.#shown = wanted;
    const last = wanted.at(-1);
    this.#box.style.paddingTop = `${wanted[0]?.top ?? 0}px`;
    this.#box.style.paddingBottom = `${last ? this.#total - last.top - last.height : 0}px`;
    let isOff = false;
    for (const at of toRead) {
      const row = rows[at];
      const { height } = row.element.getBoundingClientRect();
      row.width = this.#width;
      if (Math.abs(height - row.height) <= 0.01) continue;
      [row.height, isOff] = [height, true];
      this.#from = Math.min(this.#from, at + 1);
    }
    return isOff;
  }
}

/** The text as a part of a regular expression. */
const literal = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

const isSameDay = (a, b) => new Date(a).toDateString() === new Date(b).toDateString();
const formats = new Map();
function timeOf(time, now) {
  const key = words.language + isSameDay(time, now);
  if (!formats.has(key)) {
    const day = isSameDay(time, now) ? {} : { month: "short", day: "numeric" };
    formats.set(key, new Intl.DateTimeFormat(words.language, { ...day, hour: "2-digit", minute: "2-digit" }));
  }
  return formats.get(key).format(time);
}

function sizeOf(bytes) {
  const [unit, length] = [["megabyte", 1_048_576], ["kilobyte", 1024], ["byte", 1]].find(([, l]) => bytes >= l) ?? ["byte", 1];
  return new Intl.NumberFormat(words.language, { style: "unit", unit, maximumFractionDigits: 1 }).format(bytes / length);
}

const countOf = (ranges) => ranges.reduce((sum, [from, to]) => sum + to - from + 1, 0);
const overlap = (ranges, from, to) => ranges.reduce((sum, [a, b]) => sum + Math.max(0, Math.min(b, to) - Math.max(a, from) + 1), 0);

const counted = (key, count) => say(count === 1 ? `${key}.one` : key, { count: words.number(count) });

/** A button whose click the list takes. */
const act = (name, label, does, attributes) => button(name, label, undefined, { "data-act": does, ...attributes });
const link = (does, key) => act("chat-link", say(key), does);

const listed = (names) => names.join(words.language === "zh" ? "、" : ", ");

/** Three names, or two and how many more. */
function crowd(names, count) {
  const shown = names.slice(0, count > 3 ? 2 : 3);
  if (shown.length === 0) return say("people", { count: words.number(count) });
  const list = listed(shown);
  if (count > shown.length) return say("others", { names: list, count: words.number(count - shown.length) });
  return shown.length === 1 ? list
    : say("two", { names: listed(shown.slice(0, -1)), last: shown.at(-1) });
}

/** A notification as a sentence; "" if it is not worth one. */
function sentence({ event, operator, targets = [], data = {} }) {
  const who = crowd(targets.map(named), targets.length);
  const placeOf = ({ key }) => cut(clean(key), 40).replace(/^seat:(\d+)$/, (_, number) => say("seat", { number }));
  const keys = () => cut(listed((data.elements ?? []).slice(0, 9).map(placeOf)), 120);
  const tell = (key, values) => say(key, { who, ...values });
  switch (event) {
    case 312: {
      const { announcement, ...set } = data.set ?? {};
      if (announcement) return tell("312.announcement", { text: cut(clean(announcement), 300) });
      const changed = Object.keys(set).map((key) => tell(`set.${key}`)).filter((name) => !name.startsWith("chat."));
      return changed.length > 0 ? tell("312", { what: listed(changed) }) : "";
    }
    case 314: return tell("314", { time: span(data.seconds ?? 0) });
    case 316: return data.set?.nick ? tell("316.nick", { who: named({ nick: data.set.nick }), user: named(targets[0]) }) : tell("316");
    case 317: return tell(`317.${data.change}`, { who: named(operator ?? { user: data.owner ?? "?" }), key: placeOf(data) });
    case 320: return tell(`320.${data.change}`, { keys: keys() });
    case 323: case 360: return "";
    case 361: case 311: case 318: case 319: return tell(event);
    case 362: case 363: return tell(event, { title: cut(clean(data.title), 200) });
    default: {
      const text = tell(event);
      return text === `chat.${event}` ? tell("unsupported") : text;
    }
  }
}
/** Members that the sentence does not name yet. */
const TELLS_OPERATOR = new Set([303, 304, 305, 306, 307, 308, 312, 313, 314, 318, 319]);

export class Chat {
  #container;
  #context;
  #room;
  #list;
  #scroller;
  #marker;
  #composer;
  #top = { seq: -1, sub: 0, kind: "top", state: "idle" };
  #lastSeq = 0;
  #enteredAt = 0;
  #oldest = Infinity;
  #hasOlder = true;
  #isReading = false;
  #unread = 0;
  #unsent = new Map();
  #speakers = new Map();
  #epoch;
  #wasLost = false;
  #away = null;
  #awayLine = null;
  #budget = null;
  #slow = [];
  #unspoken = [];
  #speaking = null;
  #root;
  /** The view that took this one's place. */
  #heir = null;

  constructor(container, context) {
    [this.#container, this.#context, this.#room] = [container, context, context.room];
    const box = make("div", "chat-rows");
    // The room has one live region, which is told of new messages.
    this.#scroller = make("div", { class: "chat-scroll", role: "log", "aria-live": "off", tabindex: 0, "aria-label": say("log") }, box);
    this.#marker = button("chat-marker", "", () => { this.#list.follow(); this.#scroller.focus({ preventScroll: true }); });
    this.#marker.hidden = true;
    this.#list = new VirtualList(this.#scroller, box, {
      draw: (row, look) => this.#draw(row, look),
      look: (row, previous) => this.#isHead(row, previous),
      onFlush: () => this.#flushed(),
    });
    this.#list.onScroll = () => this.#scrolled();
    this.#list.clear([Object.assign(this.#top, { number: 0, height: 32 })]);
    this.#composer = new Composer(context, {
      send: (draft, replyTo) => this.#send(draft, replyTo),
      speakers: () => this.#speakers,
    });
    container.classList.add("chat");
    container.append(make("div", "chat-log", this.#scroller, this.#marker), this.#composer.element);
    this.#scroller.addEventListener("click", (event) => this.#clicked(event));
    this.#scroller.addEventListener("contextmenu", (event) => {
      const row = event.target.closest(".chat-row")?.row;
      if (!row?.message || event.target.closest("a, img") || String(getSelection())) return;
      event.preventDefault();
      this.#openMenu(row, row.element.querySelector(".chat-more"));
    });
    this.#scroller.addEventListener("keydown", (event) => this.#pressed(event));
    this.#room.on("state", this.#stateChanged);
    this.#root = container.getRootNode();
    this.#root.addEventListener("chat-mention", this.#mentioned);
    this.#root.addEventListener("chat-answer", this.#answering);
    this.#root.addEventListener("chat-amend", this.#amending);
    for (const event of ["dragover", "drop"]) this.#root.addEventListener(event, this.#dropping);
  }

  /** The place of a view in another language, which ends: its unsent messages and what is written go on here. */
  take(old) {
    old.#heir = this;
    for (const [id, row] of old.#unsent) {
      this.#unsent.set(id, row);
      this.#list.insert(Object.assign(row, { number: undefined, element: null }));
    }
    this.#composer.take(old.#composer);
    old.destroy();
  }

  /** The room or the user is not as before. */
  refresh() { this.#composer.refresh(); }

  #mentioned = ({ detail }) => this.mention(detail);

  /** The browser would open the file in place of the page. */
  #dropping = (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    if (event.type === "drop" && !this.#root.querySelector("dialog[open]")) this.#composer.attachAll([...event.dataTransfer.files]);
  };

  #amending = ({ detail }) => this.#composer.amend(detail);

  #answering = ({ detail: { messageId, seq, from, text, content, title, media } }) =>
    this.#composer.answer({ messageId, seq, user: from?.user, nick: from?.nick, excerpt: cut(clean(text ?? title ?? media?.name ?? content), 80) });

  #stateChanged = ({ state }) => {
    if (state === "lost") this.#wasLost = true;
    this.#composer.refresh();
  };

  destroy() {
    this.#room.off("state", this.#stateChanged);
    this.#root.removeEventListener("chat-mention", this.#mentioned);
    this.#root.removeEventListener("chat-answer", this.#answering);
    this.#root.removeEventListener("chat-amend", this.#amending);
    for (const event of ["dragover", "drop"]) this.#root.removeEventListener(event, this.#dropping);
    clearTimeout(this.#speaking);
    this.#list.destroy();
    this.#composer.destroy();
    this.#container.replaceChildren();
    this.#container.classList.remove("chat");
  }

  // From the room

  entered({ recovery, seq, epoch, room, me } = {}) {
    const isOther = recovery !== "complete" && (this.#lastSeq > 0 || this.#list.rows.length > 1);
    if (isOther || (epoch !== undefined && this.#epoch !== undefined && epoch !== this.#epoch)) this.#startAgain();
    this.#epoch = epoch ?? this.#epoch;
    this.#away = recovery === "complete" && this.#wasLost ? { after: this.#lastSeq, until: seq } : null;
    this.#wasLost = false;
    this.#enteredAt = seq;
    if (recovery !== "complete") {
      this.#oldest = seq + 1;
      this.#hasOlder = seq > 0;
    }
    this.#composer.entered(room, me);
    this.#list.change(this.#top);
  }

  exited() {
    this.#composer.exited();
  }

  message(message) {
    this.#hear(message);
    if (message.seq !== undefined) {
      this.#lastSeq = Math.max(this.#lastSeq, message.seq);
      if (message.seq < this.#oldest) {
        this.#oldest = message.seq;
        this.#hasOlder = message.seq > 1;
      }
      if (this.#away && message.seq > this.#away.after && !this.#isMine(message)) this.#tellAway(message.seq);
    }
    if (this.#isApplied(message)) return;
    if (this.#isTraffic(message)) return;
    const row = this.#rowOf(message);
    if (!row) return;
    this.#put(row);
    if (row.kind !== "message" || this.#isMine(message)) return;
    if (this.#list.isFollowing) return this.#speak(message);
    this.#unread += 1;
    this.#drawMarker();
  }

  /** Tells the room's live region; of a flood nothing, since nobody can listen to one. */
  #speak({ from, text }) {
    if (this.#unspoken.length <= SPOKEN_MAX) this.#unspoken.push([from && nameOf(from), cut(clean(text), 200)].filter(Boolean).join(": "));
    this.#speaking ??= setTimeout(() => {
      const texts = this.#unspoken.splice(0);
      this.#speaking = null;
      if (texts.length <= SPOKEN_MAX) this.#context.say(texts.join(". "));
    }, 1000);
  }

  filled(messages) {
    for (const message of messages) {
      const row = this.#slow.find(({ ranges }) => overlap(ranges, message.seq, message.seq) > 0);
      if (row) this.#lessMissing(row, 1);
      this.#hear(message);
      if (this.#isApplied(message)) continue;
      const filled = this.#rowOf(message);
      if (filled) this.#put(filled);
    }
  }

  gap({ ranges, cause }) {
    const count = countOf(ranges);
    const seq = ranges.at(-1)[1];
    this.#lastSeq = Math.max(this.#lastSeq, seq);
    if (cause === "UNAVAILABLE") {
      for (const row of [...this.#slow]) this.#lessMissing(row, ranges.reduce((sum, [from, to]) => sum + overlap(row.ranges, from, to), 0));
    }
    const row = { seq, sub: 0.5, kind: "gap", cause, count, ranges, time: Date.now() };
    if (cause === "BUDGET") {
      // A busy room leaves something out each second: one line goes along and counts.
      const last = this.#budget;
      if (last && Date.now() - last.since < GAP_MERGE_MS) {
        row.count += last.row.count;
        this.#list.remove(last.row);
        last.row = row;
      } else this.#budget = { row, since: Date.now() };
    }
    if (cause === "SLOW") {
      this.#slow.push(row);
      if (this.#slow.length > SLOW_GAPS_MAX) this.#list.remove(this.#slow.shift());
    }
    this.#put(row);
  }

  /** A message of a later version of the protocol, shown as far as this page knows it. */
  unsupported(message) {
    if (message?.type === "NOTIFICATION" && message.event >= 360 && message.event <= 363) return this.message(message);
    if (message?.messageId === undefined) return;
    if (message.seq !== undefined) this.#lastSeq = Math.max(this.#lastSeq, message.seq);
    this.#put({ ...this.#position(message), kind: "note", text: say("unsupported") });
  }

  mention(person) { this.#composer.mention(person); }

  // The rows

  #isMine(message) { return message.from !== undefined && message.from.user === this.#context.client.user; }

  #position({ seq, after }) { return seq !== undefined ? { seq, sub: 0 } : { seq: after ?? this.#lastSeq, sub: 1 }; }

  /** Remembers who speaks, to complete and to name mentions. */
  #hear({ from }) {
    if (!from || from.user === this.#context.client.user) return;
    this.#speakers.delete(from.user);
    this.#speakers.set(from.user, { user: from.user, nick: from.nick, avatar: from.avatar });
    if (this.#speakers.size > SPEAKERS_MAX) this.#speakers.delete(this.#speakers.keys().next().value);
  }

  #rowOf(message) {
    const { type } = message;
    if (type === "COMMAND") return null;
    if (type !== "NOTIFICATION") return { ...this.#position(message), kind: "message", message };
    let text = sentence(message);
    if (!text) return null;
    const { operator, targets = [] } = message;
    if (operator && TELLS_OPERATOR.has(message.event) && targets[0]?.user !== operator.user) text = say("by", { what: text, who: named(operator) });
    return { ...this.#position(message), kind: "note", text, message };
  }

  /** Puts a row in its place; one of the same seq gives way to it. */
  #put(row) {
    const { message } = row;
    const unsent = message?.clientId && this.#isMine(message) ? this.#unsent.get(message.clientId) : undefined;
    if (unsent) {
      this.#unsent.delete(message.clientId);
      this.#list.remove(unsent);
    }
    if (row.sub === 0) {
      const same = this.#list.rows[this.#list.place({ seq: row.seq, sub: 0, number: 0 })];
      if (same?.seq === row.seq && same.sub === 0) this.#list.remove(same);
    }
    if (this.#list.rows.length === 1) this.#list.change(this.#top);
    this.#list.insert(row);
    const over = this.#list.rows.length - 1 - ROWS_MAX;
    if (over > 0) {
      this.#list.drop(over + DROP);
      this.#oldest = this.#list.rows[1].seq;
      this.#hasOlder = true;
      this.#list.change(this.#top);
    }
  }

  /** Takes back and amends what is here. Returns whether that is all there is to the message. */
  #isApplied(message) {
    const { type, event, data = {} } = message;
    if (type !== "NOTIFICATION") return false;
    // The entry has told already how it stood then.
    if (!(message.seq <= this.#enteredAt)) this.#composer.notified(message);
    if (event === 323) {
      const ids = new Set(data.messageIds);
      this.#composer.recalled(ids);
      for (const row of this.#list.rows) {
        if (!row.message) continue;
        const { messageId, replyTo, from, seq, time } = row.message;
        if (row.kind === "message" && ids.has(messageId)) {
          row.message = { messageId, from, seq, time, type: row.message.type, recalled: true, recalledBy: message.operator };
          this.#list.change(row);
        } else if (replyTo && ids.has(replyTo.messageId)) {
          row.message = { ...row.message, replyTo: { ...replyTo, excerpt: undefined } };
          this.#list.change(row);
        }
      }
    }
    if (event === 360) {
      const row = this.#find(data.messageId);
      if (row && !row.message.recalled && !(row.message.editedAt > data.editedAt)) {
        row.message = { ...row.message, ...data.set, editedAt: data.editedAt };
        this.#list.change(row);
      }
    }
    return event === 323 || event === 360;
  }

  /** The message of that ID, if it is in the list; and its place in view. */
  find(messageId) { return this.#find(messageId)?.message; }
  show(messageId) {
    const row = this.#find(messageId);
    if (row) this.#list.show(row);
    return row !== undefined;
  }

  #find(messageId) { return this.#list.rows.find((row) => row.message?.messageId === messageId); }

  /** Enters and exits in a row are one line. */
  #isTraffic(message) {
    const { type, event, targets = [], data = {} } = message;
    if (type !== "NOTIFICATION" || ![301, 302, 350].includes(event)) return false;
    const position = this.#position(message);
    const { rows } = this.#list;
    const at = this.#list.place({ ...position, number: Infinity }) - 1;
    let row = rows[at];
    if (row?.kind !== "traffic") {
      row = { ...position, kind: "traffic", came: { count: 0, names: [] }, left: { count: 0, names: [] }, time: message.time };
      this.#put(row);
    }
    const add = (side, people, count) => {
      side.count += count;
      for (const person of people) if (side.names.length < 3) side.names.push(named(person));
    };
    if (event === 301) add(row.came, targets, targets.length);
    if (event === 302) add(row.left, targets, targets.length);
    if (event === 350) {
      add(row.came, data.members ?? [], data.entered ?? 0);
      add(row.left, [], data.exited ?? 0);
    }
    this.#list.change(row);
    return true;
  }

  #lessMissing(row, count) {
    if (count <= 0) return;
    row.count -= count;
    if (row.count > 0) return this.#list.change(row);
    this.#slow.splice(this.#slow.indexOf(row), 1);
    this.#list.remove(row);
  }

  #tellAway(seq) {
    const { after, until } = this.#away;
    this.#away = null;
    if (seq > until) return;
    if (this.#awayLine) this.#list.remove(this.#awayLine);
    this.#awayLine = { seq: after, sub: 2, kind: "line" };
    this.#list.insert(this.#awayLine);
  }

  /** The room's order began anew, or what was missed can't be told: the list is read again as the reader scrolls. */
  #startAgain() {
    for (const [id, row] of this.#unsent) if (row.isSent) this.#unsent.delete(id);
    this.#list.clear([this.#top, ...this.#unsent.values()]);
    [this.#lastSeq, this.#oldest, this.#hasOlder, this.#budget, this.#slow, this.#awayLine, this.#unread] = [0, Infinity, true, null, [], null, 0];
    this.#drawMarker();
  }

  // History

  #isFull() { return this.#list.rows.length + HISTORY_PAGE > ROWS_MAX; }

  #scrolled() {
    if (this.#list.isFollowing) this.#unread = 0;
    this.#drawMarker();
    if (this.#list.top < 400) this.#readOlder();
  }

  async #readOlder() {
    if (this.#isReading || !this.#hasOlder || this.#isFull() || this.#room.state !== "entered" || this.#top.state === "failed") return;
    if (this.#oldest === Infinity) return;
    this.#isReading = true;
    this.#list.change(this.#top);
    const beforeSeq = this.#oldest;
    try {
      const { messages, more } = await this.#room.history({ order: "DESC", beforeSeq, limit: HISTORY_PAGE });
      // The list may have begun anew meanwhile.
      if (beforeSeq === this.#oldest) {
        const rows = messages.reverse().map((message) => this.#rowOf(message)).filter(Boolean);
        this.#list.insertAll(rows);
        [this.#oldest, this.#hasOlder] = [messages[0]?.seq ?? this.#oldest, more && messages.length > 0];
      }
    } catch { this.#top.state = "failed"; }
    this.#isReading = false;
    this.#list.change(this.#top);
  }

  #drawMarker() {
    this.#marker.hidden = this.#list.isFollowing;
    if (this.#list.isFollowing) return;
    const text = this.#unread === 0 ? say("latest") : counted("new", this.#unread);
    if (this.#marker.textContent === text) return;
    this.#marker.classList.toggle("chat-unread", this.#unread > 0);
    this.#marker.replaceChildren(icon(PATHS.down, 20), text);
  }

  #flushed() {
    if (!this.#list.fills || this.#list.top < 400) this.#readOlder();
  }

  // Sending

  /** `replyTo` is how the reply is shown until it comes as a message. */
  #send(draft, replyTo) {
    const clientId = freshId();
    if (this.#unsent.size >= UNSENT_MAX) {
      const [old, row] = [...this.#unsent].find(([, { failure, isHeld }]) => failure || isHeld) ?? [];
      if (!row) return false;
      this.#unsent.delete(old);
      this.#list.remove(row);
    }
    const { user, nick, avatar, role } = this.#context.me() ?? { user: this.#context.client.user };
    const message = { ...draft, replyTo, clientId, from: { user, nick, avatar, role }, time: this.#context.now() };
    const row = { seq: Number.MAX_SAFE_INTEGER, sub: 0, kind: "message", message, draft };
    this.#unsent.set(clientId, row);
    this.#list.insert(row);
    this.#list.follow();
    this.#deliver(row);
    return true;
  }

  /** Sends, and sends again under the same clientId: it is done once. */
  async #deliver(row) {
    const { clientId } = row.message;
    row.failure = undefined;
    this.#list.change(row);
    let [receipt, failure] = [];
    try { receipt = await this.#room.send(row.draft, { clientId }); } catch (error) { failure = error; }
    this.#answered(row, receipt, failure);
  }

  #answered(row, receipt, error) {
    if (this.#heir) return this.#heir.#answered(row, receipt, error);
    if (this.#unsent.get(row.message.clientId) !== row) return;
    if (error) {
      row.failure = () => errorWords(error);
      this.#composer.refused(error);
    } else {
      this.#composer.sent();
      row.isHeld = receipt.heldId !== undefined;
      if (!row.isHeld) {
        // The push comes behind the answer and takes the place of this row.
        this.#list.remove(row);
        Object.assign(row, this.#position(receipt), { number: undefined, isSent: true, message: { ...row.message, messageId: receipt.messageId, seq: receipt.seq, time: receipt.time } });
        this.#list.insert(row);
      }
    }
    this.#list.change(row);
  }

  /** A message that waited for a moderator was not let through. */
  denied({ clientId, reason }) {
    const row = this.#unsent.get(clientId);
    const said = /^[A-Z_]*$/.test(reason ?? "") ? "" : clean(reason);
    // The page may have been loaded again since.
    if (!row) return this.#context.notice(say("deniedYours", { reason: said }).trim(), "bad");
    [row.isHeld, row.failure] = [false, () => (said ? say("deniedFor", { reason: said }) : say("denied"))];
    this.#list.change(row);
  }

  // From the reader

  #openMenu(row, button) {
    // Without a pointer that hovers the button is not shown.
    const anchor = button?.offsetParent ? button : row.element;
    const person = row.message.from ?? row.message.targets?.[0];
    if (person && row.message.messageId) this.#context.menu(anchor, person, { message: row.kind === "message" ? row.message : undefined });
  }

  #clicked(event) {
    const { target } = event;
    const row = target.closest(".chat-row")?.row;
    if (!row) return;
    switch (target.closest("[data-act]")?.dataset.act) {
      case "older": this.#top.state = "idle"; return this.#readOlder();
      case "person": return this.#context.menu(target.closest("button"), row.message.from, {});
      case "menu": return this.#openMenu(row, target.closest("button"));
      case "all": row.isWhole = true; return this.#list.change(row);
      case "again": return this.#deliver(row);
      case "discard": this.#unsent.delete(row.message.clientId); return this.#list.remove(row);
      case "picture": return this.#openPicture(row.message.media);
      case "combine": return this.#openCombined(row.message);
      case "reply": {
        const original = this.#find(row.message.replyTo.messageId);
        return original && this.#list.show(original);
      }
    }
    // On a phone the whole message is the button of its menu.
    const isTap = matchMedia("(hover: none)").matches && !target.closest("a, button") && !String(getSelection());
    if (isTap && row.kind === "message") this.#openMenu(row, row.element);
  }

  #pressed(event) {
    if (event.target.closest("button, a")) return;
    const row = event.target.closest(".chat-row");
    if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      const last = this.#list.rows.at(-1)?.element;
      const next = !row ? (event.key === "ArrowUp" ? last : null) : event.key === "ArrowUp" ? row.previousElementSibling : row.nextElementSibling;
      if (!next) { if (row && event.key === "ArrowDown") { this.#list.follow(); this.#scroller.focus(); } return; }
      event.preventDefault();
      next.focus({ preventScroll: true });
      next.scrollIntoView({ block: "nearest" });
    } else if (row?.row?.kind === "message" && event.key === "Enter") {
      event.preventDefault();
      this.#openMenu(row.row, row);
    }
  }

  async #openPicture({ url, name }) {
    const address = safeUrl(await this.#room.mediaUrl(url).catch(() => undefined));
    if (!address) return;
    this.#context.dialog(cut(clean(name), 60) || say("IMAGE"), "chat-picture", picture(address, "chat-large"),
      make("div", "dialog-foot", linkTo(address, "part-button", say("original"))));
  }

  async #openCombined(message) {
    const content = make("div", "chat-combined", make("p", "chat-quiet", say("reading")));
    this.#context.dialog(cut(clean(message.title), 120) || say("COMBINE"), "chat-collected", content);
    try {
      const messages = await this.#room.combined(message.messageId);
      content.replaceChildren(...messages.map((one) => {
        const row = { kind: "message", message: one, isWhole: true, isCopy: true };
        return Object.assign(this.#drawMessage(row, true), { row });
      }));
      content.addEventListener("click", ({ target }) => {
        const { row } = target.closest(".chat-row") ?? {};
        if (target.closest("[data-act=picture]")) this.#openPicture(row.message.media);
      });
    } catch (error) { content.firstChild.textContent = errorWords(error); }
  }

  // Drawing

  /** Messages of a person within a minute have one heading. */
  #isHead(row, previous) {
    if (row.kind !== "message" || row.message.recalled) return true;
    if (previous?.kind !== "message" || previous.message.recalled) return true;
    const [a, b] = [previous.message, row.message];
    return a.from?.user !== b.from?.user || Math.abs(b.time - a.time) >= GROUP_MS || String(a.to) !== String(b.to);
  }

  #draw(row, isHead) {
    const element = row.kind === "message" && !row.message.recalled ? this.#drawMessage(row, isHead) : this.#drawNote(row);
    element.tabIndex = -1;
    return element;
  }

  #drawNote(row) {
    const element = make("div", `chat-row chat-note chat-${row.kind}`);
    const write = (text) => element.append(make("span", "chat-words", text));
    if (row.kind === "top") {
      if (this.#isReading) { element.append(make("span", "chat-spinner")); write(say("loading")); }
      else if (row.state === "failed") element.append(link("older", "older"));
      else if (this.#isFull()) write(say("limit", { count: words.number(ROWS_MAX) }));
      else if (!this.#hasOlder && this.#room.state === "entered") write(say(this.#list.rows.length === 1 ? "empty" : "start"));
    } else if (row.kind === "line") write(say("away"));
    else if (row.kind === "gap") {
      write(counted(`gap.${row.cause}`, row.count));
    } else if (row.kind === "traffic") {
      const parts = [["came", "came"], ["left", "left.who"]].filter(([side]) => row[side].count > 0)
        .map(([side, key]) => say(key, { who: crowd(row[side].names, row[side].count) }));
      write(parts.join(" · "));
    } else if (row.kind === "message") {
      const { from, recalledBy } = row.message;
      const whose = from ? named(from) : say("system");
      const isOther = recalledBy && recalledBy.user !== from?.user;
      write(say(!recalledBy ? "recalled.system" : isOther ? "recalled.by" : "recalled", { who: recalledBy ? named(recalledBy) : "", whose }));
    } else write(row.text);
    return element;
  }

  #drawMessage(row, isHead) {
    const { message } = row;
    const { from, client, to } = { ...message, client: this.#context.client };
    const isMine = this.#isMine(message);
    const isMention = !isMine && (message.mentionAll || message.mentions?.includes(client.user));
    const element = make("div", ["chat-row chat-message", isHead && "chat-head", isMine && "chat-mine", isMention && "chat-mention", to && "chat-directed",
      row.draft && !row.isSent && "chat-unsent"].filter(Boolean).join(" "));
    const body = make("div", "chat-body");
    if (isHead) {
      element.append(from ? face(from) : make("span", "part-face chat-system"));
      const name = from ? button(`chat-name ${hueOf(from.user)}`, make("bdi", "", nameOf(from))) : make("span", "chat-name", say("system"));
      if (from && !row.isCopy) [name.dataset.act, name.tabIndex] = ["person", -1];
      const time = make("time", { class: "chat-time", datetime: new Date(message.time).toISOString() }, timeOf(message.time, this.#context.now()));
      body.append(make("div", "chat-title", name, badge(from?.role), time));
    }
    if (to) {
      const others = [...to, from?.user].filter((user) => user !== client.user).map((user) => named(user === from?.user ? from : this.#speakers.get(user) ?? { user }));
      body.append(make("div", "chat-only", others.length > 0 ? say("onlyFor", { who: crowd(others, others.length) }) : say("onlyYou")));
    }
    if (message.replyTo) {
      const reply = act("chat-reply", icon(PATHS.reply, 20), "reply", { tabindex: -1 });
      reply.append(make("bdi", "", nameOf(message.replyTo)), make("bdi", "chat-excerpt", cut(clean(message.replyTo.excerpt), 80)));
      body.append(reply);
    }
    body.append(this.#drawBody(row));
    if (message.editedAt) body.append(make("span", "chat-side", say("edited")));
    if (message.priority === "HIGH") body.append(make("span", "chat-side chat-high", say("important")));
    if (row.failure) {
      body.append(make("div", "chat-failure", row.failure(), link("again", "again"), link("discard", "discard")));
    } else if (row.draft && !row.isSent) body.append(make("span", "chat-side", say(row.isHeld ? "held" : "sending")));
    element.append(body);
    if (!row.isCopy && message.messageId && from) {
      element.append(act("chat-more", "⋯", "menu", { tabindex: -1, "aria-label": say("options"), "aria-haspopup": "menu" }));
    }
    return element;
  }

  #drawBody(row) {
    const { message } = row;
    const { type, media = {} } = message;
    switch (type) {
      case "TEXT": case "TIP": return this.#drawText(row);
      case "IMAGE": return this.#drawImage(message);
      case "AUDIO": case "VIDEO": case "FILE": {
        const length = media.durationSeconds ? clock(media.durationSeconds) : "";
        const details = [say(`${type}`), length, media.size ? sizeOf(media.size) : ""].filter(Boolean).join(" · ");
        const card = this.#card("file", media.name || say(`${type}`), details, media.url);
        if (!isStored(media.url)) return card;
        return type === "FILE" ? this.#stored(card, media.url) : this.#player(type, media, card);
      }
      case "LOCATION": {
        const [latitude, longitude] = [Number(message.latitude), Number(message.longitude)];
        return this.#card("place", message.title || say("LOCATION"), `${latitude.toFixed(4)}, ${longitude.toFixed(4)}`,
          `https://www.openstreetmap.org/?mlat=${latitude}&mlon=${longitude}#map=15/${latitude}/${longitude}`);
      }
      case "COMBINE": {
        const card = this.#card("pile", message.title || say("COMBINE"), message.summary ?? "", undefined);
        if (!row.isCopy) card.append(link("combine", "open"));
        return card;
      }
      case "CUSTOM": return this.#card("box", say("CUSTOM", { subtype: message.subtype ?? 0 }), "", undefined);
      default: return make("span", "chat-side", say("unsupported"));
    }
  }

  #card(kind, title, details, url) {
    const address = safeUrl(url);
    const content = [icon(PATHS[kind], 20), make("span", "chat-about", make("bdi", "chat-label", cut(clean(title), 200)),
      make("bdi", "chat-details", cut(clean(details), 400)))];
    return address ? linkTo(address, "chat-card", ...content) : make("div", "chat-card", ...content);
  }

  /** A file that the cluster stores: its address holds for minutes, so it is asked for when it is wanted. */
  #stored(card, url) {
    card.append(button("chat-link", say("save"), async () => open(await this.#room.mediaUrl(url), "_blank", "noopener")));
    return card;
  }

  /** Sound or film, loaded when somebody plays it. */
  #player(type, { url, thumbnail }, card) {
    const player = make(type === "AUDIO" ? "audio" : "video", { class: "chat-player", controls: true, preload: "none" });
    this.#room.mediaUrl(url).then((address) => { player.src = address; }, () => player.replaceWith(card));
    if (isStored(thumbnail) || safeUrl(thumbnail)) {
      this.#room.mediaUrl(thumbnail).then((address) => { player.poster = address; }, () => {});
    }
    // Its token may have ended before somebody plays it.
    let isRenewed = false;
    player.addEventListener("error", async () => {
      if (isRenewed) return player.replaceWith(card);
      isRenewed = true;
      try { player.src = await this.#room.mediaUrl(url); } catch { player.replaceWith(card); }
    });
    return player;
  }

  /** The box has its size before the picture is there: nothing jumps. */
  #drawImage({ media = {} }) {
    const stored = [media.thumbnail, media.url].find(isStored);
    const address = safeUrl(media.thumbnail) ?? safeUrl(media.url);
    if (!address && !stored) return this.#card("file", media.name || say("IMAGE"), say("IMAGE"), undefined);
    const [width, height] = media.width > 0 && media.height > 0 ? [media.width, media.height] : [200, 150];
    const scale = Math.min(260 / width, 220 / height, 1);
    const box = act("chat-image", icon(PATHS.picture, 20), "picture", { "aria-label": cut(clean(media.name), 60) || say("IMAGE") });
    if (address) box.append(picture(address, "chat-thumbnail"));
    else this.#room.mediaUrl(stored).then((url) => box.append(picture(url, "chat-thumbnail")), () => {});
    box.style.width = `${Math.max(48, Math.round(width * scale))}px`;
    box.style.height = `${Math.max(48, Math.round(height * scale))}px`;
    return box;
  }

  #drawText(row) {
    const whole = clean(row.message.text);
    let text = whole;
    if (!row.isWhole) {
      const lines = whole.split("\n", LINES_SHOWN + 1);
      if (lines.length > LINES_SHOWN) text = `${lines.slice(0, LINES_SHOWN).join("\n")}…`;
      text = cut(text, TEXT_SHOWN);
    }
    const element = make("span", `chat-text${row.message.type === "TIP" ? " chat-tip" : ""}`);
    element.dir = "auto";
    element.append(...this.#rich(text, row.message));
    if (text === whole) return element;
    return make("div", "", element, link("all", "all"));
  }

  /** Addresses become links, names that are mentioned stand out. */
  #rich(text, { mentions = [], mentionAll }) {
    const me = this.#context.me();
    const names = mentions.map((user) => `@${nameOf(user === me?.user ? me : this.#speakers.get(user) ?? { user })}`);
    if (mentionAll) names.push(`@${say("everyone")}`);
    if (!text.includes("://") && names.length === 0) return [text];
    // The longest first: one may begin like another.
    names.sort((a, b) => b.length - a.length);
    const ends = "\\s<>\"'，。）」";
    const pattern = [...names.map(literal), `https?://(?:\\([^()${ends}]{0,200}\\)|[^)${ends}]){1,2000}`].join("|");
    return text.split(new RegExp(`(${pattern})`, "g")).map((part, place) => {
      if (place % 2 === 0) return part;
      if (part.startsWith("@")) return make("b", "chat-at", part);
      const address = safeUrl(part);
      return address ? linkTo(address, "chat-anchor", part) : part;
    });
  }
}

/** Where messages are written. */
class Composer {
  element;
  #context;
  #do;
  #field;
  #sendButton;
  #attachButton;
  #sending = null;
  #reason;
  #answered = null;
  #amended = null;
  #quote;
  #count;
  #barrage;
  #high;
  #list;
  /** The label of each user; people may share one. */
  #mentions = new Map();
  #suggested = [];
  #chosen = 0;
  #isIn = false;
  #isClosed = false;
  #isMuted = false;
  #mutedUntil = 0;
  #isRoomMuted = false;
  #slowSeconds = 0;
  /** When slow mode began to count: for the last message that went, and for one without an answer yet. */
  #spokeAt = 0;
  #triedAt = 0;
  /** The composer that took this one's place. */
  #heir = null;
  #timer = null;
  #asking = null;
  #key;

  constructor(context, actions) {
    [this.#context, this.#do] = [context, actions];
    this.#key = `chat-draft ${context.roomId}`;
    this.#field = make("textarea", {
      class: "chat-field", rows: 1, enterkeyhint: "send", autocomplete: "off", "aria-autocomplete": "list", "aria-describedby": "chat-reason",
    });
    const send = say("send");
    this.#sendButton = make("button", { class: "chat-send", title: send, "aria-label": send }, icon(PATHS.send, 20));
    this.#reason = make("p", { class: "chat-reason", id: "chat-reason" });
    this.#count = make("span", "chat-count");
    this.#quote = make("div", { class: "chat-answer", hidden: true });
    this.#list = make("div", { class: "chat-suggest", role: "listbox", id: "chat-suggest", hidden: true, "aria-label": say("suggestions") });
    const toggle = (key, path) => {
      const label = say(`${key}`);
      const made = button("chat-toggle", icon(path, 20), () => { made.ariaPressed = String(made.ariaPressed !== "true"); this.refresh(); this.#field.focus(); },
        { "aria-pressed": "false", "aria-label": label, title: say(`${key}.long`) });
      made.append(make("span", "chat-toggle-label", label));
      return made;
    };
    this.#barrage = toggle("barrage", PATHS.barrage);
    this.#high = toggle("high", PATHS.high);
    const file = make("input", { type: "file", hidden: true, tabindex: -1 });
    file.addEventListener("change", () => { const [one] = file.files; file.value = ""; if (one) this.#attach(one); });
    this.#attachButton = button("chat-toggle", icon(PATHS.clip, 20), () => (this.#sending ? this.#sending.abort() : file.click()));
    this.element = make("form", "chat-composer", this.#reason, this.#quote, this.#list,
      make("div", "chat-write", make("div", "chat-toggles", this.#attachButton, this.#barrage, this.#high, file), make("div", "chat-input", this.#field, this.#count), this.#sendButton));
    try {
      this.#field.value = sessionStorage.getItem(this.#key) ?? "";
      this.#mentions = new Map(JSON.parse(sessionStorage.getItem(`${this.#key} @`) ?? "[]"));
    } catch { /* The browser keeps nothing. */ }
    this.element.addEventListener("submit", (event) => { event.preventDefault(); this.#submit(); });
    this.#field.addEventListener("input", () => this.#typed());
    this.#field.addEventListener("keydown", (event) => this.#pressed(event));
    this.#field.addEventListener("paste", (event) => {
      const { files, types } = event.clipboardData;
      // Office programs put a picture of the text beside it.
      if (files.length === 0 || (types.includes("text/plain") && types.includes("text/html"))) return;
      event.preventDefault();
      this.attachAll([...files]);
    });
    this.#field.addEventListener("blur", () => setTimeout(() => this.#suggest([]), 150));
    this.#list.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      const at = [...this.#list.children].indexOf(event.target.closest("[role=option]"));
      if (at >= 0) this.#complete(this.#suggested[at]);
    });
    this.refresh();
  }

  destroy() {
    this.#sending?.abort();
    clearTimeout(this.#timer);
    clearTimeout(this.#asking);
  }

  /** Goes on with what is written in another composer, and with its upload. */
  take(old) {
    old.#heir = this;
    [this.#spokeAt, this.#triedAt, this.#mentions] = [old.#spokeAt, old.#triedAt, old.#mentions];
    [this.#sending, old.#sending] = [old.#sending, null];
    this.#attachButton.append(...old.#attachButton.querySelectorAll(".chat-toggle-label"));
    this.#barrage.ariaPressed = old.#barrage.ariaPressed;
    this.#high.ariaPressed = old.#high.ariaPressed;
    this.#field.value = old.#amended?.draft ?? old.#field.value;
    if (old.#amended) this.amend({ messageId: old.#amended.messageId, text: old.#field.value });
    else if (old.#answered) this.answer(old.#answered);
    this.refresh();
  }

  entered(room, me = this.#context.me()) {
    const info = room ?? this.#context.info() ?? {};
    [this.#isIn, this.#isClosed] = [true, false];
    [this.#isRoomMuted, this.#slowSeconds] = [info.muted === true, info.slowModeSeconds ?? 0];
    this.#isMuted = me?.muted === true;
    this.#mutedUntil = me?.tempMuted ? Date.now() + (me.tempMuteSeconds ?? 0) * 1000 : 0;
    this.refresh();
  }

  exited() {
    [this.#isIn, this.#isClosed] = [false, true];
    this.refresh();
  }

  /** A notification may concern the right to write. */
  notified({ event, targets = [], data = {}, time }) {
    // The message may be shown again later, in another language.
    const age = this.#context.now() - time;
    const isMe = targets.some(({ user }) => user === this.#context.client.user);
    if (event === 318 || event === 319) this.#isRoomMuted = event === 318;
    if (event === 312 && data.set?.slowModeSeconds !== undefined) this.#slowSeconds = data.set.slowModeSeconds;
    if (isMe && (event === 305 || event === 306)) this.#isMuted = event === 305;
    if (isMe && event === 314) this.#mutedUntil = Date.now() + data.seconds * 1000 - age;
    if (isMe && event === 315) this.#mutedUntil = 0;
    if (isMe && (event === 306 || event === 315) && age < 10_000 && !this.#isMuted && this.#mutedUntil <= Date.now()) {
      this.#context.notice(say("youUnmuted"), "good");
    }
    if (event >= 303 && event <= 319) this.refresh();
  }

  #isSlow() { return this.#slowSeconds > 0 && !this.#context.canManage(); }

  sent() {
    if (this.#isSlow()) this.#spokeAt = Date.now();
    this.#triedAt = 0;
    this.refresh();
  }

  /** A mute of the whole app ends without a word to its rooms: 13004 alone does not close the field. */
  refused({ refusal }) {
    if (!refusal) return;
    const { code, retryAfterMs = 0 } = refusal;
    this.#triedAt = 0;
    if (code === 13006) this.#isRoomMuted = true;
    if (code === 416 && this.#isSlow()) this.#spokeAt = Math.max(this.#spokeAt, Date.now() + retryAfterMs - this.#slowSeconds * 1000);
    this.refresh();
  }

  /** Why nothing can be sent now: a text, and until when. */
  #gate() {
    const { room, isAnonymous, canManage } = this.#context;
    const now = Date.now();
    const left = (until) => clock(Math.ceil((until - now) / 1000));
    if (isAnonymous()) return { text: say("anonymous"), isFinal: true };
    if (this.#isClosed) return { text: say("outside"), isFinal: true };
    if (this.#isIn && room.state === "lost") return { text: say("lost") };
    if (room.state !== "entered") return { text: say(this.#isIn ? "lost" : "entering") };
    if (this.#isMuted) return { text: say("muted"), isFinal: true };
    if (this.#mutedUntil > now) return { text: say("muted.time", { time: left(this.#mutedUntil) }), isFinal: true, ticks: true };
    if (this.#isRoomMuted && !canManage()) return { text: say("roomMuted"), isFinal: true };
    const slowUntil = Math.max(this.#spokeAt, this.#triedAt) + this.#slowSeconds * 1000;
    if (this.#isSlow() && slowUntil > now && this.#barrage.ariaPressed !== "true") return { text: say("slow", { time: left(slowUntil) }), ticks: true };
    return null;
  }

  refresh() {
    clearTimeout(this.#timer);
    const gate = this.#gate();
    if (this.#reason.textContent !== (gate?.text ?? "")) this.#reason.textContent = gate?.text ?? "";
    this.#reason.hidden = !gate;
    this.#field.disabled = gate?.isFinal === true;
    const isBarrage = this.#barrage.ariaPressed === "true";
    this.#high.hidden = !this.#context.canManage() || isBarrage;
    this.#barrage.disabled = this.#high.disabled = this.#field.disabled;
    this.#attachButton.hidden = !this.#context.client.features.includes("media") || isBarrage;
    this.#attachButton.disabled = gate !== null && !this.#sending;
    this.#attachButton.ariaLabel = this.#attachButton.title = say(this.#sending ? "unattach" : "attach");
    this.#field.placeholder = say(isBarrage ? "write.barrage" : "write");
    this.#field.ariaLabel = this.#field.placeholder;
    const text = this.#field.value;
    // Bytes are counted only where they may matter.
    const limit = isBarrage ? BARRAGE_BYTES : TEXT_BYTES;
    const left = text.length * 3 > limit * 0.8 ? limit - bytesOf(text) : limit;
    this.#count.textContent = left < 0 ? say("over", { over: words.number(-left) }) : left < limit * 0.2 ? say("left", { left: words.number(left) }) : "";
    this.#count.classList.toggle("chat-over", left < 0);
    this.#sendButton.disabled = gate !== null || left < 0 || text.trim() === "";
    if (gate?.ticks) this.#timer = setTimeout(() => this.refresh(), 1000);
  }

  /** Sends files that were dropped or pasted, one behind the other, while the button would. */
  async attachAll(files) {
    for (const file of files) {
      const { hidden, disabled } = (this.#heir ?? this).#attachButton;
      if (hidden || disabled || this.#sending || !await this.#attach(file)) return;
    }
  }

  /** Sends a file; a second press of the button cancels it. Resolves with whether it went. */
  async #attach(file) {
    if (this.#heir) return this.#heir.#attach(file);
    if (file.size === 0) return this.#context.notice(say("nothing"), "bad");
    const type = { image: "IMAGE", audio: "AUDIO", video: "VIDEO" }[file.type.split("/")[0]] ?? "FILE";
    const sending = this.#sending = new AbortController();
    const label = make("span", "chat-toggle-label");
    this.#attachButton.append(label);
    this.refresh();
    let isSent = false;
    try {
      await this.#context.room.sendMedia(file, {
        type, name: fileName(file.name), media: type === "IMAGE" ? await sizeOfPicture(file) : {}, signal: sending.signal,
        onProgress: (sent, all) => { label.textContent = `${Math.round(sent * 100 / all)} %`; },
      });
      isSent = true;
    } catch (error) {
      if (error.code !== "cancelled") this.#context.notice(errorWords(error), "bad");
    }
    label.remove();
    this.#attached(isSent);
    return isSent;
  }

  #attached(isSent) {
    if (this.#heir) return this.#heir.#attached(isSent);
    this.#sending = null;
    if (isSent) this.sent(); else this.refresh();
  }

  #typed() {
    if (!CSS.supports("field-sizing", "content")) {
      this.#field.style.height = "auto";
      this.#field.style.height = `${this.#field.scrollHeight}px`;
    }
    try {
      // A text that is amended is no draft: after a reload it would be sent as another message.
      if (!this.#amended) {
        sessionStorage.setItem(this.#key, this.#field.value);
        sessionStorage.setItem(`${this.#key} @`, JSON.stringify([...this.#mentions]));
      }
    } catch { /* The browser keeps nothing. */ }
    this.refresh();
    this.#lookForMention();
  }

  #pressed(event) {
    // Enter ends a composition of an input method before it may send.
    if (event.isComposing || event.keyCode === 229) return;
    if (!this.#list.hidden) {
      const count = this.#suggested.length;
      const step = { ArrowDown: 1, ArrowUp: count - 1 }[event.key];
      if (step) this.#choose((this.#chosen + step) % count);
      else if (event.key === "Enter" || event.key === "Tab") this.#complete(this.#suggested[this.#chosen]);
      else if (event.key === "Escape") this.#suggest([]);
      else return;
      event.preventDefault();
      return event.stopPropagation();
    }
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.#submit();
    }
  }

  async #submit() {
    this.refresh();
    if (this.#sendButton.disabled) return;
    const text = this.#field.value.trim();
    if (this.#amended) return this.#submitAmended(text);
    const isHigh = !this.#high.hidden && this.#high.ariaPressed === "true";
    if (this.#barrage.ariaPressed === "true") {
      this.#empty();
      try { await this.#context.room.barrage(text); } catch (error) {
        if (this.#field.value === "") this.#field.value = text;
        this.refused(error);
        this.#context.notice(errorWords(error), "bad");
        this.refresh();
      }
      return;
    }
    const draft = { type: "TEXT", text };
    const mentions = this.#mentionedIn(text).map(([user]) => user);
    if (mentions.includes(null)) draft.mentionAll = true;
    const users = mentions.filter(Boolean);
    if (users.length > 0) draft.mentions = users;
    if (isHigh) draft.priority = "HIGH";
    if (this.#answered) draft.replyTo = this.#answered.messageId;
    if (!this.#do.send(draft, this.#answered ?? undefined)) return;
    this.answer(null);
    this.#high.ariaPressed = "false";
    // The next one may go when the answer to this one allows it.
    if (this.#isSlow()) this.#triedAt = Date.now();
    this.#empty();
  }

  #empty() {
    this.#field.value = "";
    this.#mentions.clear();
    this.#typed();
  }

  // Replies

  /** The next text answers this message; null: none. */
  answer(replyTo) {
    this.#leaveAmended();
    this.#answered = replyTo;
    this.#quote.hidden = !replyTo;
    if (!replyTo) return;
    this.#quote.replaceChildren(icon(PATHS.reply, 20), make("bdi", "", nameOf(replyTo)), make("bdi", "chat-excerpt", replyTo.excerpt ?? ""), this.#discard());
    this.#field.focus();
  }

  #discard() {
    return button("chat-toggle", "×", () => { this.answer(null); this.#field.focus(); }, { "aria-label": say("discard"), title: say("discard") });
  }

  recalled(ids) {
    if (this.#answered && ids.has(this.#answered.messageId)) this.answer({ ...this.#answered, excerpt: undefined });
    if (this.#amended && ids.has(this.#amended.messageId)) this.answer(null);
  }

  // Amending

  /** The text of an own message is changed in place of writing another; the draft comes back afterwards. */
  amend(message) {
    this.answer(null);
    this.#amended = { messageId: message.messageId, draft: this.#field.value };
    this.#barrage.ariaPressed = "false";
    this.#quote.hidden = false;
    this.#quote.replaceChildren(make("bdi", "chat-excerpt", say("amending")), this.#discard());
    this.#field.value = message.text;
    this.#typed();
    this.#field.focus();
  }

  #leaveAmended() {
    const amended = this.#amended;
    this.#amended = null;
    if (!amended) return;
    this.#field.value = amended.draft;
    this.#typed();
  }

  async #submitAmended(text) {
    const { messageId } = this.#amended;
    this.answer(null);
    try { await this.#context.room.amend(messageId, { text }); } catch (error) {
      // A text that is begun meanwhile becomes the draft.
      if (!this.#amended) this.amend({ messageId, text });
      this.refused(error);
      this.#context.notice(errorWords(error), "bad");
    }
  }

  // Mentions

  /** The mentions whose labels the text has: whole ones, "@Ann" is not in "@Anna". Chinese and Japanese go on without a space. */
  #mentionedIn(text) {
    const labels = [...this.#mentions.values()].sort((a, b) => b.length - a.length).map(literal).join("|");
    if (labels === "") return [];
    const found = new Set(text.match(new RegExp(`(?:${labels})(?!(?![\\p{sc=Han}\\p{sc=Hira}\\p{sc=Kana}])[\\p{L}\\p{N}_])`, "gu")));
    return [...this.#mentions].filter(([, label]) => found.has(label));
  }

  mention(person) {
    const { value, selectionStart } = this.#field;
    const gap = selectionStart > 0 && !/\s$/.test(value.slice(0, selectionStart)) ? " " : "";
    this.#insert(selectionStart, selectionStart, gap, person);
  }

  #insert(from, to, gap, person) {
    const label = `@${person.user === null ? say("everyone") : nameOf(person)}`;
    if (!this.#amended) {
      // People whose labels were erased are not mentioned.
      const { value } = this.#field;
      this.#mentions = new Map(this.#mentionedIn(`${value.slice(0, from)} ${value.slice(to)}`));
      if (this.#mentions.size < MENTIONS_MAX) this.#mentions.set(person.user, label);
    }
    this.#field.setRangeText(`${gap}${label} `, from, to, "end");
    this.#field.focus();
    this.#typed();
  }

  #lookForMention() {
    clearTimeout(this.#asking);
    const found = /(?:^|\s)@([^\s@]{0,64})$/.exec(this.#field.value.slice(Math.max(0, this.#field.selectionStart - 80), this.#field.selectionStart));
    if (!found) return this.#suggest([]);
    const wanted = found[1].toLowerCase();
    const people = [...this.#do.speakers().values()].reverse();
    if (this.#context.canManage()) people.unshift({ user: null, nick: say("everyone") });
    const fit = people.filter((person) => `${nameOf(person)}\n${person.user ?? ""}`.toLowerCase().includes(wanted)).slice(0, SUGGESTIONS_MAX);
    this.#suggest(fit);
    // Somebody who has not spoken can be mentioned by ID.
    if (fit.length > 0 || !/^[A-Za-z0-9_.:#|+~!$-]{1,64}$/.test(found[1])) return;
    this.#asking = setTimeout(() => {
      const { value } = this.#field;
      this.#context.room.membersById([found[1]]).then((members) => { if (this.#field.value === value) this.#suggest(members); }, () => {});
    }, 400);
  }

  #suggest(people) {
    this.#suggested = people;
    this.#list.hidden = people.length === 0;
    this.#list.replaceChildren(...people.map((person, place) => {
      const attributes = { class: "chat-option", role: "option", id: `chat-option-${place}` };
      return make("div", attributes, person.user === null ? make("span", "part-face", "@") : face(person), make("bdi", "", nameOf(person)));
    }));
    if (people.length > 0) {
      this.#field.setAttribute("aria-controls", "chat-suggest");
      this.#choose(0);
    } else this.#field.removeAttribute("aria-activedescendant");
  }

  #choose(place) {
    this.#chosen = place;
    [...this.#list.children].forEach((option, at) => { option.ariaSelected = String(at === place); });
    this.#field.setAttribute("aria-activedescendant", `chat-option-${place}`);
    this.#list.children[place]?.scrollIntoView({ block: "nearest" });
  }

  #complete(person) {
    const to = this.#field.selectionStart;
    const from = this.#field.value.lastIndexOf("@", to - 1);
    this.#suggest([]);
    this.#insert(from, to, "", person);
  }
}
