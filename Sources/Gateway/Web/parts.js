/** Parts that the modules of the live room share: elements, pictures, and names, times and failures in words. */
import { words } from "./words.js";

/** An element with attributes (or only a class), listeners (functions) and children. Words of people go in as text only. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  if (typeof attributes === "string") element.className = attributes;
  else {
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") element.addEventListener(name, value);
      else if (value !== false && value !== undefined) element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children);
  return element;
}

export function button(name, label, click, attributes) {
  return make("button", { type: "button", class: name, click, ...attributes }, label);
}

/** A link to somewhere else, which learns nothing of this page. */
export function linkTo(href, name, ...children) {
  return make("a", { class: name, href, target: "_blank", rel: "noopener noreferrer nofollow" }, ...children);
}

/** A drawing of lines, by default on 24 by 24. */
export function icon(path, size = 24) {
  const [svg, line] = ["svg", "path"].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
  svg.setAttribute("viewBox", `0 0 ${size} ${size}`);
  svg.setAttribute("class", "part-icon");
  svg.setAttribute("aria-hidden", "true");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

/** Without what turns the writing of others around, and with at most three marks on a letter. */
export function clean(text) {
  return String(text ?? "").replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "").replace(/(\p{M}{3})\p{M}+/gu, "$1");
}

const segmenter = globalThis.Intl?.Segmenter && new Intl.Segmenter();

/** The beginning of a text. No letter is cut in two. */
export function cut(text, length) {
  if (text.length <= length) return text;
  const start = text.slice(0, length).replace(/[\ud800-\udbff]$/, "");
  // A letter that goes on behind the cut began before it.
  const last = segmenter?.segment(text.slice(0, length + 20)).containing(start.length).index ?? start.length;
  return `${start.slice(0, last || start.length)}…`;
}

export function nameOf(person) { return cut(clean(person?.nick).trim() || person?.user || "?", 32); }

/** The name as part of a sentence: the direction of its writing ends with it. */
export function named(person) { return `\u2068${nameOf(person)}\u2069`; }

/** One of eight colours, the same for a user everywhere. */
export function hueOf(user) {
  let hash = 7;
  for (const letter of String(user)) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
  return `part-hue${((hash ^ (hash >>> 9)) >>> 0) % 8}`;
}

/** An address that may be shown or followed; else undefined. */
export function safeUrl(text) {
  // Most people have no picture: the check before spares an exception.
  if (!/^https?:/i.test(text)) return undefined;
  try { return new URL(text).href; } catch { return undefined; }
}

export function picture(src, name) {
  const image = make("img", {
    class: name, alt: "", referrerpolicy: "no-referrer", loading: "lazy", decoding: "async", error: () => image.remove(),
  });
  image.src = src;
  return image;
}

/** A picture over the first letter of the name. One that can't be loaded leaves the letter. */
export function face(person, module = "part") {
  const element = make("span", { class: `${module}-face ${hueOf(person.user)}`, "aria-hidden": "true" }, [...nameOf(person)][0].toUpperCase());
  const address = safeUrl(person.avatar);
  if (address?.startsWith("https:")) element.append(picture(address, "part-picture"));
  return element;
}

export const isManager = (role) => role === "CREATOR" || role === "MANAGER";

export function badge(role) {
  return isManager(role) ? make("span", `part-badge part-${role.toLowerCase()}`, words.say(`people.${role}`)) : "";
}

/** "5 minutes", in the largest unit that fits. */
export function span(seconds) {
  const [unit, length] = [["day", 86_400], ["hour", 3600], ["minute", 60]].find(([, l]) => seconds >= l) ?? ["second", 1];
  const format = { style: "unit", unit, unitDisplay: "long", maximumFractionDigits: 0 };
  return new Intl.NumberFormat(words.language, format).format(Math.max(1, Math.round(seconds / length)));
}

/** Time that is left, as a clock shows it below a day. */
export function clock(seconds) {
  if (seconds >= 86_400) return span(seconds);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, Math.floor(seconds) % 60];
  if (parts[0] === 0) parts.shift();
  return parts.map((part, place) => place ? String(part).padStart(2, "0") : part).join(":");
}

/** The meaning of a failure for the person in front of the page. */
export function errorWords(error) {
  const { code, retryAfterMs } = error?.refusal ?? {};
  const key = `people.error.${code === 500 ? 503 : code}`;
  if (retryAfterMs > 0 && [416, 13003, 13004].includes(code)) {
    return words.say(code === 416 ? key : `${key}.time`, { time: span(Math.ceil(retryAfterMs / 1000)) });
  }
  if (code === 416) return words.say(`${key}.now`);
  if (code && words.say(key) !== key) return words.say(key);
  if (["outcomeUnknown", "timedOut"].includes(error?.code)) return words.say("people.error.unknown");
  return words.say(error?.code?.startsWith?.("connection") || error?.code === "notConnected" ? "people.error.lost" : "people.error");
}

export const bytesOf = (text) => new TextEncoder().encode(text).length;

export function freshId() { return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join(""); }

/** Opens a popover below an element, or above it where there is no room below; from its start or to its end. */
export function openBeside(anchor, panel, isAtEnd) {
  panel.showPopover();
  const [from, size] = [anchor.getBoundingClientRect(), panel.getBoundingClientRect()];
  const within = (place, length, all) => `${Math.max(8, Math.min(place, all - length - 8))}px`;
  const isBelow = from.bottom + 6 + size.height <= innerHeight - 8;
  panel.style.left = within(isAtEnd ? from.right - size.width : from.left, size.width, innerWidth);
  panel.style.top = within(isBelow ? from.bottom + 6 : from.top - 6 - size.height, size.height, innerHeight);
}
