/** Users: the sessions of one, and what can be done to them; who is banned or muted in all rooms; sessions that read too slowly. */
import { isValidId } from "/console/console-api.js";
import { roomLink } from "/console/console-rooms.js";
import { Table, act, actions, ask, button, card, confirmed, el, facts, field, modal, notice, person, time } from "/console/console-ui.js";
import { words } from "/console/console-words.js";

function sessionTable({ api, reload, hasUser }) {
  const why = api.why("DELETE /v1/sessions/{session}");
  const end = async ({ session, user }) => {
    if (!await confirmed({ title: words.say("users.endTitle", { user }), text: words.say("users.endText"), action: words.say("users.end") })) return;
    if (await act(() => api.call("DELETE /v1/sessions/{session}", { session }), words.say("users.ended"))) reload();
  };
  return new Table({
    label: words.say("users.sessions"), key: ({ session }) => session, empty: words.say("ui.loading"),
    columns: [
      hasUser ? { title: words.say("users.user"), cell: ({ user }) => el("a", { href: `#user/${encodeURIComponent(user)}` }, person(user)) }
        : { title: words.say("users.device"), cell: ({ device, anonymous }) => (anonymous ? `${device}, ${words.say("role.ANONYMOUS")}` : device) },
      { title: words.say("users.state"), cell: ({ connected, slow }) => (!connected ? [words.say("users.grace"), "warn"] : slow ? [words.say("users.slow"), "warn"] : [words.say("users.connected"), "good"]) },
      { title: words.say("users.node"), cell: ({ node }) => node },
      { title: words.say("users.address"), cell: ({ address }) => address },
      { title: words.say("users.since"), cell: ({ startedAt }) => time(startedAt) },
      { title: words.say("users.token"), cell: ({ expiresAt }) => (expiresAt ? time(expiresAt) : undefined) },
      { title: words.say("users.waiting"), number: true, cell: ({ waitingBytes }) => words.bytes(waitingBytes) },
      { title: words.say("users.rooms"), wide: true, cell: ({ rooms }) => (rooms.length > 0
        ? el("span", { class: "marks" }, rooms.slice(0, 20).map(roomLink)) : words.say("users.noRooms")) },
      { title: "", once: true, cell: (session) => button(words.say("users.end"), () => end(session), {
        why, label: `${words.say("users.end")}: ${session.user}, ${session.node}` }) },
    ],
  });
}

const HOUR = 3_600;
const SPANS = [HOUR, 24 * HOUR, 7 * 24 * HOUR, 30 * 24 * HOUR, 365 * 24 * HOUR];
/** The sanctions that hold in all rooms: [the field of a user that has it, its call, its words]. */
const SANCTIONS = [["banned", "PUT /v1/users/{user}/ban", "ban"], ["muted", "PUT /v1/users/{user}/mute", "muteAll"]];

/** Asks for how long and why, and sets a sanction. Returns whether that was done. */
async function setSanction(api, user, [, name, key]) {
  const values = await ask({
    title: words.say(`users.${key}Title`, { user }), text: words.say(`users.${key}Text`), danger: true, action: words.say(`users.${key}`),
    fields: [
      { name: "seconds", type: "select", label: words.say("users.howLong"), value: 24 * HOUR, options: [...SPANS.map((seconds) => [seconds, words.span(seconds * 1000)]), ["", words.say("users.forGood")]] },
      { name: "reason", label: words.say("users.reason"), hint: words.say("users.reasonHint"), maxlength: 256 },
    ],
  });
  if (!values) return false;
  const body = { ...(values.seconds && { seconds: Number(values.seconds) }), ...(values.reason && { reason: values.reason }) };
  return await act(() => api.call(name, { user }, { body }), words.say(`users.${key}Done`, { user })) !== undefined;
}

async function liftSanction(api, user, [, name, key]) {
  return await act(() => api.call(name, { user }, { body: { seconds: 0 } }), words.say(`users.${key}Lifted`, { user })) !== undefined;
}

const endOf = ({ endsAt }) => (endsAt ? time(endsAt) : words.say("users.forGood"));

