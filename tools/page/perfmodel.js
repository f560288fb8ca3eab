// The engine of napkin as a module: load() or loadPage() once, then ask() as often as wanted. Types: perfmodel.d.ts.
(function (root) {
  "use strict";

  class PerfmodelError extends Error {
    constructor(code, message) {
      super(code + ": " + message);
      this.name = "PerfmodelError";
      this.code = code;
    }
  }

  const inNode = typeof module === "object" && typeof require === "function";
  const factories = { perfmodel_page: "createPerfmodelPage", perfmodel_module: "createPerfmodel" };

  const script = (source) => new Promise((done, failed) => {
    const tag = Object.assign(document.createElement("script"), { src: source, onload: done });
    tag.onerror = () => failed(new Error(source + " does not load"));
    document.head.append(tag);
  });

  /** Starts a module. A page of file:// may not fetch: there its bytes are a script, NAME.wasm.js. */
  async function start(name, options) {
    if (inNode) {
      const wasmBinary = options.wasmBinary || require("fs").readFileSync(require("path").join(__dirname, name + ".wasm"));
      return require("./" + name + ".js")({ wasmBinary });
    }
    if (!root[factories[name]]) await script(name + ".js");
    if (options.wasmBinary) return root[factories[name]]({ wasmBinary: options.wasmBinary });
    if (location.protocol !== "file:") return root[factories[name]]({});
    if (!(root.perfmodelWasm || {})[name]) await script(name + ".wasm.js");
    return root[factories[name]]({ wasmBinary: Uint8Array.from(atob(root.perfmodelWasm[name]), (c) => c.charCodeAt(0)) });
  }

  function interfaceOf(engine) {
    const answerText = (request) => {
      const text = typeof request === "string" ? request : JSON.stringify(request);
      const length = engine.lengthBytesUTF8(text);
      const at = engine._malloc(length + 1);
      engine.stringToUTF8(text, at, length + 1);
      const result = engine._perfmodel_ask(at, length, 0);
      engine._free(at);
      if (result === 0) throw new RangeError("no memory for a result");
      const answer = engine.UTF8ToString(result);
      engine._perfmodel_free(result);
      return answer;
    };
    const ask = (request) => {
      const answer = JSON.parse(answerText(request));
      if (answer.error && answer.error.code) throw new PerfmodelError(answer.error.code, answer.error.message);
      return answer;
    };
    let files = 0;
    return {
      version: engine.UTF8ToString(engine._perfmodel_version()),
      ask,
      answerText,
      explain: (of, row) => ask(row === undefined ? { query: "explain", of } : { query: "explain", of, row }),
      /** Stores a config.json; the path stands for it as a model. */
      addModel(config, name = "model") {
        const folder = "/models/" + ++files;
        engine.FS.mkdirTree(folder);
        const path = folder + "/" + (name.replace(/[^A-Za-z0-9._-]/g, "_").replace(/\.json$/, "") || "model") + ".json";
        engine.FS.writeFile(path, typeof config === "string" ? config : JSON.stringify(config));
        return path;
      },
    };
  }

  /** The whole engine. */
  const load = async (options = {}) => interfaceOf(await start("perfmodel_module", options));

  /** The page's module: step, serving by its closed form, roofline, plan, gpus, models, and their derivations. */
  const loadPage = async (options = {}) => interfaceOf(await start("perfmodel_page", options));

  const perfmodel = { load, loadPage, PerfmodelError };
  if (typeof module === "object") module.exports = perfmodel;
  else root.perfmodel = perfmodel;
})(typeof globalThis === "object" ? globalThis : this);
