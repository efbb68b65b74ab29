import { readFile, writeFile } from "node:fs/promises";
import process from "node:process";
import { test } from "vitest";
import { openHost } from "../host/test-host.ts";
import { oneLinerEntry } from "./attack-plugin.ts";

test("explore", async () => {
  const host = await openHost();
  const all = JSON.parse(await readFile(new URL("one-liners.json", import.meta.url), "utf8")) as Record<string, string>;
  const names = Object.keys(all).filter((n) => !process.env.ONLY || new RegExp(process.env.ONLY).test(n));
  const out: string[] = [];
  async function lane() {
    for (let name = names.shift(); name; name = names.shift()) {
      const id = name.toLowerCase().replaceAll("_", "-");
      await host.add(id, { files: { "mod.js": oneLinerEntry(all[name]!) } }, { limits: { heap_mb: 64, rss_mb: 512, heartbeat_interval_ms: 100, heartbeat_timeout_ms: 1000, timeout_ms: 5000, events: 50000, quarantine_crashes: 1000, workers: 1 } });
      const t = performance.now();
      const { result, events } = await host.run(id);
      out.push([name.padEnd(24), Math.round(performance.now() - t), result.stop_reason, result.error?.code ?? "-", (result.error?.message ?? "").slice(0, 150).replaceAll("\n", " "), JSON.stringify(result.output).slice(0, 200), events.filter(e => e.event.type === "unparsed").length].join(" | "));
      await writeFile("/tmp/scratch/hostile-" + ("Deno" in globalThis ? "deno" : "node") + ".txt", out.join("\n"));
    }
  }
  const t0 = performance.now();
  await Promise.all([lane(), lane(), lane()]);
  out.push("total " + (performance.now() - t0));
  await writeFile("/tmp/scratch/hostile-" + ("Deno" in globalThis ? "deno" : "node") + ".txt", out.join("\n"));
}, 300_000);
