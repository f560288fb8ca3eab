/** A request as `napkin batch` takes it: {query: "step", model: "llama_3_8b", ...}. */
export interface Request {
  query: string;
  [key: string]: unknown;
}
/** A result as `napkin --json` prints it: s, bytes, FLOP, J, USD. Times are null where infeasible. */
export interface Result {
  mode?: "bound" | "calibrated";
  time_s?: number | null;
  limiter?: string;
  terms?: Record<string, number | null>;
  feasible?: boolean;
  reason?: string;
  interval_80_s?: [number, number] | null;
  [key: string]: unknown;
}
/** A step of a derivation: its formula, the formula with its numbers, and its value. */
export interface Step {
  name: string;
  formula: string;
  numbers: string;
  value: string;
}
export interface Explanation {
  inputs?: { name: string; value: string; source: string }[];
  steps?: Step[];
  summary?: unknown;
  result: Result;
  [key: string]: unknown;
}
export class PerfmodelError extends Error {
  /** "PM-E011": the kind of refusal. */
  readonly code: string;
}
export interface Engine {
  readonly version: string;
  /** Throws PerfmodelError for a refused request. */
  ask(request: Request): Result;
  /** The JSON text of the result or of the refusal, digit for digit as napkin prints it. */
  answerText(request: Request | string): string;
  /** The derivation of a result; `row` is one of a plan's table, from 1. */
  explain(of: Request, row?: number): Explanation;
  /** Stores a config.json, and returns the path that names it as a model. */
  addModel(config: string | object, name?: string): string;
}
/** Loads the engine: once, some 20 ms. */
export function load(options?: { wasmBinary?: Uint8Array }): Promise<Engine>;
/** The page's module, 0.7 of the bytes: step, serving by its closed form (method: "closed_form"), roofline, plan, gpus,
 *  models, and their derivations. */
export function loadPage(options?: { wasmBinary?: Uint8Array }): Promise<Engine>;
