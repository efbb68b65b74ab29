import { useEffect, useState } from "preact/hooks";
import { attemptAtField, useConsole } from "../console-context.ts";
import { onEscape, useFocusInto } from "../focus.ts";
import { Ago, Failed } from "../parts.tsx";
import { addressOf } from "../route.ts";
import { plainText } from "../shown-text.ts";
import { Text } from "../text.tsx";
import type { ExplainedPlugin } from "../../../../../plugin-sdk/plugin-report.ts";
import type { GrantPreview, WantedGrant } from "./wall-facts.ts";

interface GrantFormProps {
  plugin: Pick<ExplainedPlugin, "id" | "name">;
  permission: string;
  target: string;
  /** Row of the plugin's permissions that a person asked to grant; absent: the target itself. */
  row?: WantedGrant;
  /** Replaces a wider grant; null: adds to the others. */
  instead?: ((target: string) => Promise<void>) | null;
  close: () => void;
  /** Resolves once the page shows the new state, so that the form does not leave the old one behind. */
  changed: () => unknown;
}

/** Time without a key after which a changed target is tried. Milliseconds. */
const restMs = 300;

/** Shows what a grant would do, and gives it. The target may be narrowed first. */
export function GrantForm({ plugin, permission, target: asked, row, instead = null, close, changed }: GrantFormProps) {
  const found = useConsole();
  const [target, setTarget] = useState(asked);
  const [isBusy, setIsBusy] = useState(false);
  const [refused, setRefused] = useState<unknown>(null);
  const tried = useTrial({ id: plugin.id, permission, target });
  const give = async () => {
    setIsBusy(true);
    const path = `/v1/plugins/${encodeURIComponent(plugin.id)}/grants`;
    const told = `${plugin.name} may now: ${permission} ${plainText(target, 200)}`;
    const isDone = await attemptAtField(setRefused, async () => {
      await (instead === null ? found.api.send("POST", path, { permission, target }) : instead(target));
      found.notice.value = { text: told, isFailure: false };
      await changed();
    });
    setIsBusy(false);
    if (isDone) close();
  };
  const onSubmit = (event: Event) => (event.preventDefault(), void give());
  return (
    <form class="grant-form" onSubmit={onSubmit} onKeyDown={onEscape(close)}>
      <TargetField label={labelOf(permission, instead !== null)} value={target} refused={refused} change={setTarget} />
      {tried === undefined && <p class="quiet-line" role="status">Trying it on the history …</p>}
      {tried !== undefined && "failed" in tried && <Failed of={tried.failed} />}
      {tried !== undefined && "value" in tried && (
        <>
          {instead === null && <Allows of={tried.value.allows} row={row ?? { permission, target }} />}
          <Preview of={tried.value} />
        </>
      )}
      <div class="dialog-actions">
        <button type="button" onClick={close}>Cancel</button>
        <button type="submit" class="primary" disabled={tried === undefined || isBusy}>
          {instead === null ? "Grant" : "Narrow"}
        </button>
      </div>
    </form>
  );
}

interface Trial {
  id: string;
  permission: string;
  target: string;
}

/** Tries a target when it rests; undefined until the host has answered about just this one. */
function useTrial({ id, permission, target }: Trial): { value: GrantPreview } | { failed: unknown } | undefined {
  const { api } = useConsole();
  const [told, setTold] = useState<{ of: string; answer: { value: GrantPreview } | { failed: unknown } }>();
  useEffect(() => {
    let isOver = false;
    const take = (answer: { value: GrantPreview } | { failed: unknown }) => isOver || setTold({ of: target, answer });
    const timer = setTimeout(() => {
      const path = `/v1/plugins/${encodeURIComponent(id)}/grants/preview`;
      api.send<GrantPreview>("POST", path, { permission, target })
        .then((value) => take({ value }), (failed: unknown) => take({ failed }));
    }, told === undefined ? 0 : restMs);
    return () => (isOver = true, clearTimeout(timer));
  }, [id, permission, target]);
  return told?.of === target ? told.answer : undefined;
}

function labelOf(permission: string, narrows: boolean): string {
  return narrows ? `Allow no more of ${permission} than` : `Grant ${permission}`;
}

/** Says what a grant allows besides the row that a person asked for, or that it allows nothing. */
function Allows(
  { of: rows, row }: { of: readonly WantedGrant[]; row: WantedGrant },
) {
  if (rows.length === 0) {
    return (
      <p class="also">
        <b>This changes nothing:</b> the manifest does not ask for it, a denial takes it away, or it is allowed already.
      </p>
    );
  }
  const others = rows.filter(({ permission, target }) => permission !== row.permission || target !== row.target);
  if (others.length === 0) return null;
  const words = others.slice(0, 12).map(({ permission, target }) => `${permission} ${plainText(target, 200)}`);
  return (
    <p class="also">
      <b>{others.length === rows.length ? "This allows:" : "This also allows:"}</b> <Text of={words.join(", ")} />
      {others.length > 12 && ` and ${others.length - 12} more`}
    </p>
  );
}

interface TargetFieldProps {
  label: string;
  value: string;
  /** Null: the host has refused nothing. */
  refused: unknown;
  change: (value: string) => void;
}

function TargetField({ label, value, refused, change }: TargetFieldProps) {
  return (
    <>
      <label>
        {label}
        <input
          ref={useFocusInto<HTMLInputElement>()}
          type="text"
          required
          value={value}
          aria-invalid={refused !== null}
          onInput={({ currentTarget }) => change(currentTarget.value)}
        />
        <small>Make it as narrow as you can: one host instead of a domain, one folder instead of all.</small>
      </label>
      {refused !== null && <Failed of={refused} />}
    </>
  );
}

const looks = { allowed: "tag-done", refused: "tag-failed", unclear: "tag-waiting" } as const;

function Preview({ of: { allowed, unclear, newly_allowed, searched, examples } }: { of: GrantPreview }) {
  if (searched === 0) return <p class="quiet-line" role="status">The history has no such call to try it on.</p>;
  return (
    <div class="preview" role="status">
      <p>
        <b>Of {searched === 1 ? "1 call" : `${searched.toLocaleString("en")} calls`} in the history</b> it allows{" "}
        <b>{allowed.toLocaleString("en")}</b>, of which <b>{newly_allowed.toLocaleString("en")}</b>{" "}
        {newly_allowed === 1 ? "was" : "were"} denied then.
        {unclear > 0 && ` For ${unclear.toLocaleString("en")} it depends on the arguments, which the history lacks.`}
      </p>
      <details class="quiet" open={examples.length <= 3}>
        <summary>{examples.length === 1 ? "The call" : `${examples.length} of these calls`}</summary>
        <ul class="plain-list">
          {examples.slice(0, 12).map(({ session_id, seq, at, permission, target, decision }) => (
            <li>
              <span class={`tag ${looks[decision]}`}>{decision}</span> {permission}{" "}
              <code>
                <Text of={plainText(target, 200)} />
              </code>{" "}
              <a href={addressOf("sessions", session_id, seq)}>
                <Ago at={at} />
              </a>
            </li>
          ))}
        </ul>
      </details>
    </div>
  );
}
