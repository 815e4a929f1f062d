/* The bar with theme and language, the dialog of one paper, the library's table and map, and what the page says when the
   server has gone. Comes after script.js. */
(() => {
  "use strict";
  const aqa = window.aqa;
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

  /* Theme: as the system unless chosen. */
  const storedTheme = () => localStorage.getItem("aqa-theme");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const paint = () => {
    const theme = storedTheme() ?? (dark.matches ? "dark" : "light");
    document.body?.classList.toggle("dark", theme === "dark");
    document.documentElement.style.colorScheme = theme;
  };
  dark.addEventListener("change", paint);
  document.addEventListener("DOMContentLoaded", paint);
  aqa.setTheme = (theme) => {  // "auto", "light" or "dark"
    if (theme === "auto") localStorage.removeItem("aqa-theme");
    else localStorage.setItem("aqa-theme", theme);
    paint();
  };

  /* Language: a page of its own for each. */
  aqa.setLanguage = (language) => { location.replace(`${aqa.base()}language/${language}${location.search}`); };

  aqa.header = (element, act) => {
    // What the user chose before, perhaps in another browser, comes with the bar.
    const chosen = () => {
      const { lang, theme, language } = $(".aqa-bar", element).dataset;
      document.documentElement.lang = lang;
      if (theme && theme !== (storedTheme() ?? "auto")) aqa.setTheme(theme);
      if (language && language !== lang && location.pathname === aqa.base()) aqa.setLanguage(language);
      paint();
    };
    new MutationObserver(chosen).observe(element, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-theme", "data-language"] });
    chosen();
    element.addEventListener("click", (event) => {
      const button = event.target.closest("[data-act]");
      const actions = {
        menu: () => aqa.menu(button),
        theme: () => {
          const theme = document.body.classList.contains("dark") ? "light" : "dark";
          aqa.setTheme(theme);
          act({ theme });
        },
        language: () => act({ language: button.dataset.language }),
      };
      actions[button?.dataset.act]?.();
    });
  };
  aqa.dialog = (element, act) => {
    aqa.opensPapers((id) => act({ id }));
    element.addEventListener("click", (event) => {
      if (event.target.matches("dialog")) event.target.close();  // beside it
      else aqa.handle(event, act, () => {});
    });
    const show = () => { const found = $("dialog", element); if (found && !found.open) found.showModal(); };
    new MutationObserver(show).observe(element, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-shown"] });
  };

  /* The table of papers: ticks are kept here until they are used. */
  aqa.table = (element, { act, remove }) => {
    const ticks = () => $$("[data-act=tick]", element);
    const ticked = () => ticks().filter((box) => box.checked);
    const counted = () => {
      const n = ticked().length, button = $("[data-act=remove]", element), all = $("[data-act=tick-all]", element);
      button.disabled = n === 0;
      $(".aqa-count", button).textContent = n || "";
      all.checked = n > 0 && n === ticks().length;
      all.indeterminate = n > 0 && n < ticks().length;
    };
    element.addEventListener("change", (event) => {
      if (event.target.dataset.act === "tick-all") ticks().forEach((box) => { box.checked = event.target.checked; });
      counted();
    });
    element.addEventListener("click", (event) => {
      const button = event.target.closest("[data-act=remove]");
      if (!button) { aqa.handle(event, act, () => {}); return; }
      const ids = ticked().map((box) => box.dataset.paper);
      if (confirm(`${button.dataset.sure} (${ids.length})`)) remove({ ids });
    });
    // Another page of the table begins with nothing ticked, whatever nodes it was made of.
    let shown = null;
    new MutationObserver(() => {
      const now = ticks().map((box) => box.dataset.paper).join("\n");
      if (now === shown) return;
      shown = now;
      ticks().forEach((box) => { box.checked = false; });
      if (ticks().length) counted();
    }).observe(element, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-paper"] });
  };

  /* A file that was made on request is saved at once: Gradio's button saves only what it had before it was pressed. */
  aqa.download = (id) => setTimeout(() => document.getElementById(id)?.click(), 60);

  /* The map: a click on a point opens its paper. Fields for files are named by what stands in them. */
  new MutationObserver(() => {
    $$(".upload-container[aria-label]").forEach((field) => field.removeAttribute("aria-label"));
    const plot = $("#aqa-map .js-plotly-plot");
    if (!plot?.on || plot.dataset.bound) return;
    plot.dataset.bound = "yes";
    plot.on("plotly_click", (event) => { const id = event.points[0]?.customdata; if (id) aqa.openPaper(id); });
  }).observe(document.documentElement, { childList: true, subtree: true });

  /* A server that does not answer is said, and the page is loaded again once it does. */
  const EVERY = 4000;
  let gone = null;
  const alive = async () => {
    try { return (await fetch(aqa.base() + "healthz", { cache: "no-store" })).ok; } catch { return false; }
  };
  const watch = async () => {
    const looked = document.visibilityState === "visible" || gone;
    const well = !looked || (await alive()) || (!gone && (await alive()));
    if (well && gone) { location.reload(); return; }
    if (!well && !gone) {
      gone = document.createElement("div");
      gone.id = "aqa-gone";
      gone.setAttribute("role", "alert");
      gone.textContent = $(".aqa-sources")?.dataset.gone ?? "";
      document.body.append(gone);
    }
    setTimeout(watch, EVERY);
  };
  setTimeout(watch, EVERY);
})();
