/** Ways to do without the globals of other places, by their names. */
export const globalSubstitutes: Readonly<Record<string, string>> = {
  fetch: "use ctx.fetch(url), and ask for net in plugin.yaml",
  XMLHttpRequest: "use ctx.fetch(url), and ask for net in plugin.yaml",
  EventSource: "read the body of ctx.fetch(url) with SseReader, and ask for net in plugin.yaml",
  WebSocket: "use ctx.connect(url), and ask for net in plugin.yaml",
  process: "use ctx.env.get(name), ctx.workdir, ctx.platform or ctx.run(program, args)",
  Deno: "use ctx.fs, ctx.env, ctx.fetch(url) or ctx.run(program, args)",
  Bun: "use ctx.fs, ctx.env, ctx.fetch(url) or ctx.run(program, args)",
  Buffer: "use a Uint8Array with TextEncoder and TextDecoder, and atob() and btoa() for base64",
  require: "use import, and ctx.fs and ctx.run(program, args) for files and programs",
  __dirname: "use ctx.plugin_dir",
  __filename: "use ctx.plugin_dir",
  localStorage: "use ctx.kv, and ask for kv in plugin.yaml",
  sessionStorage: "use ctx.kv, and ask for kv in plugin.yaml",
  global: "use globalThis",
  window: "use globalThis",
};

/** Ways to do without Node's modules, by their names. */
const moduleSubstitutes: Readonly<Record<string, string>> = {
  fs: "use ctx.fs, and ask for read or write in plugin.yaml",
  child_process: "use ctx.run(program, args), and ask for run in plugin.yaml",
  http: globalSubstitutes["fetch"]!,
  https: globalSubstitutes["fetch"]!,
  net: globalSubstitutes["WebSocket"]!,
  os: "use ctx.platform",
  path: "join paths with /",
  process: globalSubstitutes["process"]!,
  buffer: globalSubstitutes["Buffer"]!,
  crypto: "use the global crypto",
  timers: "use setTimeout() or ctx.sleep(ms)",
  url: "use the global URL",
  util: "use the globals TextEncoder and TextDecoder",
};

/** Says what to use instead of one of Node's modules, named with or without `node:`; null for another module. */
export function moduleSubstitute(path: string): string | null {
  const name = path.replace(/^node:/, "").split("/")[0]!;
  return Object.hasOwn(moduleSubstitutes, name) ? moduleSubstitutes[name]! : null;
}
