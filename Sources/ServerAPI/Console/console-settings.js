/** Words and the pre-send hook, and the app's webhook. Stored secrets are never shown: the API does not tell them. */
import { act, actions, button, card, confirmed, el, field, notice, valuesOf } from "/console/console-ui.js";
import { words } from "/console/console-words.js";

const EVENTS = ["message", "notification", "open", "close", "enter", "exit", "unkept", "lost", "held", "report", "sanction"];
const SHOWN_MAX = 200;

export function settingsView(context) {
  moderation(context);
  webhook(context);
}

/** A card with a part that is loaded, and saved only when nobody else has changed it meanwhile. */
function editor({ api, main, signal }, { name, title, build }) {
  const readWhy = api.why(`GET /v1/${name}`);
  const writeWhy = api.why(`PUT /v1/${name}`);
  const body = el("div", {}, el("p", { class: "empty" }, readWhy || words.say("ui.loading")));
  let loaded, form;
  const load = async () => {
    const answer = await act(() => api.call(`GET /v1/${name}`, {}, { signal }));
    if (signal.aborted) return;
    if (!answer) { body.replaceChildren(el("p", { class: "empty" }, words.say("settings.notLoaded"))); return; }
    loaded = answer;
    form = build(structuredClone(answer), Boolean(writeWhy));
    body.replaceChildren(form.element);
  };
  const save = async () => {
    const changed = form?.read();
    if (!changed) return;
    if (!await confirmed({ title: words.say("settings.saveTitle"), text: changed.text, action: words.say("ui.save"), danger: changed.danger ?? false })) return;
    await act(async () => {
      const now = await api.call(`GET /v1/${name}`);
      if (JSON.stringify(now) !== JSON.stringify(loaded)) { notice(words.say("settings.conflict"), "bad"); return; }
      loaded = await api.call(`PUT /v1/${name}`, {}, { body: changed.body });
      notice(words.say("settings.saved"), "good");
      await load();
    });
  };
  main.append(card(title, readWhy ? [] : actions(button(words.say("ui.reload"), load), button(words.say("ui.save"), save, { kind: "primary", why: writeWhy })), body));
  if (!readWhy) load();
}

function moderation(context) {
  const { api } = context;
  editor(context, {
    name: "moderation", title: words.say("settings.moderation"),
    build(settings) {
      const choices = api.choices("Word", "action", ["REPLACE", "REFUSE"]).map((action) => [action, words.say(`settings.action.${action}`)]);
      const fails = api.choices("HookSettings", "onFailure", ["ALLOW", "REFUSE"]).map((action) => [action, words.say(`settings.fail.${action}`)]);
      let list = settings.words;
      const lines = el("ul", { class: "words" });
      const count = el("p", { class: "line" });
      const filter = field({ name: "filter", label: words.say("settings.filter"), maxlength: 64 });
      const show = () => {
        const text = filter.querySelector("input").value.toLowerCase();
        const seen = list.filter((word) => word.text.toLowerCase().includes(text));
        lines.replaceChildren(...seen.slice(0, SHOWN_MAX).map((word) => {
          const select = el("select", { "aria-label": words.say("settings.actionOf", { word: word.text }), onchange: () => { word.action = select.value; } },
            choices.map(([key, name]) => el("option", { value: key, selected: key === word.action }, name)));
          return el("li", {}, el("bdi", {}, word.text), select, button(words.say("settings.remove"), () => { list = list.filter((one) => one !== word); show(); }, {
            kind: "quiet", label: `${words.say("settings.remove")}: ${word.text}` }));
        }));
        count.textContent = words.say(list.length === 0 ? "settings.noWords" : seen.length > SHOWN_MAX ? "settings.countCut" : "settings.count", { seen: words.number(Math.min(seen.length, SHOWN_MAX)), all: words.number(list.length) });
      };
      filter.querySelector("input").addEventListener("input", show);
      const action = field({ name: "action", type: "select", label: words.say("settings.action"), options: choices });
      const added = field({ name: "added", type: "textarea", label: words.say("settings.add"), hint: words.say("settings.addHint"), rows: 2 });
      const addTyped = () => {
        const known = new Set(list.map(({ text }) => text));
        const fresh = added.querySelector("textarea").value.split("\n").map((line) => line.trim()).filter((line) => line && !known.has(line));
        list = [...[...new Set(fresh)].map((text) => ({ text, action: action.querySelector("select").value })), ...list];
        added.querySelector("textarea").value = "";
        show();
      };
      const add = button(words.say("settings.addNow"), addTyped);
      const hook = settings.hook ?? {};
      const fields = el("form", { class: "grid" },
        field({ name: "url", label: words.say("settings.hookUrl"), value: hook.url ?? "", hint: words.say("settings.hookHint"), maxlength: 1_024, inputmode: "url" }),
        field({ name: "secret", type: "password", label: words.say("settings.secret"), hint: words.say("settings.secretHint"), maxlength: 256, autocomplete: "new-password" }),
        field({ name: "timeoutMs", type: "number", label: words.say("settings.timeout"), value: hook.timeoutMs ?? 300, min: 10, max: 10_000 }),
        field({ name: "onFailure", type: "select", label: words.say("settings.onFailure"), options: fails, value: hook.onFailure ?? "ALLOW" }));
      const expiries = api.choices("ModerationSettings", "onExpiry", ["DENY", "ALLOW"]).map((action) => [action, words.say(`settings.expiry.${action}`)]);
      const hold = el("form", { class: "grid" },
        field({ name: "holdSeconds", type: "number", label: words.say("settings.holdSeconds"), value: settings.holdSeconds ?? 600, min: 1, max: 86_400 }),
        field({ name: "onExpiry", type: "select", label: words.say("settings.onExpiry"), options: expiries, value: settings.onExpiry ?? "DENY" }));
      for (const form of [fields, hold]) form.addEventListener("submit", (event) => event.preventDefault());
      show();
      return {
        element: el("div", { class: "stack" }, el("h3", {}, words.say("settings.words")), el("div", { class: "toolbar" }, added, action, el("div", { class: "buttons" }, add)),
          el("div", { class: "toolbar" }, filter), count, lines, el("h3", {}, words.say("settings.hook")), fields, el("h3", {}, words.say("settings.hold")), hold),
        read() {
          if (!fields.reportValidity() || !hold.reportValidity()) return undefined;
          // Words that were typed are meant, also without the button beside them.
          addTyped();
          const { url, secret, timeoutMs, onFailure } = valuesOf(fields);
          const { hook: former, ...rest } = settings;
          const body = { ...rest, words: list };
          // A cluster that is being upgraded takes nothing but the defaults.
          const { holdSeconds = 600, onExpiry } = valuesOf(hold);
          for (const name of ["holdSeconds", "onExpiry"]) delete body[name];
          if (holdSeconds !== 600) body.holdSeconds = holdSeconds;
          if (onExpiry !== "DENY") body.onExpiry = onExpiry;
          if (url.trim()) body.hook = { ...former, url: url.trim(), onFailure, ...(secret && { secret }), ...(timeoutMs !== undefined && { timeoutMs }) };
          return { body, text: words.say("settings.moderationSure", { count: words.number(list.length), hook: url.trim() || words.say("settings.noHook") }) };
        },
      };
    },
  });
}

