// A page from `pytest-crab view`: it is loaded again when records come in, unless somebody reads a trial.
const live = byId("live");
const FIELDS = ["f-text", "f-r", "f-g", "f-k", "f-v"];
const LOADED = Date.now();

function loadAgain() {
  sessionStorage.setItem("fields", JSON.stringify(FIELDS.map((id) => byId(id).value)));
  location.reload();
}

async function ask() {
  try {
    const news = await (await fetch("state")).json();
    live.textContent = news.words;
    if (news.state === live.dataset.state) return;
    if (byId("trial").hidden && Date.now() - LOADED > 5000) return loadAgain();
    const button = make("button", { type: "button" }, "Show new records");
    button.addEventListener("click", loadAgain);
    live.append(" ", button);
  } catch {
    live.textContent = "The server has stopped; this page shows what it had last.";
  }
}

const kept = JSON.parse(sessionStorage.getItem("fields") || "[]");
sessionStorage.removeItem("fields");
kept.forEach((value, nth) => { byId(FIELDS[nth]).value = value; });
if (kept.some(Boolean)) filter();
setInterval(ask, 2000);