/** The users who are banned or muted in all rooms, where this node's version has that. */
function sanctionedUsers({ api, signal }) {
  if (!api.knows("GET /v1/users")) return null;
  const why = api.why("GET /v1/users");
  if (why) return card(words.say("users.sanctions"), el("p", { class: "empty" }, why));
  const which = field({ name: "kind", type: "select", label: words.say("users.which"), options: [["BANNED", words.say("users.ofBanned")], ["MUTED", words.say("users.ofMuted")]] });
  const select = which.querySelector("select");
  const sanction = () => SANCTIONS[select.value === "BANNED" ? 0 : 1];
  let [users, next, serial] = [[], undefined, 0];
  const of = (user) => user[user.shown];
  const lift = async ({ user }) => { if (await liftSanction(api, user, sanction())) load(true); };
  const table = new Table({
    // One of each kind has a line of its own, so that its button is for that kind.
    label: words.say("users.sanctions"), key: ({ user, shown }) => `${shown} ${user}`, empty: words.say("ui.loading"),
    columns: [
      { title: words.say("users.user"), cell: ({ user }) => el("a", { href: `#user/${encodeURIComponent(user)}` }, person(user)) },
      { title: words.say("users.begun"), cell: (user) => time(of(user).since) },
      { title: words.say("users.ends"), cell: (user) => endOf(of(user)) },
      { title: words.say("users.reason"), wide: true, cell: (user) => (of(user).reason ? person(of(user).reason) : undefined) },
      { title: "", once: true, cell: (user) => button(words.say("users.lift"), () => lift(user), { why: api.why(sanction()[1]), label: `${words.say("users.lift")}: ${user.user}` }) },
    ],
  });
  const more = button(words.say("ui.more"), () => load(false));
  more.hidden = true;
  async function load(isNew) {
    const mine = serial += 1;
    const [shown] = sanction();
    const page = await act(() => api.call("GET /v1/users", {}, { query: { kind: select.value, limit: 100, after: isNew ? undefined : next }, signal }));
    if (mine !== serial || signal.aborted || !page) return;
    const found = page.users.filter((user) => user[shown]).map((user) => ({ ...user, shown }));
    users = isNew ? found : [...users, ...found].slice(0, 2_000);
    next = page.next;
    more.hidden = next === undefined || users.length >= 2_000;
    table.update(users, words.say("users.noneSanctioned"));
  }
  select.addEventListener("change", () => load(true));
  load(true);
  return card(words.say("users.sanctions"), actions(button(words.say("ui.reload"), () => load(true))), el("div", { class: "toolbar" }, which), table.element, more);
}

export function usersView({ api, main, signal, go }) {
  const find = el("form", { class: "toolbar", role: "search" }, field({ name: "user", label: words.say("users.id"), maxlength: 64 }),
    el("div", { class: "buttons" }, el("button", { type: "submit", class: "button primary" }, words.say("users.open"))));
  find.addEventListener("submit", (event) => {
    event.preventDefault();
    const user = find.elements.user.value.trim();
    if (isValidId(user)) go(`#user/${encodeURIComponent(user)}`);
    else notice(words.say("users.invalid"), "warn");
  });
  main.append(card(words.say("users.one"), find), sanctionedUsers({ api, signal }) ?? "");
  const why = api.why("GET /v1/sessions");
  if (why) {
    main.append(card(words.say("users.sessions"), el("p", { class: "empty" }, why)));
    return;
  }
  const which = field({ name: "which", type: "select", label: words.say("users.which"), options: [["slow", words.say("users.ofSlow")], ["all", words.say("users.ofAll")]] });
  const select = which.querySelector("select");
  let [sessions, next, serial] = [[], undefined, 0];
  const table = sessionTable({ api, hasUser: true, reload: () => load(true) });
  const more = button(words.say("ui.more"), () => load(false));
  more.hidden = true;
  async function load(isNew) {
    const mine = serial += 1;
    const isSlow = select.value === "slow";
    const page = await act(() => api.call("GET /v1/sessions", {}, { query: { slow: isSlow ? "true" : undefined, limit: 100, after: isNew ? undefined : next }, signal }));
    if (mine !== serial || signal.aborted || !page) return;
    sessions = isNew ? page.sessions : [...sessions, ...page.sessions].slice(0, 2_000);
    next = page.next;
    more.hidden = next === undefined || sessions.length >= 2_000;
    table.update(sessions, words.say(isSlow ? "users.noneSlow" : "users.none"));
  }
  select.addEventListener("change", () => load(true));
  main.append(card(words.say("users.sessions"), actions(button(words.say("ui.reload"), () => load(true))), el("div", { class: "toolbar" }, which), table.element, more));
  load(true);
}

