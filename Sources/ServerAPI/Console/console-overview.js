/** The overview: what is wrong, how much is going on, nodes and shards. */
import { Chart, over, perNode } from "/console/console-charts.js";
import { INTERVAL_MS, KEPT_MS, dropName, drops, problems } from "/console/console-monitor.js";
import { Table, card, el, time } from "/console/console-ui.js";
import { words } from "/console/console-words.js";

const sum = (values) => values.reduce((one, other) => one + other, 0);
const most = (values) => Math.max(...values);
const first = (values) => values[0];
const rate = (value) => words.say("overview.rate", { value: words.rough(value) });

/** Problems in words, or that there are none. */
export function problemList(monitor) {
  const list = el("ul", { class: "problems" });
  let said = "";
  return {
    element: list,
    update() {
      // The line above all views tells of the silence already.
      const all = monitor.isLoaded ? problems(monitor) : [];
      const found = all.filter(({ isSilence }) => !isSilence);
      const alive = monitor.nodes.filter((node) => node.alive).length;
      const lines = !monitor.isLoaded ? [{ kind: "info", text: words.say("ui.loading") }]
        : found.some(({ kind }) => kind !== "info") || found.length < all.length ? found
          : [{ kind: "good", text: words.say("overview.well", { nodes: alive, shards: monitor.shards.length }) }, ...found];
      const text = JSON.stringify(lines);
      if (text === said) return;
      said = text;
      list.hidden = lines.length === 0;
      list.replaceChildren(...lines.map(({ kind, text: sentence }) =>
        el("li", { class: kind }, el("b", {}, words.say(`overview.kind.${kind}`)), el("span", {}, sentence))));
    },
  };
}

/** `extra` columns take the place of those that only the overview needs. */
export function nodeTable(monitor, extra) {
  const figure = (name, say) => (node) => {
    const value = monitor.figuresOf(node.id)?.[name];
    return value === undefined ? undefined : say(value);
  };
  const number = (value) => words.number(value);
  return new Table({
    label: words.say("overview.nodes"), key: ({ id }) => id, empty: words.say("overview.noNodes"),
    columns: [
      { title: words.say("overview.node"), cell: ({ id }) => id },
      { title: words.say("overview.state"), cell: (node) => stateOf(monitor, node) },
      { title: words.say("overview.version"), cell: ({ version }) => version },
      { title: words.say("overview.up"), cell: ({ startedAt, alive }) => (alive && startedAt ? time(startedAt) : undefined) },
      { title: words.say("overview.leads"), number: true, cell: ({ leads }) => number(leads) },
      ...(extra ? [] : [{ title: words.say("overview.lag"), number: true, cell: figure("commitLag", number) }]),
      { title: words.say("overview.connections"), number: true, cell: figure("connections", number) },
      ...(extra ?? [{ title: words.say("overview.slow"), number: true, cell: figure("slowSessions", (value) =>
        (value > 0 ? [number(value), "warn"] : number(value))) },
      { title: words.say("overview.cpu"), number: true, cell: figure("cpuPercent", (value) => `${number(value)} %`) },
      { title: words.say("overview.memory"), number: true, cell: figure("memoryBytes", (value) => words.bytes(value)) },
      { title: words.say("overview.disk"), number: true, cell: figure("diskFreeBytes", (value) => words.bytes(value)) }]),
    ],
  });
}

export function stateOf(monitor, { id, alive, state, draining }) {
  const seen = state ?? (alive ? "alive" : "dead");
  const said = draining && seen === "alive" ? "draining" : seen;
  const since = monitor.since(id);
  const span = since?.isChange ? ` ${words.span(Date.now() - since.at)}` : "";
  if (monitor.errors.cluster) return [words.say("overview.was", { state: words.say(`monitor.state.${said}`) }), ""];
  return [words.say(`monitor.state.${said}`) + (seen === "alive" ? "" : span), { alive: "good", draining: "warn", suspect: "warn", left: "warn" }[said] ?? "bad"];
}

/** Shows the nodes: as old ones where the last answer has failed. */
export function showNodes(monitor, table) {
  table.update(sortedNodes(monitor));
  markOld(monitor, table, "cluster");
}

