// Says which cases of an agent's walls fall on another tree: `deno run -A test/hostile/fall-on.ts <tree> [ids]`.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { runWalledCases } from "../../core/kit/attack/run-walled-cases.ts";
import { readWalledCases } from "../../core/kit/attack/walled-case.ts";

const [tree = ".", ids] = process.argv.slice(2);
const from = (file: string) => import(pathToFileURL(resolve(tree, file)).href);
const { createSessionBroker: createBroker } = await from("core/walls/broker/broker.ts");
const { createHost, loadHostManifest } = await from("core/mod.ts");
const tells = existsSync(resolve(tree, "core/records/gate"));
const { cases } = await readWalledCases();
const wanted = ids?.split(",");
const chosen = cases.filter(({ id }) =>
  wanted === undefined || wanted.some((one) => id === one || id.startsWith(`${one}.`))
);
const reports = await runWalledCases(chosen, {
  host: { createBroker, createHost, loadHostManifest, tells },
  onReport: ({ id, name, outcome, detail }) =>
    console.log(`${outcome.padEnd(8)} ${id.padEnd(7)} ${name}${process.env["VERBOSE"] ? `\n${detail}\n` : ""}`),
});
const fell = reports.filter(({ outcome }) => outcome === "escaped");
console.log(`${fell.length} of ${reports.length} fell on ${tree}.`);
process.exit(0);
