// Comfort only: sorting, theme, arms to hide, figures under the pointer, saving. The page says all
// without it.
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

  const make = (name, text, act) => {
    const node = document.createElement(name);
    node.textContent = text;
    if (act) {
      node.type = "button";
      node.addEventListener("click", act);
    }
    return node;
  };

  function download(content, type, name) {
    const link = document.createElement("a");
    const blob = content instanceof Blob ? content : new Blob([content], { type });
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function save() {
    const data = JSON.stringify(JSON.parse(byId("data").textContent), null, 2);
    download(data, "application/json", "mongodyno.json");
  }

  // Names of the hidden arms of each folder, and the rules that hide them: a live page is made anew.
  const arms = new Map();

  // Buttons that hide an arm in all pictures and tables of a folder; with Shift all others.
  function makeArms(folder) {
    if (!arms.has(folder.id)) {
      const { sheet } = document.head.appendChild(document.createElement("style"));
      arms.set(folder.id, { hidden: new Set(), sheet });
    }
    const { hidden, sheet } = arms.get(folder.id);
    const within = folder.id ? `#${folder.id} ` : "";
    const keys = [...folder.querySelectorAll(".key")].map((key) => {
      const button = make("button", "", (event) => toggle(button.textContent, event.shiftKey));
      button.className = "key";
      button.dataset.n = key.dataset.n;
      button.title = "Hide or show this arm; with Shift, show it alone";
      button.append(...key.childNodes);
      key.replaceWith(button);
      return button;
    });
    function toggle(arm, alone) {
      const others = keys.map((key) => key.textContent).filter((name) => name !== arm);
      if (!alone) {
        if (!hidden.delete(arm)) hidden.add(arm);
      } else {
        const is = others.every((name) => hidden.has(name)) && !hidden.has(arm);
        hidden.clear();
        if (!is) others.forEach((name) => hidden.add(name));
      }
      show();
    }
    function show() {
      while (sheet.cssRules.length) sheet.deleteRule(0);
      for (const key of keys) {
        const isHidden = hidden.has(key.textContent);
        key.ariaPressed = String(!isHidden);
        if (!isHidden) continue;
        sheet.insertRule(`${within}:is(.mark, .named, tr).${key.dataset.n} { display: none; }`);
      }
    }
    show();
  }

  const isHidden = (node) => getComputedStyle(node).display === "none";
  const figures = (plot) => [...plot.querySelectorAll(":scope > .mark")].map((node) => ({
    node,
    name: node.dataset.arm,
    values: node.dataset.values.split(" ").map((text) => text.split(":").map(Number)),
  }));
  const written = (value) => Number(value.toPrecision(3)).toLocaleString("en", {
    maximumFractionDigits: 20,
  });

  // The figures of the place under the pointer, or chosen by arrow keys.
  function makeReadable(plot) {
    const svg = plot.ownerSVGElement;
    const places = plot.dataset.places.split("|");
    const [bottom, top] = plot.dataset.y.split(" ").slice(3);
    const cursor = document.createElementNS(svg.namespaceURI, "path");
    cursor.setAttribute("class", "soft cursor");
    cursor.setAttribute("stroke", "#59635f");
    plot.append(cursor);
    const readout = make("p", "");
    readout.className = "readout";
    readout.setAttribute("role", "status");
    svg.closest("figure").append(readout);
    let place = -1;
    const read = (index) => {
      const at = plot.dataset.at.split(" ").map(Number);
      const [first, last] = at.map((x, it) => [x, it]).filter(([x]) => isWithin(plot, x))
        .map(([, it]) => it).reduce(([a], it) => [a ?? it, it], []);
      place = Math.min(Math.max(index, first ?? 0), last ?? 0);
      cursor.setAttribute("d", `M${at[place]} ${top}V${bottom}`);
      const shown = figures(plot).filter((it) => !isHidden(it.node));
      const texts = shown.map(({ name, values }) => {
        const [value, low, high] = values[place] ?? [];
        if (!(value >= 0)) return null;
        const ends = low >= 0 ? ` (${written(low)} to ${written(high)})` : "";
        return `${name} ${written(value)}${ends}`;
      });
      const found = texts.filter((text) => text).join(" · ");
      readout.textContent = `${places[place]}: ${found || "n/a"} ${plot.dataset.unit}`;
    };
    const end = () => {
      place = -1;
      cursor.removeAttribute("d");
      readout.textContent = "";
    };
    svg.addEventListener("pointermove", (event) => {
      const point = new DOMPoint(event.clientX, event.clientY);
      const { x } = point.matrixTransform(plot.getScreenCTM().inverse());
      const at = plot.dataset.at.split(" ").map(Number);
      const off = at.map((it) => Math.abs(it - x));
      read(off.indexOf(Math.min(...off)));
    });
    svg.addEventListener("pointerleave", end);
    svg.addEventListener("blur", end);
    svg.tabIndex = 0;
    svg.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: places.length };
      const to = steps[event.key];
      if (event.key === "Escape") end();
      if (to === undefined) return;
      event.preventDefault();
      read(to);
    });
  }

  const ends = (plot) => plot.dataset.x.split(" ").slice(3).map(Number);
  const isWithin = (plot, x) => x > ends(plot)[0] - 1 && x < ends(plot)[1] + 1;
  const PLACES_MAX = 8;

  // A part of the axis across, by dragging, by + - 0, or by buttons.
  function makeZoomable(plot, number) {
    const svg = plot.ownerSVGElement;
    const [left, right] = ends(plot);
    const [bottom, top] = plot.dataset.y.split(" ").slice(3).map(Number);
    const shape = (name, attributes) => {
      const node = document.createElementNS(svg.namespaceURI, name);
      Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
      return node;
    };
    const area = { x: left - 6, y: top - 20, width: right - left + 12, height: bottom - top + 30 };
    const clip = shape("clipPath", { id: `clip-${number}` });
    clip.append(shape("rect", area));
    svg.append(clip);
    plot.querySelectorAll(":scope > .mark").forEach((mark) => {
      mark.setAttribute("clip-path", `url(#${clip.id})`);
    });
    const moved = { d: /([ML])(-?[\d.]+)/g, transform: /(translate\()(-?[\d.]+)/g, cx: /()(.+)/g };
    const all = [...plot.querySelectorAll(".mark *")].flatMap((node) => {
      const name = ["transform", "d", "cx"].find((it) => node.hasAttribute(it));
      return name ? [{ node, name, was: node.getAttribute(name) }] : [];
    });
    const was = { at: plot.dataset.at.split(" ").map(Number), names: plot.dataset.places.split("|") };
    const axis = plot.querySelector(".places");
    const labels = [...axis.childNodes];
    let [from, to] = [left, right];
    const zoom = (a, b) => {
      const width = Math.min(Math.max(b - a, (right - left) / 64), right - left);
      from = Math.min(Math.max((a + b - width) / 2, left), right - width);
      to = from + width;
      const move = (x) => Math.round(10 * (left + (x - from) * (right - left) / width)) / 10;
      for (const { node, name, was: value } of all) {
        node.setAttribute(name, value.replace(moved[name], (_, word, x) => word + move(Number(x))));
      }
      const at = was.at.map(move);
      plot.dataset.at = at.join(" ");
      const shown = at.map((x, place) => [x, was.names[place]]).filter(([x]) => isWithin(plot, x));
      const every = Math.ceil(shown.length / PLACES_MAX);
      const texts = shown.filter((_, it) => it % every === 0).map(([x, name]) => {
        const text = labels[0].cloneNode();
        text.setAttribute("x", x);
        text.textContent = name;
        return text;
      });
      axis.replaceChildren(...(width < right - left ? texts : labels));
    };
    const by = (factor) => {
      const [middle, half] = [(from + to) / 2, factor * (to - from) / 2];
      zoom(middle - half, middle + half);
    };
    const reset = () => zoom(left, right);
    const acts = { "+": () => by(0.5), "=": () => by(0.5), "-": () => by(2), 0: reset };
    svg.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey) return;
      acts[event.key]?.();
    });
    const inside = ({ clientX, clientY }) => {
      const { x } = new DOMPoint(clientX, clientY)
        .matrixTransform(plot.getScreenCTM().inverse());
      return from + (Math.min(Math.max(x, left), right) - left) * (to - from) / (right - left);
    };
    svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch" || event.button !== 0) return;
      const start = inside(event);
      svg.focus();
      event.preventDefault();
      addEventListener("pointerup", (end) => {
        const [a, b] = [start, inside(end)].sort((x, y) => x - y);
        if (b - a > (to - from) / 50) zoom(a, b);
      }, { once: true });
    });
    const button = (text, label, act) => {
      const node = make("button", text, act);
      node.ariaLabel = label;
      return node;
    };
    svg.closest("figure").querySelector(".do").prepend(
      button("+", "Zoom in", acts["+"]),
      button("−", "Zoom out", acts["-"]),
      button("Reset", "Show the whole axis", reset),
    );
  }

  const cell = (text) => `"${text.replace(/^[=+\-@]/, "'$&").replaceAll('"', '""')}"`;

  function csvOf(svg) {
    const rows = [["arm", "place", "unit", "value", "low", "high"].join(",")];
    for (const plot of svg.querySelectorAll(".plot")) {
      const places = plot.dataset.places.split("|");
      for (const { node, name, values } of figures(plot).filter((it) => !isHidden(it.node))) {
        values.forEach(([value, low, high], at) => {
          if (!(value >= 0)) return;
          const words = [name, places[at], plot.dataset.unit].map(cell);
          rows.push([...words, value, low ?? "", high ?? ""].join(","));
        });
      }
    }
    return `${rows.join("\n")}\n`;
  }

  // The picture as it is shown: hidden arms are left out.
  function svgOf(svg) {
    const copy = svg.cloneNode(true);
    const [own, copied] = [svg, copy].map((it) => [...it.querySelectorAll(".mark, .named")]);
    own.forEach((node, at) => isHidden(node) && copied[at].remove());
    copy.querySelectorAll(".cursor").forEach((node) => node.remove());
    return new XMLSerializer().serializeToString(copy);
  }

  function savePng(svg, name) {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [2 * image.width, 2 * image.height];
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => download(blob, "image/png", name));
    };
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgOf(svg))}`;
  }

  function makeSavable(figure) {
    const shown = () => [...figure.querySelectorAll(".picture")].find((it) => !isHidden(it));
    if (!figure.querySelector(".picture")) return;
    const tools = make("p", "");
    tools.className = "do";
    const large = make("button", "Enlarge", () => {
      large.ariaPressed = String(figure.classList.toggle("wide"));
    });
    if (figure.closest(".charts")) tools.append(large);
    tools.append(
      make("button", "SVG", () => download(svgOf(shown()), "image/svg+xml", "mongodyno.svg")),
      make("button", "PNG", () => savePng(shown(), "mongodyno.png")),
    );
    if (figure.querySelector(".plot")) {
      const save = () => download(csvOf(shown()), "text/csv", "mongodyno.csv");
      tools.append(make("button", "CSV", save));
    }
    figure.append(tools);
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.body.appendChild(make("textarea", text));
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  }

  function makeCopyable(table) {
    const tools = make("p", "");
    tools.className = "do";
    const button = make("button", "Copy table", async () => {
      const rows = [...table.rows].filter((row) => !isHidden(row));
      const line = (row) => [...row.cells].map((it) => it.textContent.trim()).join("\t");
      await copy(rows.map(line).join("\n"));
      button.textContent = "Copied";
    });
    tools.append(button);
    table.closest(".scroll")?.after(tools);
  }

  function makeReady() {
    document.querySelectorAll("table.sortable").forEach(makeSortable);
    document.querySelectorAll("table").forEach(makeCopyable);
    document.querySelectorAll(".plot").forEach(makeReadable);
    document.querySelectorAll("figure").forEach(makeSavable);
    document.querySelectorAll(".plot.course").forEach(makeZoomable);
    const folders = [...document.querySelectorAll(".folder")];
    (folders.length ? folders : [document.body]).forEach(makeArms);
    byId("theme").addEventListener("click", toggleTheme);
    byId("save")?.addEventListener("click", save);
    document.querySelector(".tools").hidden = false;
  }

  makeReady();
  // A live page shows other contents: live.js.
  addEventListener("renewed", makeReady);
  document.addEventListener("mouseover", (event) => {
    highlight(event.target.closest("[data-arm]")?.dataset.arm ?? null);
  });
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const it of folded) it.open = true;
  });
  addEventListener("afterprint", () => folded.forEach((it) => { it.open = false; }));
  document.documentElement.dataset.ready = "true";
})();
