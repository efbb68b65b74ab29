/** What an attack must come to. */
export type Expected =
  /** The session completes: nothing happened. */
  | "inert"
  /** It never runs: bundling or loading fails, and the error names a place. */
  | "refused"
  /** The session ends with a typed error, and its worker lives. */
  | "typed"
  /** The worker is killed or dies, and the session ends as a crash. */
  | "killed";

/** One attack that runs as an adapter of its own. */
export interface Attack {
  name: string;
  /** A one-liner of `one-liners.json` runs as a function; `body` is the body of the adapter's generator. */
  body?: string;
  /** Two where engines differ in what they let through; either is safe. */
  expected: Expected | readonly Expected[];
  /** What the value of the last statement must look like. */
  shows?: RegExp;
  /** Longest time from the request to the result, on a busy machine. Milliseconds. */
  timeLimitMs: number;
}

/** Deadline of a plugin's session, which a flood may use up; heartbeat and memory verdicts come sooner. */
const slow = 20_000;
const quick = 15_000;

/** Every one-liner, with what it must come to. */
export const oneLiners: readonly Attack[] = [
  { name: "loop_sync", expected: "killed", timeLimitMs: quick },
  { name: "loop_microtask", expected: "killed", timeLimitMs: quick },
  // Timers let the heartbeat in; they end with the session.
  { name: "loop_timer0", expected: "inert", timeLimitMs: quick },
  // Serialised in the worker, so the host never reads the proxy.
  { name: "loop_proxy_in_message", expected: "killed", timeLimitMs: quick },
  { name: "loop_thenable", expected: "killed", timeLimitMs: quick },
  { name: "bi_indexOf_arraylike", expected: "killed", timeLimitMs: quick },
  { name: "bi_sparse_sort", expected: "killed", timeLimitMs: quick },
  { name: "bi_reverse", expected: "killed", timeLimitMs: quick },
  { name: "bi_bigint_pow", expected: "killed", timeLimitMs: quick },
  // Memory outside the heap: where the system limits it, the engine throws; else the host sees it grow.
  { name: "bi_string_normalize", expected: ["typed", "killed"], timeLimitMs: quick },
  { name: "bi_str_split", expected: "killed", timeLimitMs: quick },
  { name: "bi_json_parse", expected: "killed", timeLimitMs: quick },
  { name: "bi_typedarray_fill", expected: ["typed", "killed"], timeLimitMs: quick },
  { name: "bi_str_indexof", expected: "killed", timeLimitMs: quick },
  { name: "bi_str_lastindexof", expected: "killed", timeLimitMs: quick },
  { name: "bi_map_group", expected: "killed", timeLimitMs: quick },
  { name: "bi_regex_compile", expected: "typed", timeLimitMs: quick },
  { name: "bi_regex_giant", expected: "inert", shows: /^true$/, timeLimitMs: quick },
  { name: "bi_eval_deep", expected: "inert", shows: /^0$/, timeLimitMs: quick },
  { name: "heap_objs", expected: "killed", timeLimitMs: quick },
  { name: "heap_push_one", expected: "killed", timeLimitMs: quick },
  { name: "heap_newarray_fill", expected: "killed", timeLimitMs: quick },
  { name: "heap_str_flatten", expected: "killed", timeLimitMs: quick },
  { name: "heap_map", expected: "killed", timeLimitMs: quick },
  { name: "heap_set_grow", expected: "killed", timeLimitMs: quick },
  { name: "heap_json_nest", expected: "killed", timeLimitMs: quick },
  { name: "heap_bigint", expected: "killed", timeLimitMs: quick },
  { name: "heap_promise", expected: "killed", timeLimitMs: quick },
  // Some engines refuse so long a buffer; the others run into the limit of the process.
  { name: "ext_resizable", expected: ["typed", "killed"], timeLimitMs: quick },
  { name: "wasm_avail", expected: "inert", shows: /^undefined$/, timeLimitMs: quick },
  // `require` is the bundler's own stand-in, which only throws; the indirect eval below shows that none is there.
  {
    name: "sab_avail",
    expected: "inert",
    shows:
      /^undefined,undefined,undefined,undefined,undefined,undefined,function,undefined,function,function,undefined,function,(undefined|function)$/,
    timeLimitMs: quick,
  },
  { name: "wasm_memory", expected: "typed", timeLimitMs: quick },
  { name: "stack_rec", expected: "typed", timeLimitMs: quick },
  { name: "deep_msg_1e6", expected: ["typed", "killed"], timeLimitMs: quick },
  { name: "cyclic_msg", expected: "typed", timeLimitMs: quick },
  { name: "fn_msg", expected: "typed", timeLimitMs: quick },
  // The key is dropped on its way in; the rest is an event of no known type, and kept as unparsed.
  { name: "proto_msg", expected: "inert", timeLimitMs: quick },
  // Sent in one go it fills the heap, or the host's limit of events.
  { name: "flood_small", expected: ["typed", "killed"], timeLimitMs: slow },
  { name: "flood_forever", expected: "killed", timeLimitMs: slow },
  { name: "msg_sparse_array", expected: "typed", timeLimitMs: quick },
  { name: "msg_array_len", expected: "typed", timeLimitMs: quick },
  { name: "throw_late", expected: "killed", timeLimitMs: quick },
  { name: "throw_late_fn", expected: "killed", timeLimitMs: quick },
  { name: "throw_late_proxy", expected: "killed", timeLimitMs: quick },
  { name: "throw_late_getter", expected: "killed", timeLimitMs: quick },
  { name: "reject_late_sym", expected: "killed", timeLimitMs: quick },
  { name: "reject_flood", expected: "killed", timeLimitMs: quick },
  { name: "timers_flood", expected: "typed", timeLimitMs: quick },
  { name: "esc_async", expected: "typed", timeLimitMs: quick },
  { name: "esc_gen", expected: "typed", timeLimitMs: quick },
  { name: "esc_asyncgen", expected: "typed", timeLimitMs: quick },
  { name: "esc_import_spread", expected: "refused", timeLimitMs: quick },
  { name: "esc_import_u", expected: "refused", timeLimitMs: quick },
  { name: "esc_import_u2028", expected: "refused", timeLimitMs: quick },
  { name: "esc_import_defer", expected: "refused", timeLimitMs: quick },
  { name: "esc_import_source", expected: "refused", timeLimitMs: quick },
  // The assignment is ignored, and adapter code sees no stack.
  { name: "esc_prepare", expected: "inert", shows: /^$/, timeLimitMs: quick },
  { name: "esc_endow_ctor", expected: "typed", timeLimitMs: quick },
  { name: "esc_endow_timer", expected: "typed", timeLimitMs: quick },
  { name: "esc_timer_this", expected: "inert", timeLimitMs: quick },
  { name: "esc_arr_pollute", expected: "typed", timeLimitMs: quick },
  { name: "esc_species", expected: "typed", timeLimitMs: quick },
  {
    name: "esc_globals",
    expected: "inert",
    shows: /^(?!.*\b(process|require|Buffer|fetch|WebAssembly|SharedArrayBuffer|Atomics|Worker|Deno|global|WeakRef)\b)/,
    timeLimitMs: quick,
  },
  { name: "esc_hashbang", expected: "refused", timeLimitMs: quick },
  { name: "esc_direct_eval", expected: "refused", timeLimitMs: quick },
  { name: "esc_indirect_eval", expected: "inert", shows: /^undefinedundefined$/, timeLimitMs: quick },
  { name: "esc_newtarget", expected: "inert", shows: /^undefined$/, timeLimitMs: quick },
  {
    name: "esc_iterator",
    expected: "inert",
    shows: /^function (Object|Iterator)\(\) \{ \[native code\] \}$/,
    timeLimitMs: quick,
  },
  { name: "esc_symfor", expected: "inert", shows: /^\[object Object\]$/, timeLimitMs: quick },
  { name: "time_rand", expected: "inert", shows: /^0(\.\d+)?(e-\d+)?$/, timeLimitMs: quick },
  { name: "debugger_kw", expected: "inert", shows: /^1$/, timeLimitMs: quick },
];

