/** The list of rooms: search by the beginning of an ID, those with most people, deleted ones. */
import { isValidId } from "/console/console-api.js";
import { Table, act, actions, ask, badge, button, card, confirmed, el, field, notice, person, time } from "/console/console-ui.js";
import { words } from "/console/console-words.js";

const PAGE = 100;
const LOADED_MAX = 2_000;

export function roomLink(id) { return el("a", { href: `#room/${encodeURIComponent(id)}` }, person(id)); }

/** The state of a room, as badges. */
export function roomMarks(room) {
  const marks = [];
  if (room.deletedAt) marks.push(badge(words.say("rooms.deleted"), "bad"));
  if (room.closed && !room.deletedAt) marks.push(badge(words.say("rooms.closed"), "warn"));
  if (room.muted) marks.push(badge(words.say("rooms.muted"), "warn"));
  if (room.slowModeSeconds > 0) marks.push(badge(words.say("rooms.slow", { span: words.span(room.slowModeSeconds * 1000) })));
  return el("span", { class: "marks" }, marks.length > 0 ? marks : badge(words.say("rooms.open"), "good"));
}

export function roomsView({ api, main, signal, go }) {
  const why = api.why("GET /v1/rooms");
  const find = el("form", { class: "toolbar", role: "search" });
  const search = field({ name: "search", label: words.say("rooms.search"), hint: words.say("rooms.searchHint"), maxlength: 64 });
  const open = button(words.say("rooms.go"), () => {
    const id = find.elements.search.value.trim();
    if (isValidId(id)) go(`#room/${encodeURIComponent(id)}`);
    else notice(words.say("rooms.invalid"), "warn");
  });
  find.append(search);
  if (why) {
    // A key of some rooms may list none, but it may open them.
    find.append(open);
    find.addEventListener("submit", (event) => { event.preventDefault(); open.click(); });
    main.append(card(words.say("rooms.title"), el("p", { class: "line" }, why), find));
    find.elements.search.value = api.prefix;
    return;
  }
  const order = field({
    name: "order", label: words.say("rooms.order"), type: "select",
    options: [["online", words.say("rooms.byOnline")], ["id", words.say("rooms.byId")], ["deleted", words.say("rooms.ofDeleted")]],
  });
  find.append(order, el("div", { class: "buttons" },
    el("button", { type: "submit", class: "button" }, words.say("rooms.find")), open));
  const count = el("p", { class: "line" });
  const more = button(words.say("ui.more"), () => load(false));
  more.hidden = true;
  const undeleteWhy = api.why("POST /v1/rooms/{room}/undelete");
  let [rooms, next, serial, prefix] = [[], undefined, 0, ""];
  const table = new Table({
    label: words.say("rooms.title"), key: ({ id }) => id, empty: words.say("ui.loading"),
    columns: [
      { title: words.say("rooms.room"), cell: ({ id, deletedAt }) => (deletedAt ? person(id) : roomLink(id)) },
      { title: words.say("rooms.name"), wide: true, cell: ({ name }) => (name ? person(name.slice(0, 120)) : undefined) },
      { title: words.say("rooms.online"), number: true, cell: ({ online }) => words.number(online) },
      { title: words.say("rooms.state"), cell: roomMarks },
      { title: words.say("rooms.leader"), cell: ({ shard, leader }) =>
        (shard === undefined ? undefined : words.say("rooms.place", { shard, leader: leader ?? "–" })) },
      { title: words.say("rooms.when"), cell: ({ createdAt, deletedAt, purgeAt }) => (deletedAt
        ? el("span", {}, `${words.say("rooms.deleted")} `, time(deletedAt), purgeAt ? [`, ${words.say("rooms.purge")} `, time(purgeAt)] : []) : time(createdAt)) },
      { title: "", once: true, cell: ({ id, deletedAt }) => (deletedAt
        ? button(words.say("rooms.undelete"), () => undelete(id), { why: undeleteWhy, label: `${words.say("rooms.undelete")}: ${id}` }) : "") },
    ],
  });
  const create = button(words.say("rooms.create"), async () => {
    const values = await ask({
      title: words.say("rooms.create"), action: words.say("rooms.create"),
      fields: [
        { name: "id", label: words.say("rooms.id"), hint: words.say("rooms.idHint"), maxlength: 64 },
        { name: "creator", label: words.say("rooms.creator"), required: true, maxlength: 64 },
        { name: "name", label: words.say("rooms.name"), maxlength: 512 },
      ],
    });
    if (!values) return;
    const body = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
    const room = await act(() => api.call("POST /v1/rooms", {}, { body }), (made) => words.say("rooms.created", { room: made.id }));
    if (room) go(`#room/${encodeURIComponent(room.id)}`);
  }, { why: api.why("POST /v1/rooms") });

  async function undelete(room) {
    if (!await confirmed({
      title: words.say("rooms.undeleteTitle", { room }), text: words.say("rooms.undeleteText"), action: words.say("rooms.undelete"), danger: false,
    })) return;
    if (await act(() => api.call("POST /v1/rooms/{room}/undelete", { room }), words.say("rooms.undeleted", { room }))) load(true);
  }

  function show() {
    const text = find.elements.search.value.trim();
    const seen = rooms.filter(({ id, name }) => id.includes(text) || name.toLowerCase().includes(text.toLowerCase()));
    const isFull = rooms.length >= LOADED_MAX;
    table.update(seen, text ? words.say("rooms.noneFound", { text }) : words.say(`rooms.none.${find.elements.order.value}`));
    count.textContent = words.say(next !== undefined ? isFull ? "rooms.countFull" : "rooms.countMore" : "rooms.count",
      { seen: words.number(seen.length), loaded: words.number(rooms.length) });
    if (prefix) count.textContent = words.say(next === undefined ? "rooms.begin" : "rooms.beginMore", { count: words.number(seen.length), prefix });
    if (rooms.length === 0) count.textContent = "";
    more.hidden = next === undefined || isFull;
  }

  /** A page behind the last one, or from the start: by ID, that is where IDs begin with what is searched for. */
  async function load(isNew) {
    const mine = serial += 1;
    const kind = find.elements.order.value;
    const text = find.elements.search.value.trim();
    const isPrefix = isNew && kind !== "online" && isValidId(text);
    const query = {
      limit: PAGE, sort: kind === "online" ? "online" : undefined, deleted: kind === "deleted" ? "true" : undefined,
      after: isNew ? (isPrefix ? text : undefined) : next,
    };
    const page = await act(() => api.call("GET /v1/rooms", {}, { query, signal }));
    // `after` leaves out the room whose ID is just that.
    const exact = isPrefix && kind === "id"
      ? await api.call("GET /v1/rooms/{room}", { room: text }, { signal }).catch(() => undefined) : undefined;
    if (mine !== serial || signal.aborted || !page) return;
    if (isNew) prefix = isPrefix ? text : "";
    const found = [...(exact ? [exact] : []), ...page.rooms].filter(({ id }) => id.startsWith(prefix));
    rooms = isNew ? found : [...rooms, ...found.filter(({ id }) => !rooms.some((room) => room.id === id))];
    // Behind the last ID that begins so there is nothing more to find.
    next = found.length < page.rooms.length ? undefined : page.next;
    show();
  }

  find.addEventListener("submit", (event) => { event.preventDefault(); load(true); });
  find.elements.search.addEventListener("input", show);
  find.elements.order.addEventListener("change", () => load(true));
  main.append(card(words.say("rooms.title"), actions(create), find, count, table.element, more));
  load(true);
}

