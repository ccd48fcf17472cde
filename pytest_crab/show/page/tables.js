// Tables of results: sorted by their heads, filtered where they are long, and saved as CSV.
const LONG_TABLE = 12;

const cellText = (cell) => cell.textContent.replace(/\s+/g, " ").trim();

// The number that a cell is sorted by, or its text; what is not measured comes last.
function sortKey(cell) {
  const text = cell.dataset.sort ?? cellText(cell);
  const number = /^[+-]?\d[\d,]*(\.\d+)?/.exec(text);
  return number ? Number(number[0].replaceAll(",", "")) : text === "-" || text === "" ? null : text.toLowerCase();
}

function compareKeys(one, two) {
  if (one === null || two === null) return (one === null) - (two === null);
  if (typeof one !== typeof two) return typeof one === "number" ? -1 : 1;
  return one < two ? -1 : one > two ? 1 : 0;
}

// Heads become buttons; `sort` is called with the column and 1 for upwards or -1 for downwards.
function sortable(table, sort) {
  for (const [column, head] of [...table.tHead.rows[0].cells].entries()) {
    const button = make("button", { type: "button", class: "sort" });
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const direction = head.getAttribute("aria-sort") === "descending" ? 1 : -1;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      sort(column, direction);
    });
  }
}

function sortRows(table, column, direction) {
  const body = table.tBodies[0];
  const keyed = [...body.rows].map((row) => [sortKey(row.cells[column]), row]);
  keyed.sort(([one], [two]) => (one === null || two === null ? 1 : direction) * compareKeys(one, two));
  body.append(...keyed.map(([, row]) => row));
}

// A spreadsheet must not take a cell for a formula; numbers with a sign stay numbers.
function csvCell(text) {
  const safe = /^[=@\t\r]|^[+-](?!\d|$)/.test(text) ? "'" + text : text;
  return '"' + safe.replaceAll('"', '""') + '"';
}

function saveCsv(name, rows) {
  const text = rows.map((row) => row.map(csvCell).join(",") + "\r\n").join("");
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: name + ".csv" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const csvButton = (label, rows) => {
  const button = make("button", { type: "button", class: "csv" }, "Save as CSV");
  button.setAttribute("aria-label", "Save as CSV: " + label);
  button.addEventListener("click", () => saveCsv(label, rows()));
  return button;
};

function filterBox(table, label) {
  const box = make("input", { type: "search", autocomplete: "off", placeholder: "Filter rows", "aria-label": "Filter rows: " + label });
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of table.tBodies[0].rows) row.hidden = !words.every((word) => cellText(row).toLowerCase().includes(word));
  });
  return box;
}

// On a narrow screen a row lies below its name, and each cell behind the head of its column.
function nameCells(table) {
  const heads = [...table.tHead.rows[0].cells].map(cellText);
  for (const row of table.tBodies[0].rows) for (const [at, cell] of [...row.cells].entries()) cell.dataset.head = heads[at];
}

function toolsOf(wide, ...own) {
  const tools = make("div", { class: "tools" }, own);
  wide.before(tools);
  return tools;
}

function equipTables(root) {
  for (const table of root.querySelectorAll("table[data-table]")) {
    const label = table.parentElement.getAttribute("aria-label") || table.dataset.table;
    nameCells(table);
    sortable(table, (column, direction) => sortRows(table, column, direction));
    const shown = () => [...table.rows].filter((row) => !row.hidden).map((row) => [...row.cells].map(cellText));
    for (const head of table.querySelectorAll("tbody th")) breakable(head);
    toolsOf(table.parentElement, table.tBodies[0].rows.length > LONG_TABLE ? filterBox(table, label) : null, csvButton(label, shown));
  }
}

equipTables(document);
