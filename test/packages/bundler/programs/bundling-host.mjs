// A host that bundles a plugin and then waits to be killed. Usage: bundling-host.mjs <the module with bundlePlugin()>
// <its source as JSON>. Prints "begun", and "done" when there is a script.
import process from "node:process";

const { bundlePlugin } = await import(process.argv[2]);
const made = bundlePlugin(JSON.parse(process.argv[3]));
process.stdout.write("begun\n");
await made;
process.stdout.write("done\n");
setInterval(() => {}, 1000);
