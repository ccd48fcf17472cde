// The page of one trial.
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
