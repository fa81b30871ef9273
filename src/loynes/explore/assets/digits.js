// A number with its interval, so that it shows which of its digits can be trusted.

// How many signs of a number's text are certain: a digit is where the interval is no wider than one unit of its place.
export function certain(text, low, high) {
  if (low === high) return text.length;
  const width = high - low;
  const point = text.indexOf(".") < 0 ? text.length : text.indexOf(".");
  let kept = 0;
  for (let i = 0; i < text.length; i++) {
    if (!/\d/.test(text[i])) continue;
    const place = i < point ? 10 ** (point - i - 1) : 10 ** (point - i);
    if (!(width <= place * (1 + 1e-9))) break;
    kept = i + 1;
  }
  return kept;
}

// The text of an estimate, as tables show it; digits that its interval does not pin are grey.
export function figure(value, { signed = false } = {}) {
  const made = document.createElement("span");
  if (!value) {
    made.textContent = "–";
    return made;
  }
  const text = (signed && value.estimate > 0 ? "+" : "") + value.text;
  const number = /^[+-]?\d+(\.\d+)?(?![\d.e])/.exec(text)?.[0];
  if (!number || value.low === null || value.high === null) {
    made.textContent = text;
    return made;
  }
  const part = (kind, words) => {
    if (!words) return;
    const one = document.createElement("span");
    one.className = kind;
    one.textContent = words;
    made.append(one);
  };
  const kept = certain(number, value.low, value.high);
  part("sure", number.slice(0, kept));
  part("unsure", number.slice(kept));
  part("spread", text.slice(number.length));
  if (value.low !== value.high) made.title = `between ${value.low.toPrecision(4)} and ${value.high.toPrecision(4)}`;
  return made;
}
