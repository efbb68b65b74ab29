// Takes what it can get of one thing: `memory`, `buffer` or `files`.
import { openSync, readFileSync } from "node:fs";
import process from "node:process";

const acts = { buffer, memory, files };
console.log(JSON.stringify(acts[process.argv[2]]()));
process.exit(0);

function buffer() {
  try {
    return { bytes: new ArrayBuffer(2 * 2 ** 30).byteLength };
  } catch (error) {
    return { thrown: error.name };
  }
}

function memory() {
  const kept = [];
  const report = () => ({ taken_mb: kept.length * 16, peak_mb: status("VmHWM") });
  try {
    while (kept.length < 64) {
      kept.push(new Uint8Array(16 * 2 ** 20).fill(1));
      // At the limit the runtime may die before it can say anything more.
      console.log(JSON.stringify(report()));
    }
  } catch (error) {
    kept.length -= 1;
    return { ...report(), thrown: error.name };
  }
  return report();
}

function files() {
  const core = /^Max core file size +(\S+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
  let opened = 0;
  try {
    while (opened < 1000) {
      openSync("/dev/null", "r");
      opened++;
    }
    return { opened, core };
  } catch (error) {
    return { opened, thrown: error.code, core };
  }
}

function status(name) {
  const line = new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(readFileSync("/proc/self/status", "utf8"));
  return Math.round(Number(line?.[1]) / 1024);
}
