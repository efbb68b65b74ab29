import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { attempt, useConsole } from "../console-context.ts";
import { useFocusBack } from "../focus.ts";
import { May } from "../may.tsx";
import { Sure } from "../parts.tsx";
import { plainText } from "../shown-text.ts";
import { GrantForm } from "./grant-form.tsx";
import type { WantedGrant } from "./wall-facts.ts";
import { WantedText } from "./wall-icon.tsx";

interface GrantActsProps {
  pluginId: string;
  grant: WantedGrant;
  /** Words beside its buttons; default: the permission and its target. */
  head?: ComponentChildren;
  /** More about it, beside the target. */
  note?: string;
  changed(): unknown;
}

/** A grant that a session was refused, with the ways to settle it: grant it, or deny it so that no one is asked again. */
export function GrantActs({ pluginId, grant: { permission, target }, head, note, changed }: GrantActsProps) {
  const found = useConsole();
  const [asks, setAsks] = useState(false);
  const [isBusy, setIsBusy] = useState(false);
  const button = useFocusBack(asks);
  const deny = async () => {
    setIsBusy(true);
    const path = `/v1/plugins/${encodeURIComponent(pluginId)}/grants`;
    const told = `${pluginId} is denied: ${permission} ${plainText(target, 200)}`;
    const body = { permission, target, under: "deny" };
    if (await attempt(found, told, () => found.api.send("POST", path, body))) await changed();
    setIsBusy(false);
  };
  return (
    <div class="grant-acts">
      <div class="permission">
        {head ?? <WantedText of={{ permission, target }} />}
        {note !== undefined && <span class="quiet-line">{note}</span>}
        {isBusy && <span class="quiet-line" role="status">Denying it …</span>}
        {!asks && !isBusy && (
          <May right="admin">
            <span class="permission-act">
              <button ref={button} type="button" onClick={() => setAsks(true)}>Grant …</button>
              <Sure label="Deny for good" question="Deny it to every session?" act={() => deny()} />
            </span>
          </May>
        )}
      </div>
      {asks && (
        <GrantForm
          plugin={{ id: pluginId, name: pluginId }}
          permission={permission}
          target={target}
          close={() => setAsks(false)}
          changed={changed}
        />
      )}
    </div>
  );
}