const completed = `{ type: "completed", success: true, files_changed: [], tokens_used: null, cost: null }`;

/** Floods and hangs that a plain statement cannot do, because they need the generator itself. */
export const generators: readonly Attack[] = [
  { name: "flood_small_yielded", body: "for (let i = 0; i < 5e6; i++) yield i;", expected: "typed", timeLimitMs: slow },
  { name: "flood_forever_yielded", body: `for (;;) yield "x".repeat(1000);`, expected: "typed", timeLimitMs: slow },
  {
    name: "flood_arrays",
    body: `for (;;) yield Array.from({ length: 10_000 }, (_, n) => n);`,
    expected: "typed",
    timeLimitMs: slow,
  },
  {
    name: "flood_after_completed",
    body: `yield ${completed}; for (;;) yield 1;`,
    expected: "typed",
    timeLimitMs: slow,
  },
  {
    name: "flood_log",
    body: `for (;;) { ctx.log.info("x".repeat(1000)); await null; }`,
    expected: "killed",
    timeLimitMs: slow,
  },
  {
    name: "flood_calls",
    body: `for (;;) ctx.kv.get("k").catch(() => {});`,
    // Whichever comes first: the limit on calls under way, or the watch over its worker.
    expected: ["typed", "killed"],
    timeLimitMs: slow,
  },
  {
    name: "timer0_forever",
    body: "(function f() { setTimeout(f, 0); })(); await new Promise(() => {});",
    expected: "typed",
    timeLimitMs: slow,
  },
  { name: "never_settles", body: "await new Promise(() => {});", expected: "typed", timeLimitMs: slow },
  {
    name: "finally_forever",
    body: "try { await new Promise(() => {}); } finally { await new Promise(() => {}); }",
    expected: "typed",
    timeLimitMs: slow,
  },
  {
    name: "finally_yields_forever",
    body: "try { yield 1; await ctx.sleep(1e6); } finally { for (;;) yield 1; }",
    expected: "typed",
    timeLimitMs: slow,
  },
  {
    name: "throw_proxy",
    body: "throw new Proxy({}, { get() { for (;;); }, getPrototypeOf() { for (;;); } });",
    expected: "killed",
    timeLimitMs: quick,
  },
  {
    name: "throw_getter",
    body: `throw Object.defineProperty(new Error("x"), "message", { get() { for (;;); } });`,
    expected: "killed",
    timeLimitMs: quick,
  },
  { name: "to_json_loops", body: "yield { toJSON() { for (;;); } };", expected: "killed", timeLimitMs: quick },
  {
    name: "to_json_lies",
    body: `let n = 0; yield { get type() { return n++ ? "completed" : "progress"; }, message: "x" };`,
    expected: "inert",
    timeLimitMs: quick,
  },
  {
    name: "event_too_large",
    body: `yield { type: "progress", message: "x".repeat(17 * 1024 * 1024) };`,
    expected: "typed",
    timeLimitMs: quick,
  },
  {
    name: "nesting_below_the_stack",
    body: `let a = 1; for (let i = 0; i < 1000; i++) a = [a]; yield { type: "unparsed", data: a };`,
    expected: "inert",
    timeLimitMs: quick,
  },
];
