// Names and other texts from files, as people are shown them (loynes/readable.py): what a browser would obey instead of
// showing it is escaped, and of what is endless the beginning and the end are shown. A state keeps names as they are.

const OBEYED = String.raw`\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u{d800}-\u{dfff}\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}`;
const HIDDEN = new RegExp(`[${OBEYED}]`, "gu");
const HIDDEN_IN_LINES = new RegExp(`(?!\\n)[${OBEYED}]`, "gu");
const SHORT = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
const [LONGEST_WORD, LONGEST_TEXT] = [300, 4000];

function escaped(sign) {
  const code = sign.codePointAt(0);
  return SHORT[sign] ?? (code < 0x10000 ? `\\u${code.toString(16).padStart(4, "0")}` : `\\U${code.toString(16).padStart(8, "0")}`);
}

// Signs are counted as Python does: a pair of surrogates is one.
function withoutMiddle(text, before, after) {
  const signs = [...text];
  return `${signs.slice(0, before).join("")}...(${signs.length} signs)...${signs.slice(-after).join("")}`;
}

function withoutMiddles(text) {
  const longer = (one, most) => one.length > most && [...one].length > most;
  if (!longer(text, LONGEST_WORD)) return text;
  const shorter = text.replace(/\S+/gu, (word) => (longer(word, LONGEST_WORD) ? withoutMiddle(word, 60, 20) : word));
  return longer(shorter, LONGEST_TEXT) ? withoutMiddle(shorter, 1000, 100) : shorter;
}

// A text whose every sign can be seen; of a text of several lines, the line breaks stay.
export const visible = (text, { lines = false } = {}) => String(text).replace(lines ? HIDDEN_IN_LINES : HIDDEN, escaped);

// A text in one line, with all its signs visible, and without the middle of what is endless.
export const readable = (text) => withoutMiddles(visible(withoutMiddles(String(text))));