words.add({
  en: {
    "rooms.title": "Rooms", "rooms.search": "Room ID or name", "rooms.searchHint": "Filters what is loaded. By ID, Find lists the IDs that begin so.",
    "rooms.order": "List", "rooms.byOnline": "with people, most first", "rooms.byId": "all, by ID", "rooms.ofDeleted": "deleted, can be restored",
    "rooms.find": "Find", "rooms.go": "Open this ID", "rooms.invalid": "A room ID has 1 to 64 letters, digits or signs of _ . @ : # | + ~ ! $ -",
    "rooms.room": "Room", "rooms.name": "Name", "rooms.online": "Online", "rooms.state": "State", "rooms.leader": "Shard", "rooms.when": "Created",
    "rooms.place": "{shard} on {leader}", "rooms.purge": "gone for good", "rooms.undelete": "Undelete",
    "rooms.open": "open", "rooms.closed": "closed", "rooms.muted": "muted", "rooms.deleted": "deleted", "rooms.slow": "slow mode {span}",
    "rooms.create": "Create a room", "rooms.id": "Room ID", "rooms.idHint": "Left empty, an ID is made.", "rooms.creator": "Creator (a user ID)", "rooms.created": "The room {room} exists.",
    "rooms.undeleteTitle": "Have {room} back?", "rooms.undeleteText": "It comes back closed, with its members, history and lasting queue. Reopen it when its owner knows.",
    "rooms.undeleted": "{room} is back, and closed.",
    "rooms.noneFound": "Nothing loaded matches “{text}”. Find asks the cluster for IDs that begin so (lists by ID).",
    "rooms.none.online": "Nobody is in any room.", "rooms.none.id": "There are no rooms.", "rooms.none.deleted": "No deleted room can be restored.",
    "rooms.begin": "{count} rooms begin with {prefix}.", "rooms.beginMore": "{count} rooms that begin with {prefix}; there are more.", "rooms.count": "{seen} of {loaded} rooms, all loaded.", "rooms.countMore": "{seen} of {loaded} loaded rooms; there are more.",
    "rooms.countFull": "{seen} of {loaded} loaded rooms; there are more, search for the beginning of an ID.",
  },
  zh: {
    "rooms.title": "房间", "rooms.search": "房间 ID 或名称", "rooms.searchHint": "筛选已加载的内容。按 ID 列出时，“查找”列出以此开头的 ID。",
    "rooms.order": "列表", "rooms.byOnline": "有人的，人数多的在前", "rooms.byId": "全部，按 ID", "rooms.ofDeleted": "已删除、可恢复的",
    "rooms.find": "查找", "rooms.go": "打开此 ID", "rooms.invalid": "房间 ID 由 1 至 64 个字母、数字或 _ . @ : # | + ~ ! $ - 组成",
    "rooms.room": "房间", "rooms.name": "名称", "rooms.online": "在线", "rooms.state": "状态", "rooms.leader": "分片", "rooms.when": "创建时间",
    "rooms.place": "{shard}，在 {leader}", "rooms.purge": "彻底删除于", "rooms.undelete": "恢复",
    "rooms.open": "开放", "rooms.closed": "已关闭", "rooms.muted": "全员禁言", "rooms.deleted": "已删除", "rooms.slow": "慢速模式 {span}",
    "rooms.create": "创建房间", "rooms.id": "房间 ID", "rooms.idHint": "留空则自动生成。", "rooms.creator": "创建者（用户 ID）", "rooms.created": "房间 {room} 已创建。",
    "rooms.undeleteTitle": "恢复 {room}？", "rooms.undeleteText": "房间恢复后处于关闭状态，成员、历史和持久队列都在。告知房主后再重新开放。",
    "rooms.undeleted": "{room} 已恢复，目前关闭。",
    "rooms.noneFound": "已加载的内容中没有“{text}”。“查找”会向集群查询以此开头的 ID（按 ID 列出时）。",
    "rooms.none.online": "所有房间都没有人。", "rooms.none.id": "没有房间。", "rooms.none.deleted": "没有可恢复的已删除房间。",
    "rooms.begin": "{count} 个房间以 {prefix} 开头。", "rooms.beginMore": "已加载 {count} 个以 {prefix} 开头的房间；还有更多。", "rooms.count": "已加载全部 {loaded} 个房间，显示 {seen} 个。", "rooms.countMore": "已加载 {loaded} 个房间，显示 {seen} 个；还有更多。",
    "rooms.countFull": "已加载 {loaded} 个房间，显示 {seen} 个；还有更多，请按 ID 开头查找。",
  },
});
