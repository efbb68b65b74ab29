import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openDaemonLog } from "../../../core/doors/daemon/daemon-log.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "bulkhead-log-"));
});
afterEach(() => rm(folder, { recursive: true }));

const settings = { log_level: "info", log_file_bytes: 4096, log_files: 2 } as const;

test("the log is a JSON object a line, for this user alone, with what is known of each record", async () => {
  const file = join(folder, "daemon.log");
  const echoed: string[] = [];
  const log = openDaemonLog({ ...settings, file, echo: (line) => echoed.push(line) });
  log.write({ level: "debug", message: "not this one" });
  log.write({ level: "warn", message: "a\nb", plugin_id: "alpha", session_id: "s1", fields: { n: 1 } });
  log.setLevel("debug");
  log.write({ level: "debug", message: "this one" });
  log.close();
  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { level: "warn", message: "a\nb", plugin_id: "alpha", session_id: "s1", fields: { n: 1 } },
    { level: "debug", message: "this one" },
  ]);
  expect(JSON.parse(lines[0]!)).toHaveProperty("time", expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/));
  expect(echoed.map((line) => line.trimEnd())).toEqual(lines);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test("a full log file is kept under a number, and no more of them than are wanted", async () => {
  const file = join(folder, "daemon.log");
  const log = openDaemonLog({ ...settings, file });
  for (let number = 0; number < 200; number++) log.write({ level: "info", message: `${number} ${"x".repeat(100)}` });
  log.close();
  expect((await readdir(folder)).sort()).toEqual(["daemon.log", "daemon.log.1", "daemon.log.2"]);
  const texts = await Promise.all(
    ["daemon.log.2", "daemon.log.1", "daemon.log"].map((name) => readFile(join(folder, name), "utf8")),
  );
  for (const text of texts) expect(text.length).toBeLessThanOrEqual(4096);
  const numbers = texts.join("").trimEnd().split("\n").map((line) =>
    Number((JSON.parse(line) as { message: string }).message.split(" ")[0])
  );
  expect(numbers.at(-1)).toBe(199);
  expect(numbers).toEqual(numbers.map((_, index) => numbers[0]! + index));
});
