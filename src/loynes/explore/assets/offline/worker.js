// What the page's workers run: one piles up jobs for the threshold, one serves them for waits. What is asked last is what
// is worked on; answers carry the number of their question.

const SLICE = 30; // milliseconds between looking for another question
const PATIENCE = 200; // and between answers
let model, known, task;

const kinds = {
  threshold: {
    make: (table) => new Piles(table, known.seed, known.factors),
    // Every doubling has its answer.
    answer: (piles) => ({ bracket: piles.bracket(), jobs: piles.jobs }),
    due: () => true,
    precise: ({ bracket: [middle, low, high] }) => high - low <= known.precision.threshold * middle,
  },
  waits: {
    make: (table, { skip }) => new Chains(table, known.seed, known.factors, known.confidence, skip),
    answer: (chains) => chains.answer(),
    due: (chains, last) => chains.ready && performance.now() - last > PATIENCE,
    precise: ({ skipped, planned, rows: [{ mean: [middle, low, high] }] }) => skipped >= planned && high - low <= 2 * known.precision.waits * middle,
  },
};

// The first jobs of a replica: what the reference is compared with.
function traced({ change, seed, replica, blocks, saturated }) {
  const table = tableOf(model, change);
  if (saturated) {
    const pile = new Pile(table, seed, replica);
    for (let k = 0; k < blocks; k++) pile.block();
    return { base: pile.base, workload: pile.cluster.workload };
  }
  const chain = new Chain(table, seed, replica);
  const waits = [];
  for (let k = 0; k < blocks; k++) chain.block(waits);
  return { waits: Float64Array.from(waits), workload: chain.cluster.workload };
}

// Questions that wait already are heard first, so that a slider that is dragged leaves no line of them.
function begin(question) {
  task = { question, kind: kinds[question.kind], began: performance.now(), last: -Infinity };
  setTimeout(go, 0, task);
}

function go(mine) {
  if (mine !== task) return;
  mine.work ??= mine.kind.make(tableOf(model, mine.question.change), mine.question);
  const until = performance.now() + SLICE;
  while (performance.now() < until) {
    if (!mine.work.work(until) || !mine.kind.due(mine.work, mine.last)) continue;
    const answer = mine.kind.answer(mine.work);
    const late = performance.now() - mine.began > 1000 * known.seconds;
    const ended = mine.kind.precise(answer) ? "precise" : late ? "late" : "";
    mine.last = performance.now();
    postMessage({ ...answer, kind: mine.question.kind, number: mine.question.number, ended });
    if (ended) task = undefined;
    if (ended) return;
  }
  setTimeout(go, 0, mine);
}

onmessage = ({ data: asked }) => {
  if (asked.kind === "model") [model, known] = [unpacked(asked.table), asked.known];
  else if (asked.kind === "trace") postMessage({ kind: "trace", number: asked.number, ...traced(asked) });
  else if (asked.kind === "stop") task = undefined;
  else begin(asked);
};
