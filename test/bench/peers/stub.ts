import { execFile } from "node:child_process";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";

const source = join(process.cwd(), "test/bench/peers");

/** Compiles the stub agent where the machine has a compiler; else a script starts the one in JavaScript. */
export async function makeStub(folder: string): Promise<{ program: string; language: "C" | "JavaScript" }> {
  const program = join(folder, "stub-agent");
  const compile = ["-O2", "-o", program, join(source, "stub-agent.c")];
  const compiled = await promisify(execFile)("cc", compile).then(() => true, () => false);
  if (compiled) return { program, language: "C" };
  const node = "Deno" in globalThis ? "node" : process.execPath;
  await writeFile(program, `#!/bin/sh\nexec ${node} ${join(source, "stub-agent.mjs")}\n`);
  await chmod(program, 0o755);
  return { program, language: "JavaScript" };
}