export function userView({ api, main, signal, parts: [user] }) {
  const call = (name, options) => api.call(name, { user }, options);
  const deed = (key, name, work, options = {}) => button(words.say(`users.${key}`), work, { why: api.why(name), ...options });
  const sure = async (key, name, done, body) => {
    if (!await confirmed({ title: words.say(`users.${key}Title`, { user }), text: words.say(`users.${key}Text`), action: words.say(`users.${key}`) })) return;
    if (await act(() => call(name, { body }), done)) load();
  };
  const buttons = [
    deed("send", "POST /v1/users/{user}/messages", async () => {
      const values = await ask({
        title: words.say("users.sendTitle", { user }), text: words.say("users.sendText"), action: words.say("users.send"),
        fields: [{ name: "text", type: "textarea", label: words.say("room.text"), required: true, maxlength: 32_768 }],
      });
      if (values) await act(() => call("POST /v1/users/{user}/messages", { body: { type: "TEXT", text: values.text } }), ({ sessions }) => words.say("users.sent", { count: sessions }));
    }),
    deed("issue", "POST /v1/users/{user}/token", issue),
    deed("offline", "POST /v1/users/{user}/offline", () => sure("offline", "POST /v1/users/{user}/offline", ({ sessions }) => words.say("users.offlineDone", { count: sessions }))),
    deed("revoke", "POST /v1/users/{user}/revoke", () => sure("revoke", "POST /v1/users/{user}/revoke", words.say("users.revokeDone")), { kind: "danger" }),
  ];

  async function issue() {
    const values = await ask({
      title: words.say("users.issueTitle", { user }), text: words.say("users.issueText"), action: words.say("users.issue"),
      fields: [
        { name: "ttlSeconds", type: "number", label: words.say("users.ttl"), value: 3_600, min: 1, max: 31_622_400, required: true },
        { name: "rooms", label: words.say("users.onlyRooms"), hint: words.say("users.onlyRoomsHint") },
        { name: "nick", label: words.say("members.nick"), maxlength: 256 },
      ],
    });
    if (!values) return;
    const rooms = values.rooms.split(/[\s,]+/).filter(Boolean);
    const body = { ttlSeconds: values.ttlSeconds, ...(rooms.length > 0 && { rooms }), ...(values.nick && { nick: values.nick }) };
    const token = await act(() => call("POST /v1/users/{user}/token", { body }));
    if (!token) return;
    await modal(words.say("users.issued", { user }), (close) => {
      const text = el("textarea", { readonly: true, rows: 5, "aria-label": words.say("users.token"), value: token.token });
      return [el("p", {}, words.say("users.issuedText"), " ", time(token.expiresAt)), text, el("div", { class: "dialog-actions" },
        button(words.say("users.copy"), async () => {
          text.select();
          try { await navigator.clipboard.writeText(text.value); } catch { document.execCommand("copy"); }
        }), button(words.say("ui.close"), () => close(), { kind: "primary" }))];
    });
  }

  const head = el("div", { class: "room-head" }, el("div", { class: "room-title" }, el("h2", {}, person(user)), el("span", { class: "id" }, words.say("users.user"))), el("div", { class: "buttons" }, buttons));
  main.append(head);
  sanctions();
  const why = api.why("GET /v1/users/{user}/sessions");
  const table = sessionTable({ api, reload: () => load() });
  main.append(card(words.say("users.sessions"), why ? el("p", { class: "empty" }, why) : [actions(button(words.say("ui.reload"), () => load())), table.element],
    el("p", { class: "hint" }, words.say("users.perRoom"))));
  async function load() {
    if (why) return;
    const page = await act(() => call("GET /v1/users/{user}/sessions", { signal }));
    if (page && !signal.aborted) table.update(page.sessions, words.say("users.offlineNow"));
  }
  load();

  /** Ban and mute in all rooms, where this node's version has them. */
  function sanctions() {
    if (!api.knows("GET /v1/users/{user}")) return;
    const state = el("div");
    const deeds = actions();
    const why = api.why("GET /v1/users/{user}");
    main.append(card(words.say("users.sanctions"), deeds, state));
    if (why) {
      state.replaceChildren(el("p", { class: "empty" }, why));
      return;
    }
    let offered = "";
    const show = async () => {
      try {
        const answer = await call("GET /v1/users/{user}", { signal });
        if (signal.aborted) return;
        const say = (sanction) => (!sanction ? words.say("users.noSanction") : el("span", {}, sanction.endsAt && [words.say("users.until"), " "], endOf(sanction), sanction.reason && [": ", person(sanction.reason)]));
        state.replaceChildren(facts(SANCTIONS.map(([name, , key]) => [words.say(`users.${key}State`), say(answer[name])])));
        // Buttons are made anew only when they mean something else: else the keyboard would lose its place.
        if (offered === `${!answer.banned} ${!answer.muted}`) return;
        const focused = [...deeds.children].indexOf(document.activeElement);
        offered = `${!answer.banned} ${!answer.muted}`;
        deeds.replaceChildren(...SANCTIONS.map((sanction) => {
          const [name, deedName, key] = sanction;
          return answer[name] ? deed(`${key}Lift`, deedName, async () => { if (await liftSanction(api, user, sanction)) show(); })
            : deed(key, deedName, async () => { if (await setSanction(api, user, sanction)) { show(); load(); } }, { kind: key === "ban" ? "danger" : "" });
        }));
        deeds.children[focused]?.focus();
      } catch (error) {
        if (!signal.aborted) state.replaceChildren(el("p", { class: "empty" }, error.sentence ?? String(error)));
      }
    };
    show();
  }
}

