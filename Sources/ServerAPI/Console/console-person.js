/** A person in a room: role, mutes, kick, blacklist. Opened from a member's line and from a message. */
import { memberMarks } from "/console/console-room.js";
import { act, button, confirmed, el, facts, field, modal, person, time } from "/console/console-ui.js";
import { words } from "/console/console-words.js";

const MINUTE = 60;
const SPANS = [MINUTE, 10 * MINUTE, 60 * MINUTE, 24 * 60 * MINUTE, 7 * 24 * 60 * MINUTE, 30 * 24 * 60 * MINUTE];

/** Returns true when something was changed. */
export async function openPerson({ api, room, user, signal }) {
  let member;
  try {
    member = await api.call("GET /v1/rooms/{room}/members/{user}", { room, user }, { signal });
  } catch (error) {
    if (error.code !== 404) { await act(() => { throw error; }); return false; }
  }
  const path = "/v1/rooms/{room}/members/{user}";
  const chosen = await modal(words.say("person.title", { user: member?.nick || user, room }), (close) => {
    const spans = SPANS.map((seconds) => [seconds, words.span(seconds * 1000)]);
    const role = field({
      name: "role", type: "select", label: words.say("person.role"), value: member?.role,
      options: ["GUEST", "NORMAL", "MANAGER"].map((name) => [name, words.say(`role.${name}`)]),
    });
    const muteFor = field({ name: "seconds", type: "select", label: words.say("person.muteFor"), options: spans, value: 10 * MINUTE });
    const ban = field({
      name: "ban", type: "select", label: words.say("person.kick"), options: [[0, words.say("person.noBan")], ...spans.map(([key, span]) => [key, words.say("person.ban", { span })])],
    });
    const value = (control) => control.querySelector("select").value;
    const offer = (name, key, body, { kind = "", danger, values = {}, ...shown } = {}) => button(words.say(`person.${key}`, values),
      () => close({ name, key, body: body(), danger, values }), { kind, why: api.why(name), "data-do": key, ...shown });
    const put = (part) => `PUT ${path}/${part}`;
    const isCreator = member?.role === "CREATOR";
    return [
      member ? facts([
        [words.say("members.user"), el("a", { href: `#user/${encodeURIComponent(user)}`, onclick: () => close() }, person(user))],
        [words.say("members.role"), words.say(`role.${member.role}`)], [words.say("members.state"), memberMarks(member) ?? words.say("person.away")],
        member.enteredAt && [words.say("members.entered"), time(member.enteredAt)],
      ]) : el("p", {}, words.say("person.unknown", { user })),
      isCreator && el("p", { class: "hint" }, words.say("person.creator")),
      el("div", { class: "deeds" },
        el("div", { class: "deed" }, muteFor, offer(put("tempMute"), "tempMute", () => ({ seconds: Number(value(muteFor)) }))),
        el("div", { class: "deed" }, el("p", {}, words.say("person.muteLasting")),
          member?.tempMuted && offer(put("tempMute"), "liftMute", () => ({ seconds: 0 })),
          offer(put("mute"), member?.muted ? "unmute" : "mute", () => ({ enable: !member?.muted }))),
        el("div", { class: "deed" }, role, offer(put("role"), "setRole", () => ({ role: value(role) }))),
        el("div", { class: "deed" }, ban, offer(`POST ${path}/kick`, "kickNow", () => ({ banSeconds: Number(value(ban)) || undefined }), { danger: true })),
        el("div", { class: "deed" }, el("p", {}, words.say("person.blacklistText")),
          offer(put("blacklist"), member?.blacklisted ? "unblacklist" : "blacklist", () => ({ enable: !member?.blacklisted }), { danger: !member?.blacklisted, kind: member?.blacklisted ? "" : "danger" })),
        el("div", { class: "deed" }, el("p", {}, words.say("person.recallText")),
          offer("POST /v1/rooms/{room}/messages/recall", "recallAll", () => ({ user }), { danger: true, kind: "danger" }))),
      el("div", { class: "dialog-actions" }, button(words.say("ui.close"), () => close())),
    ].filter(Boolean);
  });
  if (!chosen) return false;
  const values = { user, room };
  if (chosen.danger && !await confirmed({
    title: words.say(`person.${chosen.key}Title`, values), text: words.say(`person.${chosen.key}Sure`, values), action: words.say(`person.${chosen.key}`),
  })) return false;
  const done = await act(() => api.call(chosen.name, { room, user }, { body: chosen.body }), words.say(`person.${chosen.key}Done`, values));
  return done !== undefined;
}

