"use strict";
(() => {
  const root = document.documentElement;
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  const papers = JSON.parse(document.getElementById("papers").textContent);
  const spans = (text) => text.split(" ").filter(Boolean).map((pair) => pair.split("-").map(Number));
  // An abstract is put together when it is first opened: a large run stays a small page.
  const fill = (box) => {
    if (box.querySelector("ol")) return;
    const list = document.createElement("ol");
    for (const [start, text] of papers[box.dataset.key] || []) {
      const entry = document.createElement("li");
      const lit = spans(box.dataset.lit).some(([from, to]) => from < start + [...text].length && start < to);
      const holder = lit ? entry.appendChild(document.createElement("mark")) : entry;
      holder.textContent = text;
      list.append(entry);
    }
    box.append(list);
  };
  document.addEventListener("toggle", (event) => {
    const box = event.target;
    if (box.matches("details.paper") && box.open) fill(box);
    if (box.matches("details.question") && box.open)
      box.querySelectorAll("details.paper[open]").forEach(fill);
  }, true);

  const questions = [...document.querySelectorAll("details.question")];
  const words = new Map(questions.map((box) => [box, box.textContent.toLowerCase()]));
  const [text, kind, verdict] = ["text", "kind", "verdict"].map((id) => document.getElementById(id));
  const apply = () => {
    const wanted = text.value.trim().toLowerCase();
    let shown = 0;
    for (const box of questions) {
      const fits = (!kind.value || box.dataset.kind === kind.value)
        && (!verdict.value || box.dataset.verdict === verdict.value)
        && (!wanted || words.get(box).includes(wanted));
      box.hidden = !fits;
      shown += fits;
    }
    document.getElementById("shown").textContent = `${shown} of ${questions.length}`;
  };
  for (const field of [text, kind, verdict]) field.addEventListener("input", apply);
  apply();
})();
