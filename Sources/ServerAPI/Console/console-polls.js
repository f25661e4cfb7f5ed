/** The polls of a room: those that are open, with their counts, and the latest that were closed. */
import { every } from "/console/console-api.js";
import { Table, act, badge, button, card, confirmed, el, person, time } from "/console/console-ui.js";
import { words } from "/console/console-words.js";

const POLLS_MS = 3_000;

/** Each option with its votes and their share; the ones with most are marked when the poll has ended. */
function counted({ options, counts, closed }) {
  const total = counts.reduce((sum, count) => sum + count, 0);
  const most = Math.max(...counts);
  return el("ol", { class: "poll-options" }, options.map((option, place) => {
    const count = counts[place];
    const said = words.say("polls.count", { count: words.number(count), share: words.number(total > 0 ? 100 * count / total : 0, 1) });
    return el("li", {}, el("span", { class: closed && count === most && count > 0 ? "most" : "" }, person(option)), el("span", { class: "line" }, said));
  }));
}

export function pollsPart({ api, room, body, signal }) {
  const why = api.why("GET /v1/rooms/{room}/polls");
  if (why) {
    body.append(card(words.say("room.tab.polls"), el("p", { class: "empty" }, why)));
    return;
  }
  const closeWhy = api.why("POST /v1/rooms/{room}/polls/{poll}/close");
  const close = async ({ poll, title }) => {
    if (!await confirmed({ title: words.say("polls.closeTitle"), text: [title, words.say("polls.closeText")], action: words.say("polls.close") })) return;
    if (await act(() => api.call("POST /v1/rooms/{room}/polls/{poll}/close", { room, poll }, { body: {} }), words.say("polls.closed"))) load();
  };
  const table = new Table({
    label: words.say("room.tab.polls"), key: ({ poll, closesAt, closed }) => `${poll} ${closesAt} ${closed}`, empty: words.say("ui.loading"),
    columns: [
      { title: words.say("polls.title"), wide: true, cell: ({ title, poll }) => el("span", {}, person(title), " ", el("span", { class: "id" }, person(poll))) },
      { title: words.say("polls.options"), wide: true, cell: counted },
      { title: words.say("polls.votes"), number: true, cell: ({ counts }) => words.number(counts.reduce((sum, count) => sum + count, 0)) },
      { title: words.say("polls.again"), cell: ({ mayChange }) => words.say(mayChange ? "polls.mayChange" : "polls.once") },
      { title: words.say("polls.state"), cell: ({ closed, closesAt }) => (closed ? badge(words.say("polls.ended")) : el("span", {}, words.say("polls.open"), " ", time(closesAt))) },
      { title: "", once: true, cell: (one) => (one.closed ? "" : button(words.say("polls.close"), () => close(one), { why: closeWhy, label: `${words.say("polls.close")}: ${one.title}` })) },
    ],
  });
  async function load() {
    try {
      const { polls } = await api.call("GET /v1/rooms/{room}/polls", { room }, { signal });
      // The newest first, and those that are open before the others.
      const shown = polls.toReversed();
      if (!signal.aborted) table.update([...shown.filter(({ closed }) => !closed), ...shown.filter(({ closed }) => closed)], words.say("polls.none"));
    } catch (error) {
      if (!signal.aborted) table.old(error.sentence ?? String(error));
    }
  }
  body.append(card(words.say("room.tab.polls"), el("p", { class: "hint" }, words.say("polls.hint")), table.element));
  every(POLLS_MS, signal, load);
}

words.add({
  en: {
    "polls.hint": "Open polls, and the latest 20 that were closed. Counts are asked for every three seconds.", "polls.title": "Question", "polls.options": "Options", "polls.votes": "Votes", "polls.count": "{count} ({share} %)",
    "polls.again": "A second vote", "polls.mayChange": "moves the first", "polls.once": "is refused", "polls.state": "State", "polls.open": "open, ends", "polls.ended": "ended", "polls.none": "There are no polls.",
    "polls.close": "End", "polls.closeTitle": "End this poll now?", "polls.closeText": "The room is told the result (363). It can't be opened again with these votes.", "polls.closed": "The poll is ended.",
  },
  zh: {
    "polls.hint": "进行中的投票和最近结束的 20 个。票数每三秒查询一次。", "polls.title": "问题", "polls.options": "选项", "polls.votes": "票数", "polls.count": "{count}（{share} %）",
    "polls.again": "再次投票", "polls.mayChange": "改投", "polls.once": "被拒绝", "polls.state": "状态", "polls.open": "进行中，结束：", "polls.ended": "已结束", "polls.none": "没有投票。",
    "polls.close": "结束", "polls.closeTitle": "现在结束此投票？", "polls.closeText": "房间会收到结果（363）。无法带着这些票重新开始。", "polls.closed": "投票已结束。",
  },
});