function webhook(context) {
  const { api } = context;
  editor(context, {
    name: "webhook", title: words.say("settings.webhook"),
    build(settings) {
      const fields = el("form", { class: "grid" },
        field({ name: "url", label: words.say("settings.webhookUrl"), value: settings.url, hint: words.say("settings.webhookHint"), maxlength: 1_024, inputmode: "url" }),
        field({ name: "secret", type: "password", label: words.say("settings.secret"), hint: words.say("settings.secretHint"), maxlength: 256, autocomplete: "new-password" }),
        field({ name: "maxBatch", type: "number", label: words.say("settings.maxBatch"), value: settings.maxBatch ?? "", min: 1, max: 1_000 }),
        field({ name: "timeoutMs", type: "number", label: words.say("settings.timeout"), value: settings.timeoutMs ?? "", min: 100, max: 60_000 }));
      fields.addEventListener("submit", (event) => event.preventDefault());
      const events = el("fieldset", { class: "checks" }, el("legend", {}, words.say("settings.events")), api.choices("WebhookSettings", "events", EVENTS).map((name) => el("label", {},
        el("input", { type: "checkbox", value: name, checked: settings.events.includes(name) }), words.has(`settings.event.${name}`) ? words.say(`settings.event.${name}`) : name)));
      return {
        element: el("div", { class: "stack" }, fields, events),
        read() {
          if (!fields.reportValidity()) return undefined;
          const { url, secret, maxBatch, timeoutMs } = valuesOf(fields);
          const chosen = [...events.querySelectorAll("input:checked")].map(({ value }) => value);
          return {
            body: { ...settings, url: url.trim(), events: chosen, maxBatch, timeoutMs, ...(secret && { secret }) }, danger: url.trim() === "" && settings.url !== "",
            text: url.trim() ? words.say("settings.webhookSure", { url: url.trim(), count: chosen.length }) : words.say("settings.webhookOff"),
          };
        },
      };
    },
  });
}

