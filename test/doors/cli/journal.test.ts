import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { errorTable } from "../../../core/ground/errors/error-table.ts";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { createHost } from "../../../core/sessions/host/create-host.ts";
import { claimState } from "../../../core/sessions/host/state/state-claim.ts";
import { openJournal } from "../../../core/records/journal/open-journal.ts";
import { openSqlite } from "../../../core/ground/platform/state/sqlite.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { ended, EnvelopeSource } from "../../records/journal/journal-fixture.ts";
import { fakeTerminal } from "./fake-terminal.ts";

const roots: string[] = [];
afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true, force: true });
});

interface Fixture {
  root: string;
  file: string;
  envelopes: Envelope[];
  cli(...args: string[]): Promise<{ code: number; out: string; err: string }>;
  doctor(): Promise<{ warnings: string[] }>;
  /** What hosts of the doctor wrote to their log. */
  logs(): string[];
}

/** A state folder whose journal has two sessions that ended long ago, and a command line on it. */
async function fixture({ data = "said" } = {}): Promise<Fixture> {
  const root = mkdtempSync(join(tmpdir(), "bulkhead-journal-cli-"));
  roots.push(root);
  const part = join(root, "state", "host-1");
  mkdirSync(part, { recursive: true });
  const file = join(part, "journal.db");
  const journal = await openJournal(file);
  const source = new EnvelopeSource();
  const envelopes: Envelope[] = [];
  for (const session_id of ["aa", "bb"]) {
    const batch = source.batch(session_id, 3, data);
    batch[2]!.event = ended;
    await journal.append({ session_id, envelopes: batch });
    envelopes.push(...batch);
  }
  await journal.close();
  const cli = async (...args: string[]) => {
    const all = ["journal", ...args, "--state-dir", join(root, "state")];
    const terminal = fakeTerminal({ args: all, cwd: root });
    const code = await runCli(terminal, { createHost: (options) => createHost({ ...options, bundledDir: null }) });
    return { code, out: terminal.out(), err: terminal.err() };
  };
  const lines: string[] = [];
  const doctor = async () => {
    const terminal = fakeTerminal({ args: ["doctor", "--json", "--state-dir", join(root, "state")], cwd: root });
    const writeLog = ({ message }: { message: string }) => void lines.push(message);
    await runCli(terminal, { createHost: (options) => createHost({ ...options, bundledDir: null, writeLog }) });
    return JSON.parse(terminal.out()) as { warnings: string[] };
  };
  return { root, file, envelopes, cli, doctor, logs: () => lines };
}

async function sql(file: string, text: string): Promise<void> {
  const database = await openSqlite(file, { busyTimeoutMs: 1000 });
  database.exec(text);
  database.close();
}

