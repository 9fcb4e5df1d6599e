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

// A live page, open until its run ends.
async function open(page) {
  await goto(page);
  await page.waitForFunction(hasEnded);
  return { state: 'ended' };
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
  const place = () => page.locator('.phase').first().evaluate((it) => it.getBoundingClientRect().top);
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
    }),
  };
  say('seen');
  await page.waitForFunction(hasEnded);
  found.kept = await page.evaluate(() => window.kept === true);
  found.said = await page.evaluate(() => [...window.said]);
  found.end = await page.locator('.live span').textContent();
  found.rounds = await page.locator('.setting').textContent();
  return found;
}

const TASKS = { live, open, time };

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
