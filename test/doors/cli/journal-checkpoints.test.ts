import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createHost } from "../../../core/sessions/host/create-host.ts";
import { errorTable } from "../../../core/ground/errors/error-table.ts";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { talked } from "../../sessions/host/talked-files.ts";
import { fakeTerminal } from "./fake-terminal.ts";

test.each([["in one session", 60_000], ["in three sessions", 0]])(
  "journal verify compares the files of a conversation's turns with its events: %s",
  async (_, keep_ms) => {
    const { host, root, stateDir, id } = await talked({ keep_ms });
    if (keep_ms > 0) await (await host.sessions.open(id)).interrupt();
    const cli = async (...more: string[]) => {
      const terminal = fakeTerminal({ args: ["journal", "verify", "--state-dir", stateDir, ...more], cwd: root });
      const code = await runCli(terminal, { createHost: (options) => createHost({ ...options, bundledDir: null }) });
      return { code, out: terminal.out(), last: terminal.out().trimEnd().split("\n").at(-1)! };
    };
    const faulty = errorTable.journal_error.exit_code;
    const folder = join(stateDir, "checkpoints", id);

    expect(await cli()).toMatchObject({ code: 0, last: " 3 turns of 1 conversation are kept as the journal says." });
    const whole = { conversations: 1, turns: 3, ok: true, stores: [], more_stores: 0 };
    expect(JSON.parse((await cli("--json")).last)).toEqual({ checkpoints: whole });

    const file = join(folder, "record.json");
    const text = await readFile(file, "utf8");
    const record = JSON.parse(text) as { turns: { before: string; after: string }[] };
    record.turns[1]!.after = record.turns[1]!.before;
    record.turns.pop();
    await writeFile(file, JSON.stringify(record));
    const { code, out } = await cli();
    expect(code).toBe(faulty);
    expect(out).toContain(
      ` DIFFERS: the files after turn 2 of conversation ${id} are not those that the journal names.`,
    );
    expect(out).toContain(` MISSING: the files after turn 3 of conversation ${id} are not kept.`);
    expect(out).toContain(`remove the folder "${folder}"`);
    expect(JSON.parse((await cli("--json")).last)).toMatchObject({
      checkpoints: {
        ok: false,
        stores: [{
          conversation_id: id,
          folder,
          turns: 3,
          is_known: true,
          faults: [{ turn: 2, fault: "differs" }, { turn: 3, fault: "missing" }],
        }],
      },
    });

    await writeFile(file, text.slice(0, 40));
    expect(await cli()).toMatchObject({
      code: faulty,
      out: expect.stringContaining("DAMAGED: the files after turn 1"),
    });
    // No store, as after a restore, is no fault.
    await rm(folder, { recursive: true });
    expect(await cli()).toMatchObject({ code: 0, last: expect.stringMatching(/^ head /) });
  },
);

test("journal verify names a store of which no journal knows, and needs no store at all", async () => {
  const { host, root, stateDir, id } = await talked();
  const cli = async () => {
    const terminal = fakeTerminal({ args: ["journal", "verify", "--state-dir", stateDir], cwd: root });
    return { code: await runCli(terminal, { createHost }), out: terminal.out() };
  };
  await host.close();
  for (const name of ["journal.db", "journal.db-wal", "journal.db-shm", "journal.db.key"]) {
    await rm(join(stateDir, "host-1", name), { force: true });
  }
  const empty = await createHost({ stateDir, bundledDir: null, root });
  await empty.close();
  const { code, out } = await cli();
  expect(code).toBe(0);
  expect(out).toContain(`No journal names conversation ${id}, of which turns are kept`);
});
