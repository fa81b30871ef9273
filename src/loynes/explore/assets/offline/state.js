// What is edited: rate, servers of each kind, and of every class its need, its share and what its services are times.

const data = JSON.parse(document.getElementById("data").textContent);
const { table, known } = data;
const MOST_SERVERS = 65536;
// Needs can be edited where there is one kind of server, and any will do.
const plain = table.units.length === 1 && table.specific.every((row) => row[0] === 0);

const first = () => ({
  rate: data.rate,
  units: [...table.units],
  needs: table.demand.map((row) => [...row]),
  shares: table.classes.map((one) => one.probability),
  means: table.classes.map((one) => one.mean),
});
let state = first();

const sameModel = () => {
  const { rate: _, ...model } = first();
  const { rate: __, ...now } = state;
  return JSON.stringify(model) === JSON.stringify(now);
};

// As the kernel takes it; what was not changed stays the model's own, to the last bit.
const changeOf = (now) => ({
  units: now.units,
  demand: now.needs,
  shares: now.shares,
  scales: now.means.map((mean, c) => (mean === table.classes[c].mean ? 1 : mean / table.classes[c].mean)),
});

// What is wrong, or nothing.
function wrong(now) {
  const whole = (x, least, most) => Number.isInteger(x) && x >= least && x <= most;
  if (!(now.rate > 0 && now.rate < 1e100)) return "The arrival rate must be above 0.";
  for (const [t, units] of now.units.entries()) {
    if (!whole(units, 1, MOST_SERVERS)) return `${table.kinds[t]}: must be a whole number of at least 1.`;
    for (const [c, one] of table.classes.entries()) {
      if (!whole(now.needs[c][t], 0, MOST_SERVERS)) return `The need of ${one.name} must be a whole number.`;
      const taken = now.needs[c][t] + table.specific[c][t];
      if (plain && taken < 1) return `The need of ${one.name} must be at least 1.`;
      if (taken > units) return `${one.name} needs ${taken} ${table.kinds[t]}, there are ${units}.`;
    }
  }
  if (!now.shares.every((share) => share >= 0 && share <= 1)) return "Shares must lie between 0 and 1.";
  return now.means.every((mean) => mean > 0 && mean < 1e100) ? "" : "Mean services must be above 0.";
}

// The other classes share what is left, as they did.
function reshared(shares, place, value) {
  const rest = shares.reduce((sum, one, c) => (c === place ? sum : sum + one), 0);
  return shares.map((one, c) => (c === place ? value : rest > 0 ? (one * (1 - value)) / rest : (1 - value) / (shares.length - 1)));
}

// Server time that jobs take a unit of time, by kind: what is busy, exactly; and the rate at which all would be.
const workOf = (now) => now.units.map((_, t) => now.shares.reduce((sum, p, c) => sum + p * (now.needs[c][t] + table.specific[c][t]) * now.means[c], 0));
const idealOf = (now) => Math.min(...workOf(now).map((work, t) => now.units[t] / work));

// How many jobs are left out: what the certified point of that load, or the next higher one, took, else what its load
// suggests. Of the model as it was, points are told by their rates.
function skipFor(load) {
  const points = known.points.filter((point) => point.burnIn > 0);
  const own = sameModel();
  const above = points.find((point) => (own ? point.rate >= state.rate : point.load >= load));
  if (above) return above.burnIn;
  const last = points[points.length - 1] ?? { load: 0, burnIn: 2000 };
  return Math.ceil(last.burnIn * ((1 - last.load) / Math.max(1 - load, 0.005)) ** 2);
}

// The certified point that the page stands at, if it does.
const pointHere = () => (sameModel() ? known.points.find((point) => point.rate === state.rate) : undefined);

// The state in the address, behind #: only what was changed.
function toAddress() {
  const changed = Object.entries(state).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(first()[name]));
  return changed.length ? `#${encodeURIComponent(JSON.stringify(Object.fromEntries(changed)))}` : "";
}

function fromAddress(text) {
  const fresh = first();
  let given;
  try {
    given = JSON.parse(decodeURIComponent(text.slice(1)));
  } catch {
    return fresh;
  }
  const shaped = (value, like) => (Array.isArray(like) ? Array.isArray(value) && value.length === like.length && value.every((one, k) => shaped(one, like[k])) : typeof value === "number");
  for (const [name, like] of Object.entries(fresh)) if (given && shaped(given[name], like)) fresh[name] = given[name];
  return wrong(fresh) ? first() : fresh;
}

// The command line that certifies what the page estimates; nothing where the law has no single mean to set.
function commandHere() {
  const sets = [];
  state.units.forEach((units, t) => {
    if (units !== table.units[t]) sets.push(`${table.byResource ? `resources.${table.kinds[t]}` : "servers"}=${units * table.unitSizes[t]}`);
  });
  state.needs.forEach((row, c) => {
    if (row[0] !== table.demand[c][0]) sets.push(`classes[${c}].need=${row[0] * table.unitSizes[0]}`);
  });
  const moved = state.shares.some((share, c) => share !== table.classes[c].probability);
  if (moved) state.shares.forEach((share, c) => sets.push(`classes[${c}].probability=${share}`));
  for (const [c, mean] of state.means.entries()) {
    if (mean === table.classes[c].mean) continue;
    const key = table.classes[c].scaledBy;
    if (!key) return "";
    sets.push(`classes[${c}].service.${key}=${mean}`);
  }
  // A resource may be called anything; a shell takes what stands between single quotes as it is.
  const quoted = (text) => `'${text.replace(/'/g, "'\\''")}'`;
  return ["loynes evaluate model.toml", `--rate ${state.rate}`, ...sets.map((one) => `--set ${quoted(one)}`)].join(" ");
}
