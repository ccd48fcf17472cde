// A page from `pytest-crab view`: it follows its run. Records that come in are added to the list, and a part of the page
// is asked for anew once it is looked at.
const live = byId("live");
const FIELDS = ["f-text", "f-r", "f-g", "f-k", "f-v"];
const ASK = 2000;

// Of the trials that run so many are named.
const NAMED = 8;
let end = Number(live.dataset.end);
let state = live.dataset.state;
let restUntil = 0;

function loadAgain() {
  sessionStorage.setItem("fields", JSON.stringify(FIELDS.map((id) => byId(id).value)));
  location.reload();
}

async function answer(path) {
  const found = await fetch(path);
  return found.ok ? found : null;
}

// --- the trials that are not on record yet ----------------------------------------------------------------------

function showProgress(progress) {
  const running = progress?.running || [];
  const steps = new Map(running.map(([trial, step]) => [trial, step]));
  byId("live-bar").hidden = byId("live-running").hidden = !progress;
  byId("live-bar").value = progress?.total ? progress.done / progress.total : 0;
  byId("live-running").hidden ||= !running.length;
  byId("live-running").replaceChildren(...running.slice(0, NAMED).map(([trial, step, seconds]) => make("li", null, pieces(trial), make("span", { class: "quiet" }, " " + step + ", " + seconds + " s"))),
    ...(running.length > NAMED ? [make("li", { class: "quiet" }, running.length - NAMED + " more")] : []));
  for (const trial of planned) trial.step = steps.get(name(trial)) || "";
  const open = planned.filter((trial) => !byName.has(name(trial))).map((trial) => name(trial) + trial.step).join();
  if (open !== shownOpen) { shownOpen = open; filter(true); }
}

let shownOpen = "";
let hasPlan = false;

async function readPlan() {
  const plan = await answer("plan");
  planned = (plan ? await plan.json() : []).map(([i, r, n]) => ({ i, r, n, t: (i + " " + r).toLowerCase(), step: "" }));
}

// --- records and parts that have changed ------------------------------------------------------------------------

async function readRecords() {
  const news = await (await fetch("rows/" + live.dataset.records + "/" + end)).json();
  if (!news.rows) return false;
  end = news.end;
  take(news.rows);
  sortTrials();
  offerChoices();
  if (news.rows.length) filter(true);
  return true;
}

// Give a part that was made anew what its reader had set: the order of tables, and their filters.
function restore(before, part) {
  for (const table of part.querySelectorAll("table[data-table]")) {
    const was = before.querySelector('table[data-table="' + CSS.escape(table.dataset.table) + '"][data-nth="' + table.dataset.nth + '"]');
    if (!was) continue;
    const [old, fresh] = [was, table].map((one) => [...one.tHead.rows[0].cells]);
    const nth = old.findIndex((head) => head.hasAttribute("aria-sort"));
    for (let tries = 0; fresh[nth] && tries < 2 && fresh[nth].getAttribute("aria-sort") !== old[nth].getAttribute("aria-sort"); tries += 1) fresh[nth].querySelector(".sort").click();
    const [box, mine] = [was, table].map((one) => one.parentElement.previousElementSibling?.querySelector("input"));
    if (box?.value && mine) { mine.value = box.value; mine.dispatchEvent(new Event("input")); }
  }
  const opened = [...before.querySelectorAll("details")].map((one) => one.open);
  for (const [nth, one] of [...part.querySelectorAll("details")].entries()) one.open = opened[nth] || false;
}

// Number the tables of a part.
function mark(part) {
  for (const [nth, table] of [...part.querySelectorAll("table[data-table]")].entries()) table.dataset.nth = nth;
}

const inView = new Set();

// A part stays as it is while the focus is in it.
async function renew(part) {
  const asked = state;
  const found = await answer("part/" + part.dataset.part);
  if (!found || part.contains(document.activeElement)) return;
  const fresh = new DOMParser().parseFromString(await found.text(), "text/html").body;
  const before = make("div");
  mark(part);
  before.append(...part.childNodes);
  part.replaceChildren(...fresh.childNodes);
  mark(part);
  equipTables(part);
  equipCharts(part);
  restore(before, part);
  part.dataset.made = asked;
}

let renewing = false;
async function renewSeen() {
  if (renewing || Date.now() < restUntil) return;
  renewing = true;
  const start = Date.now();
  try {
    for (const part of [...inView]) if (part.dataset.made !== state) await renew(part);
  } finally {
    renewing = false;
    restUntil = Date.now() + 10 * (Date.now() - start);  // so the server is never busy with one page
  }
}

async function ask() {
  try {
    const news = await (await fetch("state")).json();
    byId("live-words").textContent = news.words;
    byId("live-note").textContent = "";
    if (news.state !== state) {
      if (!await readRecords()) return again();
      state = news.state;
      live.dataset.state = state;
    }
    if (news.progress && !hasPlan) await readPlan();
    hasPlan = Boolean(news.progress);
    planned = hasPlan ? planned.filter((trial) => !byName.has(name(trial))) : [];
    showProgress(news.progress);
    await renewSeen();
  } catch {
    byId("live-note").textContent = "The server has stopped; this page shows what it had last.";
  }
}

// The records are in another file: of a new run, or made anew.
function again() {
  if (byId("trial").hidden) return loadAgain();
  const button = make("button", { type: "button" }, "Show the new records");
  button.addEventListener("click", loadAgain);
  byId("live-note").replaceChildren("There is a new run. ", button);
}

const watcher = new IntersectionObserver((changes) => {
  for (const change of changes) change.isIntersecting ? inView.add(change.target) : inView.delete(change.target);
  renewSeen();
}, { rootMargin: "25%" });
for (const part of document.querySelectorAll("[data-part]")) { part.dataset.made = state; watcher.observe(part); }

const kept = JSON.parse(sessionStorage.getItem("fields") || "[]");
sessionStorage.removeItem("fields");
kept.forEach((value, nth) => { byId(FIELDS[nth]).value = value; });
if (kept.some(Boolean)) filter();
ask();
setInterval(ask, ASK);
