import { useState } from "preact/hooks";
import { attempt, noticeOf, useConsole } from "./console-context.ts";
import { Ago, Failure } from "./parts.tsx";
import { addressOf } from "./route.ts";
import { plainText } from "./shown-text.ts";
import { Text } from "./text.tsx";
import type { ExplainedPlugin } from "../../../../plugin-sdk/plugin-report.ts";
import type { GrantPreview } from "./wall-facts.ts";

interface GrantFormProps {
  plugin: Pick<ExplainedPlugin, "id" | "name">;
  permission: string;
  target: string;
  /** Says what else a target allows; absent: that is not known here. */
  also?: (target: string) => readonly string[];
  /** Replaces a wider grant; null: adds to the others. */
  instead?: ((target: string) => Promise<void>) | null;
  close: () => void;
  changed: () => void;
}

/** Tries a grant on the history, then gives it. The target may be narrowed first. */
export function GrantForm({ plugin, permission, target: asked, also, instead = null, close, changed }: GrantFormProps) {
  const found = useConsole();
  const [target, setTarget] = useState(asked);
  const [preview, setPreview] = useState<{ target: string; value: GrantPreview } | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const path = `/v1/plugins/${encodeURIComponent(plugin.id)}/grants`;
  const tryIt = async () => {
    setFailure(null);
    try {
      setPreview({ target, value: await found.api.send("POST", `${path}/preview`, { permission, target }) });
    } catch (error) {
      setFailure(error);
    }
  };
  const give = async () => {
    const act = instead ?? ((narrower: string) => found.api.send("POST", path, { permission, target: narrower }));
    if (!await attempt(found, `${plugin.name} may now: ${permission} ${target}`, () => act(target))) return;
    close();
    changed();
  };
  const isTried = preview?.target === target;
  return (
    <form class="grant-form" onSubmit={(event) => (event.preventDefault(), void (isTried ? give() : tryIt()))}>
      <TargetField label={labelOf(permission, instead !== null)} value={target} change={setTarget} />
      <Also of={also?.(target) ?? []} />
      {failure !== null && <Failure {...noticeOf(failure)} />}
      {isTried && preview !== null && <Preview of={preview.value} />}
      <GrantActions
        verb={instead === null ? "Grant" : "Narrow"}
        isTried={isTried}
        isOpen={isTried || failure !== null}
        close={close}
        tryIt={tryIt}
      />
    </form>
  );
}

function labelOf(permission: string, narrows: boolean): string {
  return narrows ? `Allow no more of ${permission} than` : `Grant ${permission}`;
}

/** Permissions that come with a grant. */
function Also({ of: rows }: { of: readonly string[] }) {
  if (rows.length === 0) return null;
  return (
    <p class="quiet-line">
      <b>This also allows:</b> <Text of={rows.slice(0, 12).map((row) => plainText(row, 200)).join(", ")} />
      {rows.length > 12 && ` and ${rows.length - 12} more`}
    </p>
  );
}

function TargetField({ label, value, change }: { label: string; value: string; change: (value: string) => void }) {
  return (
    <label>
      {label}
      <input
        type="text"
        required
        autofocus
        value={value}
        onInput={({ currentTarget }) => change(currentTarget.value)}
      />
      <small>Make it as narrow as you can: one host instead of a domain, one folder instead of all.</small>
    </label>
  );
}

function GrantActions(
  { verb, isTried, isOpen, close, tryIt }: {
    verb: string;
    isTried: boolean;
    /** It may be given now. */
    isOpen: boolean;
    close: () => void;
    tryIt: () => Promise<void>;
  },
) {
  return (
    <div class="dialog-actions">
      <button type="button" onClick={close}>Cancel</button>
      <button type="button" class={isTried ? "" : "primary"} onClick={() => void tryIt()}>
        Try it on the history
      </button>
      <button type="submit" class={isTried ? "primary" : ""} disabled={!isOpen}>{verb}</button>
    </div>
  );
}

function Preview({ of: { allowed, refused, newly_allowed, searched, examples } }: { of: GrantPreview }) {
  return (
    <div class="preview" role="status">
      <p>
        <b>Of {searched.toLocaleString("en")} calls in the history</b> it would have allowed{" "}
        <b>{allowed.toLocaleString("en")}</b>, of which <b>{newly_allowed.toLocaleString("en")}</b> were denied then;
        {" "}
        <b>{refused.toLocaleString("en")}</b> would still be refused.
      </p>
      <ul class="plain-list">
        {examples.slice(0, 12).map(({ session_id, seq, at, permission, target, decision }) => (
          <li>
            <span class={`tag ${decision === "allowed" ? "tag-done" : "tag-failed"}`}>{decision}</span> {permission}
            {" "}
            <code>
              <Text of={plainText(target, 200)} />
            </code>{" "}
            <a href={addressOf("sessions", session_id, seq)}>
              <Ago at={at} />
            </a>
          </li>
        ))}
      </ul>
    </div>
  );
}
