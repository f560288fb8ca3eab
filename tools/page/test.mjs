// test.mjs <page folder> <napkin> <folder for screenshots>: drives the page in a headless Chromium, and compares what
// it shows with what napkin answers.
import { execFileSync } from "node:child_process";
import { createServer } from "node:http";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";

const [folder, napkin, pictures, modules] = process.argv.slice(2);
const require = createRequire(join(modules, "package.json"));
const { chromium } = require("playwright-core");
mkdirSync(pictures, { recursive: true });

let failures = 0;
const check = (holds, what) => {
  if (holds) return;
  failures += 1;
  console.log("FAIL: " + what);
};
const answers = (requests) => execFileSync(napkin, ["batch"], { input: requests.map((r) => JSON.stringify(r)).join("\n") + "\n", encoding: "utf8", maxBuffer: 1 << 28 })
  .trim().split("\n").map((line) => JSON.parse(line));
const ask = (request) => { try { return answers([request])[0]; } catch (e) { return JSON.parse(e.stdout.trim()); } };

const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".txt": "text/plain" };
const server = createServer((request, response) => {
  try {
    const path = new URL(request.url, "http://x").pathname;
    const body = readFileSync(join(folder, path === "/" ? "index.html" : path));
    response.writeHead(200, { "content-type": types[extname(path)] || "text/html" });
    response.end(body);
  } catch {
    response.writeHead(404);
    response.end();
  }
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const home = `http://127.0.0.1:${server.address().port}/`;

const profile = mkdtempSync(join(tmpdir(), "page-"));
const browser = await chromium.launchPersistentContext(profile, {
  executablePath: process.env.PERFMODEL_CHROMIUM || "/usr/bin/chromium",
  headless: true,
  viewport: { width: 1280, height: 900 },
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const page = await browser.newPage();
page.on("console", (m) => { if (m.type() === "error" || m.type() === "warning") check(false, "console: " + m.text()); });
page.on("pageerror", (e) => check(false, "exception in the page: " + e.message));

const open = async (state, at = home) => {
  await page.goto("about:blank");
  await page.goto(at + (state ? "#" + new URLSearchParams(state) : ""));
  await page.waitForSelector("html[data-ready]", { timeout: 60000 });
};
const shown = (selector) => page.$$eval(selector, (all) => all.map((e) => e.dataset.value));
const text = (selector) => page.textContent(selector);
const same = (values, expected, what) => check(JSON.stringify(values) === JSON.stringify(expected.map(String)),
  `${what}: the page shows ${JSON.stringify(values).slice(0, 300)}, napkin says ${JSON.stringify(expected).slice(0, 300)}`);
/** A time as the page writes it: four digits of napkin's number. */
const written = (s) => { const [f, unit] = [[1, " s"], [1e-3, " ms"], [1e-6, " us"], [1e-9, " ns"]].find(([g]) => s >= g); return String(Number((s / f).toPrecision(4))) + unit; };

// --- what is shown is what napkin answers ---------------------------------------------------------
const cases = [
  { model: "llama_3_70b", accelerator: "h100_sxm", tensor_parallel: 4, batch: 16, context: 2048 },
  { model: "llama_3_8b", accelerator: "l4", tensor_parallel: 1, batch: 4, context: 1024, weight_format: "fp8" },
  { model: "deepseek_v3", accelerator: "h200_sxm", tensor_parallel: 8, batch: 64, context: 4096, engine: "sglang" },
  { model: "gpt_oss_120b", accelerator: "mi300x", tensor_parallel: 1, batch: 8, context: 8192, prefill_tokens: 512 },
  { model: "qwen_3_32b", accelerator: "b200_sxm", tensor_parallel: 2, batch: 128, context: 2048, kv_format: "fp8" },
  { model: "llama_3_8b", accelerator: "h100_sxm", tensor_parallel: 1, batch: 1, context: 512, set: "dram.bandwidth=6TB/s" },
];
const loads = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const firsts = [];
for (const c of cases) {
  const name = `${c.model} on ${c.accelerator}`;
  await open({ prefill_tokens: "0", ...c });
  firsts.push(Number(await page.$eval("html", (e) => e.dataset.answered)));
  const machine = { ...c };
  delete machine.set;
  const request = { query: "step", prefill_tokens: 0, ...machine, ...(c.set ? { set: Object.fromEntries([c.set.split("=")]) } : {}) };
  const step = ask(request);
  same((await shown("#numbers [data-value]")).slice(0, 1), [step.time_s], name + ", step");
  check((await text("#conclusion")).includes(written(step.time_s)), `${name}: "${await text("#conclusion")}" has not ${written(step.time_s)}`);
  const parts = ask({ query: "explain", of: request }).summary.parts[0].steps;
  same(await shown("#breakdown td:nth-child(2) [data-value]"), parts.map((s) => s.time_s), name + ", breakdown");
  const serving = { ...request };
  for (const key of ["batch", "context", "prefill_tokens"]) delete serving[key];
  const over = answers(loads.map((concurrency) => ({ ...serving, query: "serving", input_tokens: 1024, output_tokens: 256, concurrency, method: "closed_form" })))
    .filter((a) => a.feasible !== false && a.itl_s !== null);
  same(await shown("#load td:nth-child(2) [data-value]"), over.map((a) => a.ttft_s), name + ", TTFT");
  same(await shown("#load td:nth-child(4) [data-value]"), over.map((a) => a.itl_s), name + ", ITL");
}
const first = firsts.sort((a, b) => a - b)[Math.floor(firsts.length / 2)];
check(first < 50, `the first answer takes ${first} ms, not under 50`);
console.log(`first answer after loading: ${first.toFixed(1)} ms`);

// --- the roofline's points: those of napkin, in the table and in the chart ------------------------------
await open({});
const roofline = ask({ query: "roofline", prefill_tokens: 0, ...cases[0] }).operators.filter((o) => o.flop > 0 && o.flop_per_s);
same(await shown("#roofline table:not(.u-legend) tbody tr td:nth-child(2) [data-value]"), roofline.map((o) => o.flop_per_byte), "roofline, FLOP/byte");
const dots = await page.$eval("#roofline .chart", (e) => e.uplot.data[2].filter((y) => y !== null));
check(roofline.length >= 4 && JSON.stringify([...dots].sort()) === JSON.stringify(roofline.map((o) => o.flop_per_s).sort()), "roofline, chart: " + dots);

// --- the plan ------------------------------------------------------------------------------------
await open({ model: "llama_3_8b", accelerator: "h100_sxm", others: "l40s", concurrency: "8", gpus: "2" });
await page.click("#run_plan");
await page.waitForSelector("html[data-plans='1']", { timeout: 120000 });
const planRequest = { query: "plan", model: "llama_3_8b", accelerator: "h100_sxm,l40s", input_tokens: 1024, output_tokens: 256, concurrency: 8, gpus: 2, ttft: "2 s", itl: "50 ms" };
const plan = ask(planRequest);
const front = plan.rows_shown.map((row) => plan.frontier[row - 1]);
same(await shown("#plan td:nth-child(1) [data-value]"), plan.rows_shown, "plan, rows");
same(await shown("#plan td:nth-child(7) [data-value]"), front.map((p) => p.itl_s), "plan, ITL");
same(await shown("#plan td:nth-child(8) [data-value]"), front.map((p) => p.ttft_s), "plan, TTFT");
same(await shown("#plan td:nth-child(9) [data-value]"), front.map((p) => p.usd_per_million_tokens), "plan, cost");
const chips = await page.$$eval("#plan table:not(.u-legend) tbody tr", (all) => all.map((r) => r.children[2].textContent));
check(JSON.stringify(chips) === JSON.stringify(front.map((p) => p.accelerator)), "plan, accelerators: " + chips);
// The page's chart, napkin's table and napkin's picture have these rows, and no others.
const drawn = await page.$eval("#plan .chart", (e) => e.uplot.data[0].map((x, i) => [x / 1e3, e.uplot.data[1][i]]));
const points = front.map((p) => [(p.itl_s * 1e3) / 1e3, p.usd_per_million_tokens]).sort((a, b) => a[0] - b[0]);
check(front.length > 1 && JSON.stringify(drawn) === JSON.stringify(points), "plan, chart: " + JSON.stringify(drawn));
const options = ["plan", ...Object.entries(planRequest).filter(([key]) => key !== "query").flatMap(([key, x]) => ["--" + key, String(x)])];
const picture = join(profile, "plan.svg");
const table = execFileSync(napkin, [...options, "--plot", picture], { encoding: "utf8" });
const ofTable = [...table.matchAll(/^ {2}(\d+)?\*? +\d+ x \S+/gm)].map((m, i) => Number(m[1] || i + 1));
check(JSON.stringify(ofTable) === JSON.stringify(plan.rows_shown), `plan, rows of the table: ${ofTable}, not ${plan.rows_shown}`);
const ofPicture = [...readFileSync(picture, "utf8").matchAll(/<title>(\d+): /g)].map((m) => Number(m[1])).sort((a, b) => a - b);
check(JSON.stringify(ofPicture) === JSON.stringify(plan.rows_shown), `plan, rows of the picture: ${ofPicture}, not ${plan.rows_shown}`);

// --- a click shows the derivation ------------------------------------------------------------------
await page.click("#plan table:not(.u-legend) tbody tr:first-child button");
check(await page.$eval("#explanation", (d) => d.open), "a plan row opens its derivation");
check((await text("#explanation")).includes("Limiter"), "a plan row's derivation has steps");
await page.keyboard.press("Escape");
const operator = await text("#breakdown tbody tr:first-child button");
await page.click("#breakdown tbody tr:first-child button");
check((await text("#explanation")).includes("With its numbers"), "an operator's derivation has steps");
const steps = await page.$$eval("#explanation tbody tr", (all) => all.map((r) => [r.children[0].textContent, r.children[3].textContent]));
const took = await text("#breakdown tbody tr:first-child td:nth-child(2)");
check(steps[0][0] === operator + " of step time" && steps[0][1] === took, `the derivation of ${operator}, ${took}, begins with ${steps[0]}`);
check(steps.length > 3 && !steps.some(([name]) => /joules|board power|head/.test(name)), "an operator's derivation has its own steps alone: " + steps.map((s) => s[0]));
await page.keyboard.press("Escape");
check(!(await page.$eval("#explanation", (d) => d.open)), "Escape closes the derivation");

// --- the address holds all state --------------------------------------------------------------------
await open({});
await page.fill("[name=batch]", "33");
await page.selectOption("[name=accelerator]", "h200_sxm");
await page.waitForFunction(() => location.hash.includes("batch=33") && location.hash.includes("h200_sxm"));
const before = [await text("#conclusion"), ...(await shown("#numbers [data-value]"))];
await page.click("#run_plan");
await page.waitForFunction(() => location.hash.includes("plan=1"), null, { timeout: 120000 });
const address = page.url();
await open(null, address);
await page.waitForSelector("#plan tbody tr");
check(page.url() === address, `the page changes its address to ${page.url()}`);
const after = [await text("#conclusion"), ...(await shown("#numbers [data-value]"))];
check(JSON.stringify(before) === JSON.stringify(after), `the address ${address} shows ${after}, not ${before}`);

// --- a config.json -----------------------------------------------------------------------------------
const config = { architectures: ["LlamaForCausalLM"], model_type: "llama", hidden_size: 4096, intermediate_size: 14336, num_hidden_layers: 32,
  num_attention_heads: 32, num_key_value_heads: 8, vocab_size: 128256, torch_dtype: "bfloat16", max_position_embeddings: 8192, tie_word_embeddings: false };
const file = join(profile, "own_config.json");
writeFileSync(file, JSON.stringify(config));
await open({ tensor_parallel: "1" });
await page.setInputFiles("#config", file);
await page.waitForFunction(() => location.hash.includes("config="));
const own = ask({ query: "step", model: file, accelerator: "h100_sxm", tensor_parallel: 1, batch: 16, context: 2048, prefill_tokens: 0 });
same((await shown("#numbers [data-value]")).slice(0, 1), [own.time_s], "a config.json");
await open(null, page.url());
same((await shown("#numbers [data-value]")).slice(0, 1), [own.time_s], "a config.json in the address");

// --- the npm package: the page's module refuses what it leaves out, and the whole engine has it ------------
const { load, loadPage } = require(join(folder, "npm", "perfmodel.js"));
const small = await loadPage(), engine = await load();
const loaded = { query: "serving", model: "llama_3_8b", accelerator: "h100_sxm", engine: "vllm", input_tokens: 512, output_tokens: 64, requests_per_s: 1 };
for (const extra of [{}, { method: "simulation" }, { method: "closed_form", mtp: 1 }, { method: "closed_form", decode_replicas: 1 }]) {
  let refused = "";
  try { small.ask({ ...loaded, ...extra }); } catch (e) { refused = e.message; }
  check(refused.includes("PM-E003: ") && refused.includes("this module"), `${JSON.stringify(extra)} of the page's module: ${refused || "an answer"}`);
}
const closed = { ...loaded, method: "closed_form" };
check(small.ask(closed).ttft_s === ask(closed).ttft_s, "the page's module, closed form");
check(engine.ask(loaded).ttft_s === ask(loaded).ttft_s && ask(loaded).method === "simulation", "the whole engine, simulated");

// --- errors, and what does not fit -----------------------------------------------------------------
await open({ model: "llama_3_1_405b", accelerator: "l4", tensor_parallel: "1" });
check((await text("#conclusion")).startsWith("Does not fit"), "405B on an L4 does not fit");
await open({ batch: "-1" });
check((await text("#error")).includes("batch is -1"), "an error names its field: " + (await text("#error")));
await open({ model: "<img src=x onerror=alert(1)>" });
check((await text("#error")).includes("unknown model"), "a hostile model name is a text");

// --- keyboard and labels -----------------------------------------------------------------------------
await open({});
const unnamed = await page.$$eval("input, select, textarea, button", (all) => all.filter((e) => !(e.labels && e.labels.length) && !e.textContent.trim() && !e.getAttribute("aria-label")).map((e) => e.name || e.outerHTML.slice(0, 80)));
check(unnamed.length === 0, "without a label: " + unnamed);
await page.keyboard.press("Tab");
check((await page.evaluate(() => document.activeElement.className)) === "skip", "the first Tab is the skip link");
const visited = [];
for (let i = 0; i < 60; ++i) {
  await page.keyboard.press("Tab");
  visited.push(await page.evaluate(() => document.activeElement.name || document.activeElement.id || document.activeElement.className));
}
for (const name of ["model", "accelerator", "batch", "run_plan", "value"]) check(visited.includes(name), "Tab reaches " + name);
await page.focus("#breakdown tbody button");
await page.keyboard.press("Enter");
check(await page.$eval("#explanation", (d) => d.open), "Enter opens a derivation");
await page.keyboard.press("Escape");

// --- a file without a server ---------------------------------------------------------------------------
await open({}, "file://" + join(folder, "index.html"));
same((await shown("#numbers [data-value]")).slice(0, 1), [ask({ query: "step", ...cases[0] }).time_s], "as file://");

// --- pictures, and no page wider than its window ---------------------------------------------------------
for (const [width, height] of [[1280, 900], [390, 844]]) {
  for (const colorScheme of ["light", "dark"]) {
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme });
    await open({ model: "llama_3_8b", tensor_parallel: "1", concurrency: "8", gpus: "2", plan: "1" });
    check((await page.$("#plan tbody tr button")) !== null, "an address with plan=1 shows the plan");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    check(wide <= width, `the page is ${wide} pixels wide in a window of ${width}`);
    await page.screenshot({ path: join(pictures, `${width > 800 ? "wide" : "narrow"}_${colorScheme}.png`), fullPage: true });
  }
}

await browser.close();
server.close();
rmSync(profile, { recursive: true, force: true });
console.log(failures ? `${failures} failures` : "all passed");
process.exit(failures ? 1 : 0);
