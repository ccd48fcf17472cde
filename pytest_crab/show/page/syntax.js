// Colours in code, made when a diff is shown: comments, texts, numbers, keywords and the names that are defined. A library
// of grammars would be larger than the rest of the page, and records would be as large again with colours in them.
const words = (text) => text.trim().split(/\s+/);
const PLAIN = words("true false null none");
const C_WORDS = words(`abstract as async await bool boolean break byte case catch char class const continue default defer defined
  delete do double dyn else enum export extends extern final finally float fn for foreach from fun func function go if impl implements
  import in instanceof int interface internal is let long loop map match mod module move mut namespace new nil null override
  package private protected pub public range readonly return select self short sizeof static string struct super switch this
  throw throws trait true false try type typedef typeof undefined unsafe unsigned use using val var virtual void where while yield`);
const LANGUAGES = [
  [words("py pyi pyx"), { comment: "#", long: ['"""', "'''"], words: words(`False None True and as assert async await break case class continue def del
    elif else except finally for from global if import in is lambda match nonlocal not or pass raise return self try while with yield`) }],
  [words("js mjs cjs jsx ts mts cts tsx go"), { comment: "//", block: true, long: ["`"], words: C_WORDS }],
  [words("c h cc cpp cxx hh hpp cs java kt kts scala swift php dart proto"), { comment: "//", block: true, long: [], words: C_WORDS }],
  [words("rs"), { comment: "//", block: true, long: [], quotes: '"', words: C_WORDS }],
  [words("css scss less"), { comment: "//(?=\\s)", block: true, long: [], words: PLAIN }],
  [words("rb sh bash zsh pl r mk dockerfile makefile"), { comment: "#", long: [], words: words(`begin case do done elif else elsif end ensure esac fi for from function if in local module
    class def nil next raise require rescue return self then true false unless until when while yield my sub use export`) }],
  [words("yml yaml toml cfg ini env tf"), { comment: "#", long: [], words: [...PLAIN, "yes", "no", "on", "off"] }],
  [words("sql lua hs"), { comment: "--", long: [], words: words(`select from where and or not in is null insert into values update set delete create table index unique primary key
    references on join left right inner outer group by order having limit as distinct case when then else end begin commit local function if do for while return nil true false
    SELECT FROM WHERE AND OR NOT IN IS NULL INSERT INTO VALUES UPDATE SET DELETE CREATE TABLE INDEX UNIQUE PRIMARY KEY REFERENCES ON JOIN LEFT RIGHT INNER OUTER GROUP BY ORDER HAVING LIMIT AS DISTINCT CASE WHEN THEN ELSE END BEGIN COMMIT`) }],
  [words("json jsonl"), { comment: null, long: [], words: PLAIN }],
];
const DEFINES = "def|class|function|func|fn|fun|struct|interface|enum|trait|type";
const escaped = (text) => text.replace(/[$`*/\\]/g, "\\$&");

// One pattern for all that has a colour in a language; each kind is a group of it.
function pattern({ comment, block, long, quotes, words: known }) {
  const opens = [...long.map(escaped), ...(block ? ["/\\*"] : [])];
  const texts = (quotes || `"'`).split("").map((mark) => mark + "(?:\\\\.|[^\\\\" + mark + "])*" + mark);
  return new RegExp([...(opens.length ? ["(?<opens>" + opens.join("|") + ")"] : []), ...(comment ? ["(?<t>(?:^|(?<=[\\s;{})\\]]))" + comment + ".*)"] : []),
    "(?<s>" + texts.join("|") + ")", "(?<d>(?<=\\b(?:" + DEFINES + ")\\s+)[\\w$]+)", "(?<k>(?<![\\w$.@-])(?:" + known.join("|") + ")(?![\\w$-]))",
    "(?<n>\\b(?:0[xX][\\da-fA-F_]+|\\d[\\d_]*(?:\\.\\d+)?(?:[eE][+-]?\\d+)?)\\b)"].join("|"), "g");
}

function languageOf(path) {
  const end = /[^./]+$/.exec((path || "").toLowerCase())?.[0];
  const found = LANGUAGES.find(([ends]) => ends.includes(end))?.[1];
  if (found) found.pattern ??= pattern(found);
  return found;
}

const closes = (mark) => mark === "/*" ? { kind: "t", mark: "*/" } : { kind: "s", mark };

// Return the parts of a line, and the text or comment of several lines that is open behind it.
function paint(text, language, open) {
  const parts = [];
  let at = 0;
  const put = (kind, end) => { if (end > at) parts.push(kind ? make("span", { class: "c-" + kind }, text.slice(at, end)) : text.slice(at, end)); at = end; };
  while (at < text.length) {
    if (open) {
      const end = text.indexOf(open.mark, at);
      put(open.kind, end < 0 ? text.length : end + open.mark.length);
      if (end >= 0) open = null;
      continue;
    }
    language.pattern.lastIndex = at;
    const found = language.pattern.exec(text);
    put(null, found ? found.index : text.length);
    if (!found) break;
    const [kind] = Object.entries(found.groups).find(([, own]) => own !== undefined);
    if (kind === "opens") open = closes(found[0]);
    put(open?.kind || kind, at + found[0].length);
  }
  return [parts, open];
}

// What is open before these lines, where that can be told: they may begin inside a comment, or a text of several lines.
function openBefore(lines, language) {
  const whole = lines.join("\n");
  const [begins, ends] = ["/*", "*/"].map((mark) => whole.indexOf(mark));
  if (language.block && ends >= 0 && (begins < 0 || ends < begins)) return closes("/*");
  for (const mark of language.long) {
    const at = lines.findIndex((one) => one.includes(mark));
    if (at < 0 || whole.split(mark).length % 2 || !lines[at].trimEnd().endsWith(mark)) continue;
    const before = lines[at].split(mark)[0].trim() || (lines[at - 1] || "").trim();
    if (!/[=(,:[]\s*\w?$/.test(before)) return closes(mark);
  }
  return null;
}

// Return what paints the lines of a file's diff, in their order; each side of a hunk is read for itself.
function painter(path, rows) {
  const language = languageOf(path);
  if (!language) return (mark, text) => [text];
  let open = {};
  let at = 0;
  return (mark, text) => {
    at += 1;
    if (mark === "@") {
      const end = rows.findIndex((row, nth) => nth >= at && row[0] === "@");
      const hunk = rows.slice(at, end < 0 ? rows.length : end);
      for (const side of "+-") open[side] = openBefore(hunk.filter((row) => row[0] === side || row[0] === " ").map((row) => row.slice(1)), language);
    }
    if (!" +-".includes(mark)) return [text];
    const side = mark === "-" ? "-" : "+";
    const [parts, after] = paint(text, language, open[side]);
    if (mark === " ") open["-"] = open["-"] === open["+"] ? after : paint(text, language, open["-"])[1];
    open[side] = after;
    return parts;
  };
}
