/** Looking for messages of the room, for managers: a dialog with a field, what was found, and a button for more. */
import { button, clean, cut, errorWords, make, named } from "./parts.js";
import { dialog } from "./dialogs.js";
import { words } from "./words.js";

const say = (key, values) => words.say(`search.${key}`, values);

/** A page may have nothing and a next one all the same: so many are read for one click. */
const PAGES_MAX = 10;
/** A session has two searches a second. */
const PAUSE_MS = 550;
const SHOWN = 300;

/** Everything in a message that is looked into. */
const saidIn = ({ text, title, summary, media, searchable }) =>
  clean([text, title, summary, media?.name, searchable].filter(Boolean).join(" · "));

export class Search {
  #context;
  #chat;
  #field = make("input", {
    class: "people-input room-search-field", type: "search", name: "text", maxlength: 64, required: true, autocomplete: "off",
    enterkeyhint: "search", "aria-label": say("field"), placeholder: say("field"),
  });
  #found = make("div", { role: "list", "aria-label": say("found") });
  #state = make("p", { class: "dialog-text", role: "status" });
  #more = button("part-button", say("more"), () => this.#read(), { hidden: true });
  #box = null;
  /** The search that is shown: {text, next, count}; a later one makes what comes of it void. */
  #search = null;

  constructor(context, chat) { [this.#context, this.#chat] = [context, chat]; }

  /** Opens the dialog in the tree of `place`. */
  open(place) {
    const form = make("form", { class: "room-search", submit: (event) => { event.preventDefault(); this.#begin(); } },
      this.#field, make("button", "part-button part-primary", say("do")));
    this.#box = dialog(place, say("title"), "room-search-box", form, this.#found, this.#state, this.#more);
    this.#box.addEventListener("close", () => { this.#search = null; });
    this.#field.focus();
  }

  #begin() {
    const text = this.#field.value.trim();
    if (!text) return;
    this.#found.replaceChildren();
    this.#search = { text, next: undefined, count: 0 };
    this.#read();
  }

  /** Reads until something was found, the end, or enough. */
  async #read() {
    const search = this.#search;
    const isShown = () => search === this.#search;
    this.#more.hidden = true;
    this.#state.textContent = say("looking");
    try {
      for (let pages = 0, found = 0; pages < PAGES_MAX && found === 0; pages += 1) {
        if (pages > 0) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
        if (!isShown()) return;
        const page = await this.#context.room.search(search.text, { ...(search.next && { after: search.next }) });
        if (!isShown()) return;
        found = page.messages?.length ?? 0;
        [search.next, search.count] = [page.next, search.count + found];
        this.#found.append(...(page.messages ?? []).map((message) => this.#row(message)));
        if (!search.next) break;
      }
      const isOver = !search.next;
      this.#state.textContent = search.count === 0 ? say(isOver ? "none" : "nothingYet") : isOver ? say("all", { count: words.number(search.count) }) : "";
    } catch (error) {
      if (!isShown()) return;
      this.#state.textContent = error?.refusal?.code === 414 ? say("empty") : errorWords(error);
      if (error?.refusal?.code === 414) return;
      // The same page once more.
      search.next ??= "";
    }
    this.#more.hidden = search.next === undefined;
  }

  #row(message) {
    const said = saidIn(message);
    const time = new Intl.DateTimeFormat(words.language, { dateStyle: "medium", timeStyle: "short" }).format(message.time);
    const text = make("bdi", "room-search-text", cut(said, SHOWN));
    const row = button("room-search-row", make("span", "room-search-head", message.from ? named(message.from) : "", " · ", time), () => {
      // Its place in the chat; a message that is not loaded shows all of its text here.
      if (this.#chat.show(message.messageId)) return this.#box.close();
      text.textContent = said;
      row.setAttribute("aria-expanded", "true");
    });
    row.append(text);
    return make("div", { role: "listitem" }, row);
  }
}
