// The list of trials and the matrix of pull requests and reviewers, both filtered by the same form.
const trials = JSON.parse(byId("index").textContent);
const STEP = 100;
const OUTCOMES = ["caught", "missed", "unknown"];
let shown = STEP;
let found = trials;

const name = (trial) => trial.i + "::" + trial.r + (trial.n > 1 ? "[" + trial.n + "]" : "");
const address = (trial) => "#t=" + encodeURIComponent(name(trial));
const byName = new Map(trials.map((trial) => [name(trial), trial]));
for (const trial of trials) trial.t = [trial.i, trial.p, trial.r, ...trial.w, ...trial.g].join(" ").toLowerCase();

const COLUMNS = [(trial) => trial.i, (trial) => trial.r, ...OUTCOMES.map((_, at) => (trial) => trial.v[at]), (trial) => trial.f, (trial) => trial.s];

function row(trial) {
  return make("tr", null,
    make("th", { scope: "row" }, make("a", { href: address(trial) }, pieces(trial.i + (trial.n > 1 ? " [" + trial.n + "]" : "")))),
    make("td", null, trial.r),
    trial.v.map((count, at) => make("td", { class: count ? OUTCOMES[at] : null }, String(count))),
    make("td", null, trial.f === null ? "-" : String(trial.f)),
    make("td", null, trial.s.toFixed(1)));
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
  byId("count").textContent = found.length + " of " + trials.length + " trials" + (rest > 0 ? ", the first " + shown + " are shown" : "");
  byId("more").hidden = rest <= 0;
}

// --- the matrix -------------------------------------------------------------------------------------------------

const reviewers = [...new Set(trials.map((trial) => trial.r))];

function outcome([caught, missed]) {
  return caught && missed ? "some" : caught ? "caught" : missed ? "missed" : "unknown";
}

function cell(trial) {
  const [caught, missed, unknown] = trial.v;
  const words = name(trial) + ": " + caught + " caught, " + missed + " missed, " + unknown + " unknown";
  return make("a", { href: address(trial), class: "cell-" + outcome(trial.v), "aria-label": words, title: words },
    caught + missed ? caught + "/" + (caught + missed) : unknown ? "?" : "-");
}

const cellOf = (trial) => trial.cell ??= cell(trial);

function matrix() {
  const rows = new Map();
  for (const trial of found) {
    if (!rows.has(trial.i)) { if (rows.size >= shown) continue; rows.set(trial.i, new Map()); }
    const own = rows.get(trial.i);
    own.set(trial.r, [...(own.get(trial.r) || []), trial]);
  }
  byId("cells").replaceChildren(...[...rows].map(([instance, own]) => make("tr", null, make("th", { scope: "row" }, pieces(instance)),
    reviewers.map((reviewer) => make("td", null, (own.get(reviewer) || []).map(cellOf))))));
}

// The matrix may wait until nobody types.
let waiting;

function draw() {
  list();
  clearTimeout(waiting);
  waiting = setTimeout(matrix, 60);
}

function filter() {
  const words = byId("f-text").value.toLowerCase().split(/\s+/).filter(Boolean);
  const [reviewer, category, kind, verdict] = ["r", "g", "k", "v"].map((id) => byId("f-" + id).value);
  found = trials.filter((trial) => words.every((word) => trial.t.includes(word))
    && (!reviewer || trial.r === reviewer) && (!category || trial.g.includes(category))
    && (!kind || trial.k.includes(kind)) && (verdict === "" || trial.v[Number(verdict)] > 0));
  shown = STEP;
  draw();
}

function choices(id, words) {
  byId(id).append(...[...new Set(words)].sort().map((word) => make("option", { value: word }, word)));
}

// An address may be anything that somebody typed or that was cut off on its way.
function wanted() {
  try { return decodeURIComponent(location.hash.slice(1)); } catch { return ""; }
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

async function route() {
  const hash = wanted();
  const trial = hash.startsWith("t=") ? byName.get(hash.slice(2)) : undefined;
  if (trial) await show(trial).catch(() => byId("trial").replaceChildren(neighbours(trial),
    make("p", { class: "warn" }, "This trial cannot be read: the server has stopped, or the records have changed. Load the page again.")));
  if (hash !== wanted()) return;
  byId("trial").hidden = !trial;
  document.body.classList.toggle("diffs", Boolean(trial));
  for (const id of ["overview", "top", "sections"]) byId(id).hidden = Boolean(trial);
  if (trial) { scrollTo(0, 0); byId("trial").focus({ preventScroll: true }); }
  else if (hash && byId(hash)) byId(hash).scrollIntoView();
}

choices("f-r", trials.map((trial) => trial.r));
choices("f-g", trials.flatMap((trial) => trial.g));
choices("f-k", trials.flatMap((trial) => trial.k));
byId("f-text").addEventListener("input", filter);
for (const id of ["r", "g", "k", "v"]) byId("f-" + id).addEventListener("change", filter);
document.querySelector(".filters").addEventListener("submit", (event) => event.preventDefault());
byId("more").addEventListener("click", () => { shown += STEP; draw(); });
byId("matrix-head").append(...reviewers.map((reviewer) => make("th", { scope: "col" }, reviewer)));
sortable(byId("list").parentElement, (column, direction) => {
  trials.sort((one, two) => direction * compareKeys(COLUMNS[column](one), COLUMNS[column](two)));
  filter();
});
toolsOf(byId("cells").closest(".wide"));
toolsOf(byId("list").closest(".wide"), csvButton("trials", () => [["instance", "reviewer", "repeat", ...OUTCOMES, "findings", "seconds"],
  ...found.map((trial) => [trial.i, trial.r, trial.n, ...trial.v, trial.f, trial.s].map((value) => value === null ? "" : String(value)))]));
addEventListener("hashchange", route);
addEventListener("scroll", markSection, { passive: true });
draw();
route();
