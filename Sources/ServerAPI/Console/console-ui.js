/** The console's building blocks: elements, tables, dialogs, notices. Everything that comes from outside is text. */
import { words } from "/console/console-words.js";

/** An element. `on…` attributes are listeners; strings among the children become text. */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

/** A name or text of people: its direction marks stay inside of it. */
export function person(text) { return el("bdi", {}, text); }

/**
 * A button. With `why` it can't be used, and says why to everyone: it stays in the order of focus, because a disabled button
 * hides its reason from the keyboard.
 */
export function button(text, onclick, { kind = "", why = "", label, ...attributes } = {}) {
  const made = el("button", {
    type: "button", class: `button ${kind}`, title: why || undefined, "aria-label": label && (why ? `${label}. ${why}` : label),
    "aria-disabled": why ? "true" : undefined, ...attributes,
  }, text);
  made.addEventListener("click", (event) => (why ? notice(why, "warn") : onclick?.(event)));
  if (why && !label) made.append(el("span", { class: "hidden" }, ` (${why})`));
  return made;
}

export function badge(text, kind = "") { return el("span", { class: `badge ${kind}` }, text); }

/** How long ago, kept up to date by `tick`; the whole date is its title. */
export function time(at) {
  return el("time", { datetime: new Date(at).toISOString(), title: words.moment(at), "data-at": at }, words.ago(at));
}

/** Rewrites all relative times. */
export function tick() {
  for (const element of document.querySelectorAll("time[data-at]")) {
    const text = words.ago(Number(element.dataset.at));
    if (element.textContent !== text) element.textContent = text;
  }
}

/** A box with a heading. */
export function card(title, ...given) {
  const children = given.flat().filter(Boolean);
  const actions = children.filter((child) => child.classList.contains("card-actions"));
  return el("section", { class: "card" },
    el("div", { class: "card-head" }, el("h2", {}, title), actions),
    children.filter((child) => !actions.includes(child)));
}

export function actions(...children) { return el("div", { class: "card-actions" }, children); }

/** Names and values, one below the other. */
export function facts(pairs) {
  return el("dl", { class: "facts" }, pairs.filter(Boolean).map(([name, value]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, value === undefined || (value.textContent ?? value) === "" ? "–" : value))));
}

const NOTICE_MS = { good: 5_000, warn: 8_000, bad: 15_000 };
let noticeTimer;

/** Says the result of an action: the page's one live region. */
export function notice(text, kind = "good") {
  clearTimeout(noticeTimer);
  const box = document.getElementById("notice");
  box.className = kind;
  const close = el("button", { type: "button", class: "notice-close", "aria-label": words.say("ui.dismiss") }, "×");
  const clear = () => box.replaceChildren();
  close.addEventListener("click", clear);
  box.replaceChildren(el("span", {}, text), close);
  noticeTimer = setTimeout(clear, NOTICE_MS[kind]);
}

/** Does the work of an action, and says how it ended. Returns its result, or undefined after a failure. */
export async function act(work, done) {
  try {
    const result = (await work()) ?? true;
    if (done) notice(typeof done === "function" ? done(result) : done, "good");
    return result;
  } catch (error) {
    if (error.sentence === undefined) throw error;
    if (error.isAbandoned) return undefined;
    notice(error.isUnknown ? words.say("ui.unknown", { sentence: error.sentence }) : error.sentence, "bad");
    return undefined;
  }
}

/** A modal dialog. `build` gets `close(value)`; the promise has that value, or undefined after Escape. */
export function modal(title, build) {
  return new Promise((resolve) => {
    let result;
    const heading = el("h2", { id: "dialog-title" }, title);
    const box = el("dialog", { "aria-labelledby": "dialog-title" }, heading);
    const close = (value) => { result = value; box.close(); };
    box.append(...[build(close)].flat());
    box.addEventListener("close", () => { box.remove(); resolve(result); });
    document.body.append(box);
    box.showModal();
  });
}

let fieldNumber = 0;

