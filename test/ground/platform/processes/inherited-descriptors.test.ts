import { spawn } from "node:child_process";
import { mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const program = fileURLToPath(new URL("../programs/start-child.mjs", import.meta.url));
const config = fileURLToPath(new URL("../../../../deno.json", import.meta.url));
const runtime = "Deno" in globalThis ? ["run", "-A", "--config", config, program] : [program];

test("G33 what the host's own parent left open, at numbers with gaps, leads a program nowhere", async () => {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-fds-"));
  await writeFile(join(folder, "secret"), "secret");
  const written = await open(join(folder, "written"), "w");
  const secret = await open(join(folder, "secret"), "r");
  try {
    const gap = (count: number) => Array.from({ length: count }, () => "ignore" as const);
    const stdio = ["ignore", "pipe", "inherit", ...gap(4), written.fd, ...gap(32), secret.fd] as const;
    const host = spawn(process.execPath, runtime, { stdio: [...stdio] });
    let said = "";
    for await (const piece of host.stdio[1] as AsyncIterable<Uint8Array>) said += new TextDecoder().decode(piece);
    const { text } = JSON.parse(said) as { text: string };
    expect(text).toMatch(/end\n$/);
    expect(text).not.toContain(folder);
    expect(await readFile(join(folder, "written"), "utf8")).toBe("");
  } finally {
    await Promise.all([written.close(), secret.close()]);
    await rm(folder, { recursive: true });
  }
});
