// Diffs with the findings and the human comments at their lines. A remark is {path, lines or start and end, side, ...}.
const at = (remark) => remark.lines ? remark.lines[1] : remark.end || remark.start;

function place(remark) {
  const first = remark.lines ? remark.lines[0] : remark.start;
  const lines = first ? ":" + first + (at(remark) > first ? "-" + at(remark) : "") : "";
  return (remark.path || "the whole pull request") + lines + (remark.side === "left" ? " (removed side)" : "");
}

const badge = (verdict, words) => make("span", { class: "badge " + verdict }, words || verdict);

function box(remark, human) {
  const who = (human ? "Human " : "Finding ") + remark.id + (remark.head ? " · " + remark.head : "");
  return make("div", { class: human ? "human" : "finding", "data-comment": human ? remark.id : null, tabindex: human ? "-1" : null }, make("strong", null, who),
    human && remark.verdict ? badge(remark.verdict) : null,
    remark.led?.length ? badge("caught", "led to " + remark.led.join(", ")) : null,
    make("span", { class: "quiet" }, place(remark)), markdown(remark.body, human));
}

const MARKS = { "+": "add", "-": "cut", "@": "hunk", "#": "hunk", "…": "hunk" };

// The rows of one file's diff, which are packed as one text.
const rowsOf = (data) => data.rows ? data.rows.split("\n") : [];

// Each row as [mark, number on the old side, number on the new side, text]; a row begins with its mark.
function* numbered(rows) {
  let [old, fresh] = [0, 0];
  for (const row of rows) {
    const [mark, text] = [row[0], row.slice(1)];
    if (mark === "@") [old, fresh] = /-(\d+)(?:,\d+)? \+(\d+)/.exec(text).slice(1).map(Number);
    const [left, right] = [" -".includes(mark), " +".includes(mark)];
    yield [mark, left ? old : null, right ? fresh : null, text];
    old += left; fresh += right;
  }
}

function line([mark, old, fresh, text], paint) {
  return make("tr", { class: MARKS[mark] || null }, make("td", { class: "no" }, old ? String(old) : ""), make("td", { class: "no" }, fresh ? String(fresh) : ""),
    make("td", null, mark === "@" || mark === "#" ? "" : mark, paint(mark, text)));
}

// The rows of the hunk that a remark is on, cut where it is long; null where no hunk shows its line.
function hunkAt(rows, remark) {
  let [hunk, found] = [[], 0];
  for (const each of numbered(rows)) {
    if (each[0] === "@") { if (found) break; hunk = []; }
    if (at(remark) && (remark.side === "left" ? each[1] : each[2]) === at(remark)) found = hunk.length;
    hunk.push(each);
  }
  if (!found) return null;
  const from = Math.max(1, found - 40);
  const kept = hunk.slice(from, found + 20);
  const first = (side) => kept.find((each) => each[side])?.[side] || 0;
  return [from > 1 ? "@@ -" + first(1) + " +" + first(2) + " @@" : "@" + hunk[0][3], ...kept.map((each) => each[0] + each[3])];
}

// Remarks are put below the last line that they name; what names no line that is shown goes above the file.
function file(data, remarks, what, open = true) {
  const body = make("tbody");
  const waiting = new Set(remarks);
  const rows = rowsOf(data);
  const paint = painter(data.path, rows);
  for (const each of numbered(rows)) {
    body.append(line(each, paint));
    for (const one of waiting) {
      const [remark, human] = one;
      if (at(remark) && (remark.side === "left" ? each[1] : each[2]) === at(remark)) {
        body.append(make("tr", null, make("td", { class: "remark", colspan: "3" }, box(remark, human))));
        waiting.delete(one);
      }
    }
  }
  const name = data.path || "not a git diff";
  return make("details", { class: "file", open: open ? "" : null },
    make("summary", null, pieces(name), make("span", { class: "tag" }, what.toLowerCase()), make("span", { class: "quiet" }, counts(data))),
    [...waiting].map(([remark, human]) => make("div", { class: "remark" }, box(remark, human))),
    rows.length ? make("div", { class: "code", role: "group", "aria-label": what + ", " + name }, make("table", { role: "presentation" }, body)) : null);
}

const counts = (data) => " +" + changedLines(data, "+") + " −" + changedLines(data, "-");
const counted = (count, noun) => count + " " + noun + (count === 1 ? "" : "s");
const changedLines = (data, mark) => data ? rowsOf(data).filter((each) => each[0] === mark).length : 0;

// One file of the pull request, with its revision beside it; it is folded if it has no comment and the revision leaves it alone.
function pair(path, changed, revised, remarks, absent) {
  const quiet = (words) => make("p", { class: "quiet nothing" }, words);
  const touched = Boolean(remarks.length || revised);
  return make("section", { class: changed && revised ? "pair" : "pair alone", "aria-label": path || "not a git diff" },
    changed ? file(changed, remarks, "Pull request", touched) : quiet("The pull request does not touch " + path + "."),
    revised ? file(revised, [], "Revision") : touched && absent ? quiet(absent) : null);
}

function tree(pairs) {
  const folders = new Map();
  for (const one of pairs) {
    const cut = one.path ? one.path.lastIndexOf("/") + 1 : 0;
    const folder = one.path ? one.path.slice(0, cut) : "";
    folders.set(folder, [...(folders.get(folder) || []), [one.path ? one.path.slice(cut) : "not a git diff", one]]);
  }
  const entry = ([words, one]) => {
    const humans = one.remarks.filter(([, human]) => human).length;
    const button = make("button", { type: "button" }, words);
    button.addEventListener("click", () => { one.node.querySelectorAll("details").forEach((each) => { each.open = true; }); one.node.scrollIntoView(); one.node.querySelector("summary")?.focus({ preventScroll: true }); });
    return make("li", null, button, make("span", { class: "quiet" }, counts(one.changed)
      + (humans ? ", " + counted(humans, "comment") : "") + (one.remarks.length - humans ? ", " + counted(one.remarks.length - humans, "finding") : "")
      + (one.revised ? ", revised" : "")));
  };
  return make("nav", { class: "tree", "aria-label": "Changed files" },
    make("ul", null, [...folders].map(([folder, own]) => make("li", null, folder || null, make("ul", null, own.map(entry))))));
}

// The files of a pull request and of its revision, each pair side by side, below the tree that leads to them.
function changes(files, revision, remarks, absent) {
  const paths = [...new Set([...files, ...(revision || [])].map((one) => one.path))];
  const pairs = paths.map((path) => {
    const [changed, revised] = [files, revision || []].map((all) => all.find((one) => one.path === path));
    const own = changed ? remarks.filter(([remark]) => remark.path === path) : [];
    return { path, changed, revised, remarks: own, node: pair(path, changed, revised, own, absent) };
  });
  const shown = new Set(pairs.flatMap((one) => one.remarks));
  const loose = remarks.filter((remark) => !shown.has(remark));
  return [pairs.length > 1 ? tree(pairs) : null, loose.map(([remark, human]) => make("div", { class: "remark" }, box(remark, human))), pairs.map((one) => one.node)];
}
