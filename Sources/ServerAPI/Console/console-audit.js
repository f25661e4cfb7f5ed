/** The audit: the changing calls that all nodes answered, also those that were refused. */
import { roomLink } from "/console/console-rooms.js";
import { Table, act, actions, button, card, el, field, person, time, valuesOf } from "/console/console-ui.js";
import { words } from "/console/console-words.js";

const LOADED_MAX = 2_000;

export function auditView({ api, main, signal }) {
  const why = api.why("GET /v1/audit");
  if (why) { main.append(card(words.say("audit.title"), el("p", { class: "empty" }, why))); return; }
  const find = el("form", { class: "toolbar", role: "search" },
    ["actor", "room", "action"].map((name) => field({ name, label: words.say(`audit.${name}`), maxlength: 64 })),
    el("div", { class: "buttons" }, el("button", { type: "submit", class: "button" }, words.say("rooms.find"))));
  const missing = el("p", { class: "warning", hidden: true });
  const table = new Table({
    label: words.say("audit.title"), key: ({ id, node }) => `${node} ${id}`, empty: words.say("ui.loading"),
    columns: [
      { title: words.say("audit.time"), cell: ({ time: at }) => time(at) },
      { title: words.say("audit.actor"), cell: ({ administrator }) => (administrator ? person(administrator) : words.say("audit.nobody")) },
      { title: words.say("audit.action"), cell: ({ action }) => (action ? words.has(`call.${action}`) ? el("span", { title: action }, words.say(`call.${action}`)) : action : undefined) },
      { title: words.say("audit.room"), cell: ({ room }) => (room ? roomLink(room) : undefined) },
      { title: words.say("audit.result"), cell: ({ status, error }) => (status < 400 ? [words.say("audit.done"), "good"] : [words.say("audit.refused", { code: error ?? status }), "bad"]) },
      { title: words.say("audit.call"), wide: true, cell: ({ method, path, unrecorded }) => el("span", { class: "call" }, `${method} ${path}`,
        unrecorded ? ` ${words.say("audit.unrecorded", { count: words.number(unrecorded) })}` : "") },
      { title: words.say("audit.address"), cell: ({ address }) => address },
      { title: words.say("audit.node"), cell: ({ node }) => node },
    ],
  });
  let [items, next, serial, query] = [[], undefined, 0, {}];
  const more = button(words.say("ui.more"), () => load(false));
  more.hidden = true;
  async function load(isNew) {
    const mine = serial += 1;
    if (isNew) query = Object.fromEntries(Object.entries(valuesOf(find)).map(([name, value]) => [name, value.trim()]));
    const page = await act(() => api.call("GET /v1/audit", {}, { query: { ...query, limit: 100, after: isNew ? undefined : next }, signal }));
    if (mine !== serial || signal.aborted || !page) return;
    items = isNew ? page.items : [...items, ...page.items].slice(0, LOADED_MAX);
    next = page.next;
    more.hidden = next === undefined || items.length >= LOADED_MAX;
    missing.hidden = page.missing.length === 0;
    missing.textContent = words.say("audit.missing", { nodes: words.list(page.missing) });
    table.update(items, words.say("audit.none"));
  }
  find.addEventListener("submit", (event) => { event.preventDefault(); load(true); });
  main.append(card(words.say("audit.title"), actions(button(words.say("ui.reload"), () => load(true))), el("p", { class: "hint" }, words.say("audit.hint")), find, missing, table.element, more));
  load(true);
}

const CALLS = {
  createRoom: ["create room", "创建房间"], updateRoom: ["change room", "修改房间"], deleteRoom: ["delete room", "删除房间"], undeleteRoom: ["undelete room", "恢复房间"],
  closeRoom: ["close room", "关闭房间"], reopenRoom: ["reopen room", "重新开放房间"], muteRoom: ["mute or unmute all", "全员禁言或解除"],
  sendMessage: ["send message", "发送消息"], sendBarrage: ["send barrage", "发送弹幕"], recallMessage: ["recall message", "撤回消息"], pinMessage: ["pin or unpin message", "置顶消息或取消"], recallMessagesOfUser: ["recall all of a user", "撤回某用户全部消息"],
  setRole: ["set role", "设置角色"], setMute: ["mute or unmute", "禁言或解除"], setTempMute: ["temporary mute", "临时禁言"], setBlacklist: ["blacklist or not", "拉黑或移出"], kickMember: ["kick", "踢出"],
  setQueueElement: ["set queue element", "设置队列元素"], setQueueElements: ["set queue elements", "设置多个队列元素"], takeQueueElement: ["take from queue", "从队列取出"], clearQueue: ["clear queue", "清空队列"],
  allowHeld: ["let a held message through", "通过待审消息"], denyHeld: ["deny a held message", "拒绝待审消息"],
  openPoll: ["open poll", "发起投票"], closePoll: ["end poll", "结束投票"], banUser: ["ban or lift", "封禁或解除"], muteUser: ["mute in all rooms or lift", "全局禁言或解除"],
  addRobots: ["add robots", "添加机器人"], removeRobots: ["remove robots", "移除机器人"],
  issueToken: ["issue token", "签发令牌"], revokeUser: ["revoke tokens", "吊销令牌"], forceOffline: ["force offline", "强制下线"], sendDirect: ["message to a user", "向用户发消息"], endSession: ["end session", "结束会话"], broadcast: ["broadcast", "广播"],
  drainNode: ["drain node", "排空节点"], removeNode: ["remove node", "移除节点"], readmitNode: ["readmit node", "重新准入节点"], transferShard: ["transfer shard", "移交分片"], raiseFeatureLevel: ["raise feature level", "提升功能级别"], backUp: ["backup", "备份"],
  setLogLevel: ["set log level", "设置日志级别"], setWebhook: ["set webhook", "设置回调"], setModeration: ["set words and hook", "设置词表与钩子"],
};

words.add({
  en: {
    "audit.title": "Audit", "audit.hint": "Changing calls at all nodes, newest first, those that were refused too.", "audit.actor": "Key or token", "audit.room": "Room", "audit.action": "Action",
    "audit.time": "When", "audit.result": "Result", "audit.call": "Call", "audit.address": "From", "audit.node": "At", "audit.nobody": "unknown key", "audit.done": "done", "audit.refused": "refused: {code}",
    "audit.unrecorded": "and {count} that were not recorded", "audit.missing": "{nodes} did not answer and nobody else has their record: their calls are missing here.", "audit.none": "No call was found.",
    ...Object.fromEntries(Object.entries(CALLS).map(([name, [text]]) => [`call.${name}`, text])),
  },
  zh: {
    "audit.title": "审计", "audit.hint": "所有节点上的变更调用，最新的在前，包括被拒绝的。", "audit.actor": "密钥或令牌", "audit.room": "房间", "audit.action": "操作",
    "audit.time": "时间", "audit.result": "结果", "audit.call": "调用", "audit.address": "来源", "audit.node": "节点", "audit.nobody": "未知密钥", "audit.done": "完成", "audit.refused": "拒绝：{code}",
    "audit.unrecorded": "另有 {count} 次未记录", "audit.missing": "{nodes} 没有应答，其记录也没有别处可查：此处缺少其调用。", "audit.none": "没有找到调用。",
    ...Object.fromEntries(Object.entries(CALLS).map(([name, [, text]]) => [`call.${name}`, text])),
  },
});
