import { access, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createHost, type Host, loadHostManifest } from "bulkhead";
import { vi } from "vitest";
import { afterEveryTest } from "../../clean-up.ts";
import { adapterCode, completed, writePlugin } from "./test-host.ts";

/** A project with an agent whose program is a shell, and a plugin of its own. */
export interface RecordedProject {
  root: string;
  /** The project's folder, which is also where sessions work. */
  project: string;
  file: string;
  /** Opens a host as the next start would. */
  open(options?: { stateDir?: string; from?: string }): Promise<Host>;
  /** Runs a contained agent to its end; returns what its program printed. */
  agent(script: string, host?: Host): Promise<string>;
  /** Runs an agent that waits, changes something meanwhile, and lets it end. */
  during(act: (host: Host) => Promise<unknown>, then?: string): Promise<string>;
}

const projects: string[] = [];
const hosts: Host[] = [];

afterEveryTest(async () => {
  for (const host of hosts.splice(0).reverse()) await host.close();
  for (const root of projects.splice(0)) await rm(root, { recursive: true, force: true, maxRetries: 3 });
});

const shell = adapterCode(`    const child = await ctx.run("sh", ["-c", request.prompt]);
    for await (const text of child.stdout) yield { type: "output", stream: "stdout", data: text };
    yield ${completed};`);

/** Text of the host manifest that the project begins with. */
export const firstManifest = `bulkhead: 1
plugins:
  agent:
    grant:
      run: [sh]
  deploy: {}
`;

/** Makes the project, with a data folder of its own. */
export async function makeProject(manifest: string = firstManifest): Promise<RecordedProject> {
  // Agents have a `/tmp` of their own.
  const base = await access("/var/tmp").then(() => "/var/tmp", () => tmpdir());
  const root = await realpath(await mkdtemp(join(base, "bulkhead-recorded-")));
  projects.push(root);
  vi.stubEnv("XDG_DATA_HOME", join(root, "data"));
  const project = join(root, "project");
  const file = join(project, "bulkhead.yaml");
  await mkdir(project);
  await writeFile(file, manifest);
  await writePlugin(join(project, "plugins", "agent"), "agent", {
    type: "agent",
    code: shell,
    manifest: `permissions:\n  run:\n    - { binary: sh, args: ["-c {*}"] }\n`,
  });
  await writePlugin(join(project, "plugins", "deploy"), "deploy", {
    code: adapterCode(`    yield { type: "output", stream: "stdout", data: "deployed" };\n    yield ${completed};`),
  });
  const open: RecordedProject["open"] = async ({ stateDir = join(root, "state"), from = project } = {}) => {
    const found = await loadHostManifest({ from });
    const host = await createHost({ stateDir, bundledDir: null, root: project, ...(found ? { manifest: found } : {}) });
    hosts.push(host);
    return host;
  };
  const agent: RecordedProject["agent"] = async (script, given) => {
    const host = given ?? await open();
    const session = await host.runSession({ workdir: project, prompt: script }, {
      adapter: "agent",
      artifacts: "none",
    });
    const { output, error } = await session.result();
    if (given === undefined) await host.close();
    return error === undefined ? output : `${error.code}: ${error.message}`;
  };
  const during: RecordedProject["during"] = async (act, then = "") => {
    const host = await open();
    const [begun, go] = [join(project, "begun"), join(project, "go")];
    const output = agent(`touch begun; while [ ! -e go ]; do sleep 0.02; done; rm -f begun go; ${then}`, host);
    await Promise.race([appears(begun), output.then((text) => Promise.reject(new Error(`It ended: ${text}`)))]);
    try {
      await act(host);
    } finally {
      await writeFile(go, "");
    }
    const text = await output;
    await host.close();
    return text;
  };
  return { root, project, file, open, agent, during };
}
async function appears(file: string): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    if (await access(file).then(() => true, () => false)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`${file} did not appear.`);
}
