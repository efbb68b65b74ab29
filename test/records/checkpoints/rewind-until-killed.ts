import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { openCheckpoints } from "../../../core/records/checkpoints/checkpoint-store.ts";
import { numbers, readFiles } from "./rewind-history.ts";

// Works in turns until it is killed, with rewinds and their undoing between. It notes beside the work tree what a look at
// the files says: `turn-<n>.json` after each turn, and `rewinding.json` with the files before and after a rewind.
const [root = "", first = "0", seed = "0"] = process.argv.slice(2);
const work = join(root, "work");
const below = numbers(Number(seed));

function note(name: string, value: unknown): void {
  writeFileSync(join(root, `${name}.tmp`), JSON.stringify(value));
  renameSync(join(root, `${name}.tmp`), join(root, name));
}

/** The files after a turn of this life or one before; null where that is not known. */
function filesAt(turn: number): unknown {
  try {
    return (JSON.parse(readFileSync(join(root, `turn-${turn}.json`), "utf8")) as { files: unknown }).files;
  } catch {
    return null;
  }
}

function write(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(work, path)), { recursive: true });
  writeFileSync(join(work, path), content);
}

const store = await openCheckpoints({
  folder: join(root, "checkpoints"),
  conversation: "c1",
  workdir: work,
  exclude: [],
});
for (let turn = Number(first) + 1;; turn++) {
  const before = await store.beginTurn(turn);
  for (let file = 0; file < 30; file++) if (below(3) === 0) write(`d${file % 5}/${file}.txt`, `${turn} ${file}\n`);
  write("large.bin", new Uint8Array(4_000_000).fill(turn));
  write(`new-${turn}/a.txt`, `${turn}\n`);
  if (below(2) === 0) rmSync(join(work, "d1"), { recursive: true, force: true });
  const { checkpoint } = await store.endTurn("all");
  note(`turn-${turn}.json`, { turn, before, after: checkpoint, files: [...readFiles(work)] });
  process.stdout.write(`turn ${turn}\n`);
  const record = JSON.parse(readFileSync(join(root, "checkpoints/c1/record.json"), "utf8")) as {
    line: number[];
    turns: { turn: number }[];
  };
  const to = record.line.at(-2) ?? record.turns[0]!.turn - 1;
  const plan = await store.plan({ to, unclaimed: true });
  note("rewinding.json", { now: [...readFiles(work)], wanted: filesAt(to) });
  process.stdout.write("rewinding\n");
  await store.rewind(plan);
  rmSync(join(root, "rewinding.json"));
  const undo = await store.plan({ undo: true });
  note("rewinding.json", { now: [...readFiles(work)], wanted: filesAt(turn) });
  process.stdout.write("rewinding\n");
  await store.rewind(undo);
  rmSync(join(root, "rewinding.json"));
}
