// One comment at a time, with everything that decides on it; a ruling is one key, and is saved at once where a server listens.
const WORDS = { keep: "kept", reject: "rejected", edit: "edited" };

async function review() {
  const { items, by, served } = await unpack(0);
  const main = byId("main");
  let place = Math.max(0, items.findIndex((one) => !one.ruling));
  const reason = make("input", { id: "reason", autocomplete: "off" });
  const name = make("input", { id: "by", value: by, autocomplete: "off" });
  const text = make("textarea", { id: "text", rows: "6" });
  const test = make("textarea", { id: "oracle", class: "code-text", rows: "20", spellcheck: "false" });
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
    if (word === "edit" && (!text.value.trim() || (text.value === one.raw && !edited))) { status.textContent = "Change the text of the comment or of its oracle, then press edit."; text.focus(); return; }
    const ruling = { ruling: word, by: name.value.trim(), reason: reason.value.trim(), body: word === "edit" ? text.value : "", oracle: word === "edit" && edited ? test.value : "" };
    if (served) {
      const answer = await fetch("rule", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ candidate: one.candidate, comment: one.id, ...ruling }) }).catch((error) => ({ ok: false, text: async () => String(error) }));
      if (!answer.ok) { status.textContent = "Not saved: " + await answer.text(); return; }
      told = await answer.text();
    }
    one.ruling = ruling;
    if (place < items.length - 1) place += 1;
    show();
    status.textContent = "The comment before was " + WORDS[word] + "." + (told ? " " + told + "." : "");
  }

  function save() {
    const lines = JSON.stringify(items.filter((one) => one.ruling).map(plain), null, 1);
    const link = make("a", { href: URL.createObjectURL(new Blob([lines], { type: "application/json" })), download: "rulings.json" });
    link.click();
  }

  const button = (words, act) => { const node = make("button", { type: "button" }, words); node.addEventListener("click", act); return node; };
  const fold = (words, ...inner) => make("details", { class: "file" }, make("summary", null, words), ...inner);
  const code = (source) => make("pre", { class: "code-text" }, source);
  const sign = (one) => one.held === null ? badge("unknown", "unknown") : badge(one.held ? "caught" : "missed", one.held ? "right" : "wrong");
  const list = (words, all) => all.length ? make("section", null, make("h3", null, words), make("ul", null, all.map((each) => make("li", null, each)))) : null;

  function show() {
    const one = items[place];
    if (!one) { main.replaceChildren(make("p", null, "There is no comment to rule on.")); return; }
    const done = items.filter((each) => each.ruling).length;
    reason.value = one.ruling?.reason || ""; text.value = one.ruling?.body || one.raw; test.value = one.ruling?.oracle || one.raw_oracle || ""; status.textContent = "";
    if (one.ruling?.by) name.value = one.ruling.by;
    const remark = { ...one, body: one.text, id: one.id, verdict: null };
    main.replaceChildren(make("article", null,
      make("p", { id: "progress" }, make("strong", null, (place + 1) + " of " + items.length), make("span", { class: "quiet" }, " · " + done + " ruled on"), one.ruling ? badge("some", WORDS[one.ruling.ruling]) : null),
      make("div", { class: "filters" }, make("label", null, "Reason", reason), make("label", null, "By", name),
        button("Keep (k)", () => rule("keep")), button("Reject (r)", () => rule("reject")), button("Edit (e)", () => rule("edit")),
        button("Previous (p)", () => go(-1)), button("Next (n)", () => go(1)), served ? null : button("Save rulings.json", save)),
      status,
      make("h2", null, one.url ? make("a", { href: one.url, rel: "noreferrer noopener" }, one.title) : one.title, make("span", { class: "quiet" }, " " + one.candidate + " " + one.id)),
      make("label", { class: "below" }, "The comment on " + place_of(one) + (one.author ? " by " + one.author : ""), text),
      list("Doubts", one.doubts), list("What judges said", one.reasons),
      make("section", { id: "diff", "aria-label": "Pull request" }, changes(one.files, null, [[remark, true]], "")),
      make("h3", null, "Fix"), one.fix.length ? one.fix.map((each) => file(each, [], "Fix")) : make("p", { class: "quiet" }, "No reference."),
      make("h3", null, "Oracle"), one.oracle ? [code(one.oracle), fold("Edit the oracle", test)] : make("p", { class: "quiet" }, "It has no oracle."),
      one.attempts.map((each, nth) => each.fault ? fold("Attempt " + (nth + 1) + ": " + each.fault, code(each.source)) : null),
      one.changes.length ? make("h3", null, "Changes that it was judged by") : null,
      one.changes.map((each) => make("details", { class: "file", open: each.held === false ? "" : null }, make("summary", null, sign(each), each.kind + " " + each.name, make("span", { class: "quiet" }, each.fresh ? "fresh" : "mended on")), make("p", { class: "remark" }, each.why), each.files.map((part) => file(part, [], each.kind)))),
      one.labels.length ? make("dl", { class: "facts" }, one.labels.map(([label, value]) => [make("dt", null, label), make("dd", null, value)])) : null,
    ));
    document.activeElement.blur();  // keys are commands again
    scrollTo(0, 0);
  }

  const place_of = (one) => one.path + (one.lines ? ":" + one.lines[0] + (one.lines[1] > one.lines[0] ? "-" + one.lines[1] : "") : "");
  const go = (step) => { if (busy) return; place = Math.min(items.length - 1, Math.max(0, place + step)); show(); };
  const KEYS = { k: () => rule("keep"), r: () => rule("reject"), e: () => rule("edit"), n: () => go(1), p: () => go(-1) };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { document.activeElement.blur(); return; }
    if (event.ctrlKey || event.metaKey || event.altKey || ["INPUT", "TEXTAREA"].includes(document.activeElement.tagName)) return;
    if (KEYS[event.key]) { event.preventDefault(); KEYS[event.key](); }
  });
  show();
}

review();
