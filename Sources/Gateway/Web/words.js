/**
 * The words of the page, of which only the language that is used is loaded, and modules that are loaded when they are needed.
 *
 *     await words.use("zh");                  // words-zh.js
 *     words.say("chat.new", { count: 3 });    // "{count} 条新消息" of its module `chat`
 */
const tables = {};
const failures = new Map();

/** Imports a file beside this one. A browser may remember that a module failed, so the next try has another address. */
export async function bring(name) {
  const count = failures.get(name);
  try { return await import(new URL(count ? `${name}?try=${count}` : name, import.meta.url)); } catch (error) {
    failures.set(name, (count ?? 0) + 1);
    throw error;
  }
}

export const words = {
  /** The language that is said: "en" or "zh". */
  language: undefined,

  /** Changes the language, by default to the browser's, if it can be loaded; else it is English or stays as it is. Resolves
   * when there are words. */
  async use(language = navigator.language) {
    const wanted = language.toLowerCase().startsWith("zh") ? "zh" : "en";
    for (;;) {
      for (const name of [wanted, this.language ?? "en", "en"]) {
        try {
          tables[name] ??= (await bring(`words-${name}.js`)).default;
          this.language = name;
          return;
        } catch { /* The next one. */ }
      }
      await new Promise((resolve) => setTimeout(resolve, 2_000));
    }
  },

  /** The sentence, with {names} filled in. A key without words is said as it is. */
  say(key, values = {}) {
    const [module, ...rest] = key.split(".");
    const text = tables[this.language]?.[module]?.[rest.join(".")] ?? key;
    return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
  },

  /** A number as people of the language write it. */
  number(value) { return new Intl.NumberFormat(this.language).format(value); },
};
