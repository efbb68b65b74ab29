// Usage: use-network.mjs <module>
// Gives up the network on a thread and then on the main one, and prints what a connection from each comes to.
import { connect } from "node:net";
import process from "node:process";
import { isMainThread, Worker, workerData } from "node:worker_threads";

const module = isMainThread ? process.argv[2] : workerData;
const { dropNetwork } = await import(module);
dropNetwork();
// No one listens there: who may connect is refused by the system, and others by the runtime.
const outcome = await new Promise((resolve) => {
  connect(1, "127.0.0.1").on("error", ({ code }) => resolve(code)).on("connect", () => resolve("connected"));
});
if (isMainThread) {
  const thread = new Worker(new URL(import.meta.url), { workerData: module });
  thread.on("exit", () => console.log(outcome));
} else {
  console.log(outcome);
}
