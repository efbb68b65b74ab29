import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { clearKept, sharedWallsDir } from "../../../core/walls/broker/session-walls.ts";
import { anyShell, makeBroker } from "./broker-fixture.ts";

async function prepared() {
  const fixture = await makeBroker({ permissions: { run: [anyShell] }, containPrograms: true });
  const scratch = join(fixture.root, "state", "scratch");
  Object.assign(fixture.options, { sharedWallsDir: sharedWallsDir(scratch) });
  const kept = join(fixture.workdir, ".vscode");
  expect(existsSync(kept)).toBe(false);
  fixture.broker.prepare();
  await expect.poll(() => existsSync(kept)).toBe(true);
  return { ...fixture, scratch, kept };
}

test("a broker prepares the walls before a program asks for them, and removes them where none did", async () => {
  const { broker, kept, root } = await prepared();
  await broker.close();
  expect([existsSync(kept), existsSync(join(root, "state", "temp-walls"))]).toEqual([false, false]);
  broker.prepare();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(existsSync(kept)).toBe(false);
});

test("clearKept removes what the walls of a killed host had put into projects", async () => {
  const { kept, scratch } = await prepared();
  await clearKept(scratch);
  expect(existsSync(kept)).toBe(false);
});
