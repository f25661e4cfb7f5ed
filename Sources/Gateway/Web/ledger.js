/**
 * The page's own book of what came of a room: by seq, so that it can say what is missing without asking anybody.
 *
 *     const ledger = new Ledger();
 *     ledger.watch(room);
 *     ledger.summary();   // { total, lost, missed, filled, spared, repeated, outOfOrder, silenceMs }
 *
 * `missed` came late (over an outage, or a SLOW gap), `filled` is how many of those have come since, `spared` were left out
 * by the viewer's budget, `lost` are those that nobody brings. Silence is the longest time between two things that the room
 * told while it was lost, up to the first new message after. An outage is counted from the last thing that came over the
 * connection: its owner calls `alive()` for each, and `closed()` when the connection ends.
 */
const HOLES_MAX = 1024;
const STATES_MAX = 200;
/** A room that is quiet says nothing new: its outage ends by itself so long after it is back. */
const QUIET_MS = 3_000;
/** Nothing need come for so long: then the SDK asks. */
const HEARTBEAT_MS = 15_000;

export class Ledger {
  received = 0;
  missed = 0;
  filled = 0;
  spared = 0;
  lost = 0;
  repeated = 0;
  outOfOrder = 0;
  barrage = 0;
  skipped = 0;
  longestSilenceMs = 0;
  /** The longest time between two messages or items of barrage since `mark`, lost or not. */
  longestPauseMs = 0;
  /** The room's states: {state, at} by the clock of the page, the newest last. */
  states = [];
  /** The latest outage: {from, backAt, endedAt, silenceMs, missed, filled}, times by performance.now(). */
  outage = null;
  /** Called when an outage begins, ends, or is filled. */
  changed = () => {};

  // The seqs that are neither here nor told of, as ascending pairs. Up to #target they are of the outage. The room began at
  // #first for this page: what is not above it is history, of which there is more.
  #holes = [];
  #first = 0;
  #last = 0;
  #target = 0;
  #heardAt = performance.now();
  #aliveAt = performance.now();
  #newAt = null;
  #timer = 0;

  watch(room) {
    room.on("state", ({ state }) => this.#state(state));
    room.on("entered", (entry) => this.#entered(entry));
    room.on("message", (message) => this.#message(message));
    room.on("unsupported", (message) => this.#message(message));
    room.on("filled", (messages) => messages.forEach((message) => this.#fill(message.seq)));
    room.on("gap", (gap) => this.#gap(gap));
    room.on("barrage", (items) => { this.barrage += items.length; this.#came(); this.#heard(true); });
    room.on("skipped", ({ barrage, unkept }) => { this.skipped += barrage + unkept; this.#heard(); });
    room.on("online", () => this.#heard());
  }

  /** Silence counts from here at the earliest: the page has just asked for trouble. */
  mark() {
    this.#heardAt = this.#newAt = performance.now();
    this.longestPauseMs = 0;
  }

  alive() { this.#aliveAt = performance.now(); }

  /** An end that is told is the beginning of an outage. One that is told late, as after a sleep, is not. */
  closed() { if (performance.now() - this.#aliveAt <= HEARTBEAT_MS) this.alive(); }

  summary() {
    const { received, lost, missed, filled, spared, repeated, outOfOrder, longestSilenceMs } = this;
    return { total: received + lost + spared, received, lost, missed, filled, spared, repeated, outOfOrder,
      silenceMs: Math.round(longestSilenceMs) };
  }

  #came() {
    const now = performance.now();
    this.longestPauseMs = Math.max(this.longestPauseMs, now - (this.#newAt ?? now));
    this.#newAt = now;
  }

  #heard(isNew = false) {
    const now = performance.now();
    if (this.outage && !this.outage.endedAt) {
      this.outage.silenceMs = Math.max(this.outage.silenceMs, now - this.#heardAt);
      this.longestSilenceMs = Math.max(this.longestSilenceMs, this.outage.silenceMs);
      if (isNew && this.outage.backAt) this.#end();
    }
    this.#heardAt = now;
  }

  #end() {
    clearTimeout(this.#timer);
    this.outage.endedAt = performance.now();
    this.changed();
  }

  #state(state) {
    const now = performance.now();
    this.states.push({ state, at: Math.round(now) });
    if (this.states.length > STATES_MAX) this.states.shift();
    const isOpen = this.outage && !this.outage.backAt;
    if (state === "lost" && !isOpen) {
      clearTimeout(this.#timer);
      this.outage = { from: this.#aliveAt, backAt: 0, endedAt: 0, silenceMs: 0, missed: 0, filled: 0 };
      this.changed();
    } else if (state === "entered" && isOpen) {
      this.outage.backAt = now;
      this.#heard();
      this.#timer = setTimeout(() => this.#end(), QUIET_MS);
      this.changed();
    }
  }

  #entered({ recovery, seq }) {
    this.#heard();
    if (recovery !== "complete") {
      // The stream begins anew: what lies before is not this page's.
      [this.#first, this.#last, this.#target, this.#holes] = [seq, seq, 0, []];
      if (this.outage && !this.outage.endedAt) this.outage.isAnew = true;
      return;
    }
    const count = Math.max(0, seq - this.#last);
    this.#target = seq;
    this.missed += count;
    if (this.outage) this.outage.missed += count;
  }

  #message({ seq }) {
    this.#came();
    if (seq === undefined) return this.#heard(true);
    if (seq <= this.#first) {
      this.received += 1;
      return this.#heard(true);
    }
    if (seq <= this.#last) {
      this.outOfOrder += 1;
      return this.#fill(seq);
    }
    if (seq > this.#last + 1) this.#open(this.#last + 1, seq - 1);
    this.#last = seq;
    this.received += 1;
    if (seq <= this.#target) this.#isFilled(seq);
    this.#heard(seq > this.#target);
  }

  #fill(seq) {
    if (this.#close(seq, seq) === 0) { this.repeated += 1; return; }
    this.received += 1;
    this.#isFilled(seq);
  }

  #isFilled(seq) {
    this.filled += 1;
    // Later gaps are filled too: they are not this outage's.
    if (!this.outage || seq > this.#target || this.outage.filled >= this.outage.missed) return;
    this.outage.filled += 1;
    if (this.outage.filled === this.outage.missed) this.changed();
  }

  #gap({ ranges, cause }) {
    for (const [from, to] of ranges) {
      if (to > this.#last) {
        this.#open(this.#last + 1, to);
        this.#last = to;
      }
      // The SDK reads it by itself: it stays open until it comes.
      if (cause === "SLOW") { this.missed += to - from + 1; continue; }
      const count = this.#close(from, to);
      if (cause === "BUDGET") this.spared += count; else this.lost += count;
    }
    this.#heard();
  }

  #open(from, to) {
    this.#holes.push([from, to]);
    // More than can be kept is as good as spared: nothing was told of it.
    if (this.#holes.length > HOLES_MAX) {
      const [low, high] = this.#holes.shift();
      this.spared += high - low + 1;
    }
  }

  /** Takes the seqs out of the holes; how many of them were there. */
  #close(from, to) {
    let count = 0;
    this.#holes = this.#holes.flatMap(([low, high]) => {
      if (low > to || high < from) return [[low, high]];
      count += Math.min(high, to) - Math.max(low, from) + 1;
      return [[low, from - 1], [to + 1, high]].filter(([first, last]) => first <= last);
    });
    return count;
  }
}
