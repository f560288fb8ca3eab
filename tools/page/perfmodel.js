// The engine of napkin as a module: load() once, then ask() as often as wanted. Types: perfmodel.d.ts.
(function (root) {
  "use strict";

  class PerfmodelError extends Error {
    constructor(code, message) {
      super(code + ": " + message);
      this.name = "PerfmodelError";
      this.code = code;
    }
  }

  /** The bytes of perfmodel.wasm in Node, or those of perfmodel.wasm.js in a page of file://. */
  function wasmBytes(options) {
    if (options.wasmBinary) return options.wasmBinary;
    if (typeof module === "object" && typeof require === "function")
      return require("fs").readFileSync(require("path").join(__dirname, "perfmodel_module.wasm"));
    if (root.perfmodelWasm) {
      const text = atob(root.perfmodelWasm);
      return Uint8Array.from(text, (c) => c.charCodeAt(0));
    }
    return undefined; // fetched beside the script
  }

  async function load(options = {}) {
    const create = root.createPerfmodel || require("./perfmodel_module.js");
    const bytes = wasmBytes(options);
    const engine = await create(bytes ? { wasmBinary: bytes } : {});
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

  const perfmodel = { load, PerfmodelError };
  if (typeof module === "object") module.exports = perfmodel;
  else root.perfmodel = perfmodel;
})(typeof globalThis === "object" ? globalThis : this);
