import type { TimelineRow, UsedRow } from "../fold.ts";
import { durationText } from "../parts.tsx";
import { plainText } from "../shown-text.ts";
import { FoldRow, LongText, Text } from "../text.tsx";

/** Permissions that were used, in one line that opens. */
export function UsedText({ of: { used } }: { of: UsedRow }) {
  const counts = new Map<string, number>();
  for (const { permission } of used) counts.set(permission, (counts.get(permission) ?? 0) + 1);
  const line = `Allowed: ${[...counts].map(([name, count]) => count === 1 ? name : `${name} × ${count}`).join(", ")}`;
  return <FoldRow class="quiet" line={line}>{() => <UsedList of={used} />}</FoldRow>;
}

/** Permissions that were used while a row's work went on, inside of that row. */
export function Allowed({ of: rows }: { of: readonly UsedRow[] }) {
  if (rows.length === 0) return null;
  return (
    <div class="part">
      <h4>Allowed meanwhile</h4>
      <UsedList of={rows.flatMap(({ used }) => used)} />
    </div>
  );
}

function UsedList({ of: used }: { of: UsedRow["used"] }) {
  return (
    <ul class="plain-list">
      {used.map(({ permission, target }) => (
        <li>
          <b>{permission}</b>{" "}
          <code>
            <Text of={plainText(target, 400)} />
          </code>
        </li>
      ))}
    </ul>
  );
}

/** A program with its end, in one line that opens. */
export function ProcessText({ of: { spawned, exited, allowed } }: { of: Extract<TimelineRow, { kind: "process" }> }) {
  const end = exited === null
    ? ""
    : exited.signal !== null
    ? `ended by ${exited.signal}`
    : `exit ${exited.exit_code} · ${durationText(exited.duration_ms)}`;
  const line = (
    <>
      Program <code class="one-line">{plainText(spawned.argv.join(" "), 160)}</code> {end}
    </>
  );
  return (
    <FoldRow class="quiet" line={line}>
      {() => (
        <>
          <LongText of={spawned.argv.join("\n")} />
          <p>Process {spawned.pid}</p>
          <Allowed of={allowed} />
        </>
      )}
    </FoldRow>
  );
}
