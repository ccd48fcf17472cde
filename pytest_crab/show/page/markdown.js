// Markdown as GitHub shows it in descriptions, the common part of it: made of elements and texts, never of markup.
const INLINE = /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\[([^\]\n]+)\]\((https:\/\/[^\s)]+)\)|(https:\/\/[^\s<>()]+)/g;

function inline(text, links) {
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(INLINE)) {
    const [whole, code, strong, words, address, bare] = found;
    parts.push(text.slice(end, found.index));
    end = found.index + whole.length;
    if (code) parts.push(make("code", null, code));
    else if (strong) parts.push(make("b", null, strong));
    else if (links) parts.push(make("a", { href: address || bare, rel: "noreferrer noopener", title: address || bare }, words || bare));
    else parts.push(whole);
  }
  return [...parts, text.slice(end)];
}

const FENCE = /^\s*(```|~~~)/;
const INDENTED = /^(?: {4}|\t)/;
const ITEM = /^\s*(?:[-*+]|\d+[.)])\s+/;

function lineOf(line, links) {
  const head = /^#{1,6}\s+(.*)/.exec(line);
  if (head) return make("p", { class: "heading" }, inline(head[1], links));
  if (ITEM.test(line)) return make("li", null, inline(line.replace(ITEM, ""), links));
  if (line.startsWith(">")) return make("blockquote", null, inline(line.replace(/^>\s?/, ""), links));
  return make("p", null, inline(line, links));
}

// Lines of one paragraph stay together; items are gathered into lists; what is fenced, or indented behind an empty line, is code.
function markdown(text, links = false) {
  const box = make("div", { class: "markdown" });
  let code = null;
  let last = null;
  for (const line of text.split("\n")) {
    if (FENCE.test(line)) {
      if (code === null) box.append(code = make("pre", null));
      else code = null;
      last = null;
    } else if (code !== null) {
      code.append(line + "\n");
    } else if (!line.trim()) {
      if (last?.tagName === "PRE") last.append("\n");
      else last = null;
    } else if (INDENTED.test(line) && (last?.tagName === "PRE" || (!last && box.lastChild?.tagName !== "UL"))) {
      if (!last) box.append(last = make("pre", null));
      last.append(line.replace(INDENTED, "") + "\n");
    } else {
      const node = lineOf(line, links);
      if (node.tagName === "LI") {
        if (last?.tagName !== "UL") box.append(last = make("ul", null));
        last.append(node);
      } else if (last && last.tagName === "UL") {
        last.lastChild.append(" ", ...inline(line.trim(), links));
      } else if (node.tagName === last?.tagName && !node.className && !last.className) {
        last.append("\n", ...node.childNodes);
      } else {
        box.append(last = node);
      }
    }
  }
  for (const one of box.querySelectorAll("pre")) one.textContent = one.textContent.replace(/\n+$/, "\n");
  return box;
}
