// Usage: fill-memory.mjs <module> <before|starting|started>
// Holds on to new objects for a while, as a busy host does, and prints the size of the space for short-lived ones: before a
// host's first session, while it starts, or later.
import process from "node:process";
import { getHeapSpaceStatistics } from "node:v8";

const [module, when] = process.argv.slice(2);
const { letYoungGenerationGrow, setBootFlags } = await import(module);
setBootFlags();
// Longer than it takes to fill the memory on a busy machine.
if (when === "starting") letYoungGenerationGrow(120_000);
if (when === "started") {
  letYoungGenerationGrow(50);
  await new Promise((resolve) => setTimeout(resolve, 200));
}

const held = [];
for (let turn = 0; turn < 400; turn++) {
  for (let each = 0; each < 5000; each++) held.push({ turn, each, text: `${turn}-${each}` });
  if (held.length > 300_000) held.splice(0, 100_000);
  // What tells of collections comes with the event loop's turns.
  await new Promise((resolve) => setImmediate(resolve));
}
const { space_size } = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
console.log(space_size);
