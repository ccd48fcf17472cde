// Diffs with the findings and the human comments at their lines.
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
