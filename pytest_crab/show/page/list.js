// The list of trials and the matrix of pull requests and reviewers, both filtered by the same form.
const trials = JSON.parse(byId("index").textContent);
const STEP = 100;
const OUTCOMES = ["caught", "missed", "unknown"];
let shown = STEP;
let found = trials;

// Trials of a run that goes on which have no record yet: {i, r, n, t, step}, where step is what a running one does.
let planned = [];

const name = (trial) => trial.i + "::" + trial.r + (trial.n > 1 ? "[" + trial.n + "]" : "");
const address = (trial, comment) => "#t=" + encodeURIComponent(name(trial)) + (comment ? "&c=" + encodeURIComponent(comment) : "");
const byName = new Map();

// The names of reviewers with their marks, where they have any.
const marked = new Map();
const labelOf = (reviewer) => marked.get(reviewer) || reviewer;

// Take records in; a later one of the same trial takes the place of the one before.
function take(rows) {
  for (const trial of rows) {
    trial.t = [trial.i, trial.p, trial.r, ...trial.w, ...trial.g].join(" ").toLowerCase();
    if (trial.l) marked.set(trial.r, trial.l);
    const before = byName.get(name(trial));
    if (before) trials[trials.indexOf(before)] = trial;
    else if (rows !== trials) trials.push(trial);
    byName.set(name(trial), trial);
  }
}

take(trials);

const COLUMNS = [(trial) => trial.i, (trial) => trial.r, ...OUTCOMES.map((_, at) => (trial) => trial.v[at]), (trial) => trial.f, (trial) => trial.s];

const LIST_HEADS = [...byId("list").parentElement.tHead.rows[0].cells].map(cellText);

function row(trial) {
  const made = make("tr", null,
    make("th", { scope: "row" }, make("a", { href: address(trial) }, pieces(trial.i + (trial.n > 1 ? " [" + trial.n + "]" : "")))),
    make("td", { class: "words" }, labelOf(trial.r)),
    trial.v.map((count, at) => make("td", { class: count ? OUTCOMES[at] : null }, String(count))),
    make("td", null, trial.f === null ? "-" : String(trial.f)),
    make("td", null, trial.s.toFixed(1)));
  for (const [at, cell] of [...made.cells].entries()) cell.dataset.head = LIST_HEADS[at];
  return made;
}

// Rows and cells are made once, when they are first shown.
const rowOf = (trial) => trial.row ??= row(trial);

// What would stay as it is, is left alone: laying out a table anew is most of the work of a keystroke.
function fill(body, rows) {
  if (rows.length !== body.rows.length || rows.some((row, at) => row !== body.rows[at])) body.replaceChildren(...rows);
}

function list() {
  fill(byId("list"), found.slice(0, shown).map(rowOf));
  const rest = found.length - shown;
  byId("count").textContent = !trials.length ? "No trial is on record yet" : found.length + " of " + trials.length + " trials" + (rest > 0 ? ", the first " + shown + " are shown" : "");
  byId("more").hidden = rest <= 0;
}

// --- the matrix -------------------------------------------------------------------------------------------------

let reviewers = [];

function outcome([caught, missed]) {
  return caught && missed ? "some" : caught ? "caught" : missed ? "missed" : "unknown";
}

function cell(trial) {
  const [caught, missed, unknown] = trial.v;
  const words = name(trial) + ": " + caught + " caught, " + missed + " missed, " + unknown + " unknown";
  return make("a", { href: address(trial), class: "cell-" + outcome(trial.v), "aria-label": words, title: words },
    caught + missed ? caught + "/" + (caught + missed) : unknown ? "?" : "-");
}

const cellOf = (trial) => trial.v ? trial.cell ??= cell(trial) : openCell(trial);

// The cell of a trial without a record.
function openCell(trial) {
  const words = name(trial) + ": " + (trial.step || "to come");
  return make("span", { class: trial.step ? "cell-running" : "cell-planned", role: "img", "aria-label": words, title: words }, trial.step ? "\u2026" : "\u00b7");
}

// So many reviewers have a column as there is room for; the filter brings up others.
const roomFor = () => Math.max(3, Math.floor(((byId("cells").closest(".wide").clientWidth || 800) - 150) / 64));

function heads(rows) {
  const all = [...new Set(rows.map((trial) => trial.r))];
  const few = all.slice(0, roomFor());
  byId("columns").hidden = few.length === all.length;
  byId("columns").textContent = "The first " + few.length + " of " + all.length + " reviewers; choose another one above.";
  if (few.join() === reviewers.join()) return;
  reviewers = few;
  byId("matrix-head").replaceChildren(byId("matrix-head").firstElementChild, ...reviewers.map((reviewer) => make("th", { scope: "col" }, pieces(labelOf(reviewer)))));
}

function matrix() {
  const rows = new Map();
  const all = [...found, ...planned.filter(isAskedFor)];
  heads(all);
  for (const trial of all) {
    if (!rows.has(trial.i)) { if (rows.size >= shown) continue; rows.set(trial.i, new Map()); }
    const own = rows.get(trial.i);
    own.set(trial.r, [...(own.get(trial.r) || []), trial]);
  }
  byId("cells").replaceChildren(...[...rows].map(([instance, own]) => make("tr", null, make("th", { scope: "row" }, pieces(instance)),
    reviewers.map((reviewer) => make("td", null, (own.get(reviewer) || []).map(cellOf))))));
}

