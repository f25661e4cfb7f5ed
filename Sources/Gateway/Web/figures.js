/** The figures of the node under the stage, the button that kills it, and how the page got over that. */
import { button, make } from "./parts.js";
import { words } from "./words.js";

const FIGURES_MS = 2_000;
const FIGURES_WAIT_MS = 5_000;
const KILL_WATCH_MS = 6_000;
const say = (key, values) => words.say(`room.${key}`, values);
const number = (value, digits = 0) => Number.isFinite(value) ? words.number(Number(value.toFixed(digits))) : "–";

export class Figures {
  #host;
  #figures = null;
  #timer = 0;
  #kill = null;
  #isOver = false;
  /** The node has no demo. */
  #isNone = false;

  /** The host gives what is the room's: {parts(), ledger(), online(), render(), say(), notice(), closer(), confirm()}. */
  constructor(host) {
    this.#host = host;
    document.addEventListener("visibilitychange", this.#poll);
    this.#poll();
  }

  destroy() {
    this.#isOver = true;
    document.removeEventListener("visibilitychange", this.#poll);
    clearTimeout(this.#timer);
  }

  get isWatching() { return this.#kill !== null && !this.#kill.isTold; }
  get hasReport() { return this.#kill !== null; }

  /** The frame has been built anew. */
  built() {
    this.#host.parts().figures.hidden = this.#isNone;
    if (this.#figures) this.#show();
    if (this.#kill) this.#kill.isTold = false;
  }

  showOnline(count) { this.#host.parts().figures.querySelector("[data-figure=online] dd")?.replaceChildren(count); }

  #poll = async () => {
    clearTimeout(this.#timer);
    if (document.visibilityState !== "visible") return;
    try {
      const answer = await fetch("/v1/demo", { signal: AbortSignal.timeout(FIGURES_WAIT_MS) });
      this.#isNone = answer.status === 404 && !this.#figures;
      if (this.#isNone) return this.built();
      if (answer.ok) this.#figures = await answer.json();
      // Asked too often: what was told last still holds.
      else if (answer.status !== 429) throw new Error(String(answer.status));
    } catch ({ name }) {
      // A node that is slow is not away. If it was never seen, there is nothing to say.
      if (this.#figures && name !== "TimeoutError") this.#figures = { ...this.#figures, isAway: true };
    }
    if (this.#isOver) return;
    if (this.#figures) this.#show();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#poll, FIGURES_MS);
  };

  #show() {
    const { figures } = this.#host.parts();
    const { node, nodes, kill, isAway = false, deliveriesPerSecond, barragePerSecond, deliverP99Ms, cpuPercent } = this.#figures;
    const values = {
      node: `${node} / ${number(nodes)}`, online: number(this.#host.online()), deliveries: number(deliveriesPerSecond + barragePerSecond),
      p99: deliverP99Ms === undefined ? "–" : `${number(deliverP99Ms, deliverP99Ms < 10 ? 1 : 0)} ms`, cpu: `${number(cpuPercent)} %`,
    };
    if (!figures.firstChild) {
      figures.append(make("p", {}, say("starting")), make("dl", { tabindex: 0 },
        ...Object.keys(values).map((key) => make("div", { class: "room-figure", "data-figure": key },
          make("dt", {}, say(`figure.${key}`)), make("dd")))),
      button("part-button room-kill", say("kill"), () => this.#killNode(), { "data-part": "kill" }));
    }
    const [away, list, killer] = figures.children;
    [...list.children].forEach((one) => { one.lastChild.textContent = values[one.dataset.figure]; });
    [away.hidden, list.hidden, killer.hidden, killer.disabled] = [!isAway, isAway, !(kill === true && nodes >= 3), isAway];
    figures.hidden = false;
  }

  async #killNode() {
    const { node } = this.#figures;
    const isMeant = await this.#host.confirm(say("kill"), say("killText", { node }), say("kill"));
    if (!isMeant) return;
    const ledger = this.#host.ledger();
    ledger.mark();
    this.#kill = { node, at: performance.now(), outage: ledger.outage, isTold: false };
    this.#host.render();
    try {
      const answer = await fetch("/v1/demo/kill", { method: "POST" });
      if (answer.status < 400) return;
      this.#kill = null;
      this.#host.render();
      this.#host.notice(say("killFailed"), "bad");
    } catch { /* It died before it could answer. */ }
  }

  /** Shows how this page got over the node's end, from its own ledger. */
  showReport() {
    const { report } = this.#host.parts();
    const kill = this.#kill;
    report.hidden = kill === null;
    if (!kill || kill.isTold) return;
    const outage = this.#host.ledger().outage === kill.outage ? null : this.#host.ledger().outage;
    const isLate = performance.now() - kill.at > KILL_WATCH_MS;
    const isOver = outage ? outage.endedAt && (outage.filled >= outage.missed || isLate) : isLate;
    const values = { node: kill.node };
    const title = say(isOver ? "killed" : "killing", values);
    if (!isOver) {
      if (report.textContent !== title) { report.replaceChildren(make("strong", {}, title)); this.#host.say(title); }
      return;
    }
    const { lost, total } = this.#host.ledger().summary();
    const fact = (key, more) => make("div", "room-fact", make("b", "", say(key, more)), make("span", "", say(`${key}.name`)));
    const facts = [fact("ofAll", { lost: words.number(lost), total: words.number(total) })];
    if (outage) {
      facts.unshift(fact("silence", { ms: words.number(Math.round(outage.silenceMs)) }),
        ...(outage.isAnew ? [] : [fact("missed", { missed: words.number(outage.missed), filled: words.number(outage.filled) })]));
    }
    report.replaceChildren(make("strong", {}, title),
      ...(outage?.isAnew ? [make("span", {}, say("anew"))] : outage ? [] : [make("span", {}, say("unnoticed"))]), make("div", { class: "room-facts" }, ...facts),
      this.#host.closer(() => { this.#kill = null; this.#host.render(); }));
    kill.isTold = true;
    this.#host.say(`${title}. ${facts.map((one) => [...one.children].map((child) => child.textContent).join(" ")).join(", ")}`);
  }
}
