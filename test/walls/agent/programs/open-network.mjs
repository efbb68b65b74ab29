// Opens a network by the runtime itself, and prints what a program in it hears. Argument: a folder. Deno needs no build.
import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const isDeno = "Deno" in globalThis;
const [folder] = process.argv.slice(2);
const core = new URL(`../../../../${isDeno ? "" : "dist/"}core/`, import.meta.url);
const load = (name) => import(new URL(`${name}${isDeno ? ".ts" : ".js"}`, core));
const { openOwnNetwork } = await load("walls/agent/own-network");
const { commandChain } = await load("ground/platform/os-walls/command-chain");
const script = fileURLToPath(new URL("../../../../dist/walls/network.js", import.meta.url));
const network = await openOwnNetwork({ script, ports: [3128], folder, light: false });
network.onClient((client) => client.end(`the host of user ${process.getuid()}\n`));
const heard = ["-c", "exec 3<>/dev/tcp/127.0.0.1/3128 && cat <&3"];
const { file, args } = await commandChain(network.enter({ file: "/bin/bash", args: heard, env: {}, cwd: "/" }));
const { stdout } = await promisify(execFile)(file, args);
process.stdout.write(stdout);
await network.close();
