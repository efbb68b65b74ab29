// Stands for code that broke out of compartment, thread and runtime: it tries what a plugin must never reach.
// Arguments: a file of the host, a port on this machine where somebody listens, a process id, a unix socket.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import process from "node:process";
import { fileURLToPath } from "node:url";

const [file, port, pid, socket] = process.argv.slice(2);

console.log(JSON.stringify({
  file: tries(() => readFileSync(file, "utf8")),
  passwords: tries(() => readFileSync("/etc/passwd", "utf8").length > 0),
  roots: tries(() => readdirSync("/").sort()),
  home: tries(() => readdirSync(process.env.HOME)),
  environment: Object.keys(process.env).filter((name) => !/^(HOME|PWD|LC_|__CF)/.test(name)),
  processes: tries(() => readdirSync("/proc").filter((name) => /^\d+$/.test(name)).length),
  signal: tries(() => process.kill(Number(pid), 0)),
  tcp: await reaches({ host: "127.0.0.1", port: Number(port) }),
  unix: await reaches({ path: socket }),
  writes: writable(["/", "/tmp", "/dev", "/dev/shm", process.env.HOME, fileURLToPath(new URL(".", import.meta.url))]),
}));
process.exit(0);

function tries(act) {
  try {
    return act();
  } catch (error) {
    return `refused: ${error.code}`;
  }
}

function reaches(target) {
  return new Promise((resolve) => {
    const socket = connect(target);
    socket.once("connect", () => resolve(true));
    socket.once("error", () => resolve(false));
  });
}

/** Folders of those given in which a file can be made; each one made is left for the test to find. */
function writable(folders) {
  return folders.filter((folder) => {
    const path = `${folder}/bulkhead-escaped-${process.pid}`;
    return existsSync(folder) && tries(() => (writeFileSync(path, "out"), true)) === true;
  });
}
