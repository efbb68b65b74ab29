/** One place of a file before and after a change. */
interface ChangedPlace {
  old_text: string;
  new_text: string;
  /** Line of the new text, from 1; null where the diff does not say. */
  line: number | null;
}

/** Returns the changed places of one file's unified diff, with their context; empty where the text has no hunk. */
export function changedPlaces(diff: string): ChangedPlace[] {
  const places: { before: string[]; after: string[]; line: number | null }[] = [];
  for (const line of diff.split("\n")) {
    const hunk = /^@@(?: -\d+(?:,\d+)? \+(\d+)(?:,\d+)?)?.*@@/.exec(line);
    if (hunk) {
      places.push({ before: [], after: [], line: hunk[1] === undefined ? null : Math.max(1, Number(hunk[1])) });
      continue;
    }
    const place = places.at(-1);
    if (place === undefined) continue;
    const text = line.slice(1);
    if (line[0] !== "+" && line[0] !== "\\" && line !== "") place.before.push(text);
    if (line[0] !== "-" && line[0] !== "\\" && line !== "") place.after.push(text);
  }
  return places.map(({ before, after, line }) => ({ old_text: before.join("\n"), new_text: after.join("\n"), line }));
}
