/** The cluster: drain, remove and readmit nodes, hand leaderships over, feature level, backup, log level. */
import { ShardGrid, nodeTable, problemList, showNodes } from "/console/console-overview.js";
import { Table, act, ask, button, card, confirmed, el, facts, field, notice, time } from "/console/console-ui.js";
import { words } from "/console/console-words.js";

const DONE_KEPT_MS = 60_000;
/** With fewer nodes each shard is kept by one of them (OPERATIONS.md, "Shrink"). */
const COPIES = 3;
/** Begun here and watched until they end, also while another view is shown: [{kind, node, shard, to, at, doneAt}]. */
let tasks = [];
let lastBackup;

export function forgetTasks() { tasks = []; lastBackup = undefined; }

export function clusterView({ api, monitor, main, signal }) {
  const why = api.why("GET /v1/cluster");
  if (why) { main.append(card(words.say("cluster.title"), el("p", { class: "empty" }, why))); return; }
  const list = problemList(monitor);
  const progress = el("ul", { class: "problems" });
  const call = (name, parameters, options) => api.call(name, parameters, options);
  const deed = (part) => `POST /v1/cluster/nodes/{node}/${part}`;

  async function drain(node) {
    const { leads } = monitor.node(node) ?? {};
    const holds = monitor.shards.filter(({ replicas }) => replicas.includes(node)).length;
    const left = monitor.nodes.filter(({ id, alive }) => alive && id !== node).length;
    if (!await confirmed({
      title: words.say("cluster.drainTitle", { node }), typed: node, action: words.say("cluster.drain"),
      text: [words.say("cluster.drainText", { leads: leads ?? 0, holds }), left < COPIES && words.say("cluster.drainFew", { left }), words.say("cluster.drainOnce")].filter(Boolean),
    })) return;
    if (await act(() => call(deed("drain"), { node }), words.say("cluster.draining", { node }))) {
      tasks = [...tasks.filter((task) => task.node !== node), { kind: "drain", node, at: Date.now(), leads: leads ?? 0, holds }];
      monitor.refresh(signal);
    }
  }

  async function remove(node) {
    const isAlive = monitor.isAlive(node);
    if (!await confirmed({
      title: words.say("cluster.removeTitle", { node }), typed: node, action: words.say("cluster.remove"),
      text: [words.say("cluster.removeText"), words.say(isAlive ? "cluster.removeAlive" : "cluster.removeDead")],
    })) return;
    if (await act(() => call(deed("remove"), { node }), words.say("cluster.removed", { node }))) monitor.refresh(signal);
  }

  async function readmit() {
    const values = await ask({
      title: words.say("cluster.readmit"), text: words.say("cluster.readmitText"), action: words.say("cluster.readmit"),
      fields: [{ name: "node", label: words.say("overview.node"), required: true, maxlength: 64 }],
    });
    if (values) await act(() => call(deed("readmit"), { node: values.node.trim() }), words.say("cluster.readmitted", { node: values.node.trim() }));
  }

  async function transfer(shard) {
    const current = monitor.shards.find((one) => one.shard === shard);
    const others = (current?.replicas ?? []).filter((id) => id !== current.leader && monitor.isAlive(id));
    if (others.length === 0) { notice(words.say("cluster.nobody", { shard }), "warn"); return; }
    const values = await ask({
      title: words.say("cluster.transferTitle", { shard }), action: words.say("cluster.transfer"),
      text: words.say("cluster.transferText", { leader: current.leader ?? "–" }),
      fields: [{ name: "to", type: "select", label: words.say("cluster.to"), options: others }],
    });
    if (!values) return;
    if (await act(() => call("POST /v1/cluster/shards/{shard}/transfer", { shard }, { body: { to: values.to } }), words.say("cluster.transferring", { shard, to: values.to }))) {
      tasks = [...tasks.filter((task) => task.shard !== shard), { kind: "transfer", shard, to: values.to, from: current.leader, at: Date.now() }];
      monitor.refresh(signal);
    }
  }

  /** How far a task is, in words; [kind, text]. */
  function stateOf(task) {
    const span = words.span((task.doneAt ?? Date.now()) - task.at);
    if (task.kind === "transfer") {
      const leader = monitor.shards.find(({ shard }) => shard === task.shard)?.leader;
      if (leader === task.to) task.doneAt ??= Date.now();
      return task.doneAt ? ["good", words.say("cluster.transferDone", { ...task, span })]
        : ["info", words.say("cluster.transferWaits", { ...task, leader: leader ?? "–", span })];
    }
    const leads = monitor.shards.filter(({ leader }) => leader === task.node).length;
    const holds = monitor.shards.filter(({ replicas }) => replicas.includes(task.node)).length;
    const connections = monitor.figuresOf(task.node)?.connections;
    if (leads === 0 && holds === 0) {
      if (!connections) task.doneAt ??= Date.now();
      if (task.doneAt) return ["good", words.say("cluster.drainDone", { ...task, span })];
    }
    const values = { node: task.node, leads, led: task.leads, holds, held: task.holds, connections: connections ?? "–", span };
    return ["info", words.say(leads === 0 && holds === 0 ? "cluster.drainClients" : "cluster.drainWaits", values)];
  }

  const nodes = nodeTable(monitor, [{
    title: "", once: true, cell: ({ id }) => el("span", { class: "buttons" },
      button(words.say("cluster.drain"), () => drain(id), { why: api.why(deed("drain")), label: `${words.say("cluster.drain")}: ${id}` }),
      button(words.say("cluster.remove"), () => remove(id), { why: api.why(deed("remove")), kind: "danger", label: `${words.say("cluster.remove")}: ${id}` })),
  }]);
  const shards = new ShardGrid(monitor, [{
    title: "", once: true, cell: ({ shard }) => button(words.say("cluster.transfer"), () => transfer(shard), {
      why: api.why("POST /v1/cluster/shards/{shard}/transfer"), label: `${words.say("cluster.transfer")}: ${words.say("overview.shard")} ${shard}` }),
  }]);
  main.append(list.element, progress,
    card(words.say("overview.nodes"), el("div", { class: "card-actions" }, button(words.say("cluster.readmit"), readmit, { why: api.why(deed("readmit")) })), nodes.element),
    levelCard(), backupCard(api), logCard(api), card(words.say("overview.shards"), shards.element));

  function levelCard() {
    const state = el("div");
    const raise = button(words.say("cluster.raise"), async () => {
      const values = await ask({
        title: words.say("cluster.raise"), text: words.say("cluster.raiseText"), danger: true, action: words.say("cluster.raise"),
        fields: [{ name: "level", type: "number", label: words.say("cluster.level"), value: possible() ?? "", min: 1, required: true }],
      });
      if (values && await act(() => call("PUT /v1/cluster/featureLevel", {}, { body: values }), ({ level }) => words.say("cluster.raised", { level }))) monitor.refresh(signal);
    }, { why: api.why("PUT /v1/cluster/featureLevel") });
    const possible = () => {
      const levels = monitor.nodes.map(({ featureLevel }) => featureLevel).filter((level) => level !== undefined);
      return levels.length > 0 ? Math.min(...levels) : undefined;
    };
    monitor.watch(signal, () => {
      state.replaceChildren(facts([[words.say("cluster.level"), String(monitor.health?.featureLevel ?? "–")], [words.say("cluster.possible"), String(possible() ?? "–")],
        [words.say("overview.version"), (monitor.health?.nodes.versions ?? []).join(", ")]]));
    });
    return card(words.say("cluster.levelTitle"), el("div", { class: "card-actions" }, raise), state);
  }

  monitor.watch(signal, () => {
    list.update();
    tasks = tasks.filter(({ doneAt }) => !doneAt || Date.now() - doneAt < DONE_KEPT_MS);
    progress.replaceChildren(...tasks.map((task) => {
      const [kind, text] = stateOf(task);
      return el("li", { class: kind }, el("b", {}, words.say(`cluster.task.${kind}`)), el("span", {}, text));
    }));
    progress.hidden = tasks.length === 0;
    showNodes(monitor, nodes);
    shards.update();
  });
}

