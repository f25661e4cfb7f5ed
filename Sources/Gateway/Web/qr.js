/**
 * The dialog that shares an address, with a QR code: byte mode, error level M, versions 1 to 10 (at most 213 bytes of UTF-8).
 */
import { dialog } from "./dialogs.js";
import { button, make } from "./parts.js";
import { words } from "./words.js";

const say = (key, values) => words.say(`room.${key}`, values);

/** Each version has so many codewords of correction per block, and blocks [count, codewords of data]. */
const VERSIONS = [
  null, [10, [1, 16]], [16, [1, 28]], [26, [1, 44]], [18, [2, 32]], [24, [2, 43]], [16, [4, 27]], [18, [4, 31]],
  [22, [2, 38], [2, 39]], [22, [3, 36], [2, 37]], [26, [4, 43], [1, 44]],
];
const ALIGNMENT = [null, [], [6, 18], [6, 22], [6, 26], [6, 30], [6, 34], [6, 22, 38], [6, 24, 42], [6, 26, 46], [6, 28, 50]];

// The field of 256 elements with the polynomial x^8 + x^4 + x^3 + x^2 + 1.
const [EXP, LOG] = [new Uint8Array(512), new Uint8Array(256)];
for (let power = 0, value = 1; power < 255; power += 1) {
  EXP[power] = EXP[power + 255] = value;
  LOG[value] = power;
  value = value & 128 ? (value << 1) ^ 0x11d : value << 1;
}
const times = (a, b) => a === 0 || b === 0 ? 0 : EXP[LOG[a] + LOG[b]];

function corrections(data, count) {
  let generator = [1];
  for (let root = 0; root < count; root += 1) {
    const next = [...generator, 0];
    for (let place = 0; place < generator.length; place += 1) next[place + 1] ^= times(generator[place], EXP[root]);
    generator = next;
  }
  const rest = new Array(count).fill(0);
  for (const byte of data) {
    const factor = byte ^ rest.shift();
    rest.push(0);
    for (let place = 0; place < count; place += 1) rest[place] ^= times(generator[place + 1], factor);
  }
  return rest;
}

function codewords(bytes) {
  const capacity = ([, ...blocks]) => blocks.reduce((sum, [count, size]) => sum + count * size, 0);
  const version = VERSIONS.findIndex((it, place) => it && 4 + (place < 10 ? 8 : 16) + 8 * bytes.length <= 8 * capacity(it));
  if (version < 0) throw new RangeError("the text is too long for a QR code of version 10");
  const bits = [];
  const add = (value, length) => { for (let bit = length - 1; bit >= 0; bit -= 1) bits.push((value >> bit) & 1); };
  add(4, 4);
  add(bytes.length, version < 10 ? 8 : 16);
  for (const byte of bytes) add(byte, 8);
  const total = capacity(VERSIONS[version]);
  add(0, Math.min(4, 8 * total - bits.length));
  while (bits.length % 8 !== 0) bits.push(0);
  const data = [];
  for (let place = 0; place < bits.length; place += 8) data.push(parseInt(bits.slice(place, place + 8).join(""), 2));
  for (let pad = 0xec; data.length < total; pad ^= 0xec ^ 0x11) data.push(pad);

  const [correction, ...groups] = VERSIONS[version];
  const blocks = [];
  for (const [count, size] of groups) for (let block = 0; block < count; block += 1) blocks.push(data.splice(0, size));
  const checks = blocks.map((block) => corrections(block, correction));
  // The blocks are told byte by byte in turn.
  const all = [];
  for (const lists of [blocks, checks]) {
    const longest = Math.max(...lists.map((list) => list.length));
    for (let place = 0; place < longest; place += 1) for (const list of lists) if (place < list.length) all.push(list[place]);
  }
  return { version, all };
}

const MASKS = [
  (x, y) => (x + y) % 2, (x, y) => y % 2, (x) => x % 3, (x, y) => (x + y) % 3,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2, (x, y) => x * y % 2 + x * y % 3,
  (x, y) => (x * y % 2 + x * y % 3) % 2, (x, y) => ((x + y) % 2 + x * y % 3) % 2,
];

/** The bits of a number, followed by those of its remainder by a generator. */
function withRemainder(value, length, generator) {
  let rest = value;
  for (let step = 0; step < length; step += 1) rest = (rest << 1) ^ ((rest >> (length - 1)) * generator);
  return (value << length) | rest;
}

/** How hard a grid is to read: the four rules of the standard. */
function penalty(grid) {
  const size = grid.length;
  let sum = 0, dark = 0;
  for (const isColumn of [false, true]) {
    for (let line = 0; line < size; line += 1) {
      const cells = isColumn ? grid.map((row) => row[line]) : grid[line];
      let run = 1;
      for (let place = 1; place <= size; place += 1) {
        if (place < size && cells[place] === cells[place - 1]) { run += 1; continue; }
        if (run >= 5) sum += run - 2;
        run = 1;
      }
      const text = cells.join("");
      for (const finder of ["10111010000", "00001011101"]) {
        for (let at = text.indexOf(finder); at >= 0; at = text.indexOf(finder, at + 1)) sum += 40;
      }
    }
  }
  for (let y = 0; y < size; y += 1) {
    for (let x = 0; x < size; x += 1) {
      dark += grid[y][x];
      if (y > 0 && x > 0 && grid[y][x] === grid[y][x - 1] && grid[y][x] === grid[y - 1][x]
        && grid[y][x] === grid[y - 1][x - 1]) sum += 3;
    }
  }
  return sum + 10 * Math.floor(Math.abs(dark * 20 - size * size * 10) / (size * size));
}