// The matrix may wait until the reader has stopped typing.
let waiting;

function draw() {
  list();
  clearTimeout(waiting);
  waiting = setTimeout(matrix, 60);
}

// What the form asks for; a trial without a record has no outcome and no labels.
let asked = { words: [], reviewer: "", category: "", kind: "", verdict: "" };
const isAskedFor = (trial) => asked.words.every((word) => trial.t.includes(word)) && (!asked.reviewer || trial.r === asked.reviewer)
  && (!asked.category || trial.g?.includes(asked.category)) && (!asked.kind || trial.k?.includes(asked.kind))
  && (asked.verdict === "" || trial.v?.[Number(asked.verdict)] > 0);

// Show what the form asks for, and no more rows than at first unless `keep` is given.
function filter(keep) {
  const [reviewer, category, kind, verdict] = ["r", "g", "k", "v"].map((id) => byId("f-" + id).value);
  asked = { words: byId("f-text").value.toLowerCase().split(/\s+/).filter(Boolean), reviewer, category, kind, verdict };
  found = trials.filter(isAskedFor);
  if (keep !== true) shown = STEP;
  draw();
}

// The choices of a field, which are those of all records; what is chosen stays.
function choices(id, words) {
  const known = new Set([...byId(id).options].map((option) => option.value));
  const fresh = [...new Set(words)].filter((word) => !known.has(word)).sort();
  byId(id).append(...fresh.map((word) => make("option", { value: word }, id === "f-r" ? labelOf(word) : word)));
}

function offerChoices() {
  choices("f-r", trials.map((trial) => trial.r));
  choices("f-g", trials.flatMap((trial) => trial.g));
  choices("f-k", trials.flatMap((trial) => trial.k));
}

// An address may be anything that somebody typed or that was cut off on its way: a section, or a trial and a comment.
function wanted() {
  try { return location.hash.slice(1).split("&c=").map(decodeURIComponent); } catch { return [""]; }
}

// Links to the trials before and after this one, in the order of the list as it is filtered.
function neighbours(trial) {
  const all = found.includes(trial) ? found : trials;
  const at = all.indexOf(trial);
  const link = (words, to) => to ? make("a", { href: address(to), title: name(to) }, words) : make("span", { class: "quiet" }, words);
  return make("nav", { class: "sections", "aria-label": "Trials" }, make("a", { href: "#trials" }, "All trials"), link("← Previous", all[at - 1]), link("Next →", all[at + 1]),
    make("span", { class: "quiet" }, at + 1 + " of " + all.length + (all === trials ? "" : " that the filter leaves")));
}

// The link of the section that is read is marked.
function markSection() {
  const links = [...byId("sections").querySelectorAll("a")];
  const read = links.findLast((link) => byId(link.hash.slice(1)).getBoundingClientRect().top < 80);
  for (const link of links) link === read ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
}

// The reader lands on a comment where its diff shows it, else at its oracle, and without one at the top of the trial.
function land(comment) {
  const [oracle, human] = [".oracle", ".human"].map((kind) => comment && byId("trial").querySelector(kind + '[data-comment="' + CSS.escape(comment) + '"]'));
  const place = human || oracle || byId("trial");
  if (place === byId("trial")) scrollTo(0, 0);
  else place.scrollIntoView({ block: "center" });
  place.focus({ preventScroll: true });
}

let opened = null;

async function route() {
  const [hash, comment] = wanted();
  const trial = hash.startsWith("t=") ? byName.get(hash.slice(2)) : undefined;
  const isWanted = () => hash === wanted()[0];
  if (trial && trial !== opened) await show(trial, isWanted).then((drawn) => { if (drawn) opened = trial; }, () => {
    if (!isWanted()) return;
    opened = null;
    byId("trial").replaceChildren(neighbours(trial), make("p", { class: "warn" }, "This trial cannot be read: the server has stopped, or the records have changed. Load the page again."));
  });
  if (!isWanted()) return;
  byId("trial").hidden = !trial;
  document.body.classList.toggle("diffs", Boolean(trial));
  for (const id of ["overview", "top", "sections"]) byId(id).hidden = Boolean(trial);
  if (trial) land(comment);
  else if (hash && byId(hash)) byId(hash).scrollIntoView();
}

offerChoices();
byId("f-text").addEventListener("input", filter);
for (const id of ["r", "g", "k", "v"]) byId("f-" + id).addEventListener("change", filter);
document.querySelector(".filters").addEventListener("submit", (event) => event.preventDefault());
byId("more").addEventListener("click", () => { shown += STEP; draw(); });
let sorted = null;
function sortTrials() {
  if (sorted) trials.sort((one, two) => sorted.direction * compareKeys(COLUMNS[sorted.column](one), COLUMNS[sorted.column](two)));
}
sortable(byId("list").parentElement, (column, direction) => {
  sorted = { column, direction };
  sortTrials();
  filter();
});
toolsOf(byId("list").closest(".wide"), csvButton("trials", () => [["instance", "reviewer", "repeat", ...OUTCOMES, "findings", "seconds"],
  ...found.map((trial) => [trial.i, trial.r, trial.n, ...trial.v, trial.f, trial.s].map((value) => value === null ? "" : String(value)))]));
addEventListener("hashchange", route);
addEventListener("scroll", markSection, { passive: true });
addEventListener("resize", matrix);
draw();
route();
