import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createHost } from "bulkhead";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { daemonFiles } from "../../../core/doors/daemon/daemon-files.ts";
import { startDaemon } from "../../../core/doors/daemon/daemon.ts";
import { runtimeFault } from "../../../core/ground/platform/engine/runtime-fault.ts";
import { fakeHost } from "./fake-host.ts";
import { fakeTerminal } from "./fake-terminal.ts";

vi.mock("../../../core/ground/platform/engine/runtime-fault.ts");

const fault = "This runtime is faulty. Use another one.";

let root = "";
beforeEach(async () => {
  vi.mocked(runtimeFault).mockReturnValue(fault);
  root = await mkdtemp(join(tmpdir(), "bulkhead-faulty-"));
  await writeFile(join(root, "bulkhead.yaml"), "bulkhead: 1\nplugins: {}\n");
});
afterEach(() => rm(root, { recursive: true }));

test("bulkhead doctor warns of a faulty runtime, and sessions can run on it all the same", async () => {
  const terminal = fakeTerminal({ args: ["doctor", "--json"], cwd: root });
  expect(await runCli(terminal, { createHost: fakeHost().create })).toBe(0);
  expect(JSON.parse(terminal.out()).warnings).toContain(fault);
});

test("a daemon's log warns of a faulty runtime", async () => {
  const stateDir = join(root, "state");
  const options = { createHost, readManifest: async () => undefined, root, stateDir, bundledDir: null, port: 0 };
  const daemon = await startDaemon(options);
  try {
    expect(await readFile(daemonFiles(stateDir).log, "utf8")).toContain(JSON.stringify(fault));
  } finally {
    await daemon.stop({ drainMs: 0 });
  }
});
