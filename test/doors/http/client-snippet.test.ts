import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { transformSync } from "esbuild";
import { expect, test } from "vitest";
import { snippetsOf } from "../../structure/snippets.ts";
import { root } from "../../structure/source.ts";
import { openDoor } from "./door-fixture.ts";

const onDeno = "Deno" in globalThis;

test("http-api.md's client runs a session against a host", async () => {
  const snippet = snippetsOf(".github/docs/http-api.md").find(({ text }) => text.includes("BULKHEAD_URL"));
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-readme-"));
  try {
    if (!onDeno) await install(folder);
    const { code } = transformSync(`import process from "node:process";\n${snippet!.text}`, { loader: "ts" });
    await writeFile(join(folder, "client.js"), code);
    const door = await openDoor();
    const env = { ...process.env, BULKHEAD_URL: door.url, BULKHEAD_TOKEN: await door.token("run") };
    // There the package is its source, since there may be no build of it.
    const prefix = onDeno ? ["run", "-A", "--config", join(root, "deno.json")] : [];
    const child = spawn(process.execPath, [...prefix, join(folder, "client.js")], { env });
    let out = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => void (out += text));
    await expect.poll(async () => (await door.sessions.list()).length, { timeout: 20_000 }).toBe(1);
    const [session] = await door.sessions.list();
    await door.sessions.say(session!.session_id, "one");
    await door.sessions.end(session!.session_id);
    await new Promise((resolve) => child.once("close", resolve));
    expect(out).toBe("1 session_started\n2 output\n3 session_ended\nend_turn\n");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

/** Lets programs in a folder import the package. */
async function install(folder: string): Promise<void> {
  await mkdir(join(folder, "node_modules"));
  await symlink(root, join(folder, "node_modules/bulkhead"), "dir");
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
}
