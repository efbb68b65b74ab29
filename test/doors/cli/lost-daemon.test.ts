import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { tellOfLoss } from "../../../core/doors/cli/open-sessions.ts";
import { daemonFiles } from "../../../core/doors/daemon/daemon-files.ts";
import { takeDaemonLock } from "../../../core/doors/daemon/daemon-lock.ts";
import { replaceFile } from "../../../core/ground/platform/files/replace-file.ts";
import { fakeTerminal } from "./fake-terminal.ts";

/** No system gives a pid that high. */
const gone = 2 ** 30;

test("tellOfLoss tells at once that a daemon was killed, and later that it does not answer, once for each loss", async () => {
  const stateDir = await realpath(await mkdtemp(join(tmpdir(), "bh-lost-")));
  onTestFinished(() => rm(stateDir, { recursive: true }));
  const { lock } = daemonFiles(stateDir);
  const terminal = fakeTerminal();
  const tell = tellOfLoss(stateDir, terminal);

  await replaceFile(lock, JSON.stringify({ pid: gone, start: "1" }));
  await tell(0);
  await tell(500);
  const killed = `\nThe daemon was killed: process ${gone} is gone. Start it again: bulkhead start\n`;
  const waiting = "Waiting for it. Press Ctrl-C to leave.\n";
  expect(terminal.err()).toBe(killed + waiting);

  const { release } = await takeDaemonLock(daemonFiles(stateDir));
  onTestFinished(() => release());
  await tell(0);
  expect(terminal.err()).toBe(killed + waiting);
  await tell(1500);
  await tell(3000);
  expect(terminal.err()).toBe(
    `${killed}${waiting}\nThe daemon does not answer. "bulkhead status" tells more.\n${waiting}`,
  );
});
