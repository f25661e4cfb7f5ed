/** Messages that wait for a manager: a line with how many there are, and a dialog in which they are let through or denied. */
import { button, clean, cut, errorWords, make, named } from "./parts.js";
import { words } from "./words.js";

const say = (key, values) => words.say(`held.${key}`, values);

const READ_MAX = 100;

export class Held {
  #place;
  #context;
  /** By `heldId`, the oldest first. */
  #waiting = new Map();
  /** Whether there are more than were read. */
  #hasMore = false;
  #list = null;
  #isOver = false;

  /** `changed` is called when the line comes or goes. */
  constructor(place, context, changed) {
    [this.#place, this.#context] = [place, context];
    this.changed = changed;
    this.read();
  }

  destroy() { this.#isOver = true; this.#place.replaceChildren(); this.#list?.closest("dialog")?.close(); }

  /** Decisions of others are not told: the list is read again when it is opened. */
  async read() {
    const page = await this.#context.room.held({ limit: READ_MAX }).catch(() => null);
    if (!page || this.#isOver) return;
    this.#waiting = new Map((page.messages ?? []).map((message) => [message.messageId, message]));
    this.#hasMore = page.next !== undefined;
    this.#show();
  }

  /** One more waits. */
  told(message) {
    if (this.#waiting.size >= READ_MAX) this.#hasMore = true; else this.#waiting.set(message.messageId, message);
    this.#show();
  }

  #show() {
    const count = words.number(this.#waiting.size) + (this.#hasMore ? "+" : "");
    const text = say(this.#waiting.size === 1 ? "waiting.one" : "waiting", { count });
    this.#place.replaceChildren(...(this.#waiting.size > 0 ? [button("room-strip room-pin", text, () => this.#open())] : []));
    this.#list?.replaceChildren(...this.#rows());
    this.changed();
  }

  async #open() {
    await this.read();
    if (this.#isOver) return;
    this.#list = make("div", {}, ...this.#rows());
    this.#context.dialog(say("title"), "room-pinned", this.#list);
  }

  #rows() {
    if (this.#waiting.size === 0) return [make("p", "dialog-text", say("none"))];
    return [...this.#waiting.values()].map((message) => {
      const said = clean(message.text ?? message.title ?? message.media?.name ?? message.content ?? "");
      const text = [message.from && named(message.from), cut(said, 400)].filter(Boolean).join(": ");
      return make("div", "room-pin-row", make("bdi", "room-pin-text", text),
        button("part-button part-primary", say("allow"), () => this.#decide(message, "allowHeld")),
        button("part-button", say("deny"), () => this.#decide(message, "denyHeld")));
    });
  }

  async #decide({ messageId }, action) {
    try {
      await this.#context.room[action](messageId);
    } catch (error) {
      this.#context.notice(errorWords(error), "bad");
      // Somebody else, or the end of its time, was faster.
      if (![404, 409].includes(error?.refusal?.code)) return;
    }
    this.#waiting.delete(messageId);
    this.#show();
  }
}
