// Evaluates the bundle named by the first argument in a compartment that has nothing but the language, runs one
// session of its `default` adapter there and prints the session's events and the names of what the bundle exports.
import { readFileSync } from "node:fs";
import process from "node:process";
import "ses";

lockdown({
  errorTrapping: "none",
  unhandledRejectionTrapping: "none",
  evalTaming: "safe-eval",
  overrideTaming: "severe",
  consoleTaming: "unsafe",
});
const compartment = new Compartment({ __options__: true, globals: { Date: harden({ now: () => 0, UTC: Date.UTC }) } });
const bundle = compartment.evaluate(`${readFileSync(process.argv[2], "utf8")}\nbundle;`);

async function* text(...pieces) {
  yield* pieces;
}
const ctx = harden({
  signal: { aborted: false, throwIfAborted() {}, addEventListener() {}, removeEventListener() {} },
  workdir: "/work",
  plugin_dir: "/plugin",
  platform: "linux",
  run: (binary, args) =>
    Promise.resolve({
      stdin: { write: async () => {}, close: async () => {} },
      stdout: text('{"say":"', `${binary} ${args.join(" ")}"}`, '\n{"odd":1}\nplain\n'),
      stderr: text("429, wait 5 seconds\n"),
      exit: Promise.resolve({ exit_code: 1, signal: null }),
      kill: async () => {},
    }),
  env: { get: async () => undefined },
  temp: { write: async () => "/temp/x", read: async () => "" },
  log: { warn() {} },
  sleep: async () => {},
});
const adapter = new bundle.default();
await adapter.initialize({ working_directory: "/work", access_modes: [] });
const events = [];
for await (const yielded of adapter.runSession({ workdir: "/work", prompt: "go" }, ctx)) events.push(yielded);
process.stdout.write(JSON.stringify({ events: events.flat(), exports: Object.keys(bundle) }));
