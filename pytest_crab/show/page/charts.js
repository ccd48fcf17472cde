// Pictures: the label of a mark is shown while it is pointed at or has the focus, and arrow keys move between marks.
const tip = make("div", { class: "tip", role: "presentation" });
tip.hidden = true;
document.body.append(tip);

function showTip(mark) {
  tip.textContent = mark.getAttribute("aria-label");
  tip.hidden = false;
  const place = mark.getBoundingClientRect();
  const left = Math.min(Math.max(8, place.left + place.width / 2 - tip.offsetWidth / 2), innerWidth - tip.offsetWidth - 8);
  const above = place.top - tip.offsetHeight - 6;
  tip.style.left = left + "px";
  tip.style.top = (above < 0 ? place.bottom + 6 : above) + "px";
}

const STEPS = { ArrowLeft: () => -1, ArrowRight: () => 1, ArrowUp: (columns) => -columns, ArrowDown: (columns) => columns };

function moveFocus(chart, marks, event) {
  const at = marks.indexOf(event.target.closest(".mark"));
  const step = STEPS[event.key]?.(Number(chart.dataset.columns));
  const to = event.key === "Home" ? 0 : event.key === "End" ? marks.length - 1 : at + step;
  if (at < 0 || !marks[to]) return;
  event.preventDefault();
  marks[at].setAttribute("tabindex", "-1");
  marks[to].setAttribute("tabindex", "0");
  marks[to].focus();
}

function equipCharts(root) {
  for (const chart of root.querySelectorAll("svg.chart")) {
    const marks = [...chart.querySelectorAll(".mark")];
    marks[0]?.setAttribute("tabindex", "0");
    chart.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; else moveFocus(chart, marks, event); });
    for (const name of ["pointerover", "focusin"]) {
      chart.addEventListener(name, (event) => { const mark = event.target.closest(".mark"); if (mark) showTip(mark); });
    }
    for (const name of ["pointerleave", "focusout"]) chart.addEventListener(name, () => { tip.hidden = true; });
  }
}

equipCharts(document);
