import { expect, test } from "vitest";
import { everyRecording, hasPlugin, placeOf, recordingFolders } from "./every-recording.ts";
import type { ReadRecording } from "./recorded-lines.ts";

// Four are conversations of several turns, of which each has a last word; the adapter has one turn for each session.
const severalTurns = ["control-interrupt", "control-two", "steered", "two-turns"];

test("every recording becomes sound events, as many of each kind as ever, with nothing unparsed", async () => {
  const rest = new Set(everyRecording());
  expect(rest.size).toBeGreaterThan(0);
  for (const { folder, plugin, inParts = [], read } of recordingFolders) {
    const names = [...rest].flatMap((path) => (nameIn(folder, path) === null ? [] : [nameIn(folder, path)!]));
    for (const name of names) rest.delete(`${folder}/${name}.jsonl`);
    if (!hasPlugin(plugin)) continue;
    const parts = inParts.flat();
    const rows: string[] = [];
    for (const session of [...inParts, ...names.filter((name) => !parts.includes(name)).map((name) => [name])]) {
      const name = session.join(" + ");
      const files = session.map((part) => placeOf(`${folder}/${part}.jsonl`));
      for (const [index, found] of (await read(...files)).entries()) {
        const which = index === 0 ? name : `${name} ${index + 1}`;
        rows.push(`${which}: ${rowOf(found)}\n`);
        if (!severalTurns.includes(name)) expect.soft(found.violations, `${folder}/${which}`).toEqual([]);
        expect.soft(found.counts, `${folder}/${which}`).not.toHaveProperty("unparsed");
      }
    }
    expect.soft(rows, folder).not.toEqual([]);
    const snapshot = `./recordings/${folder.replaceAll("/", "-")}.txt`;
    await expect.soft(rows.join(""), folder).toMatchFileSnapshot(snapshot);
  }
  expect([...rest], "recordings that nobody reads").toEqual([]);
});

function nameIn(folder: string, path: string): string | null {
  const name = path.startsWith(`${folder}/`) ? path.slice(folder.length + 1).replace(/\.jsonl$/, "") : "/";
  return name.includes("/") ? null : name;
}

/** How many events of each kind, and how it ended. */
function rowOf({ counts, events }: ReadRecording): string {
  const kinds = Object.entries(counts).map(([type, count]) => `${type} ${count}`).sort().join(", ");
  const last = events.findLast(({ type }) => type === "completed" || type === "error");
  return `${kinds || "nothing"} => ${last?.type === "error" ? last.code : last?.type ?? "no last word"}`;
}
