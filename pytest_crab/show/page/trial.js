// The page of one trial: the pull request under review, what was said of it, and what became of that.
const OUTCOME_WORDS = { true: "; the agent resolves it from the human comment", false: "; the agent does not resolve it from the human comment" };

function testRow([id, outcome, exception, where]) {
  return make("tr", null, make("th", { scope: "row" }, id), make("td", { class: outcome === "passed" ? "caught" : "missed" }, outcome),
    make("td", null, [exception, where && "at " + where].filter(Boolean).join(" ") || "-"));
}

// A comment's verdict: what it asks for and where, and why it was caught or missed.
function oracle(result, comment, trial) {
  const tests = result.tests.length ? make("details", null, make("summary", null, counted(result.tests.length, "test")),
    make("div", { class: "wide", role: "group", "aria-label": "Tests of " + result.comment },
      make("table", { class: "tests" }, make("thead", null, make("tr", null, ["Test", "Outcome", "Stopped with"].map((head) => make("th", { scope: "col" }, head)))),
        make("tbody", null, result.tests.map(testRow))))) : null;
  return make("div", { class: "oracle", "data-comment": result.comment, tabindex: "-1" }, make("strong", null, result.comment + " "), badge(result.verdict),
    make("span", { class: "quiet" }, " " + (result.labels ? result.labels + ", " : ""), make("a", { href: address(trial, result.comment) }, place(result)), OUTCOME_WORDS[result.resolvable] || ""),
    comment ? markdown(comment.body, true) : null, result.said.map((text) => make("p", { class: "text quiet" }, text)),
    result.parts.length ? make("ol", null, result.parts.map(([asks, resolved]) => make("li", null,
      make("span", { class: resolved ? "caught" : "missed" }, resolved ? "resolved" : "not resolved"), ": " + asks))) : null, tests);
}

// A transcript is laid out with "- 1" before each message and "name:" before each of its fields, a step of two spaces each.
const outdented = (text) => text.replace(/^\n/, "").replace(/^ {2}/gm, "").trimEnd();
const LONG_FIELD = 25;

function field([key, text]) {
  const lines = text.split("\n").length;
  if (lines === 1) return make("div", null, make("span", { class: "quiet" }, key + " "), make("code", null, text));
  const body = make("pre", null, text);
  return lines > LONG_FIELD ? make("details", null, make("summary", null, key + ", " + counted(lines, "line")), body) : [make("div", { class: "quiet" }, key), body];
}

function message(number, text) {
  const [head, ...parts] = outdented(text).split(/^([\w-]+):(?: |$)/m);
  if (head.trim() || !parts.length) return make("div", { class: "message" }, field([number, outdented(text)]));
  const fields = parts.flatMap((key, at) => (at % 2 ? [] : [[key, /^\n/.test(parts[at + 1]) ? outdented(parts[at + 1]) : parts[at + 1].trimEnd()]]));
  const role = fields.find(([key]) => key === "role");
  return make("div", { class: "message" }, make("strong", null, number + (role ? " " + role[1] : "")), fields.filter((one) => one !== role).map(field));
}

function transcript(one, steps) {
  const [, ...parts] = ("\n" + one.text).split(/^- (\d+)$/m);
  const [, , , requests, read, written, usd, models] = steps.find(([step]) => step === one.head.split(",")[0]) || [];
  const cost = [[requests === "1" ? "request" : "requests", requests], ["tokens in", read], ["tokens out", written], ["USD", usd]].filter(([, value]) => value && value !== "-");
  return make("details", { class: "transcript" }, make("summary", null, one.head, make("span", { class: "quiet" }, " " + [...cost.map(([unit, value]) => value + " " + unit), models].filter((word) => word && word !== "-").join(", "))),
    make("div", { class: "code", role: "group", "aria-label": "Transcript of " + one.head },
      parts.length ? parts.flatMap((number, at) => (at % 2 ? [] : [message(number, parts[at + 1])])) : make("pre", null, one.text)));
}

function stepTable(steps) {
  const heads = ["Step", "Seconds", "Version", "Requests", "Tokens in", "Tokens out", "USD", "Models"];
  const kind = (nth) => ({ class: heads[nth] === "Version" || heads[nth] === "Models" ? "words" : null });
  return make("div", { class: "wide", role: "group", "aria-label": "Steps of the trial" }, make("table", null,
    make("thead", null, make("tr", null, heads.map((head, nth) => make("th", { scope: "col", ...kind(nth) }, head)))),
    make("tbody", null, steps.map(([step, ...cells]) => make("tr", null, make("th", { scope: "row" }, step), cells.map((text, nth) => make("td", kind(nth + 1), text)))))));
}