words.add({
  en: {
    "users.one": "A user", "users.id": "User ID", "users.open": "Open", "users.invalid": "A user ID has 1 to 64 letters, digits or signs of _ . @ : # | + ~ ! $ -",
    "users.sessions": "Sessions", "users.which": "List", "users.ofSlow": "those that read too slowly, worst first", "users.ofAll": "all", "users.noneSlow": "No session reads too slowly.", "users.none": "There are no sessions.",
    "users.user": "User", "users.device": "Device", "users.state": "State", "users.node": "Node", "users.address": "Address", "users.since": "Began", "users.token": "Token ends", "users.waiting": "Waiting", "users.rooms": "Rooms", "users.noRooms": "in none",
    "users.connected": "connected", "users.grace": "connection lost", "users.slow": "reads too slowly",
    "users.end": "End", "users.endTitle": "End this session of {user}?", "users.endText": "Its connection closes with 4403. The user may connect again with the same token.", "users.ended": "The session is ended.",
    "users.send": "Send a message", "users.sendTitle": "Send a message to {user}", "users.sendText": "It goes to the sessions that are connected now and is not kept.", "users.sent": "Sent to {count} sessions.",
    "users.issue": "Issue a token", "users.issueTitle": "Issue a token for {user}", "users.issueText": "Whoever has the token is this user until it ends.", "users.ttl": "Seconds until it ends", "users.onlyRooms": "Only these rooms", "users.onlyRoomsHint": "IDs with commas between them; empty: all rooms.", "users.issued": "Token of {user}", "users.issuedText": "It is shown once, here. It ends", "users.copy": "Copy",
    "users.offline": "Force offline", "users.offlineTitle": "Force {user} offline?", "users.offlineText": "All sessions end with 4403, at once and without a grace. Tokens stay valid.", "users.offlineDone": "{count} sessions are ended.",
    "users.revoke": "Revoke tokens", "users.revokeTitle": "Revoke the tokens of {user}?", "users.revokeText": "All tokens that were issued until now are refused, and the user is put out of all rooms. This can't be undone; tokens that are issued later are valid.", "users.revokeDone": "The tokens are revoked.",
    "users.offlineNow": "This user has no session: not connected to any node.", "users.perRoom": "Role, mutes and blacklist are of one room: open the room, then Members.",
    "users.sanctions": "Banned or muted in all rooms", "users.ofBanned": "those who are banned", "users.ofMuted": "those who are muted", "users.begun": "Since", "users.ends": "Until", "users.until": "ends", "users.lift": "Lift", "users.noneSanctioned": "Nobody.", "users.noSanction": "no", "users.forGood": "for good",
    "users.ban": "Ban", "users.banState": "Banned", "users.banTitle": "Ban {user} everywhere?", "users.banText": "The user is put out of all rooms at once, and can't connect until the ban ends. Rooms see an exit.", "users.banDone": "{user} is banned.", "users.banLift": "Lift the ban", "users.banLifted": "{user} may connect again.",
    "users.muteAll": "Mute everywhere", "users.muteAllState": "Muted", "users.muteAllTitle": "Mute {user} everywhere?", "users.muteAllText": "The user reads on, and can't write, throw barrage, tap or change queues in any room.", "users.muteAllDone": "{user} is muted in all rooms.", "users.muteAllLift": "Lift the mute", "users.muteAllLifted": "{user} may speak again.",
    "users.howLong": "For", "users.reason": "Reason", "users.reasonHint": "For operators and the app's server; the user is not told.",
  },
  zh: {
    "users.one": "查找用户", "users.id": "用户 ID", "users.open": "打开", "users.invalid": "用户 ID 由 1 至 64 个字母、数字或 _ . @ : # | + ~ ! $ - 组成",
    "users.sessions": "会话", "users.which": "列表", "users.ofSlow": "读取过慢的，最严重的在前", "users.ofAll": "全部", "users.noneSlow": "没有读取过慢的会话。", "users.none": "没有会话。",
    "users.user": "用户", "users.device": "设备", "users.state": "状态", "users.node": "节点", "users.address": "地址", "users.since": "开始", "users.token": "令牌到期", "users.waiting": "待发送", "users.rooms": "房间", "users.noRooms": "不在任何房间",
    "users.connected": "已连接", "users.grace": "连接断开", "users.slow": "读取过慢",
    "users.end": "结束", "users.endTitle": "结束 {user} 的此会话？", "users.endText": "连接以 4403 关闭。用户可用同一令牌重新连接。", "users.ended": "会话已结束。",
    "users.send": "发送消息", "users.sendTitle": "向 {user} 发送消息", "users.sendText": "发往当前已连接的会话，不保留。", "users.sent": "已发往 {count} 个会话。",
    "users.issue": "签发令牌", "users.issueTitle": "为 {user} 签发令牌", "users.issueText": "到期之前，持有令牌者即为该用户。", "users.ttl": "有效秒数", "users.onlyRooms": "仅限这些房间", "users.onlyRoomsHint": "以逗号分隔的 ID；留空为全部房间。", "users.issued": "{user} 的令牌", "users.issuedText": "仅在此显示一次。到期：", "users.copy": "复制",
    "users.offline": "强制下线", "users.offlineTitle": "强制 {user} 下线？", "users.offlineText": "全部会话立即以 4403 结束，没有宽限期。令牌仍有效。", "users.offlineDone": "已结束 {count} 个会话。",
    "users.revoke": "吊销令牌", "users.revokeTitle": "吊销 {user} 的令牌？", "users.revokeText": "此前签发的令牌全部失效，用户被移出所有房间。无法撤销；之后签发的令牌有效。", "users.revokeDone": "令牌已吊销。",
    "users.offlineNow": "该用户没有会话：未连接任何节点。", "users.perRoom": "角色、禁言和黑名单属于单个房间：请打开房间的“成员”。",
    "users.sanctions": "在所有房间被封禁或禁言", "users.ofBanned": "被封禁的", "users.ofMuted": "被禁言的", "users.begun": "开始", "users.ends": "结束", "users.until": "结束：", "users.lift": "解除", "users.noneSanctioned": "没有人。", "users.noSanction": "否", "users.forGood": "永久",
    "users.ban": "封禁", "users.banState": "封禁", "users.banTitle": "在所有房间封禁 {user}？", "users.banText": "用户立即被移出所有房间，封禁结束之前无法连接。房间内显示为退出。", "users.banDone": "{user} 已被封禁。", "users.banLift": "解除封禁", "users.banLifted": "{user} 可以重新连接。",
    "users.muteAll": "全局禁言", "users.muteAllState": "禁言", "users.muteAllTitle": "在所有房间禁言 {user}？", "users.muteAllText": "用户仍可阅读，但不能在任何房间发言、发弹幕、点赞或更改队列。", "users.muteAllDone": "{user} 已在所有房间被禁言。", "users.muteAllLift": "解除禁言", "users.muteAllLifted": "{user} 可以发言了。",
    "users.howLong": "时长", "users.reason": "原因", "users.reasonHint": "供运营人员和应用服务器查看，不告知用户。",
  },
});
