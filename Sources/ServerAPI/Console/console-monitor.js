/**
 * The console's knowledge of the cluster: asked every two seconds while the tab is seen, with the figures of the last five
 * minutes; and what is wrong with it, in sentences.
 */
import { every } from "/console/console-api.js";
import { words } from "/console/console-words.js";

export const INTERVAL_MS = 2_000;
export const KEPT_MS = 300_000;
/** From here on a figure is told as a problem. */
const LIMITS = { diskBytes: 5 * 2 ** 30, diskBytesBad: 2 ** 30, ackP99Ms: 500, deliverP99Ms: 1_000, commitLag: 1_000, cpuPercent: 90 };
const CALLS = { cluster: "GET /v1/cluster", shards: "GET /v1/cluster/shards", health: "GET /v1/cluster/health", figures: "GET /v1/figures" };

export class Monitor {
  #api;
  #watchers = new Set();
  /** When a node was first seen in the state that it is in: the API does not tell since when it is so. */
  #since = new Map();

  nodes = [];
  shards = [];
  health = null;
  figures = null;
  /** [{at, nodes}], the oldest first. */
  samples = [];
  /** The last error of each call, and when each was last answered. */
  errors = {};
  answeredAt = {};
  isLoaded = false;

  constructor(api, signal) {
    this.#api = api;
    if (api.may(CALLS.cluster)) every(INTERVAL_MS, signal, () => this.#ask(signal));
    // Other roles hear so whether the node lives: many views ask for nothing by themselves.
    else every(INTERVAL_MS * 2, signal, () => api.call("GET /healthz", {}, { signal, timeoutMs: 8_000 }).catch(() => {}));
  }

  /** Since when nothing was answered. */
  get silentSince() { return this.#api.silentSince; }

  /** Calls back after each answer, and at once when there is one, until the signal. */
  watch(signal, callback) {
    this.#watchers.add(callback);
    signal.addEventListener("abort", () => this.#watchers.delete(callback));
    if (this.isLoaded) callback();
  }

  /** Asks now: something has been changed. */
  async refresh(signal) { await this.#ask(signal); }

  node(id) { return this.nodes.find((node) => node.id === id); }
  isAlive(id) { return this.node(id)?.alive ?? false; }
  figuresOf(id) { return this.figures?.nodes.find(({ node }) => node === id); }
  since(id) { return this.#since.get(id); }

  async #ask(signal) {
    const began = Date.now();
    const entries = Object.entries(CALLS).filter(([, call]) => this.#api.may(call));
    const answers = await Promise.allSettled(entries.map(([, call]) => this.#api.call(call, {}, { signal, timeoutMs: 8_000 })));
    if (signal?.aborted) return;
    const got = {};
    answers.forEach(({ status, value, reason }, index) => {
      const [name] = entries[index];
      if (status === "fulfilled") {
        got[name] = value;
        this.answeredAt[name] = words.now();
        delete this.errors[name];
      } else this.errors[name] = reason;
    });
    if (!this.#api.knows(CALLS.figures)) this.errors.figures = { code: 404 };
    if (got.cluster) {
      for (const { id, state, alive } of got.cluster.nodes) {
        const known = this.#since.get(id);
        const told = state ?? (alive ? "alive" : "dead");
        if (known?.state !== told) this.#since.set(id, { state: told, at: began, isChange: known !== undefined });
      }
      this.nodes = got.cluster.nodes;
    }
    if (got.shards) this.shards = got.shards.shards;
    if (got.health) this.health = got.health;
    this.figures = got.figures ?? null;
    if (got.figures) {
      words.skew = got.figures.time - Date.now();
      this.samples.push({ at: Date.now(), nodes: got.figures.nodes });
      const oldest = Date.now() - KEPT_MS - INTERVAL_MS;
      while (this.samples.length > 0 && (this.samples[0].at < oldest || this.samples.length > 300)) this.samples.shift();
    }
    this.isLoaded = true;
    for (const watcher of this.#watchers) watcher();
  }
}

/** Up to twelve of many, as words. */
function some(items) {
  if (items.length <= 12) return words.list(items);
  return words.say("monitor.some", { items: items.slice(0, 12).join(", "), more: items.length - 12 });
}

/** The shards that have lost replicas, by how many of how many are left: "shards 1 and 4 have 2 of 3 replicas". */
function replicasLeft(monitor, shards) {
  const groups = new Map();
  for (const { shard, replicas } of shards) {
    const left = `${replicas.filter((id) => monitor.isAlive(id)).length}/${replicas.length}`;
    groups.set(left, [...(groups.get(left) ?? []), shard]);
  }
  return [...groups].map(([left, ids]) => {
    const [have, all] = left.split("/");
    const isAll = ids.length === monitor.shards.length && ids.length > 1;
    return words.say(isAll ? "monitor.allShards" : ids.length === 1 ? "monitor.shard" : "monitor.shards",
      { shards: some(ids), count: ids.length, have, all });
  });
}

/** The problems of the cluster, the worst first: [{kind: "bad" | "warn" | "info", text}]. */
export function problems(monitor) {
  const found = [];
  const tell = (kind, key, values) => found.push({ kind, text: words.say(`monitor.${key}`, values) });
  if (monitor.silentSince !== undefined) {
    tell("bad", "silent", { host: location.host, span: words.span(Date.now() - monitor.silentSince) });
    found[0].isSilence = true;
  }
  const leaderless = monitor.shards.filter(({ leader }) => !leader);
  if (leaderless.length > 0) tell("bad", "leaderless", { shards: some(leaderless.map(({ shard }) => shard)) });
  const lost = monitor.shards.filter(({ replicas }) =>
    replicas.length > 0 && replicas.filter((id) => monitor.isAlive(id)).length <= replicas.length / 2);
  if (monitor.nodes.length > 0 && lost.length > 0) tell("bad", "majority", { shards: some(lost.map(({ shard }) => shard)) });
  for (const { id, alive, state } of monitor.nodes) {
    if (alive && state !== "suspect") continue;
    const since = monitor.since(id);
    const touched = monitor.shards.filter(({ replicas }) => replicas.includes(id));
    const what = touched.length === 0 ? words.say("monitor.noReplica")
      : alive ? words.say("monitor.holds", { count: touched.length }) : words.list(replicasLeft(monitor, touched));
    tell(alive ? "warn" : touched.length > 0 ? "bad" : "warn", since?.isChange ? "node" : "nodeAtLeast", {
      node: id, state: words.say(`monitor.state.${state ?? "dead"}`), span: words.span(Date.now() - (since?.at ?? Date.now())), what,
    });
  }
  const single = monitor.shards.filter(({ replicas }) => replicas.length === 1);
  if (single.length > 0) tell(monitor.nodes.length > 1 ? "warn" : "info", "single", { count: single.length });
  const dead = monitor.nodes.filter(({ alive }) => !alive).length;
  if (monitor.health?.underReplicated > 0 && dead === 0) tell("warn", "under", { count: monitor.health.underReplicated });
  for (const [name, { sentence }] of Object.entries(monitor.errors)) {
    if (sentence && monitor.silentSince === undefined) tell("warn", "failed", { call: CALLS[name], sentence });
  }
  const missing = (monitor.figures?.missing ?? []).filter((id) => monitor.isAlive(id));
  if (missing.length > 0) tell("warn", "missing", { nodes: words.list(missing) });
  for (const node of monitor.figures?.nodes ?? []) {
    const values = { node: node.node };
    if (node.diskFreeBytes < LIMITS.diskBytes) {
      tell(node.diskFreeBytes < LIMITS.diskBytesBad ? "bad" : "warn", "disk", { ...values, free: words.bytes(node.diskFreeBytes) });
    }
    if (node.commitLag > LIMITS.commitLag) tell("warn", "lag", { ...values, lag: words.number(node.commitLag) });
    if (node.ackP99Ms > LIMITS.ackP99Ms) tell("warn", "ack", { ...values, time: words.ms(node.ackP99Ms) });
    if (node.deliverP99Ms > LIMITS.deliverP99Ms) tell("warn", "deliver", { ...values, time: words.ms(node.deliverP99Ms) });
    if (node.slowSessions > 0) tell("warn", "slow", { ...values, count: words.number(node.slowSessions) });
    if (node.cpuPercent > LIMITS.cpuPercent) tell("warn", "cpu", { ...values, cpu: words.number(node.cpuPercent) });
  }
  for (const { kind, cause, perSecond } of drops(monitor)) {
    // Budgets leave out what nobody could read; that is meant.
    if (cause !== "budget") tell("warn", "drops", { what: dropName(kind, cause), rate: words.rough(perSecond) });
  }
  const versions = [...new Set(monitor.nodes.filter(({ alive }) => alive).map(({ version }) => version).filter(Boolean))];
  if (versions.length > 1) tell("info", "versions", { versions: words.list(versions) });
  const levels = monitor.nodes.map(({ featureLevel }) => featureLevel).filter((level) => level !== undefined);
  if (monitor.health && levels.length === monitor.nodes.length && Math.min(...levels) > monitor.health.featureLevel) {
    tell("info", "level", { level: monitor.health.featureLevel, possible: Math.min(...levels) });
  }
  const order = { bad: 0, warn: 1, info: 2 };
  return found.sort((one, other) => order[one.kind] - order[other.kind]);
}

/** The items that all nodes drop a second, by class and cause, most first, without zeros. */
export function drops(monitor) {
  const sums = new Map();
  for (const node of monitor.figures?.nodes ?? []) {
    for (const { class: kind, cause, perSecond } of node.drops ?? []) {
      const sum = sums.get(`${kind} ${cause}`) ?? { kind, cause, perSecond: 0, nodes: [] };
      sum.perSecond += perSecond;
      if (perSecond > 0) sum.nodes.push(node.node);
      sums.set(`${kind} ${cause}`, sum);
    }
  }
  return [...sums.values()].filter(({ perSecond }) => perSecond > 0).sort((one, other) => other.perSecond - one.perSecond);
}

export function dropName(kind, cause) {
  const key = `drop.${kind}.${cause}`;
  return words.has(key) ? words.say(key) : `${kind}, ${cause}`;
}

words.add({
  en: {
    "monitor.silent": "The node at {host}, which serves this console, has not answered for {span}. If it does not come back, open the console of another node.",
    "monitor.leaderless": "No leader: shards {shards}. Their rooms accept nothing until one is elected.",
    "monitor.majority": "Most replicas are lost: shards {shards}. Their rooms accept nothing until nodes come back.",
    "monitor.node": "{node} has been {state} for {span}: {what}.",
    "monitor.nodeAtLeast": "{node} is {state}, for {span} at least: {what}.",
    "monitor.shards": "shards {shards} have {have} of {all} replicas",
    "monitor.shard": "shard {shards} has {have} of {all} replicas",
    "monitor.allShards": "all {count} shards have {have} of {all} replicas",
    "monitor.noReplica": "no shard has a replica there",
    "monitor.holds": "it holds replicas of {count} shards",
    "monitor.some": "{items} and {more} more",
    "monitor.under": "{count} shards have too few replicas. They are being copied.",
    "monitor.single": "{count} shards are kept by one node only: if it is lost, so are their rooms.",
    "monitor.failed": "{call} failed: {sentence}",
    "monitor.missing": "No figures from {nodes}: sums are without them.",
    "monitor.disk": "{node} has {free} of disk left.",
    "monitor.lag": "{lag} entries of the shards that {node} leads are not committed yet.",
    "monitor.ack": "{node} takes {time} to acknowledge one of a hundred sends (p99).",
    "monitor.deliver": "{node} takes {time} to deliver one of a hundred messages (p99).",
    "monitor.slow": "{count} sessions on {node} read too slowly.",
    "monitor.cpu": "{node} uses {cpu} % of a processor core.",
    "monitor.drops": "{rate} a second are not delivered: {what}.",
    "monitor.versions": "Nodes run different versions: {versions}.",
    "monitor.level": "The feature level is {level}; all nodes can do {possible}.",
    "monitor.state.alive": "alive", "monitor.state.suspect": "suspect", "monitor.state.dead": "dead", "monitor.state.left": "stopped",
    "monitor.state.draining": "draining",
    "drop.barrage.budget": "barrage above the viewers' rate", "drop.barrage.slow": "barrage to slow viewers",
    "drop.message.budget": "messages above the viewers' budget", "drop.message.slow": "messages to slow viewers",
    "drop.connection.memory": "connections closed because buffers are full", "drop.webhook.slow": "webhook items, the receiver is slow",
  },
  zh: {
    "monitor.silent": "提供此控制台的节点 {host} 已 {span}没有应答。如果它不恢复，请打开其他节点的控制台。",
    "monitor.leaderless": "分片 {shards} 没有主节点：选出之前，其房间不接受任何操作。",
    "monitor.majority": "分片 {shards} 失去了多数副本：节点恢复之前，其房间不接受任何操作。",
    "monitor.node": "{node} {state}已 {span}：{what}。",
    "monitor.nodeAtLeast": "{node} {state}至少 {span}：{what}。",
    "monitor.shards": "分片 {shards} 只有 {have}/{all} 个副本",
    "monitor.shard": "分片 {shards} 只有 {have}/{all} 个副本",
    "monitor.allShards": "全部 {count} 个分片只有 {have}/{all} 个副本",
    "monitor.noReplica": "其上没有任何分片的副本",
    "monitor.holds": "其上有 {count} 个分片的副本",
    "monitor.some": "{items} 及另外 {more} 个",
    "monitor.under": "{count} 个分片副本不足，正在复制。",
    "monitor.single": "{count} 个分片只由一个节点保存：该节点丢失，其房间也随之丢失。",
    "monitor.failed": "{call} 失败：{sentence}",
    "monitor.missing": "{nodes} 没有给出指标：合计不包含它们。",
    "monitor.disk": "{node} 的磁盘只剩 {free}。",
    "monitor.lag": "{node} 主持的分片有 {lag} 条日志尚未提交。",
    "monitor.ack": "{node} 的发送确认 p99 为 {time}。",
    "monitor.deliver": "{node} 的消息投递 p99 为 {time}。",
    "monitor.slow": "{node} 上有 {count} 个会话读取过慢。",
    "monitor.cpu": "{node} 占用一个处理器核的 {cpu} %。",
    "monitor.drops": "每秒有 {rate} 条未送达：{what}。",
    "monitor.versions": "各节点版本不同：{versions}。",
    "monitor.level": "功能级别为 {level}；所有节点都支持 {possible}。",
    "monitor.state.alive": "正常", "monitor.state.suspect": "可疑", "monitor.state.dead": "失联", "monitor.state.left": "已停止",
    "monitor.state.draining": "正在排空",
    "drop.barrage.budget": "超出观看速率的弹幕", "drop.barrage.slow": "慢速观众的弹幕",
    "drop.message.budget": "超出观看预算的消息", "drop.message.slow": "慢速观众的消息",
    "drop.connection.memory": "因缓冲已满而关闭的连接", "drop.webhook.slow": "回调条目（接收方过慢）",
  },
});
