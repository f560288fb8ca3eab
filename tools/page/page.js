// The page: reads the form, asks the engine, shows the results. All state is in the address (hash).
"use strict";
(() => {
  const $ = (selector) => document.querySelector(selector);
  const form = $("#form");
  const fields = ["model", "accelerator", "set", "engine", "tensor_parallel", "pipeline_parallel", "expert_parallel",
    "weight_format", "activation_format", "kv_format", "batch", "context", "prefill_tokens", "input_tokens", "output_tokens",
    "concurrency", "ttft", "itl", "gpus"];
  const defaults = { model: "llama_3_70b", accelerator: "h100_sxm", tensor_parallel: "4", batch: "16", context: "2048",
    prefill_tokens: "0", input_tokens: "1024", output_tokens: "256", concurrency: "32", ttft: "2 s", itl: "50 ms" };
  const formats = ["", "fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp4", "int4"];
  const loads = [1, 2, 4, 8, 16, 32, 64, 128, 256];
  let engine, config = null, configPath = null, planned = null, loaded = 0, turns = 0;
  const charts = [];

  // --- text -------------------------------------------------------------------------------------
  const digits = (x) => String(Number(x.toPrecision(4)));
  function scaled(x, unit, steps) {
    for (const [factor, prefix] of steps) if (Math.abs(x) >= factor) return digits(x / factor) + " " + prefix + unit;
    const [factor, prefix] = steps[steps.length - 1];
    return digits(x / factor) + " " + prefix + unit;
  }
  const time = (s) => (s === null || s === undefined ? "none" : scaled(s, "s", [[1, ""], [1e-3, "m"], [1e-6, "u"], [1e-9, "n"]]));
  const big = (x, unit) => scaled(x, unit, [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]]);
  const range = (r) => (r ? time(r[0]) + " to " + time(r[1]) : "none");
  const limiters = { memory: "DRAM bandwidth", compute: "compute", launch: "launches and latency", communication: "communication",
    link: "the link", cache: "cache bandwidth" };

  // --- the form and the address -----------------------------------------------------------------
  const value = (name) => form.elements[name].value.trim();
  const others = () => [...form.elements.others.selectedOptions].map((o) => o.value);
  function toAddress() {
    const state = new URLSearchParams();
    for (const name of fields) if (value(name) !== (defaults[name] || "")) state.set(name, value(name));
    if (others().length) state.set("others", others().join(","));
    if (planned) state.set("plan", "1");
    if (config) state.set("config", btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(config)))));
    history.replaceState(null, "", state.size === 0 && !String(state) ? location.pathname + location.search : "#" + state);
  }
  function fromAddress() {
    const state = new URLSearchParams(location.hash.slice(1));
    for (const name of fields) form.elements[name].value = state.has(name) ? state.get(name) : defaults[name] || "";
    const chosen = (state.get("others") || "").split(",");
    for (const o of form.elements.others.options) o.selected = chosen.includes(o.value);
    config = configPath = null;
    if (state.has("config")) {
      try {
        useConfig(JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(state.get("config")), (c) => c.charCodeAt(0)))));
      } catch (e) {
        showError("the config in the address is not JSON");
      }
    }
    showConfig();
    return state.has("plan");
  }
  function useConfig(c) {
    config = c;
    const name = c.config && c.name ? c.name : c._name_or_path || (c.architectures || ["model"])[0];
    configPath = engine.addModel(c.config && c.name ? c.config : c, String(name));
  }
  function showConfig() {
    const p = $("#config_state");
    p.hidden = !config;
    if (!config) return;
    p.replaceChildren("The model is " + (config.name || "the config.json given") + ". ");
    const drop = document.createElement("button");
    drop.type = "button";
    drop.textContent = "Back to the list";
    drop.onclick = () => { config = configPath = null; showConfig(); update(); };
    p.append(drop);
  }

  // --- requests ---------------------------------------------------------------------------------
  const numeric = (text) => (text !== "" && isFinite(text) ? Number(text) : text);
  function facts(prefix = "") {
    const set = {};
    for (const line of value("set").split("\n").map((l) => l.trim()).filter(Boolean)) {
      const at = line.indexOf("=");
      if (at < 1) throw new Error(`"${line}" is not fact=value, such as dram.bandwidth=6TB/s`);
      set[prefix + line.slice(0, at).trim()] = line.slice(at + 1).trim();
    }
    return Object.keys(set).length ? { set } : {};
  }
  function put(request, names) {
    for (const name of names) if (value(name) !== "") request[name] = numeric(value(name));
    return request;
  }
  const model = () => configPath || value("model");
  const machine = () => put({ model: model(), accelerator: value("accelerator"), ...facts() },
    ["tensor_parallel", "pipeline_parallel", "expert_parallel", "weight_format", "activation_format", "kv_format", "engine"]);
  const stepRequest = () => put({ query: "step", ...machine() }, ["batch", "context", "prefill_tokens"]);
  const servingRequest = (concurrency) => ({ ...put({ query: "serving", ...machine() }, ["input_tokens", "output_tokens"]),
    concurrency, method: "closed_form" });
  function planRequest() {
    const chips = [value("accelerator"), ...others().filter((c) => c !== value("accelerator"))];
    const request = { query: "plan", model: model(), accelerator: chips.length > 1 ? chips : chips[0],
      ...facts(chips.length > 1 ? chips[0] + "." : "") };
    if (Array.isArray(request.accelerator)) request.accelerator = chips.join(",");
    put(request, ["input_tokens", "output_tokens", "concurrency", "engine", "weight_format", "activation_format", "kv_format", "gpus"]);
    if (value("ttft")) request.ttft = value("ttft");
    if (value("itl")) request.itl = value("itl");
    return request;
  }

  // --- showing ----------------------------------------------------------------------------------
  function showError(text) {
    $("#error").hidden = !text;
    $("#error").textContent = text || "";
  }
  function element(name, attributes = {}, ...children) {
    const e = document.createElement(name);
    for (const [k, v] of Object.entries(attributes)) k.startsWith("on") ? (e[k] = v) : e.setAttribute(k, v);
    e.append(...children);
    return e;
  }
  /** A number that shows its derivation; data-value has all its digits. */
  const number = (text, x, explain) => explain
    ? element("button", { type: "button", class: "value", "data-value": x, title: "Show the derivation", onclick: explain }, text)
    : element("span", { "data-value": x }, text);
  function rows(selector, list) {
    $(selector + " table:not(.u-legend) tbody").replaceChildren(...list.map((cells) => element("tr", cells.attributes || {},
      ...cells.cells.map((c) => element("td", c && c.wrap ? { class: "wrap" } : {}, c && c.wrap ? c.wrap : c)))));
  }

  /** Is a step's name in a formula, as a whole name? */
  function isIn(formula, name) {
    for (let at = formula.indexOf(name); at >= 0; at = formula.indexOf(name, at + 1)) {
      const before = formula.slice(0, at), after = formula.slice(at + name.length);
      if (/(^|[ (])$/.test(before) && !before.endsWith(" of ") && /^($|[ ),])/.test(after) && !after.startsWith(" of ")) return true;
    }
    return false;
  }
  /** The steps of a derivation, the result first; of one operator those that its time comes from. */
  function stepsOf(all, part) {
    const steps = [];
    const isResult = (s) => s.name === part || s.name === part + " of step time";
    for (const s of [...all].reverse())
      if (isResult(s) || steps.some((later) => isIn(later.formula, s.name))) steps.push(s);
    return steps.some(isResult) ? steps : [...all].reverse().slice(0, 60);
  }

  function explain(title, request, part, row) {
    const box = $("#explanation div");
    $("#explained").textContent = title;
    box.replaceChildren();
    $("#explanation").showModal();
    try {
      const e = engine.explain(request, row);
      const table = (head, list) => element("table", {}, element("thead", {}, element("tr", {},
        ...head.map((h) => element("th", { scope: "col" }, h)))), element("tbody", {},
        ...list.map((cells) => element("tr", {}, ...cells.map((c) => element("td", { class: "wrap" }, c))))));
      for (const p of (e.summary || { parts: [] }).parts) {
        if (part) continue;
        box.append(element("h3", {}, `${p.name}: ${p.pass}, ${time(p.time_s)}`),
          table(["Step", "Arithmetic", "Time", "Limiter"], p.steps.map((s) => [s.name, s.how, time(s.time_s), s.limit])),
          element("ul", {}, ...p.amounts.map((a) => element("li", {}, a))));
      }
      const steps = stepsOf(e.steps || [], part);
      if (steps.length) box.append(element("h3", {}, "Steps, the result first"),
        table(["Name", "Formula", "With its numbers", "Value"], steps.map((s) => [s.name, s.formula, s.numbers, s.value])));
      if (e.inputs && !part) box.append(element("h3", {}, "Inputs"),
        table(["Name", "Value", "Source"], e.inputs.map((i) => [i.name, i.value, i.source])));
      if (e.summary && e.summary.sources) box.append(element("h3", {}, "Sources"), element("ul", {}, ...e.summary.sources.map((s) => element("li", {}, s))));
    } catch (refused) {
      box.append(element("p", {}, refused.message));
    }
  }

  /** The point of the last series nearest to the pointer. */
  function nearest(u) {
    const y = u.data[u.data.length - 1];
    let at = null, least = Infinity;
    y.forEach((v, i) => {
      if (v === null || v === undefined) return;
      const d = Math.hypot(u.valToPos(u.data[0][i], "x") - u.cursor.left, u.valToPos(v, "y") - u.cursor.top);
      if (d < least) [at, least] = [i, d];
    });
    return at;
  }
  /** Writes a text at each point of the last series; where texts would overlap, the first and how many more. */
  function writeNames(u, names) {
    const c = u.ctx, ratio = devicePixelRatio || 1, texts = [], right = u.bbox.left + u.bbox.width;
    c.save();
    c.font = `${12 * ratio}px system-ui, sans-serif`;
    c.fillStyle = palette().ink;
    c.textAlign = "left";
    names.forEach((name, i) => {
      if (!name) return;
      const width = c.measureText(name + " +9").width, px = u.valToPos(u.data[0][i], "x", true);
      const x = px + 10 * ratio + width > right ? px - 10 * ratio - width : px + 10 * ratio;
      const y = u.valToPos(u.data[u.data.length - 1][i], "y", true) + 14 * ratio;
      const other = texts.find((t) => Math.abs(t.y - y) < 13 * ratio && x < t.x + t.width && t.x < x + width);
      if (other) other.more += 1;
      else texts.push({ name, x, y, width, more: 0 });
    });
    for (const t of texts) c.fillText(t.name + (t.more ? " +" + t.more : ""), t.x, t.y);
    c.restore();
  }

  function chart(target, options, data, onpick) {
    const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const axis = { stroke: colour("--ink"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") }, labelSize: 20 };
    target.replaceChildren();
    const u = new uPlot({ width: Math.max(240, target.clientWidth), height: 280, cursor: { drag: { x: false, y: false } },
      ...options, axes: options.axes.map((a, i) => ({ ...axis, size: i === 0 ? 36 : 64, ...a })) }, data, target);
    if (onpick) u.over.addEventListener("click", () => {
      const at = nearest(u);
      if (at !== null) onpick(at);
    });
    target.uplot = u;
    charts.push([u, target]);
  }
  const palette = () => {
    const style = getComputedStyle(document.documentElement);
    return { line: style.getPropertyValue("--accent").trim(), soft: style.getPropertyValue("--bar").trim(), ink: style.getPropertyValue("--ink").trim(), bad: style.getPropertyValue("--bad").trim() };
  };

  function showStep() {
    const request = stepRequest();
    const answer = engine.ask(request);
    const name = config ? config.name || "the config.json given" : value("model");
    const all = () => explain("Time of the step", request);
    $("#conclusion").textContent = answer.feasible
      ? `One step of ${name} on ${value("tensor_parallel") || 1} x ${value("accelerator")}: ${time(answer.time_s)}, limited by ${limiters[answer.limiter] || answer.limiter}.`
      : `Does not fit: ${answer.reason}.`;
    const list = [["Step time", time(answer.time_s), answer.time_s, all], ["80 % interval", range(answer.interval_80_s), range(answer.interval_80_s), all],
      ["Bound (roofline)", time(answer.bound_time_s ?? (answer.mode === "bound" ? answer.time_s : null)), answer.bound_time_s, () => explain("Bound of the step", { ...request, mode: "bound" })]];
    if (answer.feasible && Number(value("batch"))) {
      list.push(["Output tokens/s", digits(value("batch") / answer.time_s), value("batch") / answer.time_s, all]);
    }
    list.push(["Limiter", limiters[answer.limiter] || answer.limiter, answer.limiter, all],
      ["Basis", answer.profile ? answer.profile.basis : "data sheet", answer.mode, all]);
    $("#numbers").replaceChildren(...list.map(([term, text, x, why]) => element("div", {}, element("dt", {}, term), element("dd", {}, number(text, x, why)))));
    return { request, answer };
  }

  /** The parts of a step. */
  function showBreakdown(request) {
    const e = engine.explain(request);
    const part = e.summary.parts[0];
    let before = 0;
    rows("#breakdown", part.steps.map((s) => {
      const bar = element("div", { class: "bar" });
      bar.style.marginLeft = (100 * before) / part.time_s + "%";
      bar.style.width = (100 * s.time_s) / part.time_s + "%";
      before += s.time_s;
      const why = () => explain(s.name, request, s.name);
      return { attributes: { class: "pick", onclick: (event) => event.target.tagName !== "BUTTON" && why() },
        cells: [number(s.name, s.name, why), number(time(s.time_s), s.time_s), digits(100 * s.share) + " %", bar, s.limit] };
    }));
    $("#breakdown").hidden = false;
  }

  function showRoofline(request) {
    const r = engine.ask({ ...request, query: "roofline" });
    const peak = r.flop_per_s, bandwidth = r.bytes_per_s;
    const points = r.operators.filter((o) => o.flop > 0 && o.flop_per_s).map((o) => ({ name: o.name, x: o.flop_per_byte, y: o.flop_per_s }));
    const ridge = peak / bandwidth;
    // An operator is a row of the data, of the roof's own as well: two operators may have one intensity.
    const all = [...[0.1, 1, 10, ridge, 100, 1000, 10000].map((x) => ({ x, y: null })), ...points].sort((a, b) => a.x - b.x);
    const xs = all.map((p) => p.x);
    const why = (p) => explain(p.name, request, p.name);
    const c = palette();
    $("#roofline").hidden = points.length === 0;
    if (points.length) chart($("#roofline .chart"), {
      scales: { x: { time: false, distr: 3 }, y: { distr: 3 } }, hooks: { draw: [(u) => writeNames(u, all.map((p) => p.name))] },
      axes: [{ label: "FLOP/byte" }, { label: "FLOP/s", values: (u, v) => v.map((x) => (x ? big(x, "") : "")) }],
      series: [{ label: "FLOP/byte", value: (u, v) => (v ? digits(v) : "") }, { label: "roof", stroke: c.ink, width: 2, points: { show: false }, value: (u, v) => (v ? big(v, "FLOP/s") : "") },
        { label: "operator", stroke: c.line, points: { show: true, size: 10, fill: c.soft }, paths: () => null, value: (u, v) => (v ? big(v, "FLOP/s") : "") }],
    }, [xs, xs.map((x) => Math.min(peak, x * bandwidth)), all.map((p) => p.y)], (i) => why(all[i]));
    rows("#roofline", points.map((p) => ({ cells: [number(p.name, p.name, () => why(p)), number(digits(p.x), p.x, () => why(p)), number(big(p.y, "FLOP/s"), p.y, () => why(p))] })));
  }

  function showLoad() {
    const answers = loads.map((concurrency) => ({ concurrency, request: servingRequest(concurrency), answer: engine.ask(servingRequest(concurrency)) }))
      .filter(({ answer }) => answer.feasible !== false && answer.itl_s !== null);
    $("#load").hidden = answers.length === 0;
    if (!answers.length) return;
    const c = palette();
    for (const [id, key] of [["#ttft_chart", "ttft"], ["#itl_chart", "itl"]]) {
      const of = (f) => answers.map(({ answer }) => f(answer[key + "_interval_80_s"], answer[key + "_s"]) * 1e3);
      chart($(id), {
        title: key.toUpperCase(), scales: { x: { time: false, distr: 3, log: 2 }, y: { range: (u, lo, hi) => [0, hi * 1.05] } },
        axes: [{ label: "concurrency", values: (u, v) => v.map((x) => (x ? digits(x) : "")) }, { label: "ms" }],
        series: [{ label: "concurrency" }, { label: "80 % to", stroke: "transparent", points: { show: false }, value: (u, v) => (v ? digits(v) : "") }, { label: "80 % from", stroke: "transparent", points: { show: false }, value: (u, v) => (v ? digits(v) : "") },
          { label: key.toUpperCase() + " ms", stroke: c.line, width: 2, points: { show: true, size: 7 }, value: (u, v) => (v ? digits(v) : "") }],
        bands: [{ series: [1, 2], fill: c.soft + "44" }],
      }, [answers.map((a) => a.concurrency), of((r, x) => (r ? r[1] : x)), of((r, x) => (r ? r[0] : x)), of((r, x) => x)],
      (i) => explain(`${key.toUpperCase()} at concurrency ${answers[i].concurrency}`, answers[i].request));
    }
    rows("#load", answers.map(({ concurrency, request, answer }) => {
      const why = () => explain(`Service at concurrency ${concurrency}`, request);
      return { cells: [String(concurrency), number(time(answer.ttft_s), answer.ttft_s, why), range(answer.ttft_interval_80_s),
        number(time(answer.itl_s), answer.itl_s, why), range(answer.itl_interval_80_s), number(digits(answer.output_tokens_per_s), answer.output_tokens_per_s, why)] };
    }));
  }

  const layout = (p) => [["TP", p.tensor_parallel], ["PP", p.pipeline_parallel], ["EP", p.expert_parallel], ["DP", p.data_parallel]]
    .filter(([name, n]) => n > 1 || name === "TP").map(([name, n]) => name + n).join(" ") + (p.replicas > 1 ? `, ${p.replicas} replicas` : "");
  function showPlan() {
    planned = { request: planRequest() };
    $("#plan").hidden = false;
    $("#plan_conclusion").textContent = "Searching deployments";
    const answer = engine.ask(planned.request);
    // The rows of napkin's table and picture: without those within 1 % of another.
    const front = answer.rows_shown.map((row) => ({ ...answer.frontier[row - 1], row }));
    const priced = front.every((p) => p.usd_per_million_tokens !== undefined && p.usd_per_million_tokens !== null);
    const cost = (p) => (priced ? p.usd_per_million_tokens : p.gpu_s_per_million_tokens);
    const unit = priced ? "USD/Mtok" : "GPU-s/Mtok";
    const first = front[0];
    $("#plan_conclusion").textContent = !first ? "No deployment fits."
      : `${answer.meets_targets ? "" : "Nothing meets the targets; nearest: "}${first.gpus} x ${first.accelerator} (${layout(first)}, ${first.engine}, ${first.weight_format}): ITL ${time(first.itl_s)}, TTFT ${time(first.ttft_s)}, ${digits(cost(first))} ${unit}.`;
    const why = (i) => explain(`Row ${front[i].row} of the plan`, planned.request, undefined, front[i].row);
    const order = front.map((p, i) => i).sort((a, b) => front[a].itl_s - front[b].itl_s);
    const c = palette();
    if (first) chart($("#plan .chart"), {
      scales: { x: { time: false }, y: { range: (u, lo, hi) => [0, hi * 1.1] } }, axes: [{ label: "ITL, ms" }, { label: unit }],
      hooks: { draw: [(u) => writeNames(u, order.map((i) => String(front[i].row)))] },
      series: [{ label: "ITL ms", value: (u, v) => (v ? digits(v) : "") }, { label: unit, stroke: c.line, width: 1, points: { show: true, size: 10, fill: c.soft }, value: (u, v) => (v ? digits(v) : "") }],
    }, [order.map((i) => front[i].itl_s * 1e3), order.map((i) => cost(front[i]))], (i) => why(order[i]));
    else $("#plan .chart").replaceChildren();
    rows("#plan", front.map((p, i) => ({ attributes: { class: "pick", onclick: (event) => event.target.tagName !== "BUTTON" && why(i) },
      cells: [number(String(p.row), p.row, () => why(i)), String(p.gpus), p.accelerator, p.engine, layout(p), p.weight_format,
        number(time(p.itl_s), p.itl_s, () => why(i)), number(time(p.ttft_s), p.ttft_s, () => why(i)),
        number(digits(cost(p)) + " " + unit, cost(p), () => why(i)), p.meets_targets ? "yes" : "no"] })));
  }

  /** After the browser has painted what is there; in a hidden page, soon. */
  const painted = () => new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); setTimeout(done, 100); });

  async function update() {
    const turn = ++turns;
    showError("");
    charts.length = 0;
    let step = null;
    try {
      step = showStep();
    } catch (e) {
      showError(e.message);
      $("#conclusion").textContent = "Not a request the engine answers";
      $("#numbers").replaceChildren();
      for (const id of ["#breakdown", "#roofline", "#load"]) $(id).hidden = true;
    }
    toAddress();
    await painted();
    document.documentElement.dataset.answered ??= String(performance.now() - loaded);
    if (turn !== turns) return;  // another request came meanwhile
    try {
      if (step) showBreakdown(step.request);
      if (step) showRoofline(step.request);
      if (step) showLoad();
    } catch (e) {
      showError(e.message);
    }
    document.documentElement.dataset.updates = Number(document.documentElement.dataset.updates || 0) + 1;
  }
  function plan() {
    try {
      showError("");
      showPlan();
    } catch (e) {
      $("#plan").hidden = true;
      planned = null;
      showError(e.message);
    }
    toAddress();
    document.documentElement.dataset.plans = Number(document.documentElement.dataset.plans || 0) + 1;
  }

  async function takeConfig(file) {
    try {
      useConfig({ name: file.name, config: JSON.parse(await file.text()) });
    } catch (e) {
      showError(file.name + " is not JSON");
      return;
    }
    showConfig();
    update();
  }

  /** The options that the address names, before the lists are there. */
  function seed() {
    const state = new URLSearchParams(location.hash.slice(1));
    form.elements.accelerator.replaceChildren(element("option", {}, state.get("accelerator") || defaults.accelerator));
    form.elements.others.replaceChildren(...(state.get("others") || "").split(",").filter(Boolean).map((c) => element("option", {}, c)));
    for (const select of document.querySelectorAll(".format"))
      select.replaceChildren(...formats.map((f) => element("option", { value: f }, f || "as stored")));
  }
  function fill() {
    const chips = engine.ask({ query: "gpus" }).accelerators;
    for (const select of [form.elements.accelerator, form.elements.others])
      select.replaceChildren(...chips.map((c) => element("option", { value: c.name }, c.title || c.name)));
    $("#models").replaceChildren(...engine.ask({ query: "models" }).models.map((m) => element("option", { value: m.name })));
    $("#version").textContent = engine.version;
  }

  async function start() {
    $("#inputs").open = innerWidth > 800;
    engine = await perfmodel.loadPage();
    loaded = performance.now();
    seed();
    const address = location.hash, plans = fromAddress();
    await update();
    fill(); // the lists, once there is an answer
    history.replaceState(null, "", location.pathname + location.search + address);
    fromAddress();
    if (plans) plan();
    let timer = 0;
    form.addEventListener("input", (event) => {
      if (event.target.id === "config" || event.target.name === "others") return;
      clearTimeout(timer);
      timer = setTimeout(update, 150);
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    $("#run_plan").addEventListener("click", plan);
    $("#config").addEventListener("change", (event) => event.target.files[0] && takeConfig(event.target.files[0]));
    for (const kind of ["dragenter", "dragover"]) document.addEventListener(kind, (event) => { event.preventDefault(); $("#drop").classList.add("over"); });
    document.addEventListener("dragleave", () => $("#drop").classList.remove("over"));
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      $("#drop").classList.remove("over");
      if (event.dataTransfer.files[0]) takeConfig(event.dataTransfer.files[0]);
    });
    window.addEventListener("hashchange", () => {
      const again = fromAddress();
      if (!again) planned = null;
      $("#plan").hidden = !again;
      update();
      if (again) plan();
    });
    let width = innerWidth;
    window.addEventListener("resize", () => {
      if (width === innerWidth) return;
      width = innerWidth;
      for (const [u, target] of charts) u.setSize({ width: Math.max(260, target.clientWidth), height: 280 });
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", update);
    document.documentElement.dataset.ready = "1";
  }
  start().catch((e) => showError("The engine does not load: " + (e.message || e)));
})();
