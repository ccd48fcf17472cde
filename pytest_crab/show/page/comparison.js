// Two runs: what is unfolded of an oracle shows the comment, and findings and revision of each run side by side.
function near(remark, comment) {
  return !comment || remark.path === comment.path;
}

function half(title, own, comment) {
  const findings = own.findings.filter((one) => near(one, comment));
  return make("div", null, make("h4", null, title), make("p", { class: "quiet" }, own.name),
    own.results.filter((one) => !comment || one.comment === comment.id).map((one) => make("p", null, badge(one.verdict), one.said.join("; "))),
    own.error ? make("p", { class: "unknown text" }, own.error) : null,
    findings.length ? null : make("p", { class: "quiet" }, "No finding in this file."),
    findings.map((one) => make("div", { class: "remark" }, box(one, false))));
}

function revisions(before, after) {
  if (!before.files?.length && !after.files?.length) return make("p", { class: "quiet" }, "Neither run has a revision.");
  const paths = [...new Set([...(before.files || []), ...(after.files || [])].map((one) => one.path))];
  const side = (own, path, title) => {
    const found = (own.files || []).find((one) => one.path === path);
    return found ? file(found, [], title) : make("p", { class: "quiet nothing" }, title + ": does not touch " + path + ".");
  };
  return paths.map((path) => make("section", { class: "pair", "aria-label": path || "not a git diff" },
    side(before, path, "Revision before"), side(after, path, "Revision after")));
}

async function unfold(details) {
  const { comments, before, after } = await unpack([details.dataset.block, 0]);
  delete details.dataset.block;
  details.append(...comments.map((one) => make("div", { class: "remark" }, box(one, true))),
    make("div", { class: "pair" }, half("Before", before, comments[0]), half("After", after, comments[0])),
    make("h4", null, "Revisions, before and after"), ...[revisions(before, after)].flat());
}

for (const details of document.querySelectorAll("details[data-block]")) {
  details.addEventListener("toggle", () => { if (details.open && details.dataset.block !== undefined) unfold(details); });
}
