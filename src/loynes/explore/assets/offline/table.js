// The model as arrays, from the data that the page holds; and what is changed on the page put into it.

function doubles(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float64Array.from({ length: bytes.length / 8 }, (_, i) => view.getFloat64(8 * i, true));
}

// The nearest whole number, the even one of two.
function rounded(x) {
  const below = Math.floor(x);
  const rest = x - below;
  return rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? below + 1 : below;
}

// 32-bit cuts: entry k is drawn when cut[k - 1] <= word < cut[k].
function cutsOf(likely) {
  let sum = 0;
  const sums = likely.map((one) => (sum += one));
  return Float64Array.from(sums, (one) => rounded((one / sum) * 2 ** 32));
}

// The first entry of a row of cuts that is above the word.
function picked(cuts, begin, end, word) {
  while (begin < end) {
    const middle = (begin + end) >> 1;
    if (cuts[middle] <= word) begin = middle + 1;
    else end = middle;
  }
  return begin;
}

function unpackedArrivals(data) {
  const arrivals = { ...data };
  for (const name of ["gaps", "leaving"]) if (data[name]) arrivals[name] = doubles(data[name]);
  if (data.cuts) arrivals.cuts = Object.fromEntries(Object.entries(data.cuts).map(([name, text]) => [name, doubles(text)]));
  return arrivals;
}

// data: what the page holds. It is unpacked once.
function unpacked(data) {
  const arrays = Object.fromEntries(["low", "stretch", "p", "q", "r", "add", "grid", "pieces"].map((name) => [name, doubles(data[name])]));
  return { ...data, ...arrays, arrivals: unpackedArrivals(data.arrivals) };
}

// change: { rate, units, demand, shares, scales }, each left out where it is the model's own; no rate is the saturated
// system. A scale is what all services of a class are times.
function tableOf(model, change) {
  const shares = change.shares ?? model.classes.map((one) => one.probability);
  const scales = change.scales ?? model.classes.map(() => 1);
  return {
    ...model,
    units: change.units ?? model.units,
    demand: change.demand ?? model.demand,
    rate: change.rate ?? 0,
    gapMean: change.rate ? 1 / change.rate : 0,
    times: change.rate ? timesOf(model.arrivals, change.rate) : [],
    shares,
    scales: Float64Array.from(scales),
    cut: cutsOf(shares),
    means: model.classes.map((one, c) => one.mean * scales[c]),
  };
}
