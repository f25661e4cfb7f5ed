/**
 * The words of the pages, in English and Chinese. Each module adds its own with `add`, under keys that begin with its name.
 *
 *     words.add({ en: { "chat.send": "Send", "chat.new": "{count} new" }, zh: { "chat.send": "发送", "chat.new": "{count} 条新消息" } });
 *     words.say("chat.new", { count: 3 });
 */
const tables = { en: new Map(), zh: new Map() };

export const words = {
  /** "en" or "zh". */
  language: globalThis.navigator?.language?.toLowerCase().startsWith("zh") ? "zh" : "en",

  add(table) {
    for (const [language, entries] of Object.entries(table)) {
      for (const [key, text] of Object.entries(entries)) tables[language].set(key, text);
    }
  },

  /** The sentence, with {names} filled in. A key without words is said as it is. */
  say(key, values = {}) {
    const text = tables[this.language].get(key) ?? tables.en.get(key) ?? key;
    return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
  },

  /** A number as people of the language write it. */
  number(value) { return new Intl.NumberFormat(this.language).format(value); },

  /** Keys that one language has and the other has not. For the tests. */
  missing() {
    const [en, zh] = [tables.en, tables.zh].map((table) => [...table.keys()]);
    return [...en.filter((key) => !tables.zh.has(key)), ...zh.filter((key) => !tables.en.has(key))];
  },
};
