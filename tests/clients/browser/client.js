'use strict';
// node client.js CHROMIUM TASK [WORD...]: does a task in the browser and prints what it found, a
// line of JSON.
const { once } = require('node:events');
const readline = require('node:readline');
const { chromium } = require('playwright-core');

const [executablePath, task, ...words] = process.argv.slice(2);
const say = (found) => process.stdout.write(`${JSON.stringify(found)}\n`);

// Goes to the address that comes on stdin.
async function goto(page) {
  say('ready');
  const [address] = await once(readline.createInterface({ input: process.stdin }), 'line');
  await page.goto(address);
}

const hasEnded = () => document.querySelector('.live strong').textContent === 'ended';

// Visits each address that comes on stdin, and says how far a live page was when it left it. The page
// is not polled: that would make it draw each frame.
async function visit(page) {
  const left = [];
  for await (const address of readline.createInterface({ input: process.stdin })) {
    left.push(await page.evaluate(() => document.querySelector('.live')?.textContent));
    await page.goto(address);
  }
  return { left };
}

// Milliseconds until a page answers, and until an arm is hidden.
async function time(page, file) {
  await page.goto(`file://${file}`);
  return page.evaluate(async () => {
    const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    await drawn();
    const interactive = performance.now();
    const toggles = [];
    for (const key of document.querySelectorAll('.key')) {
      const began = performance.now();
      key.click();
      await drawn();
      toggles.push(performance.now() - began);
    }
    return { interactive_ms: interactive, toggle_ms: Math.max(...toggles) };
  });
}

// A live page in which a reader does something, which has to last.
async function live(page) {
  await goto(page);
  const rounds = () => page.locator('.phase details th.n').count();
  await page.waitForFunction(() => document.querySelector('.phase details'));
  const before = await rounds();
  await page.evaluate(() => {
    window.kept = true;
    window.said = new Set();
    const state = document.querySelector('.live strong');
    const note = () => window.said.add(state.textContent);
    new MutationObserver(note).observe(state, { childList: true });
    note();
  });
  const key = page.locator('.key').last();
  await key.click();
  await page.locator('.phase summary').first().click();
  const place = () =>
    page
      .locator('.phase')
      .first()
      .evaluate((it) => it.getBoundingClientRect().top);
  await page.evaluate(() => scrollTo(0, 700));
  const scrolled = await place();
  await page.waitForFunction((count) => {
    const now = document.querySelectorAll('.phase details th.n').length;
    return now > count && document.querySelectorAll('.phase details[open] td.n').length > 0;
  }, before);
  const found = {
    grown: (await rounds()) - before,
    moved: Math.round((await place()) - scrolled),
    pressed: await key.getAttribute('aria-pressed'),
    hidden: await page.evaluate(() => {
      const { n } = [...document.querySelectorAll('.key')].pop().dataset;
      const all = [...document.querySelectorAll(`tr.${n}, .mark.${n}`)];
      return [all.length > 0, all.every((it) => getComputedStyle(it).display === 'none')];
    })
  };
  say('seen');
  await page.waitForFunction(hasEnded);
  found.kept = await page.evaluate(() => window.kept === true);
  found.said = await page.evaluate(() => [...window.said]);
  found.end = await page.locator('.live span').textContent();
  found.rounds = await page.locator('.setting').textContent();
  return found;
}

// Goes through a page by the keyboard alone.
async function keys(page, file) {
  await page.goto(`file://${file}`);
  const wanted = await page.evaluate(() => {
    const all = [...document.querySelectorAll('button, a[href], summary, [tabindex="0"]')];
    window.wanted = all.filter((it) => it.checkVisibility() && it.getClientRects().length);
    window.reached = [];
    window.unseen = [];
    return window.wanted.length;
  });
  // Chromium reaches parts that scroll as well.
  for (let step = 0; step < 2 * wanted; step += 1) {
    await page.keyboard.press('Tab');
    const isNew = await page.evaluate(() => {
      const it = document.activeElement;
      const place = window.wanted.indexOf(it);
      if (it === document.body || window.reached.includes(place)) return false;
      if (place < 0) return true;
      window.reached.push(place);
      const { outlineStyle, outlineWidth } = getComputedStyle(it);
      const isSeen = outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1;
      if (!isSeen) window.unseen.push(it.outerHTML.slice(0, 60));
      return true;
    });
    if (!isNew) break;
  }
  const found = await page.evaluate(() => ({
    unseen: window.unseen,
    inOrder: window.reached.every((it, at) => it === at),
    missing: window.wanted.slice(window.reached.length).map((it) => it.outerHTML.slice(0, 60))
  }));
  const press = async (selector, key) => {
    await page.locator(selector).first().focus();
    await page.keyboard.press(key);
  };
  const attribute = (selector, name) => page.locator(selector).first().getAttribute(name);
  await press('.key', 'Space');
  found.key = await attribute('.key', 'aria-pressed');
  await press('.sorter', 'Enter');
  found.sorted = await attribute('th:has(.sorter)', 'aria-sort');
  await press('.phase summary', 'Enter');
  found.open = (await attribute('.phase details', 'open')) !== null;
  await press('svg:has(.plot)', 'ArrowRight');
  found.read = await page.locator('.readout:not(:empty)').first().textContent();
  await press('#theme', 'Enter');
  found.theme = await attribute('html', 'data-theme');
  return found;
}

// A page as it is printed, from a dark screen.
async function print(page, file) {
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  await page.setViewportSize({ width: 794, height: 1123 });
  await page.goto(`file://${file}`);
  return page.evaluate(() => {
    const shown = (selector) =>
      [...document.querySelectorAll(selector)].filter(
        (it) => it.checkVisibility({ contentVisibilityAuto: true }) && it.getClientRects().length
      );
    const folded = [...document.querySelectorAll('details:not([open]) > :not(summary, .do)')];
    return {
      controls: shown('button:not(.key, .sorter), nav, .readout').map((it) =>
        it.outerHTML.slice(0, 60)
      ),
      folded: folded.length,
      hidden: folded.filter((it) => it.getBoundingClientRect().height === 0).length,
      charts: shown('.picture').length,
      paper: getComputedStyle(document.body).backgroundColor
    };
  });
}

// The first screen of a study's page, on a desk and on a phone.
async function study(page, file) {
  const found = [];
  for (const [width, height] of [
    [1300, 900],
    [390, 844]
  ]) {
    await page.setViewportSize({ width, height });
    await page.goto(`file://${file}`);
    found.push(
      await page.evaluate(() => {
        const figure = document.querySelector('.asked > figure');
        const box = (selector) => document.querySelector(selector).getBoundingClientRect();
        const { top, bottom } = box('.asked .picture');
        return {
          verdict: box('.first .chip').bottom,
          picture: (Math.min(bottom, innerHeight) - top) / (bottom - top),
          sideways: figure.scrollWidth - figure.clientWidth,
          over: document.documentElement.scrollWidth - document.documentElement.clientWidth
        };
      })
    );
  }
  return { found };
}

const TASKS = { keys, live, print, study, time, visit };

(async () => {
  const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'];
  const browser = await chromium.launch({ executablePath, args });
  const page = await browser.newPage({ viewport: { width: 1300, height: 900 } });
  page.setDefaultTimeout(200_000);
  const errors = [];
  page.on('console', (message) => errors.push(message.text()));
  page.on('pageerror', (error) => errors.push(String(error)));
  const found = await TASKS[task](page, ...words);
  say({ ...found, errors });
  await browser.close();
})();
