// Runs in the page: says to the window around it what a reader sees and can do.
addEventListener("load", async () => {
  const said = {};
  const shown = (node) => {
    const box = node.getBoundingClientRect();
    return box.width > 0 && box.height > 0 ? box : null;
  };
  const first = (selector) => {
    for (const node of document.querySelectorAll(selector)) if (shown(node)) return shown(node);
    return null;
  };
  const below = (selector) => Math.round(first(selector)?.bottom ?? -1);
  said.size = `${innerWidth}x${innerHeight}`;
  said.verdict = below(".answer .chip");
  said.sentence = below(".answer .sentences li");
  said.picture = below(".answer .picture");
  said.over = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  said.doubts = document.querySelectorAll(".doubts li").length;
  said.open = document.querySelectorAll("details[open]").length;

  // Contrast of texts with the ground below them, in light and in dark.
  const parts = (colour) => colour.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0.05);
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = parts(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const worst = () => {
    let [least, where] = [99, ""];
    const texts = "h1, h2, h3, p, li, td, th, small, summary, button, .chip, .key, .picture text";
    for (const node of document.querySelectorAll(texts)) {
      if (!shown(node) || !node.textContent.trim()) continue;
      const style = getComputedStyle(node);
      const [a, b] = [light(parts(node.tagName === "text" ? style.fill : style.color)),
        light(ground(node))];
      const found = Math.max(a, b) / Math.min(a, b);
      if (found < least) [least, where] = [found, `${node.tagName}.${node.className} ${style.color}`];
    }
    return `${least.toFixed(1)} ${least < 4.5 ? where : ""}`.trim();
  };
  document.documentElement.dataset.theme = "light";
  said.light = worst();
  document.getElementById("theme").click();
  said.theme = document.documentElement.dataset.theme;
  said.dark = worst();
  document.getElementById("theme").click();
  await window.probeMore?.(said, shown);
  parent.postMessage(said, "*");
});