words.add({
  en: {
    "settings.moderation": "Words and hook", "settings.words": "Words", "settings.hook": "Hook before each message", "settings.webhook": "Webhook",
    "settings.filter": "Filter", "settings.noWords": "There are no words.", "settings.count": "{seen} of {all} words.", "settings.countCut": "{seen} of {all} words are shown: filter to see others.", "settings.action": "What happens", "settings.actionOf": "What happens with {word}", "settings.remove": "Remove",
    "settings.action.REPLACE": "replaced by ***", "settings.action.REFUSE": "message is refused", "settings.action.HOLD": "message waits for a manager", "settings.add": "New words", "settings.addHint": "One a line.", "settings.addNow": "Add",
    "settings.hookUrl": "Address of the hook", "settings.hookHint": "Empty: there is no hook.", "settings.secret": "New secret", "settings.secretHint": "Empty: the secret that is set stays. It is never shown.", "settings.timeout": "Time limit (ms)", "settings.onFailure": "When it does not answer",
    "settings.hold": "Held messages", "settings.holdSeconds": "Seconds that a message waits for a manager", "settings.onExpiry": "Then it is", "settings.expiry.DENY": "denied", "settings.expiry.ALLOW": "let through",
    "settings.fail.ALLOW": "messages pass", "settings.fail.REFUSE": "messages are refused", "settings.fail.HOLD": "messages wait for a manager",
    "settings.webhookUrl": "Address", "settings.webhookHint": "Empty: the webhook is off.", "settings.maxBatch": "Items in one call, at most", "settings.events": "What is told",
    "settings.event.held": "held messages", "settings.event.report": "reports", "settings.event.sanction": "bans and mutes in all rooms", "settings.event.message": "messages", "settings.event.notification": "notifications", "settings.event.open": "rooms opened", "settings.event.close": "rooms closed or deleted", "settings.event.enter": "enters", "settings.event.exit": "exits", "settings.event.unkept": "unkept messages", "settings.event.lost": "losses",
    "settings.saveTitle": "Save for the whole cluster?", "settings.moderationSure": "{count} words. Hook: {hook}. This replaces what is set.", "settings.noHook": "none", "settings.webhookSure": "{url} gets {count} kinds of events.", "settings.webhookOff": "The webhook is turned off: the app hears nothing any more.",
    "settings.saved": "Saved. All nodes follow within a moment.", "settings.conflict": "Somebody has changed these settings meanwhile. Load them again, then repeat your change.", "settings.notLoaded": "The settings could not be read. Load again.",
  },
  zh: {
    "settings.moderation": "词表与钩子", "settings.words": "词表", "settings.hook": "发送前钩子", "settings.webhook": "回调",
    "settings.filter": "筛选", "settings.noWords": "词表为空。", "settings.count": "{all} 个词中的 {seen} 个。", "settings.countCut": "显示 {all} 个词中的 {seen} 个：请筛选以查看其他。", "settings.action": "处理方式", "settings.actionOf": "{word} 的处理方式", "settings.remove": "移除",
    "settings.action.REPLACE": "替换为 ***", "settings.action.REFUSE": "拒绝消息", "settings.action.HOLD": "等待管理员审核", "settings.add": "新词", "settings.addHint": "每行一个。", "settings.addNow": "添加",
    "settings.hookUrl": "钩子地址", "settings.hookHint": "留空：没有钩子。", "settings.secret": "新密钥", "settings.secretHint": "留空：保留已设置的密钥。密钥从不显示。", "settings.timeout": "时限（毫秒）", "settings.onFailure": "无应答时",
    "settings.hold": "待审消息", "settings.holdSeconds": "消息等待管理员审核的秒数", "settings.onExpiry": "之后", "settings.expiry.DENY": "拒绝", "settings.expiry.ALLOW": "通过",
    "settings.fail.ALLOW": "放行消息", "settings.fail.REFUSE": "拒绝消息", "settings.fail.HOLD": "等待管理员审核",
    "settings.webhookUrl": "地址", "settings.webhookHint": "留空：关闭回调。", "settings.maxBatch": "每次最多条目数", "settings.events": "通知内容",
    "settings.event.held": "待审消息", "settings.event.report": "举报", "settings.event.sanction": "全局封禁与禁言", "settings.event.message": "消息", "settings.event.notification": "通知", "settings.event.open": "房间开放", "settings.event.close": "房间关闭或删除", "settings.event.enter": "进入", "settings.event.exit": "离开", "settings.event.unkept": "不保留的消息", "settings.event.lost": "丢失",
    "settings.saveTitle": "为整个集群保存？", "settings.moderationSure": "{count} 个词。钩子：{hook}。将替换现有设置。", "settings.noHook": "无", "settings.webhookSure": "{url} 将收到 {count} 类事件。", "settings.webhookOff": "回调将关闭：应用不再收到任何通知。",
    "settings.saved": "已保存。各节点随即生效。", "settings.conflict": "期间有人修改了这些设置。请重新加载后再改。", "settings.notLoaded": "无法读取设置。请重新加载。",
  },
});