function backupCard(api) {
  const copies = new Table({
    label: words.say("cluster.backup"), key: ({ node }) => node, empty: words.say("cluster.noBackup"),
    columns: [
      { title: words.say("overview.node"), cell: ({ node }) => node },
      { title: words.say("cluster.directory"), wide: true, cell: ({ directory }) => el("span", { class: "call" }, directory) },
      { title: words.say("cluster.size"), number: true, cell: ({ bytes }) => words.bytes(bytes) },
    ],
  });
  const when = el("p", { class: "line" });
  const show = () => {
    when.replaceChildren(...(lastBackup ? [words.say("cluster.backedUp"), " ", time(lastBackup.time)] : []));
    copies.update(lastBackup?.copies ?? []);
  };
  let isRunning = false;
  const start = button(words.say("cluster.backupNow"), async () => {
    if (isRunning || !await confirmed({ title: words.say("cluster.backupTitle"), text: words.say("cluster.backupText"), action: words.say("cluster.backupNow"), danger: false })) return;
    isRunning = true;
    when.textContent = words.say("cluster.backingUp");
    const answer = await act(() => api.call("POST /v1/backup", {}, { timeoutMs: 600_000 }), ({ copies: made }) =>
      words.say("cluster.backupDone", { count: made.length, size: words.bytes(made.reduce((sum, { bytes }) => sum + bytes, 0)) }));
    isRunning = false;
    if (answer) lastBackup = answer;
    show();
  }, { why: api.why("POST /v1/backup") });
  show();
  return card(words.say("cluster.backup"), el("div", { class: "card-actions" }, start), when, copies.element);
}

