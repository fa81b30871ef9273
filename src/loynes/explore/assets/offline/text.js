// Numbers as tables of the command line show them: as many digits as the interval supports (estimate.py).

const MOST_LOPSIDED = 1.5;

function plainText(value) {
  if (Number.isNaN(value)) return "-";
  if (!Number.isFinite(value)) return "inf";
  if (value !== 0 && (Math.abs(value) >= 1e6 || Math.abs(value) < 1e-4)) return value.toExponential(5).replace(/\.?0+e/, "e");
  return String(Number(value.toPrecision(6)));
}

function estimateText([centre, low, high]) {
  const half = (high - low) / 2;
  if (half === 0) return plainText(centre);
  if (Number.isFinite(centre) && low > 0 && high === Infinity) return `${centre.toPrecision(4)} (at least ${low.toPrecision(4)})`;
  if (!Number.isFinite(half) || !Number.isFinite(centre)) return `${plainText(centre)} (no interval)`;
  const decimals = 1 - Math.floor(Math.log10(half));
  let write = (x) => x.toFixed(Math.min(Math.max(decimals, 0), 12));
  let writeHalf = write;
  const largest = Math.max(Math.abs(centre), half);
  if (largest >= 1e7 || decimals > 8) {
    const digits = 2 + Math.max(0, Math.floor(Math.log10(largest) - Math.log10(half)));
    write = (x) => x.toPrecision(Math.min(digits, 12));
    writeHalf = (x) => x.toPrecision(2);
  }
  const [above, below] = [high - centre, centre - low];
  if (Math.max(above, below) > MOST_LOPSIDED * Math.min(above, below)) return `${write(centre)} [${write(low)}, ${write(high)}]`;
  return `${write(centre)} ±${writeHalf(half)}`;
}

const short = (value) => String(Number(value.toPrecision(4)));
const count = (jobs) => jobs.toLocaleString("en");