function markOld(monitor, table, name) {
  const error = monitor.errors[name];
  if (error) table.old(error.sentence ?? String(error), monitor.answeredAt[name]);
}

/** Nodes with problems first. */
function sortedNodes(monitor) {
  const rank = ({ alive, state }) => (!alive ? 0 : state === "suspect" ? 1 : 2);
  return monitor.nodes.toSorted((one, other) => rank(one) - rank(other) || one.id.localeCompare(other.id, "en", { numeric: true }));
}

/** Shards by nodes: who leads, who has a replica. Shards with problems come first. */
export class ShardGrid {
  #monitor;
  #nodes = "";
  #table;
  element = el("div");

  constructor(monitor, extra = []) {
    this.#monitor = monitor;
    this.extra = extra;
  }

  update() {
    const monitor = this.#monitor;
    const ids = [...new Set([...monitor.nodes.map(({ id }) => id), ...monitor.shards.flatMap(({ replicas }) => replicas)])]
      .sort((one, other) => one.localeCompare(other, "en", { numeric: true }));
    if (this.#nodes !== ids.join(" ")) {
      this.#nodes = ids.join(" ");
      const place = (id) => ({
        title: id, cell: ({ leader, replicas }) => {
          if (leader === id) return [words.say("overview.leader"), "accent"];
          if (!replicas.includes(id)) return "·";
          return monitor.isAlive(id) ? words.say("overview.replica") : [words.say("overview.lost"), "bad"];
        },
      });
      this.#table = new Table({
        label: words.say("overview.shards"), isGrid: true, key: ({ shard }) => shard, empty: words.say("overview.noShards"),
        columns: [
          { title: words.say("overview.shard"), cell: ({ shard }) => words.number(shard) },
          { title: words.say("overview.health"), cell: (shard) => this.#health(shard) },
          ...(ids.length <= 7 ? ids.map(place) : [
            { title: words.say("overview.leads1"), cell: ({ leader }) => leader },
            { title: words.say("overview.replicas"), cell: ({ replicas }) => replicas.join(", ") },
          ]),
          { title: words.say("overview.term"), number: true, cell: ({ term }) => words.number(term) },
          { title: words.say("overview.applied"), number: true, cell: ({ applied }) => words.number(applied) },
          ...this.extra,
        ],
      });
      this.element.replaceChildren(this.#table.element);
    }
    const rank = (shard) => (!shard.leader ? 0 : this.#left(shard) < shard.replicas.length ? 1 : 2);
    this.#table.update(monitor.shards.toSorted((one, other) => rank(one) - rank(other) || one.shard - other.shard));
    markOld(monitor, this.#table, "shards");
  }

  #left({ replicas }) { return replicas.filter((id) => this.#monitor.isAlive(id)).length; }

  #health(shard) {
    const left = this.#left(shard);
    if (!shard.leader) return [words.say("overview.leaderless"), "bad"];
    if (left < shard.replicas.length) {
      return [words.say("overview.left", { left, all: shard.replicas.length }), left <= shard.replicas.length / 2 ? "bad" : "warn"];
    }
    return shard.replicas.length === 1 ? [words.say("overview.single"), "warn"]
      : [words.say("overview.whole", { all: shard.replicas.length }), "good"];
  }
}

export function overview({ api, monitor, main, signal }) {
  const why = api.why("GET /v1/cluster");
  if (why) {
    main.append(card(words.say("overview.title"), el("p", { class: "empty" }, why)));
    return;
  }
  const list = problemList(monitor);
  const shared = { spanMs: KEPT_MS, gapMs: INTERVAL_MS * 3 };
  const names = { all: words.say("overview.all") };
  const pair = (one, other) => (samples) => [
    ...over("p50", (node) => node[one], most)(samples), ...over("p99", (node) => node[other], most)(samples)];
  const last = (values) => values.at(-1);
  const dropped = (node) => sum((node.drops ?? []).map(({ perSecond }) => perSecond));
  const charts = [
    { key: "sends", format: rate, lines: over(names.all, (node) => node.sendsPerSecond, sum), value: first },
    { key: "deliveries", format: rate, lines: over(names.all, (node) => node.deliveriesPerSecond, sum), value: first },
    { key: "barrage", format: rate, lines: over(names.all, (node) => node.barragePerSecond, sum), value: first },
    { key: "ack", format: (value) => words.ms(value), lines: pair("ackP50Ms", "ackP99Ms"), value: last },
    { key: "deliver", format: (value) => words.ms(value), lines: pair("deliverP50Ms", "deliverP99Ms"), value: last },
    { key: "drops", format: rate, lines: over(names.all, dropped, sum), value: first },
    { key: "bytes", format: (value) => words.say("overview.rate", { value: words.bytes(value) }),
      lines: over(names.all, (node) => node.sentBytesPerSecond, sum), value: first, thousand: 1_024 },
    { key: "online", format: (value) => words.number(value), lines: over(names.all, (node) => node.online, sum), value: first },
    { key: "cpu", format: (value) => `${words.number(value)} %`, lines: perNode((node) => node.cpuPercent), value: most, maximum: 100 },
    { key: "memory", format: (value) => words.bytes(value), lines: perNode((node) => node.memoryBytes), value: sum, thousand: 1_024 },
  ].map(({ key, ...options }) => new Chart({ ...shared, ...options, title: words.say(`overview.chart.${key}`) }));
  const grid = el("div", { class: "charts" }, charts.map(({ element }) => element));
  const noFigures = el("p", { class: "empty", hidden: true });
  const nodes = nodeTable(monitor);
  const shards = new ShardGrid(monitor);
  const dropTable = new Table({
    label: words.say("overview.drops"), key: ({ kind, cause }) => `${kind} ${cause}`, empty: words.say("overview.noDrops"),
    columns: [
      { title: words.say("overview.dropped"), wide: true, cell: ({ kind, cause }) => dropName(kind, cause) },
      { title: words.say("overview.dropRate"), number: true, cell: ({ perSecond }) => rate(perSecond) },
      { title: words.say("overview.at"), cell: ({ nodes: ids }) => ids.join(", ") },
    ],
  });
  const gossip = el("p", { class: "line" });
  main.append(list.element, card(words.say("overview.load"), noFigures, grid),
    card(words.say("overview.nodes"), gossip, nodes.element),
    card(words.say("overview.drops"), dropTable.element), card(words.say("overview.shards"), shards.element));
  monitor.watch(signal, () => {
    list.update();
    noFigures.hidden = monitor.samples.length > 0;
    grid.hidden = monitor.samples.length === 0;
    noFigures.textContent = monitor.errors.figures?.code === 404 ? words.say("overview.older")
      : monitor.errors.figures?.sentence ?? api.why("GET /v1/figures");
    for (const chart of charts) chart.update(monitor.samples);
    showNodes(monitor, nodes);
    const counts = {};
    for (const { state, alive } of monitor.nodes) {
      const name = state ?? (alive ? "alive" : "dead");
      counts[name] = (counts[name] ?? 0) + 1;
    }
    const said = words.say("overview.gossip", {
      counts: Object.entries(counts).map(([state, count]) => `${count} ${words.say(`monitor.state.${state}`)}`).join(", "),
      level: monitor.health?.featureLevel ?? "–", voters: monitor.nodes.filter(({ systemVoter }) => systemVoter).length,
    });
    if (gossip.textContent !== said) gossip.textContent = said;
    gossip.hidden = monitor.errors.cluster !== undefined;
    dropTable.update(drops(monitor), monitor.figures ? words.say("overview.noDrops") : words.say("overview.unknownDrops"));
    shards.update();
  });
  if (!monitor.isLoaded) list.update();
}

words.add({
  en: {
    "overview.title": "Overview", "overview.load": "Load", "overview.nodes": "Nodes", "overview.shards": "Shards", "overview.drops": "Not delivered",
    "overview.well": "Nothing is wrong: {nodes} nodes are alive, all {shards} shards have a leader and all their replicas.",
    "overview.kind.bad": "Problem", "overview.kind.warn": "Look", "overview.kind.info": "Note", "overview.kind.good": "Well",
    "overview.rate": "{value}/s", "overview.all": "all nodes",
    "overview.chart.sends": "Sends", "overview.chart.deliveries": "Deliveries", "overview.chart.barrage": "Barrage delivered",
    "overview.chart.ack": "Ack p99, slowest node", "overview.chart.deliver": "Deliver p99, slowest node", "overview.chart.drops": "Not delivered",
    "overview.chart.bytes": "Sent to clients", "overview.chart.online": "People in rooms", "overview.chart.cpu": "CPU, busiest node", "overview.chart.memory": "Memory",
    "overview.older": "This node's version does not tell figures (GET /v1/figures). Nodes and shards are below; /metrics has the rest.",
    "overview.gossip": "Gossip: {counts}. Voters of the system group: {voters}. Feature level: {level}.",
    "overview.node": "Node", "overview.state": "State", "overview.version": "Version", "overview.up": "Started", "overview.leads": "Leads shards",
    "overview.lag": "Commit lag", "overview.connections": "Connections", "overview.slow": "Slow sessions", "overview.cpu": "CPU", "overview.memory": "Memory", "overview.disk": "Disk free",
    "overview.was": "was {state}", "overview.noNodes": "No nodes are known.", "overview.noShards": "No shards are known.",
    "overview.shard": "Shard", "overview.health": "Health", "overview.leader": "leader", "overview.replica": "replica", "overview.lost": "lost",
    "overview.leads1": "Leader", "overview.replicas": "Replicas", "overview.term": "Term", "overview.applied": "Applied",
    "overview.leaderless": "no leader", "overview.left": "{left} of {all} replicas", "overview.whole": "{all} replicas", "overview.single": "one replica",
    "overview.dropped": "What", "overview.dropRate": "Rate", "overview.at": "On", "overview.noDrops": "Everything is delivered.",
    "overview.unknownDrops": "Not known without figures.",
  },
  zh: {
    "overview.title": "总览", "overview.load": "负载", "overview.nodes": "节点", "overview.shards": "分片", "overview.drops": "未送达",
    "overview.well": "一切正常：{nodes} 个节点在线，{shards} 个分片都有主节点且副本完整。",
    "overview.kind.bad": "故障", "overview.kind.warn": "注意", "overview.kind.info": "提示", "overview.kind.good": "正常",
    "overview.rate": "{value}/秒", "overview.all": "全部节点",
    "overview.chart.sends": "发送", "overview.chart.deliveries": "投递", "overview.chart.barrage": "弹幕投递",
    "overview.chart.ack": "确认 p99，最慢节点", "overview.chart.deliver": "投递 p99，最慢节点", "overview.chart.drops": "未送达",
    "overview.chart.bytes": "发往客户端", "overview.chart.online": "房间内人数", "overview.chart.cpu": "CPU（最忙节点）", "overview.chart.memory": "内存",
    "overview.older": "该节点的版本不提供指标（GET /v1/figures）。节点与分片见下；其余见 /metrics。",
    "overview.gossip": "Gossip：{counts}。系统组投票者：{voters}。功能级别：{level}。",
    "overview.node": "节点", "overview.state": "状态", "overview.version": "版本", "overview.up": "启动", "overview.leads": "主分片数",
    "overview.lag": "提交滞后", "overview.connections": "连接", "overview.slow": "慢会话", "overview.cpu": "CPU", "overview.memory": "内存", "overview.disk": "磁盘剩余",
    "overview.was": "此前{state}", "overview.noNodes": "没有已知节点。", "overview.noShards": "没有已知分片。",
    "overview.shard": "分片", "overview.health": "状况", "overview.leader": "主", "overview.replica": "副本", "overview.lost": "丢失",
    "overview.leads1": "主节点", "overview.replicas": "副本", "overview.term": "任期", "overview.applied": "已应用",
    "overview.leaderless": "没有主节点", "overview.left": "{left}/{all} 个副本", "overview.whole": "{all} 个副本", "overview.single": "仅一个副本",
    "overview.dropped": "内容", "overview.dropRate": "速率", "overview.at": "节点", "overview.noDrops": "全部送达。",
    "overview.unknownDrops": "没有指标，无法得知。",
  },
});