function logCard(api) {
  const why = api.why("PUT /v1/log");
  const levels = ["trace", "debug", "info", "notice", "warning", "error", "critical"];
  const form = el("form", { class: "toolbar" },
    field({ name: "level", type: "select", label: words.say("cluster.logLevel"), options: levels, value: "info", hint: words.say("cluster.logHint", { host: location.host }) }),
    el("div", { class: "buttons" }, button(words.say("cluster.setLog"), async () => {
      const { level } = Object.fromEntries(new FormData(form));
      await act(() => api.call("PUT /v1/log", {}, { body: { level } }), words.say("cluster.logSet", { level }));
    }, { why })));
  form.addEventListener("submit", (event) => event.preventDefault());
  return card(words.say("cluster.log"), form);
}

words.add({
  en: {
    "cluster.title": "Cluster", "cluster.task.info": "Running", "cluster.task.good": "Done",
    "cluster.drain": "Drain", "cluster.drainTitle": "Drain {node}?", "cluster.drainText": "It leads {leads} shards and holds replicas of {holds}. Its leaderships and replicas move to other nodes, and its clients are sent elsewhere.",
    "cluster.drainOnce": "A drain can't be taken back: the node has to be removed, readmitted and started with an empty directory. Do not drain for an upgrade.", "cluster.draining": "{node} is being drained.",
    "cluster.drainWaits": "{node} is being drained for {span}: it still leads {leads} of {led} shards, holds {holds} of {held} replicas and {connections} connections.",
    "cluster.drainClients": "{node} is being drained for {span}: it leads and holds no shard any more; {connections} connections are left.",
    "cluster.drainFew": "Only {left} nodes are left then. With fewer than three, each shard is kept by one node alone: if that is lost, so are the rooms of its shards.",
    "cluster.drainDone": "{node} is drained, after {span}: stop its process, then remove it.",
    "cluster.remove": "Remove", "cluster.removeTitle": "Remove {node} from the cluster?", "cluster.removeText": "The cluster forgets the node and cuts it off at once. It stays out, whatever data it comes with, until it is readmitted.",
    "cluster.removeAlive": "It is alive: drain it first, and stop its process.", "cluster.removeDead": "It is not alive: start its substitute first, so that shards get their replicas back.", "cluster.removed": "{node} is removed.",
    "cluster.readmit": "Readmit a node", "cluster.readmitText": "A node that was removed may come again, with an empty data directory.", "cluster.readmitted": "{node} may come again.",
    "cluster.transfer": "Transfer", "cluster.transferTitle": "Transfer the leadership of shard {shard}", "cluster.transferText": "{leader} leads it now. Sends of its rooms wait for a moment.", "cluster.to": "To", "cluster.transferring": "Shard {shard} is being handed to {to}.",
    "cluster.nobody": "No other living node has a replica of shard {shard}.", "cluster.transferDone": "{to} leads shard {shard}, after {span}.", "cluster.transferWaits": "Shard {shard} is being handed to {to} for {span}; {leader} leads it still.",
    "cluster.levelTitle": "Versions and feature level", "cluster.level": "Feature level", "cluster.possible": "All nodes can do", "cluster.raise": "Raise", "cluster.raiseText": "Nothing lowers it again: after that no node can go back to the version before.", "cluster.raised": "The feature level is {level}.",
    "cluster.backup": "Backup", "cluster.backupNow": "Back up now", "cluster.backupTitle": "Make a backup?", "cluster.backupText": "Each node copies what it holds into a new directory on its own disk. Together these have everything that was acknowledged before. Copy them elsewhere afterwards.", "cluster.backingUp": "The nodes are copying. This takes as long as their disks need.",
    "cluster.backupDone": "{count} nodes have made copies, {size} together.", "cluster.backedUp": "Copies as of", "cluster.noBackup": "No backup was made from this tab.", "cluster.directory": "Directory", "cluster.size": "Size",
    "cluster.log": "Log level", "cluster.logLevel": "Level", "cluster.logHint": "Of the node at {host}, until its next start.", "cluster.setLog": "Set", "cluster.logSet": "This node logs {level} and above.",
  },
  zh: {
    "cluster.title": "集群", "cluster.task.info": "进行中", "cluster.task.good": "完成",
    "cluster.drain": "排空", "cluster.drainTitle": "排空 {node}？", "cluster.drainText": "它是 {leads} 个分片的主节点，持有 {holds} 个副本。主节点角色与副本会移至其他节点，客户端会被引导到别处。",
    "cluster.drainOnce": "排空无法撤销：之后须移除、重新准入，并以空目录启动。升级时不要排空。", "cluster.draining": "正在排空 {node}。",
    "cluster.drainWaits": "{node} 排空中，已 {span}：仍主持 {leads}/{led} 个分片，持有 {holds}/{held} 个副本、{connections} 个连接。",
    "cluster.drainClients": "{node} 排空中，已 {span}：已不主持也不持有任何分片；还有 {connections} 个连接。",
    "cluster.drainFew": "之后只剩 {left} 个节点。少于三个节点时，每个分片只由一个节点保存：该节点丢失，其分片的房间也随之丢失。",
    "cluster.drainDone": "{node} 已排空，用时 {span}：请停止其进程，然后移除。",
    "cluster.remove": "移除", "cluster.removeTitle": "将 {node} 移出集群？", "cluster.removeText": "集群会立即忘记并切断该节点。重新准入之前，无论带着什么数据都不能加入。",
    "cluster.removeAlive": "它仍在线：请先排空并停止其进程。", "cluster.removeDead": "它不在线：请先启动替代节点，使分片恢复副本。", "cluster.removed": "{node} 已移除。",
    "cluster.readmit": "重新准入节点", "cluster.readmitText": "已移除的节点可以空数据目录再次加入。", "cluster.readmitted": "{node} 可以再次加入。",
    "cluster.transfer": "移交", "cluster.transferTitle": "移交分片 {shard} 的主节点角色", "cluster.transferText": "当前由 {leader} 主持。其房间的发送会短暂等待。", "cluster.to": "移交给", "cluster.transferring": "正在将分片 {shard} 移交给 {to}。",
    "cluster.nobody": "没有其他在线节点持有分片 {shard} 的副本。", "cluster.transferDone": "{to} 已主持分片 {shard}，用时 {span}。", "cluster.transferWaits": "正在将分片 {shard} 移交给 {to}，已 {span}；仍由 {leader} 主持。",
    "cluster.levelTitle": "版本与功能级别", "cluster.level": "功能级别", "cluster.possible": "所有节点支持", "cluster.raise": "提升", "cluster.raiseText": "无法再降低：之后任何节点都不能退回之前的版本。", "cluster.raised": "功能级别为 {level}。",
    "cluster.backup": "备份", "cluster.backupNow": "立即备份", "cluster.backupTitle": "进行备份？", "cluster.backupText": "每个节点将其数据复制到本机磁盘的新目录。合起来包含此前所有已确认的内容。之后请复制到别处。", "cluster.backingUp": "各节点正在复制，所需时间取决于磁盘。",
    "cluster.backupDone": "{count} 个节点完成备份，共 {size}。", "cluster.backedUp": "备份时间：", "cluster.noBackup": "此标签页尚未进行备份。", "cluster.directory": "目录", "cluster.size": "大小",
    "cluster.log": "日志级别", "cluster.logLevel": "级别", "cluster.logHint": "仅对 {host} 处的节点，直到其下次启动。", "cluster.setLog": "设置", "cluster.logSet": "该节点记录 {level} 及以上级别。",
  },
});
