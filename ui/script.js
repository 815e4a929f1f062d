/* What the page does by itself: source cards, hover cards, small actions. All HTML comes escaped from the server;
   text that is put in here is put in as text. */
window.aqa = (() => {
  "use strict";
  const wide = window.matchMedia("(min-width: 1024px)");
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const base = () => location.pathname.replace(/^\/(en|zh)(\/|$).*/, "/").replace(/[^/]*$/, "");
  const api = (path) => base() + "api/" + path;
  const words = () => $(".aqa-sources")?.dataset ?? {};
  let shown = { exchange: null, version: null };

  /* The open conversation is in the address, so that a reload, a bookmark and a second tab each keep theirs. */
  const remembered = () => new URLSearchParams(location.search).get("c") ?? "";
  const remember = (id) => {
    const url = new URL(location.href);
    if (id) url.searchParams.set("c", id);
    else url.searchParams.delete("c");
    if (url.href !== location.href) history.replaceState(null, "", url);
  };

  /* Source cards: those hidden in an exchange are copied into the panel, or under the answer where there is no panel. */
  const place = (exchange) =>
    wide.matches ? $(".aqa-sources .aqa-mount") : $(".aqa-inline-sources .aqa-mount", exchange);

  const show = (exchange, force = false) => {
    const target = exchange && place(exchange);
    if (!target) return null;
    const id = exchange.dataset.exchange, version = exchange.dataset.sources;
    const same = shown.exchange === id && shown.version === version && target.childElementCount;
    if (!same || force) {
      const open = shown.exchange === id ? $$(".aqa-card-head[aria-expanded=true]", target).map((head) => head.closest(".aqa-card").id) : [];
      const scroll = target.scrollTop;
      target.replaceChildren(...copies($(".aqa-cards", exchange)));
      open.forEach((card) => { const found = document.getElementById(card); if (found) toggle(found, true); });
      target.scrollTop = shown.exchange === id ? scroll : 0;
      shown = { exchange: id, version };
      if (!target.childElementCount) hint(target);
    }
    $$(".aqa-exchange").forEach((one) => one.classList.toggle("aqa-active", one === exchange));
    count(exchange);
    return target;
  };
  /* Copies of the hidden cards, with ids of their own. */
  const copies = (stash) => [...stash.cloneNode(true).children].map((card) => {
    [card, ...$$("[id]", card)].forEach((one) => { if (one.id) one.id = "shown-" + one.id; });
    $$("[aria-controls]", card).forEach((one) => one.setAttribute("aria-controls", "shown-" + one.getAttribute("aria-controls")));
    return card;
  });
  const hint = (target) => {
    const note = document.createElement("p");
    note.className = "aqa-note";
    note.textContent = words().hint ?? "";
    target.replaceChildren(note);
  };
  const count = (exchange) => {
    const number = $(".aqa-sources .aqa-count"), menu = $(".aqa-export");
    if (number) number.textContent = exchange && +exchange.dataset.count ? exchange.dataset.count : "";
    if (menu) menu.hidden = !exchange || exchange.dataset.state === "running";
  };
  const toggle = (card, open) => {
    const head = $(".aqa-card-head", card), full = $(".aqa-full", card);
    const now = open ?? head.getAttribute("aria-expanded") !== "true";
    head.setAttribute("aria-expanded", String(now));
    full.hidden = !now;
    card.classList.toggle("aqa-open", now);
  };
  const cite = (chip) => {
    hideTip();
    clearTimeout(tipTimer);
    pressed = chip;
    const exchange = chip.closest(".aqa-exchange");
    const inline = $(".aqa-inline-sources", exchange);
    if (!wide.matches && inline) inline.open = true;
    const target = show(exchange);
    const card = target && $$(".aqa-card", target).find((one) => one.dataset.paper === chip.dataset.paper);
    if (!card) return;
    toggle(card, true);
    $$(".aqa-lit", target).forEach((one) => one.classList.remove("aqa-lit"));
    const starts = chip.dataset.starts.split(" ");
    const marks = $$("mark", card).filter((mark) =>
      starts.some((start) => start !== "" && +mark.dataset.start <= +start && +start < +mark.dataset.end));
    marks.forEach((mark) => mark.classList.add("aqa-lit"));
    card.classList.add("aqa-lit");
    const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    card.focus({ preventScroll: true });
    card.scrollIntoView({ behavior: calm ? "auto" : "smooth", block: "start" });
  };

  /* Hover card of a citation. */
  let tip = null, tipTimer = 0, pressed = null;
  const showTip = (chip) => {
    const template = chip.nextElementSibling;
    if (!template?.classList.contains("aqa-tip")) return;
    hideTip();
    tip = document.createElement("div");
    tip.id = "aqa-tip";
    tip.setAttribute("role", "tooltip");
    tip.append(...template.cloneNode(true).children);
    document.body.append(tip);
    chip.setAttribute("aria-describedby", "aqa-tip");
    const at = chip.getBoundingClientRect(), size = tip.getBoundingClientRect(), gap = 8;
    tip.style.left = Math.max(gap, Math.min(at.left - 24, innerWidth - size.width - gap)) + "px";
    tip.style.top = (at.top - size.height - gap > gap ? at.top - size.height - gap : at.bottom + gap) + "px";
  };
  const hideTip = () => {
    tip?.remove();
    tip = null;
    $$(".aqa-cite[aria-describedby]").forEach((chip) => chip.removeAttribute("aria-describedby"));
  };
  const chipOf = (event) => event.target.closest?.(".aqa-cite");
  document.addEventListener("mouseover", (event) => {
    const chip = chipOf(event);
    clearTimeout(tipTimer);
    if (chip !== pressed) pressed = null;
    if (chip && chip !== pressed) tipTimer = setTimeout(() => showTip(chip), 120);
    else if (tip && !event.target.closest?.("#aqa-tip")) tipTimer = setTimeout(hideTip, 120);
  });
  document.addEventListener("focusin", (event) => { const chip = chipOf(event); if (chip && chip !== pressed && chip.matches(":focus-visible")) showTip(chip); });
  document.addEventListener("focusout", (event) => { if (chipOf(event)) hideTip(); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });
  document.addEventListener("scroll", hideTip, true);

  /* Small actions. */
  const said = (button, text) => {
    const note = document.createElement("span");
    note.className = "aqa-said";
    note.setAttribute("role", "status");
    note.textContent = text;
    button.after(note);
    setTimeout(() => note.remove(), 1800);
  };
  const copyText = async (button, text) => {
    try { await navigator.clipboard.writeText(text); }
    catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    said(button, words().copied);
  };
  const send = (path, method, body) => fetch(api(path), {
    method, headers: { "Content-Type": "application/json" }, body: body === undefined ? undefined : JSON.stringify(body),
  });
  const fail = async (button, response) => {
    let text = response.statusText;
    try { text = (await response.json()).error?.message ?? text; } catch { /* not JSON: the status has to do */ }
    said(button, text);
  };
  const similar = async (button) => {
    const card = button.closest(".aqa-card"), list = $(".aqa-similar", card);
    if (list.childElementCount) { list.replaceChildren(); return; }
    const response = await fetch(api(`papers/${encodeURIComponent(card.dataset.paper)}/similar`));
    if (!response.ok) { fail(button, response); return; }
    const items = (await response.json()).papers.map((paper) => {
      const item = document.createElement("li"), open = document.createElement("button"), meta = document.createElement("span");
      meta.className = "aqa-meta";
      meta.textContent = [paper.venue, paper.year].filter(Boolean).join(" ");
      open.type = "button";
      open.className = "aqa-open-paper";
      open.dataset.act = "paper";
      open.dataset.paper = paper.paper_id;
      open.textContent = paper.title;
      open.dir = "auto";
      item.append(open, " ", meta);
      return item;
    });
    const ul = document.createElement("ul");
    ul.append(...items);
    list.replaceChildren(items.length ? ul : words().none);
  };
  const bibtex = async (button) => {
    const id = encodeURIComponent(button.closest(".aqa-card").dataset.paper);
    const response = await fetch(api(`papers/${id}/export?format=bibtex`));
    if (response.ok) copyText(button, await response.text());
    else fail(button, response);
  };
  const copyAnswer = async (button) => {
    const id = button.closest(".aqa-exchange").dataset.exchange;
    const response = await fetch(api(`exchanges/${id}/export?format=text`));
    if (response.ok) copyText(button, await response.text());
    else fail(button, response);
  };
  const exported = (button) => {
    const name = button.dataset.format;
    const path = name === "conversation" ? "export?format=markdown" : `sources?format=${name}`;
    const link = document.createElement("a");
    link.href = api(`conversations/${remembered()}/${path}`);
    link.download = "";
    link.click();
    const menu = button.closest(".aqa-export");
    if (menu) menu.open = false;
  };
  const rate = async (button, rating) => {
    const exchange = button.closest(".aqa-exchange"), id = exchange.dataset.exchange;
    const response = await send(`exchanges/${id}/feedback`, "POST", { rating });
    if (!response.ok) { fail(button, response); return; }
    $$("[data-act=up],[data-act=down]", exchange).forEach((one) => one.setAttribute("aria-pressed", String(one === button)));
    const space = $(".aqa-reason", exchange), input = document.createElement("input"), save = document.createElement("button");
    input.type = "text";
    input.maxLength = 1000;
    input.placeholder = words().why;
    input.setAttribute("aria-label", words().why);
    save.type = "button";
    save.className = "aqa-small";
    save.textContent = words().save;
    save.onclick = async () => {
      const again = await send(`exchanges/${id}/feedback`, "POST", { rating, reason: input.value });
      space.hidden = true;
      if (again.ok) said(button, words().thanks);
      else fail(button, again);
    };
    input.onkeydown = (event) => { if (event.key === "Enter") save.click(); if (event.key === "Escape") space.hidden = true; };
    space.replaceChildren(input, save);
    space.hidden = false;
    input.focus();
  };
  const edit = (button, ask) => {
    const asked = button.closest(".aqa-asked"), exchange = button.closest(".aqa-exchange");
    const text = $(".aqa-question-text", asked).textContent;
    const form = document.createElement("form"), area = document.createElement("textarea");
    const go = document.createElement("button"), no = document.createElement("button");
    area.value = text;
    area.rows = Math.min(6, 1 + Math.ceil(text.length / 60));
    area.setAttribute("aria-label", button.getAttribute("aria-label"));
    go.className = no.className = "aqa-small";
    go.type = "submit"; no.type = "button";
    go.textContent = words().retry; no.textContent = words().cancel;
    form.className = "aqa-edit";
    form.append(area, go, no);
    const done = () => { form.remove(); asked.hidden = false; };
    no.onclick = done;
    area.onkeydown = (event) => {
      if (event.key === "Escape") done();
      if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); form.requestSubmit(); }
    };
    form.onsubmit = (event) => {
      event.preventDefault();
      if (area.value.trim()) ask({ question: area.value, replaces: exchange.dataset.exchange });
      done();
    };
    asked.hidden = true;
    asked.after(form);
    area.focus();
  };
  const rename = (button, act) => {
    const item = button.closest("li"), open = $(".aqa-rail-open", item), input = document.createElement("input");
    input.value = open.textContent;
    input.setAttribute("aria-label", button.getAttribute("aria-label"));
    let done = false;
    const end = (keep) => {
      if (done) return;
      done = true;
      if (keep && input.value.trim()) act({ act: "rename", id: item.dataset.conversation, title: input.value });
      open.hidden = false;
      input.remove();
    };
    input.onkeydown = (event) => { if (event.key === "Enter") end(true); if (event.key === "Escape") end(false); };
    input.onblur = () => end(true);
    open.hidden = true;
    open.before(input);
    input.select();
  };
  const more = (button) => {
    const step = +button.dataset.page;
    const rest = $$("li[hidden]", button.previousElementSibling);
    rest.slice(0, step).forEach((item) => { item.hidden = false; });
    const left = rest.length - step;
    if (left > 0) button.textContent = button.dataset.label.replace("{n}", Math.min(left, step));
    else button.remove();
  };
  const frame = () => $("#aqa-frame");
  const menu = (button) => {
    const open = frame().classList.toggle("aqa-side-open");
    button.setAttribute("aria-expanded", String(open));
  };
  const closeMenu = () => {
    frame()?.classList.remove("aqa-side-open");
    $(".aqa-menu")?.setAttribute("aria-expanded", "false");
  };
  const toTab = (place) => $$("#aqa-views > .tab-wrapper [role=tab]")[place]?.click();
  const toChat = () => toTab(0);

  let openPaper = () => {};
  const handle = (event, act, ask) => {
    const button = event.target.closest("[data-act]");
    if (!button) {
      const exchange = event.target.closest(".aqa-exchange");
      if (exchange && wide.matches && !getSelection()?.toString()) show(exchange);
      return;
    }
    const exchange = button.closest(".aqa-exchange");
    const again = (extra) => ask({
      question: $(".aqa-question-text", exchange).textContent, replaces: exchange.dataset.exchange, ...extra,
    });
    const id = button.closest("li")?.dataset.conversation;
    const pass = () => act({ ...button.dataset });
    const actions = {
      paper: () => openPaper(button.dataset.paper), close: () => button.closest("dialog").close(),
      library: () => toTab(1), settings: () => toTab(3), clear: pass, use: pass, pull: pass, sort: pass, page: pass,
      ask: () => { toChat(); ask({ question: button.textContent }); },
      cite: () => cite(button), toggle: () => toggle(button.closest(".aqa-card")),
      similar: () => similar(button), bibtex: () => bibtex(button), export: () => exported(button),
      copy: () => copyAnswer(button), up: () => rate(button, "up"), down: () => rate(button, "down"),
      retry: () => again({}), alone: () => again({ alone: true }),
      "drop-venue": () => again({ drop: "venue" }), "drop-years": () => again({ drop: "years" }),
      edit: () => edit(button, ask), more: () => more(button),
      open: () => { toChat(); closeMenu(); act({ act: "open", id }); },
      rename: () => rename(button, act),
      delete: () => { if (confirm(button.dataset.sure)) act({ act: "delete", id }); },
    };
    actions[button.dataset.act]?.();
  };

  /* Gradio draws the HTML again on every change: the newest exchange then shows its sources. */
  const settle = () => {
    const rail = $(".aqa-rail-frame");
    if (rail) remember(rail.dataset.open);
    const exchanges = $$(".aqa-exchange"), last = exchanges.at(-1);
    if (!last) {
      shown = { exchange: null, version: null };
      const target = $(".aqa-sources .aqa-mount");
      if (target && !$(".aqa-note", target)) hint(target);
      count(null);
      return;
    }
    const active = exchanges.find((one) => one.dataset.exchange === shown.exchange);
    const running = last.dataset.state === "running";
    if (last.dataset.exchange !== settle.last) {
      settle.last = last.dataset.exchange;
      show(last);
      follow(true);
    } else {
      show(active ?? last);
      if (running || settle.running) follow(false);
    }
    settle.running = running;
  };
  const follow = (force) => {
    const box = $("#aqa-scroll");
    if (!box) return;
    const last = $$(".aqa-exchange").at(-1);
    const top = () => last.getBoundingClientRect().top - box.getBoundingClientRect().top - 16;
    if (force && last) { box.scrollTop += top(); return; }
    // What is written last stays in sight unless the reader has scrolled up, and the question stays unless it must go.
    const near = box.scrollHeight - box.scrollTop - box.clientHeight < 260;
    if (near && last) box.scrollTop = box.scrollHeight;
  };
  setInterval(() => {
    const stage = $(".aqa-stage");
    if (!stage) return;
    const seconds = Math.max(0, Math.round((Date.now() - clock(stage)) / 1000));
    $(".aqa-elapsed", stage).textContent = seconds >= 1 ? (words().seconds ?? "{s} s").replace("{s}", seconds) : "";
  }, 250);
  const begun = new Map();
  const clock = (stage) => {
    const id = stage.closest(".aqa-exchange").dataset.exchange;
    if (!begun.has(id)) begun.set(id, Date.now());
    return begun.get(id);
  };
  wide.addEventListener("change", () => { shown = { exchange: null, version: null }; settle(); });

  return {
    remembered,
    bind(element, { act = () => {}, ask = () => {} }) {
      element.addEventListener("click", (event) => handle(event, act, ask));
      new MutationObserver(settle).observe(element, { childList: true, subtree: true, characterData: true, attributes: true, attributeFilter: ["data-sources", "data-state", "data-open"] });
      settle();
    },
    panel(element) {
      element.addEventListener("click", (event) => handle(event, () => {}, () => {}));
      settle();
    },
    base, handle, menu,
    openPaper: (id) => openPaper(id),
    opensPapers: (open) => { openPaper = open; },
  };
})();
