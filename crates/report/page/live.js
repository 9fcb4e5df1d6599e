// The page of a run under way: its server sends how far it is, and the page anew after each round.
"use strict";
(() => {
  // What a reader calls a folded part, also when its figures have changed.
  const partName = (it) => {
    const head = it.querySelector("strong") ?? it.querySelector("summary");
    return `${it.closest("[id]")?.id} ${head.textContent}`;
  };

  // Shows the contents of a page in the place of those that are shown, where the reader is.
  function show(page) {
    const next = new DOMParser().parseFromString(page, "text/html");
    const open = new Set([...document.querySelectorAll("details[open]")].map(partName));
    const top = (it) => it.getBoundingClientRect().top;
    const parts = [...document.querySelectorAll("main :is(section, details)[id]")];
    const part = parts.findLast((it) => top(it) <= 0);
    const was = part && top(part);
    const focused = document.activeElement;
    const reach = () => [...document.querySelectorAll("a, button, summary, [tabindex]")];
    const place = reach().indexOf(focused);
    for (const name of ["title", "header", "main", "footer", "#data"]) {
      const [old, made] = [document, next].map((it) => it.querySelector(name));
      if (old && made) old.replaceWith(made);
      else if (made) document.body.append(made);
    }
    dispatchEvent(new Event("renewed"));
    for (const it of document.querySelectorAll("details")) it.open = open.has(partName(it));
    const kept = part && document.getElementById(part.id);
    if (kept) scrollBy(0, top(kept) - was);
    const same = reach()[place];
    if (same?.textContent === focused.textContent) same.focus({ preventScroll: true });
  }

  const [state, words] = document.querySelector(".live").children;
  const source = new EventSource("events");
  source.addEventListener("page", ({ data }) => show(JSON.parse(data)));
  source.addEventListener("progress", ({ data }) => {
    const told = JSON.parse(data);
    if (state.textContent !== told.state) state.textContent = told.state;
    words.textContent = told.words;
    if (told.ended) source.close();
  });
  source.addEventListener("error", () => { state.textContent = "no connection to the run"; });
})();