describe("bulkhead journal verify", () => {
  it("prints a head, which it finds again later", async () => {
    const { cli, file } = await fixture();
    const first = await cli("verify");
    const [, head] = /^ head (1:2:[0-9a-f]{64})$/m.exec(first.out) ?? [];
    expect(first).toMatchObject({ code: 0, err: "" });
    expect(first.out).toBe(`${file}\n 6 events in 2 batches are as written.\n head ${head}\n`);
    expect((await cli("verify", "--head", head!)).out).toContain("The head that was kept is in the chain.");
    const json = await cli("verify", "--head", head!, "--json");
    expect(JSON.parse(json.out)).toMatchObject({ part: 1, ok: true, events: 6, head, kept_head: "found" });
  });

  it("names the session and the events that were changed, and exits as a journal's error", async () => {
    const { cli, file } = await fixture();
    await sql(file, "UPDATE batch SET body = replace(body, 'said', 'sad') WHERE session_id = 'bb'");
    const { code, out } = await cli("verify");
    expect(code).toBe(errorTable.journal_error.exit_code);
    expect(out).toContain("CHANGED: events 4 to 6 of session bb (link 2) is not what was written.");
  });

  it("names a session of which something else is listed than its events say", async () => {
    const { cli, file } = await fixture();
    await sql(file, "UPDATE session SET title = 'nothing of the kind' WHERE session_id = 'bb'");
    const { code, out } = await cli("verify");
    expect(code).toBe(errorTable.journal_error.exit_code);
    expect(out).toContain("MISSTATED: what is listed of session bb is not what its events 4 to 6 say.");
    await sql(file, "INSERT INTO granted VALUES (99, 1, 'a', '{}')");
    expect((await cli("verify")).out).toContain("MISSTATED: the lists name something, of which there are no events.");
  });

  it("finds by the kept head that the end was cut off", async () => {
    const { cli, file } = await fixture();
    const { head } = JSON.parse((await cli("verify", "--json")).out) as { head: string };
    await sql(
      file,
      "DELETE FROM batch WHERE number = 2; DELETE FROM spend WHERE session = " +
        "(SELECT first_gseq FROM session WHERE session_id = 'bb'); DELETE FROM session WHERE session_id = 'bb'; " +
        "UPDATE state SET last_gseq = 3, head_number = 1, head_mac = (SELECT mac FROM batch)",
    );
    expect((await cli("verify")).code).toBe(0);
    const { code, out } = await cli("verify", "--head", head);
    expect(code).toBe(errorTable.journal_error.exit_code);
    expect(out).toContain("TRUNCATED");
  });

  it("names what no host put into the file", async () => {
    const { cli, file } = await fixture();
    await sql(file, "CREATE TRIGGER theirs AFTER INSERT ON batch BEGIN DELETE FROM link; END");
    const { code, out } = await cli("verify");
    expect(code).toBe(errorTable.journal_error.exit_code);
    expect(out).toContain('FOREIGN: "theirs" is in the file, and no host put it there.');
  });

  it("tells of damage until it is acknowledged, and so does the doctor", async () => {
    const { cli, doctor, file, logs } = await fixture();
    await sql(file, "UPDATE batch SET body = 'x' WHERE session_id = 'bb'");
    expect((await cli("verify")).out).toContain("CHANGED: events 4 to 6 of session bb");
    // What a verification marks, the next host sets aside.
    const told = await doctor();
    expect(logs().find((line) => line.includes("was damaged"))).toContain("3 events are missing of 1 session: bb (3)");
    expect(told.warnings.join()).toContain("3 events are missing of 1 session: bb (3)");
    const seen = await cli("verify");
    expect(seen.code).toBe(errorTable.journal_error.exit_code);
    expect(seen.out).toContain(
      " 3 events in 1 batch are as written.\n 1 link of a damaged file is lost, as its host noted.",
    );
    expect(seen.out).toContain("DAMAGED: The journal");
    expect(await cli("verify", "--acknowledge")).toMatchObject({ code: 0 });
    expect((await doctor()).warnings.join()).not.toContain("damaged");
    truncateSync(file);
    const emptied = await cli("verify");
    expect(emptied.code).toBe(errorTable.journal_error.exit_code);
    expect(emptied.err).toContain("the file is empty");
  });

  it("refuses what is no head, and a folder without a journal", async () => {
    const { cli, root } = await fixture();
    expect((await cli("verify", "--head", "1:2")).err).toContain('"1:2" is no head of a journal.');
    rmSync(join(root, "state"), { recursive: true });
    expect(await cli("verify")).toMatchObject({ code: errorTable.not_found.exit_code });
  });
});

describe("bulkhead journal export", () => {
  it("prints all events, or those of a session, or those after a number", async () => {
    const { cli, envelopes } = await fixture();
    const read = async (...args: string[]) => {
      const { code, out } = await cli("export", ...args);
      expect(code).toBe(0);
      return out.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as Envelope);
    };
    expect(await read()).toEqual(envelopes);
    expect(await read("--after", "2")).toEqual(envelopes.slice(2));
    expect(await read("--session", "bb")).toEqual(envelopes.slice(3));
    expect(await read("--session", "bb", "--after", "1")).toEqual(envelopes.slice(4));
    expect((await cli("export", "--session", "cc")).err).toContain('There is no session "cc"');
    expect((await cli("export", "--after", "x")).code).toBe(2);
  });

  it("writes a new file for its owner alone, and never over one", async () => {
    const { cli, envelopes, root } = await fixture();
    const file = join(root, "events.ndjson");
    const done = await cli("export", "--out", "events.ndjson");
    expect(done).toMatchObject({ code: 0, err: "" });
    expect(done.out).toContain(`Wrote 6 events to ${file}`);
    expect(readFileSync(file, "utf8")).toBe(envelopes.map((envelope) => `${JSON.stringify(envelope)}\n`).join(""));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await cli("export", "--out", "events.ndjson")).err).toContain("already exists");
  });
});

describe("bulkhead journal compact", () => {
  it("removes what is past its age and gives the space back, unless a host runs", async () => {
    const { cli, root, file } = await fixture({ data: "x".repeat(500_000) });
    writeFileSync(join(root, "bulkhead.yaml"), "bulkhead: 1\njournal:\n  keep_ms: 60000\n");
    const claim = await claimState(join(root, "state"));
    expect((await cli("compact")).err).toContain("a host uses it");
    await claim.release();
    const { code, out } = await cli("compact", "--json");
    expect(code).toBe(0);
    const report = JSON.parse(out) as { bytes_before: number; bytes_after: number };
    expect(report).toMatchObject({ part: 1, file, removed_sessions: 2 });
    expect(report.bytes_before).toBeGreaterThan(2_000_000);
    expect(report.bytes_after).toBeLessThan(200_000);
    expect((await cli("compact")).out).toContain("removed 0 sessions");
    expect((await cli("verify")).code).toBe(0);
  });
});