/** A labelled control: text, number, password, textarea, select or checkbox. */
export function field({ name, label, type = "text", value = "", options, hint, ...attributes }) {
  const id = `field-${fieldNumber += 1}`;
  const shared = { id, name, "aria-describedby": hint ? `${id}-hint` : undefined, autocomplete: "off", ...attributes };
  let control;
  if (type === "select") {
    control = el("select", shared, options.map((option) => {
      const [key, text] = Array.isArray(option) ? option : [option, option];
      return el("option", { value: key, selected: String(key) === String(value) }, text);
    }));
  } else if (type === "textarea") control = el("textarea", { rows: 4, ...shared, value });
  else if (type === "checkbox") control = el("input", { type, ...shared, checked: Boolean(value) });
  else control = el("input", { type, spellcheck: "false", autocapitalize: "off", ...shared, value });
  return el("div", { class: `field of-${type}` },
    el("label", { for: id }, label), control, hint && el("p", { class: "hint", id: `${id}-hint` }, hint));
}

/** The values of a form's named controls: numbers as numbers, empty numbers as undefined. */
export function valuesOf(form) {
  const values = {};
  for (const control of form.elements) {
    if (!control.name) continue;
    if (control.type === "checkbox") values[control.name] = control.checked;
    else if (control.type === "number") values[control.name] = control.value === "" ? undefined : Number(control.value);
    else values[control.name] = control.value;
  }
  return values;
}

/** A form in a dialog. Returns the values, or undefined when it was left. With `typed` that text has to be typed first. */
export async function ask({ title, text, fields = [], action, danger = false, typed }) {
  return modal(title, (close) => {
    const all = typed === undefined ? fields : [...fields, {
      name: "typed", label: words.say("ui.type", { text: typed }), required: true, spellcheck: "false",
    }];
    const submit = el("button", { type: "submit", class: `button ${danger ? "danger" : "primary"}` }, action);
    const cancel = button(words.say("ui.cancel"), () => close(undefined));
    const form = el("form", {
      onsubmit: (event) => {
        event.preventDefault();
        const { typed: given, ...values } = valuesOf(form);
        if (typed === undefined || given === typed) close(values);
      },
    }, text && [text].flat().map((line) => el("p", {}, line)), all.map(field), el("div", { class: "dialog-actions" }, cancel, submit));
    if (typed !== undefined) {
      submit.disabled = true;
      form.elements.typed.setAttribute("autofocus", "");
      form.elements.typed.addEventListener("input", () => { submit.disabled = form.elements.typed.value !== typed; });
    } else if (danger) {
      // An action that hurts needs more than the Enter key.
      cancel.setAttribute("autofocus", "");
    }
    return form;
  });
}

/** Asks before something that hurts. */
export async function confirmed(options) { return (await ask({ danger: true, ...options })) !== undefined; }

/** A table that is wider than its place is moved sideways, so the keyboard has to reach it; others are no stop for it. */
const widths = new ResizeObserver((changes) => {
  for (const { target } of changes) {
    const place = target.parentElement;
    if (!target.isConnected) { widths.unobserve(target); continue; }
    if (place.scrollWidth > place.clientWidth) place.setAttribute("tabindex", "0"); else place.removeAttribute("tabindex");
  }
});

/**
 * A table whose rows have keys: an update rewrites the cells that differ, so that focus and selection stay.
 * Columns: {title, cell(row) → text, element or [text, kind], number, wide, once: the element is made once a row}.
 */
export class Table {
  #columns;
  #key;
  #rows = new Map();
  #body = el("tbody");
  #table;
  #empty;
  #old = el("p", { class: "warning", hidden: true });
  #updatedAt;

