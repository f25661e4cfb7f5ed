/** Dialogs and menus, which are loaded when the first one may be opened. */
import { button, icon, make, openBeside } from "./parts.js";
import { words } from "./words.js";

let serial = 0;

/** Opens a dialog in the tree of `place`. Escape, a click beside it and its button close it; the focus returns to where it was. */
export function dialog(place, title, name, ...content) {
  const id = `dialog-${++serial}`;
  const label = words.say("people.close");
  const beside = ({ target, clientX, clientY }) => {
    const { left, right, top, bottom } = box.getBoundingClientRect();
    if (target === box && (clientX < left || clientX > right || clientY < top || clientY > bottom)) box.close();
  };
  const box = make("dialog", { class: `dialog ${name}`, "aria-labelledby": id, close: () => box.remove(), click: beside }, make("div", "dialog-bar", make("h2", { class: "dialog-title", id }, title),
    button("part-button dialog-close", icon("M6 6l12 12M18 6 6 18"), () => box.close(), { "aria-label": label, title: label })), ...content);
  const root = place.getRootNode();
  (root === document ? document.body : root).append(box);
  box.showModal();
  return box;
}

/** Asks before something that can't be undone. Resolves with whether the person agreed. */
export function confirm(place, title, text, action, ...fields) {
  return new Promise((resolve) => {
    let agreed = false;
    const no = button("part-button", words.say("people.cancel"), () => box.close());
    const box = dialog(place, title, "dialog-confirm", ...(text ? [make("p", "dialog-text", text)] : []), ...fields,
      make("div", "dialog-foot", no, button("part-button dialog-danger", action, () => { agreed = true; box.close(); })));
    box.addEventListener("close", () => resolve(agreed));
    no.focus();
  });
}

/** Opens a menu beside an element, and returns its box with `draw(items, ...head)` and `shut()`. An item is {label, action,
 * isGrave}; a menu without items is a note. */
export function menu(anchor, label) {
  const box = make("div", { class: "dialog-menu", popover: "manual", tabindex: -1, "aria-label": label });
  const focused = () => box.getRootNode().activeElement;
  const outside = (event) => { if (!event.composedPath().includes(box)) box.shut(false); };
  box.shut = (returnsFocus = true) => {
    if (!box.isConnected) return;
    document.removeEventListener("pointerdown", outside, true);
    box.remove();
    if (returnsFocus && anchor.isConnected) anchor.focus({ preventScroll: true });
  };
  box.draw = (items, ...head) => {
    const at = [...box.querySelectorAll("button")].indexOf(focused());
    box.replaceChildren(...head, ...items.map(({ label: text, action, isGrave }) => button(`dialog-item${isGrave ? " dialog-grave" : ""}`, text,
      () => { box.shut(); action(); }, { role: "menuitem", tabindex: -1 })));
    box.role = items.length > 0 ? "menu" : "note";
    if (!box.matches(":popover-open")) openBeside(anchor, box);
    (box.querySelectorAll("button")[Math.max(0, at)] ?? box).focus({ preventScroll: true });
  };
  box.addEventListener("keydown", (event) => {
    const items = [...box.querySelectorAll("button")];
    const at = items.indexOf(focused());
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (to !== undefined) items.at(to % items.length)?.focus();
    else if (event.key === "Escape" || event.key === "Tab") box.shut();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  box.addEventListener("focusout", ({ relatedTarget }) => { if (relatedTarget && !box.contains(relatedTarget)) box.shut(false); });
  const root = anchor.getRootNode();
  (anchor.closest("dialog") ?? (root === document ? document.body : root)).append(box);
  document.addEventListener("pointerdown", outside, true);
  return box;
}
