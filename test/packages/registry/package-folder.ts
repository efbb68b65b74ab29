import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEveryFile } from "../../clean-up.ts";
import type { Manifest } from "../../../plugin-sdk/manifest.ts";

const made: string[] = [];
afterEveryFile(async () => {
  await Promise.all(made.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
});

/** A new folder, removed after the test file. */
export async function newFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-test-")));
  made.push(folder);
  return folder;
}

/** Files of a package, by path; a value that begins with `-> ` is a link to that path. */
export async function writePackage(files: Record<string, string>, folder?: string): Promise<string> {
  const root = folder ?? await newFolder();
  for (const [path, text] of Object.entries(files)) {
    const file = join(root, path);
    await mkdir(dirname(file), { recursive: true });
    if (text.startsWith("-> ")) await symlink(text.slice(3), file);
    else await writeFile(file, text);
  }
  return root;
}

/** The least a manifest of code has. */
export const codeManifest: Manifest = {
  manifest: 1,
  id: "demo",
  name: "Demo",
  version: "1.0.0",
  description: "A demo.",
  license: "MIT",
  host: "^1.0.0",
  adapter_type: "agent",
  entry: "./mod.ts",
  capabilities: {},
};

/** The text of a `plugin.yaml`: the least one, with other lines in place of or after its own. */
export function manifestText(changes: Record<string, string | null> = {}): string {
  const lines: Record<string, string | null> = {
    manifest: "1",
    id: "demo",
    name: "Demo",
    version: "1.0.0",
    description: "A demo.",
    license: "MIT",
    host: "^1.0.0",
    adapter_type: "agent",
    entry: "./mod.ts",
    capabilities: "{}",
    ...changes,
  };
  return Object.entries(lines)
    .filter(([, value]) => value !== null)
    .map(([key, value]) => `${key}:${value?.startsWith("\n") ? "" : " "}${value}\n`)
    .join("");
}