  constructor({ label, columns, key, empty = "", isGrid = false }) {
    this.#columns = columns;
    this.#key = key;
    this.#empty = el("p", { class: "empty" }, empty);
    this.#table = el("table", {}, el("caption", { class: "hidden" }, label),
      el("thead", {}, el("tr", {}, columns.map((column) =>
        el("th", { scope: "col", class: column.number && "number" }, column.once && !column.title
          ? el("span", { class: "hidden" }, words.say("ui.actions")) : column.title)))),
      this.#body);
    // A grid stays one on a phone, and is moved sideways there; other tables become a list.
    this.element = el("div", { class: isGrid ? "table grid-table" : "table", role: "group", "aria-label": label }, this.#old, this.#table, this.#empty);
    widths.observe(this.#table);
    this.#empty.hidden = true;
  }

  get size() { return this.#rows.size; }

  /** `empty` replaces the sentence of an empty table. */
  update(rows, empty) {
    const keys = new Set();
    let before = this.#body.firstChild;
    for (const row of rows) {
      const key = String(this.#key(row));
      if (keys.has(key)) continue;
      keys.add(key);
      let known = this.#rows.get(key);
      if (!known) {
        known = { line: el("tr"), said: [] };
        known.line.append(...this.#columns.map((column, index) => el(index === 0 ? "th" : "td", {
          scope: index === 0 ? "row" : undefined, class: `${column.number ? "number" : ""} ${column.wide ? "wide" : ""}`,
          "data-label": column.title || undefined,
        })));
        this.#rows.set(key, known);
      }
      this.#columns.forEach((column, index) => this.#fill(known, index, column, row));
      if (known.line !== before) this.#body.insertBefore(known.line, before);
      else before = before.nextSibling;
    }
    for (const [key, { line }] of this.#rows) {
      if (!keys.has(key)) { line.remove(); this.#rows.delete(key); }
    }
    if (empty !== undefined) this.#empty.textContent = empty;
    this.#empty.hidden = keys.size > 0;
    this.#table.hidden = keys.size === 0;
    this.#old.hidden = true;
    this.element.classList.remove("old");
    this.#updatedAt = words.now();
  }

  /** Nothing newer is known than the rows of `at`, and `sentence` tells why. The next update ends it. */
  old(sentence, at = this.#updatedAt) {
    if (this.size === 0) {
      this.#empty.textContent = sentence;
      this.#empty.hidden = false;
      return;
    }
    this.#old.hidden = false;
    this.element.classList.add("old");
    const said = `${sentence} ${at}`;
    if (this.#old.dataset.said === said) return;
    this.#old.dataset.said = said;
    this.#old.replaceChildren(sentence, " ", words.say("ui.old"), " ", time(at), words.say("ui.stop"));
  }

  #fill(known, index, column, row) {
    if (column.once && known.said[index]) return;
    const value = column.cell(row) ?? "–";
    const isElement = value instanceof Node;
    const said = column.once ? "once" : isElement ? value.outerHTML : String(value);
    if (known.said[index] === said) return;
    known.said[index] = said;
    const content = Array.isArray(value) ? badge(value[0], value[1]) : value;
    known.line.children[index].replaceChildren(content);
  }
}

const ICONS = {
  overview: "M3 12h4l3-8 4 16 3-8h4", rooms: "M4 5h16v11H9l-5 4z", users: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 20c1-4 4-6 8-6s7 2 8 6",
  audit: "M6 3h9l4 4v14H6zM9 11h7M9 15h7", cluster: "M4 4h16v6H4zM4 14h16v6H4zM8 7h.01M8 17h.01",
  settings: "M4 7h10M18 7h2M4 17h2M10 17h10M16 4v6M8 14v6",
};

export function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

words.add({
  en: {
    "ui.cancel": "Cancel", "ui.dismiss": "Dismiss", "ui.actions": "Actions", "ui.type": "Type {text} to go on",
    "ui.unknown": "{sentence} Nobody knows whether it was done: look before you repeat it.",
    "ui.more": "Load more", "ui.loading": "Loading …", "ui.save": "Save", "ui.close": "Close",
    "ui.reload": "Load again", "ui.old": "The rows below are old, and were loaded", "ui.stop": ".", "ui.notLoaded": "This could not be loaded.",
  },
  zh: {
    "ui.cancel": "取消", "ui.dismiss": "关闭提示", "ui.actions": "操作", "ui.type": "请输入 {text} 以继续",
    "ui.unknown": "{sentence} 无法确定操作是否已执行：重试前请先查看。",
    "ui.more": "加载更多", "ui.loading": "加载中…", "ui.save": "保存", "ui.close": "关闭",
    "ui.reload": "重新加载", "ui.old": "以下是旧数据，加载于", "ui.stop": "。", "ui.notLoaded": "未能加载。",
  },
});
