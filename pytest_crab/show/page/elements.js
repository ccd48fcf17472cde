const byId = (id) => document.getElementById(id);

// Every text of the records goes through here, as text: nothing that a model wrote becomes markup.
function make(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined) continue;
    if (name === "class") node.className = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

// Names may be broken behind these marks, where a browser would break them inside a word.
const pieces = (text) => text.split(/(?<=[/_@.:])(?![/_@.:])/).flatMap((piece, nth) => (nth ? [make("wbr"), piece] : [piece]));

function breakable(node) {
  for (const child of [...node.childNodes]) {
    if (child.nodeType === Node.TEXT_NODE) child.replaceWith(...pieces(child.data));
    else breakable(child);
  }
}

// Details: at a place of one of the lists that are packed into the page, or to be asked of the server that it is from.
async function unpack(place) {
  if (place === null || place === undefined) return null;
  if (typeof place === "string") return (await fetch(place)).json();
  const [list, at] = place;
  const packed = Uint8Array.from(atob(JSON.parse(byId("d" + list).textContent)), (char) => char.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text())[at];
}
