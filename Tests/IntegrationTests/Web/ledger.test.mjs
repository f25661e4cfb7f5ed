// Tests of the page's ledger.js with Node. The last line of standard output is "ok" if all went well.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const source = readFileSync(new URL("../../../Sources/Gateway/Web/ledger.js", import.meta.url));
const { Ledger } = await import(`data:text/javascript;base64,${source.toString("base64")}`);

/** A room that says what the test says, by a clock that the test sets. */
function watched() {
  const listeners = {};
  const ledger = new Ledger();
  ledger.watch({ on: (event, listener) => { listeners[event] = listener; } });
  const tell = (event, value) => listeners[event](value);
  return {
    ledger, tell,
    state: (state) => tell("state", { state }),
    enters(seq, recovery = "fresh") { tell("state", { state: "entered" }); tell("entered", { recovery, seq }); },
    messages: (...seqs) => seqs.forEach((seq) => tell("message", { seq })),
  };
}

let time = 1_000;
performance.now = () => time;

const tests = {
  "what was missed before the first message came is counted"() {
    const { ledger, state, enters, messages } = watched();
    enters(7);
    state("lost");
    enters(10, "complete");
    messages(8, 9);
    assert.equal(ledger.outage.filled, 2);
    messages(10, 11);
    assert.deepEqual([ledger.outage.missed, ledger.outage.filled], [3, 3]);
    const { received, missed, filled, lost, outOfOrder, repeated } = ledger.summary();
    assert.deepEqual([received, missed, filled, lost, outOfOrder, repeated], [4, 3, 3, 0, 0, 0]);
  },

  "history of the entry is received, and neither missed nor out of order"() {
    const { ledger, state, enters, messages } = watched();
    enters(7);
    // What lies between was taken back.
    messages(3, 5, 8);
    state("lost");
    enters(8, "complete");
    const { received, missed, lost, outOfOrder, repeated } = ledger.summary();
    assert.deepEqual([received, missed, lost, outOfOrder, repeated], [3, 0, 0, 0, 0]);
    assert.equal(ledger.outage.missed, 0);
  },

  "a gap that nobody fills is lost, one of the budget is spared, a late message is filled"() {
    const { ledger, tell, enters, messages } = watched();
    enters(0);
    tell("gap", { ranges: [[1, 2]], cause: "UNAVAILABLE" });
    tell("gap", { ranges: [[3, 5]], cause: "BUDGET" });
    tell("gap", { ranges: [[6, 7]], cause: "SLOW" });
    messages(8);
    tell("filled", [{ seq: 6 }, { seq: 7 }]);
    messages(8);
    const { total, received, lost, spared, missed, filled, repeated } = ledger.summary();
    assert.deepEqual([total, received, lost, spared, missed, filled, repeated], [8, 3, 2, 3, 2, 2, 1]);
  },

  "an outage that only silence tells of began with the silence"() {
    const { ledger, state, enters } = watched();
    enters(1);
    ledger.alive();
    const heard = time;
    time += 38_000;
    state("lost");
    time += 700;
    enters(1, "complete");
    assert.equal(ledger.outage.from, heard);
    assert.equal(ledger.outage.backAt - ledger.outage.from, 38_700);
  },

  "an outage that is told begins then, also in a room where nobody speaks"() {
    const { ledger, state, enters } = watched();
    enters(1);
    // Answers to the SDK's pings.
    for (let count = 0; count < 9; count += 1) { time += 15_000; ledger.alive(); }
    time += 9_000;
    ledger.closed();
    state("lost");
    assert.equal(ledger.outage.from, time);
  },

  "an end that is told after a sleep began with the sleep"() {
    const { ledger, state, enters } = watched();
    enters(1);
    ledger.alive();
    const heard = time;
    time += 3_600_000;
    ledger.closed();
    state("lost");
    assert.equal(ledger.outage.from, heard);
  },
};

for (const [name, test] of Object.entries(tests)) {
  try { test(); } catch (error) {
    console.error(`failed: ${name}`);
    throw error;
  }
}
// Timers of outages are left.
console.log("ok");
process.exit();
