/**
 * Polls: a card above the chat for each that is open, the result of the latest, and the dialog in which managers open one. It
 * is loaded with the first poll, or for that dialog.
 *
 * The tallies tell which polls are open and how often each option was chosen. Title and options come with the poll's
 * notification (362): to those who enter later with the newest messages, else they are looked for in the history.
 */
import { confirm, dialog } from "./dialogs.js";
import { button, bytesOf, clean, clock, cut, errorWords, freshId, icon, make, span } from "./parts.js";
import { words } from "./words.js";

const say = (key, values) => words.say(`polls.${key}`, values);

const ICON = "M5 20v-8m7 8V4m7 16v-6";
const CHECK = "M5 12.5l4.5 4.5L19 7.500";
const CLOSE = "M6 6l12 12M18 6 6 18";
const OPTIONS_MAX = 10;
const TITLE_BYTES = 256;
const OPTION_BYTES = 128;
const MINUTES = [1, 2, 5, 10, 15, 30, 60, 120, 1440];
const POLLS_MAX = 20;
const EVENTS_MAX = 100;
const VOTES_MAX = 50;
/** So many notifications are read for a poll whose title this page does not know. */
const PAGES_MAX = 5;
/** A poll whose end was not told is over so long after its time. */
const LATE_MS = 5_000;
/** In a lower place cards are closed, and open as dialogs. */
const LOW = 420;
/** Voted, but this page does not know for what. */
const ELSEWHERE = -1;

/** "poll:ID:2" → [ID, 2]. */
function parsed(key) {
  const [, id, place] = /^poll:(.+):(\d)$/.exec(key) ?? [];
  return id ? [id, Number(place)] : [];
}

const isEvent = ({ event }) => event === 362 || event === 363;
const sum = (counts) => counts.reduce((total, count) => total + count, 0);

/** The votes of this page, over a reload of it: {"ID closesAt": option}. */
class Votes {
  #key;
  #all = {};

