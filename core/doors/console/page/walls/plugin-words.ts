import type { ExplainedPermission } from "../../../../../plugin-sdk/plugin-report.ts";

/** Kind of thing that a permission is about, for its picture. */
export type WallKind = "file" | "net" | "run" | "key";

/** One part of a sentence about a plugin: a verb and its objects. */
export interface Clause {
  kind: WallKind;
  verb: string;
  targets: string[];
}

/** A plugin's permissions as two sentences. */
interface WallWords {
  may: Clause[];
  /** Refused of what it asks for. */
  mayNot: Clause[];
}

type Row = Pick<ExplainedPermission, "permission" | "target" | "binary" | "requested" | "denied" | "effective">;

/** Puts rows of permissions into words. A row that is allowed in part is in both sentences. */
export function wallWords(rows: readonly Row[]): WallWords {
  const known = rows.filter(({ permission }) => permission !== "limits");
  const may = known.flatMap((row) => row.effective.map((target) => ({ ...row, target })));
  const mayNot = known.filter((row) => (row.requested || row.denied) && !isWhole(row));
  return { may: clausesOf(may), mayNot: clausesOf(mayNot) };
}

/** Whether all of a row is allowed. */
export function isWhole({ effective, target }: Pick<Row, "effective" | "target">): boolean {
  return effective.length === 1 && effective[0] === target;
}

const verbs: Readonly<Record<string, { kind: WallKind; verb: string }>> = {
  read: { kind: "file", verb: "read" },
  write: { kind: "file", verb: "change" },
  run: { kind: "run", verb: "run" },
  mcp_servers: { kind: "run", verb: "hand MCP servers to" },
  net: { kind: "net", verb: "reach" },
  env: { kind: "key", verb: "see" },
  run_env: { kind: "key", verb: "hand on" },
  secrets: { kind: "key", verb: "use the secret" },
  kv: { kind: "file", verb: "keep" },
};

function clausesOf(rows: readonly Pick<Row, "permission" | "target" | "binary">[]): Clause[] {
  const targets = new Map<string, string[]>();
  for (const row of rows) {
    const { permission } = row;
    const found = targets.get(permission) ?? [];
    const word = targetWord(row);
    if (!found.includes(word)) found.push(word);
    targets.set(permission, found);
  }
  const [read, write] = [targets.get("read"), targets.get("write")];
  const isBoth = read !== undefined && read.join("\n") === write?.join("\n");
  return Object.entries(verbs).flatMap(([permission, { kind, verb }]) => {
    const own = targets.get(permission);
    if (own === undefined || isBoth && permission === "write") return [];
    return [{ kind, verb: isBoth && permission === "read" ? "read and change" : verb, targets: own }];
  });
}

function targetWord({ permission, target, binary }: Pick<Row, "permission" | "target" | "binary">): string {
  if (permission === "kv") return "notes of its own";
  if (permission === "run_env" && binary !== undefined && target.startsWith(`${binary} `)) {
    return `${target.slice(binary.length + 1)} to ${binary}`;
  }
  return permission === "read" || permission === "write" ? placeWord(target) : target;
}

function placeWord(target: string): string {
  if (target === "workdir") return "the working folder";
  if (target === "data") return "its own data";
  if (target === "plugin") return "its own package";
  if (target.startsWith("workdir:")) return target.slice("workdir:".length);
  if (target.startsWith("config:")) return `the settings of ${target.slice("config:".length)}`;
  return target;
}