function commitTable(commits) {
  const heads = ["Finding", "Lines", "Files", "Message", "Oracles"];
  return make("div", { class: "wide", role: "group", "aria-label": "Commits of the revision" }, make("table", null,
    make("thead", null, make("tr", null, heads.map((head) => make("th", { scope: "col", class: "words" }, head)))),
    make("tbody", null, commits.map(([finding, ...cells]) => make("tr", null, make("th", { scope: "row" }, finding), cells.map((text) => make("td", { class: "words" }, text)))))));
}

function summaryOf(trial, detail) {
  const counts = OUTCOMES.map((word, nth) => trial.v[nth] ? badge(word, trial.v[nth] + " " + word) : null);
  const regressions = { true: "the revision broke passing tests", false: "passing tests still pass" }[detail.regressions];
  return make("p", null, counts, " ", [trial.p, "agent " + detail.agent, detail.runtime && "on " + detail.runtime, regressions].filter(Boolean).join("; "));
}

function others(trial) {
  const own = trials.filter((one) => one.i === trial.i && one !== trial);
  return own.length ? make("p", { class: "others" }, "Same pull request: ", own.map((one) => [make("a", { href: address(one) }, labelOf(one.r) + (one.n > 1 ? " [" + one.n + "]" : "")), " "])) : null;
}

function discussion(detail, subject) {
  const verdicts = new Map(detail.results.map((result) => [result.comment, result.verdict]));
  const humans = (subject?.comments || []).map((one) => [{ ...one, verdict: verdicts.get(one.id) }, true]);
  const remarks = [...detail.findings.map((one) => [one, false]), ...humans];
  const none = detail.files === null ? "There is no revision." : detail.files.length ? null : "The revision is empty.";
  return [make("h2", null, "Changes, and the revision beside them"),
    subject ? null : make("p", { class: "quiet" }, "The pull request is not in this report."),
    detail.unshown ? make("p", { class: "warn" }, detail.unshown + " more findings are in trials.jsonl") : null,
    none ? make("p", { class: "quiet" }, none) : null,
    changes(subject ? subject.files : [], detail.files, remarks, none ? null : "The revision does not touch this file."),
    detail.notes ? [make("h3", null, "The agent's notes"), markdown(detail.notes)] : null];
}

// Draw a trial once its parts are read, unless another one is asked for by then; return whether it was drawn.
async function show(trial, isWanted) {
  const [detail, subject] = await Promise.all([unpack(trial.d), unpack(trial.q)]);
  if (!isWanted()) return false;
  const facts = (pairs) => pairs.flatMap(([key, value]) => [make("dt", null, key), make("dd", null, value)]);
  byId("trial").replaceChildren(...make("div", null,
    neighbours(trial),
    make("h1", { id: "h-trial" }, pieces(subject?.title || name(trial))),
    make("p", { class: "quiet", id: "trial-name" }, pieces(name(trial))),
    summaryOf(trial, detail), others(trial),
    detail.error ? make("p", { class: "unknown text" }, detail.error) : null,
    subject?.url || subject?.body ? make("h2", null, "Description") : null,
    subject?.url ? make("p", null, make("a", { href: subject.url, rel: "noreferrer" }, subject.url)) : null,
    subject?.body ? make("div", { class: "description" }, markdown(subject.body, true)) : null,
    make("h2", { title: "An oracle is the test of one comment: red on the pull request, green once the comment is resolved." }, "Oracles"),
    detail.results.map((result) => oracle(result, subject?.comments.find((one) => one.id === result.comment), trial)),
    discussion(detail, subject),
    detail.commits.length ? [make("h2", null, "The revision's commits, by finding"), commitTable(detail.commits)] : null,
    detail.steps.length ? [make("h2", null, "Steps"), stepTable(detail.steps)] : null,
    detail.transcripts.length || detail.unheard ? make("h2", null, "Transcripts") : null,
    detail.transcripts.map((one) => transcript(one, detail.steps)),
    detail.unheard ? make("p", { class: "quiet" }, detail.unheard + " not on this page: pytest-crab show " + name(trial) + " --transcript") : null,
    make("h2", null, "Commands"),
    make("dl", { class: "commands" }, detail.commands.flatMap(([purpose, words]) => [make("dt", null, purpose), make("dd", null, make("code", null, words))])),
    detail.facts.length ? [make("h2", null, "Facts"), make("dl", null, facts(detail.facts))] : null).childNodes);
  for (const table of byId("trial").querySelectorAll(".wide > table")) nameCells(table);
  return true;
}
