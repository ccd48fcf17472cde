// One comment at a time, with everything that decides on it; a ruling is one key, and is saved at once where a server listens.
const WORDS = { keep: "kept", reject: "rejected", edit: "edited" };

async function review() {
  const { items, by, served } = await unpack([0, 0]);
  const main = byId("main");
  let place = Math.max(0, items.findIndex((one) => !one.ruling));
  const reason = make("input", { id: "reason", autocomplete: "off" });
  const name = make("input", { id: "by", value: by, autocomplete: "off" });
  const text = make("textarea", { id: "text", rows: "6", "aria-label": "The comment's text" });
  const test = make("textarea", { id: "oracle", class: "code-text", rows: "20", spellcheck: "false", "aria-label": "The oracle's file" });
  const status = make("p", { id: "status", role: "status" });

  const plain = (one) => ({ candidate: one.candidate, comment: one.id, ...one.ruling });

  let busy = false;  // a ruling is under way: a key meanwhile would be for a comment that is not in view

  async function rule(word) {
    if (busy) return;
    busy = true;
    try { await decide(word); } finally { busy = false; }
  }

  async function decide(word) {
    const one = items[place];
    let told = "";
    if (!name.value.trim()) { status.textContent = "Say who rules, in the field by."; name.focus(); return; }
    if (word === "reject" && !reason.value.trim()) { status.textContent = "A rejection needs a reason."; reason.focus(); return; }
    const edited = one.raw_oracle !== null && test.value.trim() && test.value !== one.raw_oracle.replace(/\r\n?/g, "\n");
    if (word === "edit" && (!text.value.trim() || (text.value === one.raw && !edited))) { status.textContent = "Change the text of the comment or of its oracle, then press edit."; texts.open = true; text.focus(); return; }
    const old = word !== "reject" && one.ruling && one.ruling.ruling !== word && reason.value === one.ruling.reason;  // the reason of another ruling is none of this
    const ruling = { ruling: word, by: name.value.trim(), reason: old ? "" : reason.value.trim(), body: word === "edit" ? text.value : "", oracle: word === "edit" && edited ? test.value : "" };
    if (served) {
      const answer = await fetch("rule", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ candidate: one.candidate, comment: one.id, ...ruling }) }).catch((error) => ({ ok: false, text: async () => String(error) }));
      if (!answer.ok) { status.textContent = "Not saved: " + await answer.text(); return; }
      told = await answer.text();
    }
    one.ruling = ruling;
    const left = items.findIndex((each) => !each.ruling);
    const moved = place < items.length - 1 || left >= 0;  // at the end, to what was passed over
    if (moved) place = place < items.length - 1 ? place + 1 : left;
    show();
    status.textContent = (moved ? "The comment before was " : "This comment was ") + WORDS[word] + "." + (left < 0 ? " All " + items.length + " are ruled on." : "") + (told ? " " + told + "." : "");
  }

  function save() {
    const lines = JSON.stringify(items.filter((one) => one.ruling).map(plain), null, 1);
    const link = make("a", { href: URL.createObjectURL(new Blob([lines], { type: "application/json" })), download: "rulings.json" });
    link.click();
  }

  // The reasons of rejections so far: each has a digit as its key.
  const given = () => [...new Set(items.map((one) => one.ruling?.ruling === "reject" ? one.ruling.reason : "").filter(Boolean))].slice(0, 9);
  const again = (nth) => { const words = given()[nth]; if (words && !busy) { reason.value = words; rule("reject"); } };

  const button = (words, key, act) => { const node = make("button", { type: "button" }, words, key ? make("kbd", null, key) : null); node.addEventListener("click", act); return node; };
  const fold = (words, ...inner) => make("details", { class: "file" }, make("summary", null, words), ...inner);
  const texts = fold("Edit the comment", text);
  const code = (source) => make("pre", { class: "code-text" }, source);
  const sign = (one) => one.disputed ? badge("unknown", "disputed") : one.held === null ? badge("unknown", "unknown") : badge(one.held ? "caught" : "missed", one.held ? "right" : "wrong");
  const list = (words, all) => all.map((each) => make("p", { class: "told" }, make("strong", null, words + ": "), each));

  // The comment at its lines: the hunk that it is on, with what the hunk is of.
  function around(one, remark) {
    const own = one.files.find((each) => each.path === one.path);
    const rows = own && hunkAt(rowsOf(own), remark);
    return rows ? file({ path: own.path, rows: rows.join("\n") }, [[remark, true]], "Pull request") : make("div", { class: "remark" }, box(remark, true));
  }

  function show() {
    const one = items[place];
    if (!one) { main.replaceChildren(make("p", null, "There is no comment to rule on.")); return; }
    const done = items.filter((each) => each.ruling).length;
    const before = given();
    reason.value = one.ruling?.reason || ""; text.value = one.ruling?.body || one.raw; test.value = one.ruling?.oracle || one.raw_oracle || ""; status.textContent = "";
    if (one.ruling?.by) name.value = one.ruling.by;
    texts.open = false;
    const remark = { ...one, body: one.text, id: one.id + (one.author ? " by " + one.author : ""), verdict: null };
    main.replaceChildren(make("div", { class: "bar" },
      make("p", { id: "progress" }, make("strong", null, (place + 1) + " of " + items.length), make("span", { class: "quiet" }, " · " + done + " ruled on"), one.ruling ? badge("some", WORDS[one.ruling.ruling]) : null),
      make("div", { class: "filters" }, button("Keep", "k", () => rule("keep")), button("Reject", "r", () => rule("reject")), button("Edit", "e", () => rule("edit")),
        button("Previous", "p", () => go(-1)), button("Next", "n", () => go(1)),
        make("label", null, "Reason", reason), make("label", null, "By", name), served ? null : button("Save rulings.json", "", save)),
      before.length ? make("p", { class: "filters", id: "before" }, make("span", { class: "quiet" }, "Reject as before:"), before.map((words, nth) => button(words, String(nth + 1), () => again(nth)))) : null,
      status),
    make("article", null,
      make("h2", null, one.url ? make("a", { href: one.url, rel: "noreferrer noopener" }, one.title) : one.title, make("span", { class: "quiet" }, " " + one.candidate + " " + one.id)),
      list("Doubt", one.doubts), list("Judge", one.reasons),
      around(one, remark), texts,
      make("h3", { id: "fix" }, "Fix"), one.fix.length ? one.fix.map((each) => file(each, [], "Fix")) : make("p", { class: "quiet" }, "No reference."),
      make("h3", { id: "test" }, "Oracle"), one.oracle ? [code(one.oracle), fold("Edit the oracle", test)] : make("p", { class: "quiet" }, "It has no oracle."),
      one.changes.length ? make("h3", { id: "judged" }, "Changes that it was judged by") : null,
      one.changes.map((each) => make("details", { class: "file", open: each.held === false ? "" : null }, make("summary", null, sign(each), each.kind + " " + each.name, make("span", { class: "quiet" }, each.fresh ? "fresh" : "a check")), make("p", { class: "remark" }, each.why), each.disputed ? make("p", { class: "remark" }, "The oracle's author: " + each.disputed) : null, each.files.map((part) => file(part, [], each.kind)))),
      one.attempts.map((each, nth) => each.fault ? fold("Attempt " + (nth + 1) + ": " + each.fault, code(each.source)) : null),
      make("details", { id: "diff", class: "file" }, make("summary", null, "The whole pull request"), changes(one.files, null, [[remark, true]], "")),
      one.labels.length ? make("dl", { class: "facts" }, one.labels.map(([label, value]) => [make("dt", null, label), make("dd", null, value)])) : null,
    ));
    document.activeElement.blur();  // keys are commands again
    main.scrollIntoView();
    main.querySelector(".human")?.scrollIntoView({ block: "nearest" });  // below many lines it would not be in view
  }

  const go = (step) => { if (busy) return; place = Math.min(items.length - 1, Math.max(0, place + step)); show(); };
  const KEYS = { k: () => rule("keep"), r: () => rule("reject"), e: () => rule("edit"), n: () => go(1), p: () => go(-1) };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { document.activeElement.blur(); return; }
    if (event.key === "Enter" && document.activeElement === reason) { event.preventDefault(); rule("reject"); return; }
    if (event.key === "Enter" && event.ctrlKey && document.activeElement.tagName === "TEXTAREA") { event.preventDefault(); rule("edit"); return; }
    if (event.ctrlKey || event.metaKey || event.altKey || ["INPUT", "TEXTAREA"].includes(document.activeElement.tagName)) return;
    if (KEYS[event.key]) { event.preventDefault(); KEYS[event.key](); }
    else if (/^[1-9]$/.test(event.key)) again(Number(event.key) - 1);
  });
  show();
}

review();