  constructor(key) {
    this.#key = key;
    try { this.#all = JSON.parse(sessionStorage.getItem(key)) ?? {}; } catch { /* The browser keeps nothing. */ }
  }

  of({ id, closesAt }) { return this.#all[`${id} ${closesAt}`]; }

  set({ id, closesAt }, option) {
    const entries = Object.entries({ ...this.#all, [`${id} ${closesAt}`]: option }).slice(-VOTES_MAX);
    this.#all = Object.fromEntries(entries);
    try { sessionStorage.setItem(this.#key, JSON.stringify(this.#all)); } catch { /* The browser keeps nothing. */ }
  }
}

let serial = 0;

/** A poll as people see it: a line that opens, with the options below it. */
class Card {
  element;
  #poll;
  #context;
  #actions;
  #toggle;
  #left;
  #call;
  #body;
  #list;
  #note;
  #end;
  #rows = [];
  #isClosed;
  #isVoting = false;
  #box = null;
  #percent = new Intl.NumberFormat(words.language, { style: "percent" });

  /** `actions`: {vote(option), ended(poll), dismiss()}. */
  constructor(poll, context, actions) {
    [this.#poll, this.#context, this.#actions] = [poll, context, actions];
    const id = `poll-${++serial}`;
    this.#left = make("span", "polls-left");
    this.#toggle = button("polls-toggle", icon(ICON), () => this.#open(), { "aria-expanded": "false", "aria-controls": id });
    this.#call = make("span", "polls-call", say("vote"));
    this.#toggle.append(make("bdi", "polls-words", this.#title), this.#call, this.#left);
    this.#list = make("ul", "polls-options");
    this.#note = make("p", "polls-note");
    this.#end = button("part-button polls-end", say("close"), () => this.#close(), { hidden: true });
    this.#body = make("div", { class: "polls-body", id, hidden: true }, this.#list, make("div", "polls-foot", this.#note, this.#end));
    this.element = make("section", { class: "polls-card", "aria-label": say("poll") },
      make("div", "polls-head", make("h2", "polls-title", this.#toggle)), this.#body);
    this.refresh();
  }

  get #title() { return cut(clean(this.#poll.title ?? this.#poll.id), 256); }

  destroy() {
    this.#box?.close();
    this.element.remove();
  }

  expand(isOpen) {
    if (this.#box) return;
    this.#body.hidden = !isOpen;
    this.#toggle.setAttribute("aria-expanded", String(isOpen));
  }

  get isExpanded() { return !this.#body.hidden && !this.#box; }

  #open() {
    const { parentElement } = this.element.parentElement;
    if (parentElement.clientHeight >= LOW || this.isExpanded) return this.expand(this.#body.hidden);
    // A low place has no room for the options beside the chat.
    this.#body.hidden = false;
    this.#box = dialog(this.element, this.#title, "polls-dialog", this.#body);
    this.refresh();
    this.#box.addEventListener("close", () => {
      [this.#box, this.#body.hidden] = [null, true];
      this.element.append(this.#body);
    });
  }

  /** Why nobody in front of this page can vote for the option; "" if one can. */
  #why() {
    const { isClosed, isKnown, mayChange, vote, closesAt } = this.#poll;
    if (isClosed || closesAt <= this.#context.now()) return say("over");
    if (this.#context.isAnonymous()) return say("anonymous");
    if (!isKnown) return say("unknown");
    return vote !== undefined && !mayChange ? say("again") : "";
  }

  refresh() {
    const { options, counts, closesAt, isClosed, isKnown, mayChange, vote } = this.#poll;
    const names = options ?? Array.from({ length: counts.length }, (_, place) => words.number(place + 1));
    if (isClosed !== this.#isClosed || names.length !== this.#rows.length) this.#drawRows(names);
    const [total, why] = [sum(counts), this.#why()];
    const most = Math.max(...counts, 0);
    this.#rows.forEach(({ row, bar, mark, count }, place) => {
      const own = counts[place];
      const isMine = vote === place;
      bar.style.transform = `scaleX(${total > 0 ? own / total : 0})`;
      const text = `${words.number(own)} · ${this.#percent.format(total > 0 ? own / total : 0)}`;
      if (count.textContent !== text) count.textContent = text;
      mark.hidden = !isMine;
      row.classList.toggle("polls-mine", isMine);
      row.classList.toggle("polls-best", isClosed === true && own === most && own > 0);
      if (isClosed) return;
      row.ariaPressed = String(isMine);
      if (why) row.ariaDisabled = "true"; else row.removeAttribute("aria-disabled");
    });
    const isOver = isClosed || closesAt <= this.#context.now();
    this.#left.textContent = isClosed ? say("ended") : closesAt ? clock(Math.max(0, Math.ceil((closesAt - this.#context.now()) / 1000))) : "";
    const votes = total === 1 ? say("votes.one") : say("votes", { count: words.number(total) });
    const hint = isOver ? "" : !isKnown ? say("unknown") : this.#context.isAnonymous() ? say("anonymous")
      : vote === undefined ? say("choose") : mayChange ? say("moves") : vote === ELSEWHERE ? say("again") : "";
    this.#call.hidden = isOver || !isKnown || vote !== undefined || this.#context.isAnonymous();
    const note = [votes, this.#box && this.#left.textContent, hint].filter(Boolean).join(" · ");
    if (this.#note.textContent !== note) this.#note.textContent = note;
    this.#end.hidden = isClosed === true || !this.#context.canManage();
    if (isClosed && !this.element.querySelector(".polls-dismiss")) {
      const label = words.say("people.close");
      this.element.firstChild.append(button("room-icon polls-dismiss", icon(CLOSE), this.#actions.dismiss, { "aria-label": label, title: label }));
    }
  }

  /** Options are buttons while the poll is open. */
  #drawRows(names) {
    const hadFocus = this.#list.contains(this.#list.getRootNode().activeElement);
    const { isClosed } = this.#poll;
    this.#isClosed = isClosed;
    this.#rows = names.map((name, place) => {
      const [bar, count] = [make("span", { class: "polls-bar", "aria-hidden": "true" }), make("span", "polls-count")];
      const mark = make("span", { class: "polls-mark", role: "img", "aria-label": say("mine"), title: say("mine") }, icon(CHECK));
      const row = isClosed ? make("div", "polls-option") : make("button", { type: "button", class: "polls-option", click: () => this.#vote(place) });
      row.append(bar, make("bdi", "polls-words", cut(clean(name), 128)), mark, count);
      return { row, bar, mark, count };
    });
    this.#list.replaceChildren(...this.#rows.map(({ row }) => make("li", {}, row)));
    if (hadFocus) (this.#box ?? this.#toggle).focus({ preventScroll: true });
  }

  async #vote(place) {
    const [poll, why] = [this.#poll, this.#why()];
    const { notice } = this.#context;
    if (this.#isVoting || poll.vote === place) return;
    if (why) return notice(why, "warn");
    const before = poll.vote;
    [this.#isVoting, poll.vote] = [true, place];
    this.refresh();
    try {
      await this.#actions.vote(place);
      this.#context.say(say("voted", { option: clean(poll.options[place]) }));
    } catch (error) {
      poll.vote = before;
      const code = error.refusal?.code;
      const isOver = code === 404 || poll.mayChange || poll.closesAt <= this.#context.now();
      if (code === 409 && !isOver) this.#actions.voted(ELSEWHERE);
      notice(code !== 409 && code !== 404 ? errorWords(error) : say(isOver ? "over" : "again"), "bad");
    }
    this.#isVoting = false;
    this.refresh();
  }

  async #close() {
    if (!await confirm(this.element, say("close.ask"), this.#title, say("close"))) return;
    try { await this.#actions.close(); } catch (error) { this.#context.notice(errorWords(error), "bad"); }
  }
}

export class Polls {
  #context;
  #container;
  /** {id, counts; title, options, closesAt, mayChange where they are known; isKnown, isClosed, vote, card} by ID. */
  #polls = new Map();
  /** The seq of the latest notification of each poll. */
  #events = new Map();
  #votes;
  /** The seq of the latest entry, and the polls that were open then. */
  #seq = 0;
  #atEntry = new Set();
  #ticker = 0;
  #looking = 0;
  #isAlive = true;

  constructor(container, context) {
    [this.#container, this.#context] = [container, context];
    this.#votes = new Votes(`poll-votes ${context.roomId} ${context.client.user}`);
  }

  destroy() {
    this.#isAlive = false;
    clearInterval(this.#ticker);
    clearTimeout(this.#looking);
    for (const { card } of this.#polls.values()) card?.destroy();
    this.#container.hidden = true;
  }

  /** The frame was built anew, in another language. */
  built(container) {
    this.#container = container;
    for (const poll of this.#polls.values()) {
      if (!poll.card) continue;
      const { isExpanded } = poll.card;
      this.#draw(poll);
      poll.card.expand(isExpanded);
    }
  }

  // News of the room

  /** `totals`: {key: total}, with the counts of all polls that are open. */
  entered({ seq, recovery }, totals) {
    this.#seq = seq;
    this.#atEntry = new Set(Object.keys(totals).map((key) => parsed(key)[0]));
    if (recovery !== "complete") this.#events.clear();
    for (const poll of this.#polls.values()) {
      if (poll.isClosed) continue;
      // Without what was missed nobody knows whether it is the same poll.
      if (recovery !== "complete" || !poll.isKnown) this.#forget(poll);
      // The last counts follow, with the messages that were missed.
      else if (!this.#atEntry.has(poll.id)) this.#finish(poll);
    }
    this.tallies(totals, 0);
  }

  tallies(totals, waitMs = 500 + 2_500 * Math.random()) {
    const changed = new Set();
    for (const [key, total] of Object.entries(totals)) {
      const [id, place] = parsed(key);
      let poll = this.#polls.get(id);
      // A poll that has ended and that nobody looks at has its notification still.
      if (!id || poll?.isClosed || (!poll && (this.#events.has(id) || this.#polls.size >= POLLS_MAX))) continue;
      if (!poll) {
        poll = { id, counts: [] };
        this.#polls.set(id, poll);
        // Its notification is on its way. Not all viewers read at once what was lost.
        this.#looking ||= setTimeout(() => this.#look(), waitMs);
      }
      while (poll.counts.length <= place) poll.counts.push(0);
      poll.counts[place] = total;
      changed.add(poll);
    }
    for (const { card } of changed) card?.refresh();
  }

  message(message) {
    if (!isEvent(message)) return;
    const { event, seq, data } = message;
    // The entry has told already which of those before it are open.
    if (seq <= this.#seq && (event === 362 ? !this.#atEntry.has(data.poll) : !this.#polls.has(data.poll))) return;
    this.#take(message);
  }

  /** Messages were lost. */
  async readAgain() {
    for (const message of (await this.#history({ limit: 50 }))?.messages.toReversed() ?? []) if (message.seq > this.#seq) this.message(message);
  }

  exited() { for (const poll of [...this.#polls.values()]) if (!poll.isClosed) this.#forget(poll); }

  #history(fields) {
    return this.#context.room.history({ types: ["NOTIFICATION"], order: "DESC", ...fields }).then((page) => this.#isAlive ? page : null, () => null);
  }

  /** Looks for the titles of polls of which only the counts are known. */
  async #look() {
    const unknown = () => [...this.#polls.values()].filter(({ isKnown, card }) => !isKnown && !card);
    const sought = new Set(unknown());
    const wanted = () => unknown().filter((poll) => sought.has(poll));
    let beforeSeq;
    for (let page = 0; page < PAGES_MAX && wanted().length > 0; page += 1) {
      const answer = await this.#history({ limit: 100, ...(beforeSeq && { beforeSeq }) });
      for (const message of answer?.messages ?? []) {
        if (!isEvent(message) || !wanted().some(({ id }) => id === message.data.poll)) continue;
        if (message.event === 363) this.#forget(this.#polls.get(message.data.poll), message.seq); else this.#take(message);
      }
      beforeSeq = answer?.messages.at(-1)?.seq;
      if (!beforeSeq || !answer.more) break;
    }
    if (!this.#isAlive) return;
    for (const poll of wanted()) this.#show(poll);
    // Others may have come meanwhile.
    this.#looking = unknown().length > 0 ? setTimeout(() => this.#look(), 0) : 0;
  }

  /** Takes a notification in, each once and in the order of seq. */
  #take({ event, seq, data }) {
    const { poll: id, title, options, counts, closesAt, mayChange } = data;
    if (seq <= (this.#events.get(id) ?? 0)) return;
    this.#note(id, seq);
    const before = this.#polls.get(id);
    if (event === 363 && before?.isKnown && before.closesAt === closesAt) {
      before.counts = counts;
      return this.#finish(before);
    }
    const poll = { id, title, options, counts, closesAt, mayChange, isKnown: true, card: before?.card };
    // Tallies may come before the notification.
    if (event === 362 && before && !before.isKnown) poll.counts = counts.map((count, place) => before.counts[place] ?? count);
    poll.vote = this.#votes.of(poll);
    this.#polls.set(id, poll);
    const isExpanded = before?.card?.isExpanded;
    if (event === 363) this.#finish(poll);
    this.#show(poll, isExpanded);
  }

  #note(id, seq) {
    this.#events.delete(id);
    this.#events.set(id, seq);
    if (this.#events.size > EVENTS_MAX) this.#events.delete(this.#events.keys().next().value);
  }

  #forget(poll, seq) {
    poll.card?.destroy();
    this.#polls.delete(poll.id);
    if (seq) this.#note(poll.id, seq);
    this.#drawn();
  }

  /** One result is shown, that of the latest. */
  #finish(poll) {
    for (const other of [...this.#polls.values()]) if (other.isClosed && other !== poll) this.#forget(other);
    poll.isClosed = true;
    poll.card?.refresh();
  }

  // The cards

  #draw(poll) {
    const before = poll.card;
    const card = poll.card = new Card(poll, this.#context, {
      dismiss: () => this.#forget(poll),
      close: () => this.#context.room.closePoll(poll.id),
      voted: (option) => { poll.vote = option; this.#votes.set(poll, option); },
      vote: async (option) => {
        const { counts } = await this.#context.room.vote(poll.id, option);
        this.#votes.set(poll, option);
        if (!poll.isClosed) poll.counts = counts;
      },
    });
    if (before?.element.parentElement === this.#container) before.element.replaceWith(card.element); else this.#container.prepend(card.element);
    before?.destroy();
    this.#drawn();
  }

  /** A new card is open, and the only one. */
  #show(poll, isExpanded = this.#container.parentElement.clientHeight >= LOW) {
    if (isExpanded && !poll.card) for (const { card } of this.#polls.values()) card?.expand(false);
    this.#draw(poll);
    poll.card.expand(isExpanded);
  }

  #drawn() {
    const isOpen = [...this.#polls.values()].some(({ card, isClosed }) => card && !isClosed);
    this.#container.hidden = this.#container.childElementCount === 0;
    if (isOpen) this.#ticker ||= setInterval(() => this.#tick(), 1000);
    else { clearInterval(this.#ticker); this.#ticker = 0; }
  }

  #tick() {
    for (const poll of [...this.#polls.values()]) {
      if (poll.isClosed || !poll.card) continue;
      if (poll.closesAt + LATE_MS < this.#context.now() && this.#context.room.state === "entered") this.#finish(poll);
      else poll.card.refresh();
    }
    this.#drawn();
  }

  // A new poll

  openDialog() {
    const { room, notice } = this.#context;
    const input = (label, max, required, more = {}) => {
      // Spaces alone are no text.
      const control = make("input", { class: "people-input", autocomplete: "off", ...(required && { required, pattern: ".*\\S.*" }), ...more });
      control.addEventListener("input", () => {
        const over = bytesOf(control.value) - max;
        control.setCustomValidity(over > 0 ? words.say("people.long", { over: words.number(over) }) : "");
      });
      return [control, make("label", "polls-field", make("span", "polls-label", label), control)];
    };
    const [title, titleField] = input(say("question"), TITLE_BYTES, true);
    const options = [];
    const list = make("div", "polls-list");
    const add = () => {
      const isNeeded = options.length < 2;
      const [control, field] = input(say("option", { number: words.number(options.length + 1) }), OPTION_BYTES, isNeeded, !isNeeded && { placeholder: say("optional") });
      options.push(control);
      list.append(field);
      more.hidden = options.length >= OPTIONS_MAX;
      return control;
    };
    const more = button("part-button", say("more"), () => add().focus());
    add();
    add();
    const minutes = make("select", "people-input");
    for (const count of MINUTES) minutes.append(new Option(span(count * 60), count));
    minutes.value = 5;
    const mayChange = make("input", { type: "checkbox" });
    const failure = make("p", "polls-failure");
    const open = make("button", "part-button part-primary", say("open"));
    const form = make("form", "polls-form", titleField, list, more, make("label", "polls-field", make("span", "polls-label", say("time")), minutes),
      make("label", "polls-check", mayChange, say("mayChange")), failure,
      make("div", "dialog-foot", button("part-button", words.say("people.cancel"), () => box.close()), open));
    const box = dialog(this.#container, say("new"), "polls-new", form);
    // The same poll, when the answer to the first try was lost.
    const id = freshId();
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      open.disabled = true;
      failure.textContent = "";
      try {
        const said = options.map(({ value }) => value.trim()).filter(Boolean);
        await room.openPoll(id, { title: title.value.trim(), options: said, seconds: Number(minutes.value) * 60, ...(mayChange.checked && { mayChange: true }) });
        box.close();
        notice(say("opened"), "good");
      } catch (error) { failure.textContent = error.refusal?.code === 409 ? say("many") : errorWords(error); }
      open.disabled = false;
    });
    title.focus();
  }
}
