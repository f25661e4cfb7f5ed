/** Line charts of the last five minutes, as SVG. Lines are told apart by colour, dashes and a legend. */
import { el } from "/console/console-ui.js";
import { words } from "/console/console-words.js";

const [WIDTH, HEIGHT, LINES_MAX] = [300, 90, 6];
const SPACE = "http://www.w3.org/2000/svg";

function svg(tag, attributes) {
  const element = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** The next round number at or above the value: 1, 2, 5, 10, 20 … of the unit in which it is written. */
function ceiling(value, thousand) {
  const unit = thousand ** Math.max(0, Math.floor(Math.log(value) / Math.log(thousand)));
  const power = 10 ** Math.floor(Math.log10(value / unit));
  return unit * [1, 2, 5, 10].map((step) => step * power).find((step) => step >= (value / unit) * 0.999);
}

export class Chart {
  #title; #format; #linesOf; #spanMs; #maximum; #gapMs; #thousand;
  #value = el("span", { class: "chart-value" });
  #top = el("span", { class: "chart-top" });
  #legend = el("div", { class: "chart-legend" });
  #drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" });
  #cursor = svg("line", { class: "chart-cursor", y1: 0, y2: HEIGHT, visibility: "hidden" });
  #paths = [];
  #lines = [];
  #now = 0;
  #pointed = null;

  /** `lines(samples)` → [{name, points: [[time, value]]}]; `value(lines)` is the figure in large. */
  constructor({ title, format, lines, value, spanMs, gapMs, maximum = 0, thousand = 1_000 }) {
    this.#title = title;
    this.#format = format;
    this.#linesOf = lines;
    this.value = value;
    this.#spanMs = spanMs;
    this.#gapMs = gapMs;
    this.#maximum = maximum;
    this.#thousand = thousand;
    for (const share of [0.5, 1]) {
      this.#drawing.append(svg("line", { class: "chart-grid", x1: 0, x2: WIDTH, y1: HEIGHT * share, y2: HEIGHT * share }));
    }
    this.#drawing.append(this.#cursor);
    const plot = el("div", { class: "chart-plot" }, this.#drawing, this.#top,
      el("span", { class: "chart-ends" }, el("span", {}, words.say("chart.start")), el("span", {}, words.say("chart.end"))));
    plot.addEventListener("pointermove", (event) => {
      const box = this.#drawing.getBoundingClientRect();
      this.#pointed = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
      this.#say();
    });
    plot.addEventListener("pointerleave", () => { this.#pointed = null; this.#say(); });
    this.element = el("figure", { class: "chart" },
      el("figcaption", {}, el("span", { class: "chart-title" }, title), this.#value), plot, this.#legend);
  }

  update(samples) {
    this.#now = Date.now();
    this.#lines = this.#linesOf(samples).slice(0, LINES_MAX);
    const oldest = this.#now - this.#spanMs;
    let highest = this.#maximum;
    for (const { points } of this.#lines) for (const [, value] of points) if (value > highest) highest = value;
    const top = highest > 0 ? ceiling(highest, this.#thousand) : 1;
    this.#top.textContent = this.#format(top);
    while (this.#paths.length < this.#lines.length) {
      const path = svg("path", { class: `chart-line line-${this.#paths.length}` });
      this.#paths.push(path);
      this.#drawing.append(path);
    }
    this.#paths.forEach((path, index) => path.setAttribute("d", this.#path(this.#lines[index]?.points ?? [], oldest, top)));
    this.#say();
  }

  /** A hole in time is a hole in the line: while nobody saw the tab, nothing was asked. */
  #path(points, oldest, top) {
    let [text, before] = ["", -Infinity];
    for (const [at, value] of points) {
      if (at < oldest || value === undefined || value === null) continue;
      const x = ((at - oldest) / this.#spanMs) * WIDTH;
      const y = HEIGHT - 1 - (value / top) * (HEIGHT - 2);
      text += `${at - before > this.#gapMs ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`;
      before = at;
    }
    return text;
  }

  #say() {
    const at = this.#pointed === null ? null : this.#now - this.#spanMs * (1 - this.#pointed);
    const found = this.#lines.map(({ name, points }) => {
      if (at === null) return [name, points.at(-1)];
      let near;
      for (const point of points) if (!near || Math.abs(point[0] - at) < Math.abs(near[0] - at)) near = point;
      return [name, near && Math.abs(near[0] - at) <= this.#gapMs ? near : undefined];
    });
    const say = (point) => (point?.[1] === undefined || point[1] === null ? "–" : this.#format(point[1]));
    const large = this.value(found.map(([, point]) => point?.[1]).filter((value) => value !== undefined && value !== null));
    this.#value.textContent = large === undefined ? "–" : this.#format(large);
    if (at === null) this.#cursor.setAttribute("visibility", "hidden");
    else {
      const x = this.#pointed * WIDTH;
      for (const [name, value] of [["x1", x], ["x2", x], ["visibility", "visible"]]) this.#cursor.setAttribute(name, value);
    }
    const entries = found.length > 1 ? found : [];
    if (this.#legend.childElementCount !== entries.length + 1) {
      this.#legend.replaceChildren(el("span", { class: "chart-when" }), ...entries.map((_, index) =>
        el("span", { class: "chart-key" }, el("i", { class: `key-${index}` }), el("span"))));
    }
    this.#legend.firstChild.textContent = at === null ? "" : words.clock(at);
    entries.forEach(([name, point], index) => {
      this.#legend.children[index + 1].lastChild.textContent = `${name} ${say(point)}`;
    });
    this.#drawing.setAttribute("aria-label", words.say("chart.label", {
      title: this.#title, values: found.map(([name, point]) => `${name} ${say(point)}`).join(", "),
    }));
  }
}

/** One line of a sum, a maximum or the like over the nodes of each sample. */
export function over(name, pick, combine) {
  return (samples) => [{
    name, points: samples.map(({ at, nodes }) => {
      const values = nodes.map(pick).filter((value) => typeof value === "number");
      return [at, values.length > 0 ? combine(values) : undefined];
    }),
  }];
}

/** One line for each node; when these are many, the highest, the middle and the lowest. */
export function perNode(pick) {
  return (samples) => {
    const ids = [...new Set(samples.flatMap(({ nodes }) => nodes.map(({ node }) => node)))].sort();
    if (ids.length <= LINES_MAX) {
      return ids.map((id) => ({
        name: id, points: samples.map(({ at, nodes }) => {
          const node = nodes.find((one) => one.node === id);
          return [at, node && pick(node)];
        }),
      }));
    }
    const sorted = (values) => values.toSorted((one, other) => one - other);
    return [
      ...over(words.say("chart.highest"), pick, (values) => Math.max(...values))(samples),
      ...over(words.say("chart.middle"), pick, (values) => sorted(values)[values.length >> 1])(samples),
      ...over(words.say("chart.lowest"), pick, (values) => Math.min(...values))(samples),
    ];
  };
}

words.add({
  en: {
    "chart.start": "5 min ago", "chart.end": "now", "chart.label": "{title}, last five minutes. Now: {values}",
    "chart.highest": "highest", "chart.middle": "middle", "chart.lowest": "lowest",
  },
  zh: {
    "chart.start": "5 分钟前", "chart.end": "现在", "chart.label": "{title}，最近五分钟。当前：{values}",
    "chart.highest": "最高", "chart.middle": "中位", "chart.lowest": "最低",
  },
});
