// Opens and closes files on a thread of its own until it is told to stop, and says what went wrong.
import { closeSync, fstatSync, openSync } from "node:fs";
import process from "node:process";
import { parentPort, workerData } from "node:worker_threads";

const stop = new Int32Array(workerData);
const errors = [];
let files = 0;
parentPort.postMessage("ready");
for (; Atomics.load(stop, 0) === 0 && errors.length < 10; files++) {
  try {
    const file = openSync(process.execPath);
    fstatSync(file);
    closeSync(file);
  } catch (error) {
    errors.push(String(error));
  }
}
parentPort.postMessage({ files, errors });
