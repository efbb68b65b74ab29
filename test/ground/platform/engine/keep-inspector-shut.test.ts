import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { root } from "../../../structure/source.ts";

const onDeno = "Deno" in globalThis;

/** Runs a module that says "up", sends it SIGUSR1, and gives what it printed until it ended by itself. */
async function signalled(code: string, denoFlags: string[] = []): Promise<string> {
  const args = onDeno
    ? ["run", "--no-prompt", ...denoFlags, `data:text/javascript,${encodeURIComponent(code)}`]
    : ["--input-type=module", "-e", code];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (piece) => (text += piece));
  const closed = once(child, "close");
  await Promise.race([once(child.stdout, "data"), closed]);
  // Deno listens for that signal only after half a second.
  if (onDeno) await new Promise((resolve) => setTimeout(resolve, 700));
  child.kill("SIGUSR1");
  await closed;
  return text;
}

const ends = `console.log("up"); setTimeout(() => console.log("done"), ${onDeno ? 1200 : 500});`;
const library = pathToFileURL(join(root, onDeno ? "core/mod.ts" : "dist/bundle/mod.js")).href;
const host = `
  const { createHost } = await import(${JSON.stringify(library)});
  const host = await createHost({ stateDir: null, bundledDir: null });
  await host.close();
  ${ends}`;

test("SIGUSR1 opens no debugger on a host of the library, and does not end it", async () => {
  expect(await signalled(host, ["-A", "--config", "deno.json"])).toBe("up\ndone\n");
});

test("without a host, the runtime answers that signal with a debugger: the test can fail", async () => {
  // It says "failed" where its one port is taken.
  expect(await signalled(ends)).toMatch(/Debugger listening|inspector on .* failed/);
});

if (onDeno) {
  test("SIGUSR1 ends a process of Deno that may not call the C library, before a debugger can be used", async () => {
    const file = pathToFileURL(join(root, "core/ground/platform/engine/keep-inspector-shut.ts")).href;
    const text = await signalled(`(await import(${JSON.stringify(file)})).keepInspectorShut(); ${ends}`, [
      "--allow-read",
      "--allow-env",
    ]);
    expect(text).toContain("up\n");
    expect(text).not.toContain("done");
  });
}
