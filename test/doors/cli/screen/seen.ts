/** Plays what was written to a terminal (ECMA-48, as far as the command line uses it), and returns the rows a person sees. */
export function seen(written: string, columns = 80): string[] {
  const rows: string[][] = [[]];
  const at = { row: 0, column: 0 };
  // deno-lint-ignore no-control-regex
  for (const [part] of written.matchAll(/\u001b\[[?\d;]*[A-Za-z]|\r|\n|[^\r\n\u001b]/gu)) {
    const code = part.startsWith("\u001b[") ? part.at(-1) : null;
    if (part === "\r") at.column = 0;
    else if (part === "\n") [at.row, at.column] = [at.row + 1, 0];
    else if (code === "A") at.row = Math.max(0, at.row - Number(part.slice(2, -1) || 1));
    else if (code === "K") rows[at.row]?.splice(at.column);
    else if (code === "J") {
      rows[at.row]?.splice(at.column);
      rows.splice(at.row + 1);
    } else if (code === null) {
      if (at.column === columns) [at.row, at.column] = [at.row + 1, 0];
      while (rows.length <= at.row) rows.push([]);
      const row = rows[at.row]!;
      while (row.length < at.column) row.push(" ");
      row[at.column++] = part;
    }
    while (rows.length <= at.row) rows.push([]);
  }
  return rows.map((row) => row.join("").trimEnd());
}
