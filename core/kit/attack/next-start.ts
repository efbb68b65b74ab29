import { fieldsOf } from "../../../plugin-sdk/json-fields.ts";
import { mkdir, writeFile } from "../../ground/platform/files/files.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { loadHostManifest } from "../../packages/manifest/find-host-manifest.ts";
import { createHost } from "../../sessions/host/create-host.ts";
import { agentSettings } from "./escape-stage.ts";

/** Functions that start a host; another tree's in a test of that tree. */
export interface HostStarter {
  createHost: typeof createHost;
  loadHostManifest: typeof loadHostManifest;
}

interface NextStartOptions extends Partial<HostStarter> {
  /** Folder of the person's files. */
  root: string;
  project: string;
  stateDir: string;
  /** Program of its agent. */
  script: string;
}

/** Begins the text of a start that failed for another reason than what lay in the project: nothing was tried. */
export const failed = "FAILED";

/** Errors by which a host refuses what lies in the project. */
const refusals: readonly string[] = ["unaccepted_change", "unsupported"];

/** Whether a host refused what lies in the project. */
export function isRefusal(error: unknown): boolean {
  const code = fieldsOf(error)?.["code"];
  return typeof code === "string" && refusals.includes(code);
}

const manifest = `manifest: 1
id: agent
name: Agent
version: 1.0.0
description: Runs a shell.
license: MIT
host: ^1.0.0
adapter_type: agent
entry: ./mod.js
capabilities: {}
permissions:
  run:
    - { binary: sh, args: ["-c {*}"] }
  read: ${JSON.stringify(agentSettings)}
`;

const code = `import { defineAdapter } from "bulkhead/plugin-sdk";
export default defineAdapter({
  id: "agent", name: "Agent", version: "1.0.0",
  async *runSession(request, ctx) {
    const child = await ctx.run("sh", ["-c", request.prompt + "\\n"]);
    for await (const text of child.stdout) yield { type: "output", stream: "stdout", data: text };
    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
  },
});
`;

/** Starts a host in a project as it is, and runs a program of its agent. Returns what it printed and was refused. */
export async function startNext(options: NextStartOptions): Promise<string> {
  const { root, project, stateDir, script } = options;
  const folder = join(root, "agent");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "plugin.yaml"), manifest);
  await writeFile(join(folder, "mod.js"), code);
  const found = await (options.loadHostManifest ?? loadHostManifest)({ from: project });
  const host = await (options.createHost ?? createHost)({
    ...(found === null ? {} : { manifest: found }),
    root: project,
    stateDir,
    bundledDir: null,
  });
  try {
    await host.registry.register(folder, { grant: { run: [{ binary: "sh" }], read: agentSettings } });
    const session = await host.runSession({ workdir: project, prompt: script, retry: "never" }, {
      adapter: "agent",
      artifacts: "none",
    });
    const { output, error } = await session.result();
    const problems = host.registry.problems().map(({ id, error }) => `refused: ${id}: ${error.message}`);
    const ended = error === undefined ? [] : [`${isRefusal(error) ? "refused" : failed}: ${error.message}`];
    return [output, ...ended, ...problems].join("\n").trim();
  } finally {
    await host.close();
  }
}
