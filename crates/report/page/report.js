// Comfort only: sorting, theme, highlighting, saving the data. The page says all without it.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);

  function cellNumber(cell) {
    // "+7.2 % (+5.1 to +9.4 %)", "~ (-2.1 to …)", "12,345": the first number decides.
    const found = /[+-]?\d[\d,]*(\.\d+)?/.exec(cell.textContent);
    return found ? Number(found[0].replaceAll(",", "")) : null;
  }

  function compare(a, b) {
    const [x, y] = [cellNumber(a), cellNumber(b)];
    if (a.classList.contains("n")) {
      if (x === null || y === null) return (x === null) - (y === null);
      return x - y;
    }
    return a.textContent.localeCompare(b.textContent, "en", { numeric: true });
  }

  function sortBy(table, head) {
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const body = table.tBodies[0];
    const rows = [...body.rows].sort((a, b) => {
      const order = compare(a.cells[head.cellIndex], b.cells[head.cellIndex]);
      return up ? order : -order;
    });
    body.append(...rows);
  }

  function makeSortable(table) {
    for (const head of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sorter";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => sortBy(table, head));
    }
  }

  function highlight(arm) {
    for (const plot of document.querySelectorAll(".picture")) {
      plot.classList.toggle("dim", arm !== null);
    }
    for (const node of document.querySelectorAll("[data-arm]")) {
      node.classList.toggle("lit", node.dataset.arm === arm);
    }
  }

  function toggleTheme() {
    const root = document.documentElement;
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = root.dataset.theme ?? (dark ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
  }

  function save() {
    const link = document.createElement("a");
    const data = JSON.stringify(JSON.parse(byId("data").textContent), null, 2);
    link.href = URL.createObjectURL(new Blob([data], { type: "application/json" }));
    link.download = "mongodyno.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  document.querySelectorAll("table.sortable").forEach(makeSortable);
  document.addEventListener("mouseover", (event) => {
    highlight(event.target.closest("[data-arm]")?.dataset.arm ?? null);
  });
  byId("theme").addEventListener("click", toggleTheme);
  byId("save")?.addEventListener("click", save);
  document.querySelector(".tools").hidden = false;
  document.documentElement.dataset.ready = "true";
})();
