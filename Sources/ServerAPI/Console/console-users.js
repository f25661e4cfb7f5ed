/** Users: the sessions of one, and what can be done to them; sessions that read too slowly. */
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

export function usersView({ api, main, signal, go }) {
  const find = el("form", { class: "toolbar", role: "search" }, field({ name: "user", label: words.say("users.id"), maxlength: 64 }),
    el("div", { class: "buttons" }, el("button", { type: "submit", class: "button primary" }, words.say("users.open"))));
  find.addEventListener("submit", (event) => {
    event.preventDefault();
    const user = find.elements.user.value.trim();
    if (isValidId(user)) go(`#user/${encodeURIComponent(user)}`);
    else notice(words.say("users.invalid"), "warn");
  });
  main.append(card(words.say("users.one"), find));
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

  /** App-wide sanctions, where this node's version has them. */
  function sanctions() {
    if (!api.knows("PUT /v1/users/{user}/ban")) return;
    const state = el("div");
    const show = async () => {
      try {
        const answer = await call("GET /v1/users/{user}", { signal });
        const say = (sanction) => (!sanction ? words.say("users.noSanction") : el("span", {}, sanction.until ? time(sanction.until) : words.say("users.forGood"), sanction.reason ? [": ", person(sanction.reason)] : []));
        state.replaceChildren(facts([[words.say("users.ban"), say(answer.ban)], [words.say("users.muteAll"), say(answer.mute)]]));
      } catch (error) {
        if (!signal.aborted) state.replaceChildren(el("p", { class: "empty" }, error.sentence ?? String(error)));
      }
    };
    const set = async (key, name) => {
      const values = await ask({
        title: words.say(`users.${key}Title`, { user }), text: words.say(`users.${key}Text`), danger: true, action: words.say(`users.${key}`),
        fields: [
          { name: "seconds", type: "number", label: words.say("users.seconds"), hint: words.say("users.secondsHint"), min: 0 },
          { name: "reason", label: words.say("users.reason"), maxlength: 256 },
        ],
      });
      if (!values) return;
      const body = { ...(values.seconds !== undefined && { seconds: values.seconds }), ...(values.reason && { reason: values.reason }) };
      if (await act(() => call(name, { body }), words.say("users.sanctioned", { user }))) show();
    };
    main.append(card(words.say("users.sanctions"), actions(
      deed("muteAll", "PUT /v1/users/{user}/mute", () => set("muteAll", "PUT /v1/users/{user}/mute")),
      deed("ban", "PUT /v1/users/{user}/ban", () => set("ban", "PUT /v1/users/{user}/ban"), { kind: "danger" })), state));
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
    "users.sanctions": "App-wide sanctions", "users.ban": "Ban", "users.banTitle": "Ban {user} everywhere?", "users.banText": "The user is put out of all rooms, and can't connect.", "users.muteAll": "Mute everywhere", "users.muteAllTitle": "Mute {user} everywhere?", "users.muteAllText": "The user can't speak in any room.",
    "users.seconds": "Seconds", "users.secondsHint": "Empty: for good. 0: lift it.", "users.reason": "Reason", "users.sanctioned": "The sanction of {user} is set.", "users.noSanction": "none", "users.forGood": "for good",
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
    "users.sanctions": "全应用处罚", "users.ban": "封禁", "users.banTitle": "全局封禁 {user}？", "users.banText": "用户被移出所有房间，且无法连接。", "users.muteAll": "全局禁言", "users.muteAllTitle": "全局禁言 {user}？", "users.muteAllText": "用户在任何房间都不能发言。",
    "users.seconds": "秒数", "users.secondsHint": "留空：永久。0：解除。", "users.reason": "原因", "users.sanctioned": "{user} 的处罚已设置。", "users.noSanction": "无", "users.forGood": "永久",
  },
});
