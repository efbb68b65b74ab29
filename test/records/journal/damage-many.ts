// Damages a journal in many random ways, one after another, and shows what each cost. Run by hand with a seed:
// deno run -A test/records/journal/damage-many.ts 1 200
import { copyFileSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { chainKeyFile } from "../../../core/records/journal/chain-key.ts";
import type { Journal } from "../../../core/records/journal/journal.ts";
import { openJournal } from "../../../core/records/journal/open-journal.ts";
import { damageReports } from "../../../core/records/journal/salvage/damage-report.ts";
import { verifyJournal } from "../../../core/records/journal/verify-journal.ts";
import { ended, EnvelopeSource, readAll } from "./journal-fixture.ts";
import { damagePage, pageBytes, seeded } from "./pages.ts";

const [seed = 1, rounds = 200] = process.argv.slice(2).map(Number);
const random = seeded(seed);
const sessions = 40;
const folder = mkdtempSync(join(tmpdir(), "bulkhead-many-"));

/** A journal of many sessions, some of them deleted, as long as the random numbers want. */
async function makeJournal(file: string): Promise<Map<string, number>> {
  const journal = await openJournal(file);
  const source = new EnvelopeSource();
  const counts = new Map<string, number>();
  const append = async (id: string, isEnd: boolean): Promise<void> => {
    const size = Math.floor(10 ** (1 + random() * 3.3));
    const envelopes = source.batch(id, 1 + Math.floor(random() * 4), "x".repeat(size));
    if (isEnd) envelopes.at(-1)!.event = ended;
    counts.set(id, (counts.get(id) ?? 0) + envelopes.length);
    await journal.append({ session_id: id, envelopes });
  };
  for (let at = 0; at < 600; at++) await append(`s${Math.floor(random() * sessions)}`, false);
  for (const id of [...counts.keys()]) if (random() < 0.8) await append(id, true);
  const gone = [...counts.keys()].filter(() => random() < 0.2);
  for (const id of gone) if (await journal.delete(id, "client")) counts.delete(id);
  await journal.close();
  return counts;
}

/** Reads all there is; a number of events that nothing tells of is an error. */
async function untold(journal: Journal, counts: Map<string, number>): Promise<{ lost: number; untold: number }> {
  const sums = { lost: 0, untold: 0 };
  for (const [sessionId, count] of counts) {
    let next = 1;
    for (const { seq, event } of await readAll(journal, { sessionId })) {
      const from = event.type === "gap" ? event.from_seq : seq;
      if (from !== next) sums.untold += Math.abs(from - next);
      if (event.type === "gap") sums.lost += event.to_seq - event.from_seq + 1;
      next = seq + 1;
    }
    sums.untold += Math.max(0, count + 1 - next);
  }
  return sums;
}

const found: Record<string, number> = {};
const whole = join(folder, "whole.db");
const counts = await makeJournal(whole);
const pages = statSync(whole).size / pageBytes;
let lost = 0;
let bad = 0;
for (let round = 0; round < rounds; round++) {
  const file = join(folder, `${round}.db`);
  copyFileSync(whole, file);
  copyFileSync(chainKeyFile(whole), chainKeyFile(file));
  const page = 1 + Math.floor(random() * pages);
  const bytes = random() < 0.5 ? pageBytes : 512;
  const fill = random() < 0.3 ? 0 : random;
  const when = random() < 0.4 ? "after a kill" : random() < 0.5 ? "at a start" : "while in use";
  const said: string[] = [];
  const options = { onProblem: (message: string) => void said.push(message) };
  const hurt = () => damagePage(file, page, fill, bytes);
  try {
    if (when !== "while in use") hurt();
    if (when === "after a kill") writeFileSync(`${file}-wal`, "x");
    let journal = await openJournal(file, options);
    if (when === "while in use") hurt();
    await readAll(journal);
    let sums = await untold(journal, counts);
    const source = new EnvelopeSource(journal.lastGseq);
    for (let at = 0; at < 5; at++) await journal.append({ session_id: "new", envelopes: source.batch("new", 1) });
    let how = said.length > 0 ? when : "later, by verify";
    if (said.length === 0) {
      await verifyJournal(file).catch(() => {});
      await journal.sweep();
      if (said.length === 0) how = "never: nothing was there";
      sums = await untold(journal, counts);
    }
    await journal.close();
    journal = await openJournal(file, options);
    await journal.close();
    const { ok, problems } = await verifyJournal(file);
    const report = (await damageReports(file)).at(-1);
    lost += sums.lost;
    const isRight = ok && sums.untold === 0 && said.length <= 1 && (report?.lost_events ?? 0) >= sums.lost;
    found[how] = (found[how] ?? 0) + 1;
    if (!isRight) {
      bad++;
      console.log("BAD", { round, page, bytes, when, how, sums, ok, problems: problems.slice(0, 2), said });
    }
  } catch (error) {
    bad++;
    console.log("FAILED", { round, page, bytes, when, said }, error);
  }
}
rmSync(folder, { recursive: true, force: true });
console.log({ seed, rounds, pages, sessions: counts.size, bad, lost, found });