/** The modules of a code, as rows of 0 and 1. */
export function modules(text) {
  const { version, all } = codewords(new TextEncoder().encode(text));
  const size = 17 + 4 * version;
  const grid = Array.from({ length: size }, () => new Array(size).fill(0));
  const isFixed = Array.from({ length: size }, () => new Array(size).fill(false));
  const fix = (x, y, value) => {
    if (x < 0 || y < 0 || x >= size || y >= size) return;
    grid[y][x] = value ? 1 : 0;
    isFixed[y][x] = true;
  };
  const square = (left, top, radius, isDark) => {
    for (let y = -radius; y <= radius; y += 1) {
      for (let x = -radius; x <= radius; x += 1) fix(left + x, top + y, isDark(Math.max(Math.abs(x), Math.abs(y))));
    }
  };
  for (let place = 0; place < size; place += 1) {
    fix(6, place, place % 2 === 0);
    fix(place, 6, place % 2 === 0);
  }
  for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]]) square(x, y, 4, (ring) => ring !== 2 && ring !== 4);
  const centres = ALIGNMENT[version];
  const last = centres.length - 1;
  for (const [row, y] of centres.entries()) {
    for (const [column, x] of centres.entries()) {
      const isFinder = (row === 0 && (column === 0 || column === last)) || (row === last && column === 0);
      if (!isFinder) square(x, y, 2, (ring) => ring !== 1);
    }
  }
  if (version >= 7) {
    const bits = withRemainder(version, 12, 0x1f25);
    for (let place = 0; place < 18; place += 1) {
      const [low, high] = [size - 11 + place % 3, Math.floor(place / 3)];
      fix(low, high, (bits >> place) & 1);
      fix(high, low, (bits >> place) & 1);
    }
  }
  // Level M is 0 in the five bits of the format.
  const format = (mask) => {
    const bits = withRemainder(mask, 10, 0x537) ^ 0x5412;
    for (let place = 0; place < 15; place += 1) {
      const bit = (bits >> place) & 1;
      if (place < 8) { fix(size - 1 - place, 8, bit); fix(8, place < 6 ? place : place + 1, bit); }
      else { fix(8, size - 15 + place, bit); fix(place === 8 ? 7 : 14 - place, 8, bit); }
    }
    fix(8, size - 8, 1);
  };
  format(0);
  let at = 0;
  for (let right = size - 1; right >= 1; right -= 2) {
    if (right === 6) right = 5;
    for (let step = 0; step < size; step += 1) {
      const y = ((right + 1) & 2) === 0 ? size - 1 - step : step;
      for (const x of [right, right - 1]) {
        if (isFixed[y][x]) continue;
        grid[y][x] = at < 8 * all.length ? (all[at >> 3] >> (7 - at % 8)) & 1 : 0;
        at += 1;
      }
    }
  }
  const apply = (mask) => {
    for (let y = 0; y < size; y += 1) {
      for (let x = 0; x < size; x += 1) if (!isFixed[y][x] && MASKS[mask](x, y) === 0) grid[y][x] ^= 1;
    }
  };
  let [best, least] = [0, Infinity];
  for (let mask = 0; mask < 8; mask += 1) {
    format(mask);
    apply(mask);
    const cost = penalty(grid);
    if (cost < least) [best, least] = [mask, cost];
    apply(mask);
  }
  format(best);
  apply(best);
  return grid;
}

/** A QR code of a text as an `<svg>`: one path, with the quiet zone of four modules around it, dark on light in every theme,
 * because many readers take no other. */
export function qr(text, title = text) {
  const grid = modules(text);
  const side = grid.length + 8;
  let path = "";
  for (const [y, row] of grid.entries()) {
    for (let x = 0; x < row.length; x += 1) {
      if (!row[x]) continue;
      let end = x;
      while (row[end + 1]) end += 1;
      path += `M${x + 4} ${y + 4}h${end - x + 1}v1h-${end - x + 1}z`;
      x = end;
    }
  }
  const element = (name, attributes, ...children) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  };
  return element("svg", { viewBox: `0 0 ${side} ${side}`, role: "img", "shape-rendering": "crispEdges" },
    element("title", {}, title),
    element("rect", { width: side, height: side, fill: "#fff" }),
    element("path", { d: path, fill: "#000" }));
}

export function share(place, address, notice) {
  const isLoopback = /^(localhost|127\.[\d.]+|\[::1\])$/.test(new URL(address).hostname);
  const field = make("input", { class: "people-input", readonly: true, "aria-label": say("address"), value: address });
  const copy = async () => {
    field.select();
    try { await navigator.clipboard.writeText(address); } catch { document.execCommand("copy"); }
    box.close();
    notice(say("copied"));
  };
  const code = make("div", "room-qr");
  // An address may be too long for a code.
  try { code.append(qr(address)); } catch { code.hidden = true; }
  const box = dialog(place, say("shareTitle"), "room-share-dialog", make("p", "dialog-text", say("shareText")), code,
    make("div", "room-copy", field, button("part-button part-primary", say("copy"), copy)),
    ...(isLoopback ? [make("p", "dialog-text room-hint", say("loopback"))] : []));
  box.dataset.part = "shareDialog";
}
