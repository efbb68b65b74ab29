import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { daemonPlace } from "../../../core/doors/cli/daemon-place.ts";
import { fakeTerminal } from "./fake-terminal.ts";

test("daemonPlace finds the daemon's state folder in a host manifest that is half saved", async () => {
  const cwd = await mkdtemp(join(tmpdir(), "bulkhead-place-"));
  const file = join(cwd, "bulkhead.yaml");
  const place = async (text: string) => {
    await writeFile(file, text);
    const { stateDir, problem } = await daemonPlace({
      terminal: fakeTerminal({ args: [], cwd }),
      configFile: undefined,
      stateDir: undefined,
    });
    return [stateDir, problem?.code];
  };
  try {
    expect(await place("bulkhead: 1\nstate_dir: ./st\n")).toEqual([join(cwd, "st"), undefined]);
    const half = "plugins:\n  one: { source: ";
    expect(await place(`bulkhead: 1\nstate_dir: "./s t" # here\n${half}`)).toEqual([
      join(cwd, "s t"),
      "invalid_config",
    ]);
    expect(await place(`state_dir: ./st\n${half}`)).toEqual([join(cwd, "st"), "invalid_config"]);
    // Neither a line of something else, nor one that is half saved itself.
    for (const line of ["  state_dir: ./st", 'state_dir: "./st', "state_dir: 5"]) {
      const [stateDir, code] = await place(`bulkhead: 1\n${line}\n${half}`);
      expect([stateDir?.startsWith(cwd), code]).toEqual([false, "invalid_config"]);
    }
  } finally {
    await rm(cwd, { recursive: true });
  }
});