words.add({
  en: {
    "person.title": "{user} in {room}", "person.away": "not here", "person.unknown": "{user} is not here and is no fixed member. What is set now holds when this user comes.",
    "person.creator": "The creator's role can't be changed.", "person.role": "Role", "person.setRole": "Set role", "person.setRoleDone": "The role of {user} is set.",
    "person.muteFor": "Mute for", "person.tempMute": "Mute for this time", "person.tempMuteDone": "{user} is muted for a time.", "person.liftMute": "Lift temporary mute", "person.liftMuteDone": "The temporary mute of {user} is lifted.",
    "person.muteLasting": "Mute until lifted", "person.mute": "Mute", "person.muteDone": "{user} is muted.", "person.unmute": "Unmute", "person.unmuteDone": "{user} may speak again.",
    "person.kick": "Kick", "person.noBan": "may come back at once", "person.ban": "not back for {span}", "person.kickNow": "Kick", "person.kickNowTitle": "Kick {user}?", "person.kickNowSure": "{user} is put out of {room}.", "person.kickNowDone": "{user} is kicked.",
    "person.blacklistText": "Blacklist: out, and never in", "person.blacklist": "Blacklist", "person.blacklistTitle": "Blacklist {user}?", "person.blacklistSure": "{user} is put out of {room} and can't enter until taken off the list.", "person.blacklistDone": "{user} is blacklisted.", "person.unblacklist": "Take off blacklist", "person.unblacklistDone": "{user} is off the blacklist.",
    "person.recallText": "All messages of this user", "person.recallAll": "Recall all", "person.recallAllTitle": "Recall all messages of {user}?", "person.recallAllSure": "All kept messages of {user} in {room} lose their content. This can't be undone.", "person.recallAllDone": "All messages of {user} are recalled.",
  },
  zh: {
    "person.title": "{user}，房间 {room}", "person.away": "不在场", "person.unknown": "{user} 不在场，也不是固定成员。现在的设置会在该用户到来时生效。",
    "person.creator": "创建者的角色无法更改。", "person.role": "角色", "person.setRole": "设置角色", "person.setRoleDone": "{user} 的角色已设置。",
    "person.muteFor": "禁言时长", "person.tempMute": "临时禁言", "person.tempMuteDone": "{user} 已被临时禁言。", "person.liftMute": "解除临时禁言", "person.liftMuteDone": "{user} 的临时禁言已解除。",
    "person.muteLasting": "禁言直到解除", "person.mute": "禁言", "person.muteDone": "{user} 已被禁言。", "person.unmute": "解除禁言", "person.unmuteDone": "{user} 可以发言了。",
    "person.kick": "踢出", "person.noBan": "可立即回来", "person.ban": "{span}内不得进入", "person.kickNow": "踢出", "person.kickNowTitle": "踢出 {user}？", "person.kickNowSure": "{user} 将被移出 {room}。", "person.kickNowDone": "{user} 已被踢出。",
    "person.blacklistText": "拉黑：移出且不得进入", "person.blacklist": "拉黑", "person.blacklistTitle": "拉黑 {user}？", "person.blacklistSure": "{user} 将被移出 {room}，移出黑名单之前不能进入。", "person.blacklistDone": "{user} 已被拉黑。", "person.unblacklist": "移出黑名单", "person.unblacklistDone": "{user} 已移出黑名单。",
    "person.recallText": "该用户的全部消息", "person.recallAll": "全部撤回", "person.recallAllTitle": "撤回 {user} 的全部消息？", "person.recallAllSure": "{user} 在 {room} 中保留的全部消息将失去内容，无法恢复。", "person.recallAllDone": "{user} 的全部消息已撤回。",
  },
});
