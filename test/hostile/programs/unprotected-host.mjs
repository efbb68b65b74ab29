// A host without walls: it evaluates an adapter's code beside its own, waits for it as long as it takes, and formats
// what it throws. Usage: unprotected-host.mjs <attack as JSON>. Prints "begun", what was a breach, and "done".
import process from "node:process";

const { top = "", members = "", body = "", interruptAfterMs } = JSON.parse(process.argv[2]);
const controller = new AbortController();
const wait = (ms) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    controller.signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(controller.signal.reason);
    });
  });
const stored = new Map();
const logged = [];
const ctx = {
  signal: controller.signal,
  session_id: "session",
  workdir: process.cwd(),
  sleep: wait,
  answer: () => new Promise(() => {}),
  permission: () => new Promise(() => {}),
  log: { info: (message) => logged.push(`${message}`) },
  kv: { get: (key) => Promise.resolve(stored.get(key)) },
  run: (name) => Promise.reject(new Error(`There is no ${name}.`)),
};

process.stdout.write("begun\n");
await runSession(new Function(`${top}\nreturn { ${members}\nasync *runSession(request, ctx) {\n${body}\n} };`)());
// What is left behind has its turn.
await new Promise((resolve) => setTimeout(resolve, 500));
process.stdout.write("done\n");
process.exit(0);

async function runSession(adapter) {
  const kept = [];
  try {
    await adapter.initialize?.({});
    if (interruptAfterMs !== undefined) setTimeout(interrupt, 100, adapter);
    for await (const yielded of adapter.runSession({ prompt: "go" }, ctx)) {
      for (const event of [yielded].flat()) {
        const text = JSON.stringify(event);
        kept.push(text);
        if (text.includes("BREACH")) process.stdout.write(`${text.slice(0, 200)}\n`);
      }
    }
  } catch (error) {
    process.stdout.write(`failed: ${error.name}: ${String(error.message).slice(0, 200)}\n`);
  }
  await adapter.shutdown?.();
}

function interrupt(adapter) {
  controller.abort();
  adapter.interrupt?.();
}
