/**
 * The words of the console, in English and Chinese, and how it writes numbers, sizes and times. Each module adds its own
 * words with `add`, under keys that begin with its name. The live room has a copy of its own: the two share no files.
 */
const tables = { en: new Map(), zh: new Map() };
const UNITS = { en: { d: "d", h: "h", min: "min", s: "s", and: " " }, zh: { d: "天", h: "小时", min: "分", s: "秒", and: "" } };

export const words = {
  /** "en" or "zh". */
  language: globalThis.navigator?.language?.toLowerCase().startsWith("zh") ? "zh" : "en",

  /** How far the cluster's clock is ahead of this machine's, in ms. */
  skew: 0,

  add(table) {
    for (const [language, entries] of Object.entries(table)) {
      for (const [key, text] of Object.entries(entries)) tables[language].set(key, text);
    }
  },

  has(key) { return tables.en.has(key); },

  /** The sentence, with {names} filled in. A key without words is said as it is. */
  say(key, values = {}) {
    const text = tables[this.language].get(key) ?? tables.en.get(key) ?? key;
    return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
  },

  /** Keys that one language has and the other has not. For the tests. */
  missing() {
    const [en, zh] = [tables.en, tables.zh].map((table) => [...table.keys()]);
    return [...en.filter((key) => !tables.zh.has(key)), ...zh.filter((key) => !tables.en.has(key))];
  },

  /** A list of names: "n1, n2 and n3". */
  list(items) { return new Intl.ListFormat(this.language).format(items.map(String)); },

  now() { return Date.now() + this.skew; },

  number(value, digits = 0) {
    return new Intl.NumberFormat(this.language, { maximumFractionDigits: digits }).format(value);
  },

  /** A number with about three digits that matter: 0.42, 8.1, 132, 14,020. */
  rough(value) { return this.number(value, value >= 100 ? 0 : value >= 10 ? 1 : 2); },

  bytes(value) {
    let [number, unit] = [value, 0];
    while (number >= 1024 && unit < 5) { number /= 1024; unit += 1; }
    return `${unit === 0 ? this.number(number) : this.rough(number)} ${["B", "KB", "MB", "GB", "TB", "PB"][unit]}`;
  },

  ms(value) { return value >= 10_000 ? `${this.rough(value / 1000)} s` : `${this.rough(value)} ms`; },

  /** A span of time in its two largest units. */
  span(milliseconds) {
    const units = UNITS[this.language];
    const seconds = Math.max(0, Math.round(milliseconds / 1000));
    const parts = [[Math.floor(seconds / 86_400), "d"], [Math.floor(seconds / 3_600) % 24, "h"],
      [Math.floor(seconds / 60) % 60, "min"], [seconds % 60, "s"]];
    const first = parts.findIndex(([count]) => count > 0);
    if (first < 0) return `0 ${units.s}`;
    return parts.slice(first, first + 2).filter(([count]) => count > 0)
      .map(([count, unit]) => `${count} ${units[unit]}`).join(units.and);
  },

  /** How long ago. A time in the near future is a clock that differs. */
  ago(time) {
    let passed = this.now() - time;
    // Seconds say nothing about what was ten minutes ago.
    if (Math.abs(passed) > 600_000) passed -= passed % 60_000;
    if (passed < 1_000 && passed > -60_000) return this.say("words.now");
    return passed >= 0 ? this.say("words.ago", { span: this.span(passed) }) : this.say("words.in", { span: this.span(-passed) });
  },

  /** The whole date and time, of this machine's time zone. */
  moment(time) {
    return new Intl.DateTimeFormat(this.language, { dateStyle: "medium", timeStyle: "long" }).format(new Date(time));
  },

  clock(time) {
    return new Intl.DateTimeFormat(this.language, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false })
      .format(new Date(time));
  },
};

words.add({
  en: { "words.now": "just now", "words.ago": "{span} ago", "words.in": "in {span}" },
  zh: { "words.now": "刚刚", "words.ago": "{span}前", "words.in": "{span}后" },
});
