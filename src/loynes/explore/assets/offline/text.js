// Numbers as tables of the command line show them: as many digits as the interval supports (estimate.py).

const MOST_LOPSIDED = 1.5;

// So many significant digits, without zeros at the end, as Python's format g.
function general(value, digits) {
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  const bare = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  const power = Number(exponent);
  if (power >= -4 && power < digits) return bare(value.toFixed(digits - 1 - power));
  return `${bare(mantissa)}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

function plainText(value) {
  if (Number.isNaN(value)) return "-";
  return Number.isFinite(value) ? general(value, 6) : "inf";
}

function estimateText([centre, low, high]) {
  const half = (high - low) / 2;
  if (half === 0) return plainText(centre);
  if (Number.isFinite(centre) && low > 0 && high === Infinity) return `${general(centre, 4)} (at least ${general(low, 4)})`;
  if (!Number.isFinite(half) || !Number.isFinite(centre)) return `${plainText(centre)} (no interval)`;
  const decimals = 1 - Math.floor(Math.log10(half));
  let write = (x) => x.toFixed(Math.max(decimals, 0));
  let writeHalf = write;
  const largest = Math.max(Math.abs(centre), half);
  if (largest >= 1e7 || decimals > 8) {
    const digits = 2 + Math.max(0, Math.floor(Math.log10(largest) - Math.log10(half)));
    write = (x) => general(x, Math.min(digits, 12));
    writeHalf = (x) => general(x, 2);
  }
  const [above, below] = [high - centre, centre - low];
  if (Math.max(above, below) > MOST_LOPSIDED * Math.min(above, below)) return `${write(centre)} [${write(low)}, ${write(high)}]`;
  return `${write(centre)} ±${writeHalf(half)}`;
}

const short = (value) => general(value, 4);
const count = (jobs) => jobs.toLocaleString("en");
