const byId = (id) => document.getElementById(id);
const trials = JSON.parse(byId("index").textContent);
const STEP = 100;
let shown = STEP;
let found = trials;

// Every text of the records goes through here, as text: nothing that a model wrote becomes markup.
function make(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined) continue;
    if (name === "class") node.className = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const name = (trial) => trial.i + "::" + trial.r + (trial.n > 1 ? "[" + trial.n + "]" : "");
const byName = new Map(trials.map((trial) => [name(trial), trial]));
for (const trial of trials) trial.t = [trial.i, trial.p, trial.r, ...trial.w, ...trial.g].join(" ").toLowerCase();

// --- the list ---------------------------------------------------------------------------------------------------

function row(trial) {
  const words = ["caught", "missed", "unknown"];
  return make("tr", null,
    make("th", { scope: "row" }, make("a", { href: "#t=" + encodeURIComponent(name(trial)) }, trial.i + (trial.n > 1 ? " [" + trial.n + "]" : ""))),
    make("td", null, trial.r),
    ...trial.v.map((count, at) => make("td", { class: count ? words[at] : null }, String(count))),
    make("td", null, trial.f === null ? "-" : String(trial.f)),
    make("td", null, trial.s.toFixed(1)));
}

function list() {
  byId("list").replaceChildren(...found.slice(0, shown).map(row));
  const rest = found.length - shown;
  byId("count").textContent = found.length + " of " + trials.length + " trials" + (rest > 0 ? ", the first " + shown + " are shown" : "");
  byId("more").hidden = rest <= 0;
}

function filter() {
  const words = byId("f-text").value.toLowerCase().split(/\s+/).filter(Boolean);
  const [reviewer, category, kind, outcome] = ["r", "g", "k", "v"].map((id) => byId("f-" + id).value);
  found = trials.filter((trial) => words.every((word) => trial.t.includes(word))
    && (!reviewer || trial.r === reviewer) && (!category || trial.g.includes(category))
    && (!kind || trial.k.includes(kind)) && (outcome === "" || trial.v[Number(outcome)] > 0));
  shown = STEP;
  list();
}

function choices(id, words) {
  byId(id).append(...[...new Set(words)].sort().map((word) => make("option", { value: word }, word)));
}

// --- one trial --------------------------------------------------------------------------------------------------

