// Opens a network by the runtime itself, and prints what a program in it hears. Arguments: the built core, a folder.
import { execFile } from "node:child_process";
import process from "node:process";
import { promisify } from "node:util";

const [core, folder] = process.argv.slice(2);
const { openOwnNetwork } = await import(`${core}/walls/agent/own-network.js`);
const { commandChain } = await import(`${core}/ground/runtime/os-walls/command-chain.js`);
const script = `${core}/../walls/network.js`;
const network = await openOwnNetwork({ script, ports: [3128], folder, light: false });
network.onClient((client) => client.end(`the host of user ${process.getuid()}\n`));
const heard = ["-c", "exec 3<>/dev/tcp/127.0.0.1/3128 && cat <&3"];
const { file, args } = await commandChain(network.enter({ file: "/bin/bash", args: heard, env: {}, cwd: "/" }));
const { stdout } = await promisify(execFile)(file, args);
process.stdout.write(stdout);
await network.close();
