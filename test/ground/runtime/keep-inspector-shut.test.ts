import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { root } from "../../structure/source.ts";

const onDeno = "Deno" in globalThis;

/** Runs a module that says "up", sends it SIGUSR1, and gives what it printed until it ended by itself. */
async function signalled(code: string): Promise<string> {
  const args = onDeno ? ["eval", code] : ["--input-type=module", "-e", code];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (piece) => (text += piece));
  await once(child.stdout, "data");
  child.kill("SIGUSR1");
  await once(child, "close");
  return text;
}

const ends = `console.log("up"); setTimeout(() => console.log("done"), 500);`;

test.skipIf(onDeno)("SIGUSR1 opens no debugger on a host of the built library, and does not end it", async () => {
  const library = join(root, "dist/bundle/mod.js");
  const text = await signalled(`
    const { createHost } = await import(${JSON.stringify(library)});
    const host = await createHost({ stateDir: null, bundledDir: null });
    await host.close();
    ${ends}`);
  expect(text).toBe("up\ndone\n");
});

test.skipIf(onDeno)("without a host, Node answers that signal with a debugger: the test can fail", async () => {
  expect(await signalled(ends)).toContain("Debugger listening");
});