async function unpack(at) {
  if (at === null || at === undefined) return null;
  const packed = Uint8Array.from(atob(JSON.parse(byId("d" + at).textContent)), (char) => char.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

const at = (remark) => remark.lines ? remark.lines[1] : remark.end || remark.start;

function place(remark) {
  const first = remark.lines ? remark.lines[0] : remark.start;
  const lines = first ? ":" + first + (at(remark) > first ? "-" + at(remark) : "") : "";
  return (remark.path || "the whole pull request") + lines + (remark.side === "left" ? " (removed side)" : "");
}

function box(remark, human) {
  const who = (human ? "Human " + remark.id : "Finding") + (remark.head ? " · " + remark.head : "");
  return make("div", { class: human ? "human" : "finding" }, make("strong", null, who), make("span", { class: "quiet" }, place(remark)),
    make("p", { class: "text" }, remark.body));
}

const MARKS = { "+": "add", "-": "cut", "@": "hunk", "#": "hunk", "…": "hunk" };

// Remarks are put below the last line that they name; what names no line that is shown goes above the file.
function file(data, remarks, what) {
  const body = make("tbody");
  const waiting = new Set(remarks);
  const rows = data.rows.map(([mark, old, fresh, text]) => {
    body.append(make("tr", { class: MARKS[mark] || null }, make("td", { class: "no" }, old ? String(old) : ""), make("td", { class: "no" }, fresh ? String(fresh) : ""),
      make("td", null, (mark === "@" || mark === "#" ? "" : mark) + text)));
    for (const [remark, human] of waiting) {
      if ((remark.side === "left" ? old : fresh) === at(remark) && at(remark)) {
        body.append(make("tr", null, make("td", { class: "remark", colspan: "3" }, box(remark, human))));
        for (const one of waiting) if (one[0] === remark) waiting.delete(one);
      }
    }
    return body;
  });
  return make("div", { class: "file" }, make("h4", null, data.path || "not a git diff"),
    ...[...waiting].map(([remark, human]) => make("div", { class: "remark" }, box(remark, human))),
    rows.length ? make("div", { class: "code", tabindex: "0", role: "region", "aria-label": what + ", " + (data.path || "not a git diff") }, make("table", { role: "presentation" }, body)) : null);
}

function diff(files, remarks, what) {
  const paths = new Set(files.map((one) => one.path));
  const loose = remarks.filter(([remark]) => !paths.has(remark.path));
  return [...loose.map(([remark, human]) => make("div", { class: "remark" }, box(remark, human))),
    ...files.map((one) => file(one, remarks.filter(([remark]) => remark.path === one.path), what))];
}

function oracle(result) {
  return make("div", { class: "oracle" },
    make("strong", null, result.comment + " "), make("span", { class: result.verdict }, result.verdict + " (" + result.reason + ")"),
    make("span", { class: "quiet" }, " " + (result.labels ? result.labels + ", " : "") + place(result) + (result.resolvable === true ? "; the agent resolves it from the human comment" : result.resolvable === false ? "; the agent does not resolve it from the human comment" : "")),
    result.detail ? make("p", { class: "text" }, result.detail) : null,
    ...result.tests.map(([id, outcome, exception]) => make("div", { class: "quiet" }, outcome + " " + id + (exception ? " (" + exception + ")" : ""))));
}

function transcript(one) {
  return make("details", { class: "transcript" }, make("summary", null, one.head),
    make("div", { class: "code", tabindex: "0", role: "region", "aria-label": "Transcript of " + one.head }, make("pre", null, one.text)));
}

async function show(trial) {
  const [detail, subject] = await Promise.all([unpack(trial.d), unpack(trial.q)]);
  const remarks = [...detail.findings.map((one) => [one, false]), ...(subject ? subject.comments.map((one) => [one, true]) : [])];
  const changed = subject ? diff(subject.files, remarks, "Pull request")
    : [make("p", { class: "quiet" }, "The pull request is not in this report."), ...remarks.map(([one, human]) => make("div", { class: "remark" }, box(one, human)))];
  byId("trial").replaceChildren(...[
    make("p", null, make("a", { href: "#trials" }, "← All trials")),
    make("h2", { id: "h-trial" }, name(trial)),
    make("p", null, trial.p + ", agent " + detail.agent + ", on " + detail.runtime + (detail.damage === true ? "; the revision broke passing tests" : detail.damage === false ? "; passing tests still pass" : "")),
    detail.error ? make("p", { class: "unknown text" }, detail.error) : null,
    make("h3", null, "Oracles"), ...detail.results.map(oracle),
    make("h3", null, subject ? "Pull request: " + subject.title : "Pull request"),
    subject?.url ? make("p", null, make("a", { href: subject.url, rel: "noreferrer" }, subject.url)) : null,
    subject?.body ? make("p", { class: "text" }, subject.body) : null,
    detail.unshown ? make("p", { class: "warn" }, detail.unshown + " more findings are in trials.jsonl") : null,
    ...changed,
    make("h3", null, "Revision"),
    ...(detail.files === null ? [make("p", { class: "quiet" }, "There is none.")] : detail.files.length ? diff(detail.files, [], "Revision") : [make("p", { class: "quiet" }, "It is empty.")]),
    detail.notes ? make("p", { class: "text" }, detail.notes) : null,
    detail.transcripts.length || detail.unheard ? make("h3", null, "Transcripts") : null,
    ...detail.transcripts.map(transcript),
    detail.unheard ? make("p", { class: "quiet" }, detail.unheard + " not on this page: pytest-crab show " + name(trial) + " --transcript") : null,
    make("h3", null, "Facts"),
    make("dl", null, ...detail.facts.flatMap(([key, value]) => [make("dt", null, key), make("dd", null, value)]))].filter((node) => node !== null));
}

// An address may be anything that somebody typed or that was cut off on its way.
function wanted() {
  try { return decodeURIComponent(location.hash.slice(1)); } catch { return ""; }
}

async function route() {
  const hash = wanted();
  const trial = hash.startsWith("t=") ? byName.get(hash.slice(2)) : undefined;
  if (trial) await show(trial);
  if (hash !== wanted()) return;
  byId("trial").hidden = !trial;
  byId("overview").hidden = Boolean(trial);
  if (trial) { scrollTo(0, 0); byId("trial").focus({ preventScroll: true }); }
  else if (hash && byId(hash)) byId(hash).scrollIntoView();
}

choices("f-r", trials.map((trial) => trial.r));
choices("f-g", trials.flatMap((trial) => trial.g));
choices("f-k", trials.flatMap((trial) => trial.k));
byId("f-text").addEventListener("input", filter);
for (const id of ["r", "g", "k", "v"]) byId("f-" + id).addEventListener("change", filter);
document.querySelector(".filters").addEventListener("submit", (event) => event.preventDefault());
byId("more").addEventListener("click", () => { shown += STEP; list(); });
addEventListener("hashchange", route);
list();
route();
