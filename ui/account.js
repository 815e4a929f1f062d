/* With sign-in: who is signed in and the way out, in the bar; what only admins may do is not shown to others. */
(() => {
  "use strict";
  const base = location.pathname.replace(/^\/(en|zh)(\/|$).*/, "/").replace(/[^/]*$/, "");
  const zh = AQA_LANGUAGE === "zh";
  /* A session that has ended: the page is opened again, which leads to signing in. */
  const fetched = window.fetch;
  window.fetch = async (...given) => {
    const response = await fetched(...given);
    if (response.status === 401) location.reload();
    return response;
  };
  const put = (me) => {
    const bar = document.querySelector(".aqa-bar");
    if (!bar || bar.querySelector(".aqa-account")) return;
    const form = document.createElement("form"), button = document.createElement("button"), name = document.createElement("span");
    form.className = "aqa-account";
    form.method = "post";
    form.action = base + "sign-out";
    name.className = "aqa-held aqa-who";
    name.textContent = me.user;
    button.className = "aqa-link";
    button.type = "submit";
    button.textContent = zh ? "退出" : "Sign out";
    form.append(name, button);
    bar.append(form);
  };
  const start = async () => {
    const response = await fetched(base + "api/me");
    if (!response.ok) return;
    const me = await response.json();
    document.body.classList.toggle("aqa-reader", !me.admin);
    put(me);
    new MutationObserver(() => put(me)).observe(document.body, { childList: true, subtree: true });
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
