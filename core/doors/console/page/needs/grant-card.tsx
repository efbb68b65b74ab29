import type { RefusedGrants, WaitingItem } from "../../../http/waiting-item.ts";
import { useConsole } from "../console-context.ts";
import { addressOf } from "../route.ts";
import { GrantActs } from "../walls/grant-acts.tsx";
import { NotNow } from "./not-now.tsx";

/** Grants that are shown; the others are on the plugin's own page. */
const mostShown = 6;

/** Grants that sessions of a plugin were refused: each is granted or denied for good, or all are put off. */
export function GrantCard({ item }: { item: WaitingItem }) {
  const { waiting } = useConsole();
  const id = item.plugin_id ?? "";
  const { grants } = item.input as RefusedGrants;
  return (
    <>
      {grants.slice(0, mostShown).map(({ permission, target, times, sessions }) => (
        <GrantActs
          key={`${permission} ${target}`}
          pluginId={id}
          grant={{ permission, target }}
          note={`refused ${times === 1 ? "once" : `${times} times`} in ${
            sessions === 1 ? "a session" : `${sessions} sessions`
          }`}
          changed={() => waiting.again()}
        />
      ))}
      <div class="answers quiet-answers">
        <NotNow item={item} />
        {grants[0] !== undefined && (
          <a class="button plain" href={addressOf("sessions", grants[0].session_id, grants[0].seq)}>
            Where it was refused
          </a>
        )}
        <a class="button plain" href={addressOf("walls", "plugins", id)}>
          {grants.length > mostShown
            ? `${grants.length - mostShown} more, and all its permissions`
            : "All its permissions"}
        </a>
      </div>
    </>
  );
}
