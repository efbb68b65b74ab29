import { useState } from "preact/hooks";
import type { HeldChange, InstallScripts, SettledHeld } from "../../../../plugin-sdk/held.ts";
import { attempt, useConsole } from "./console-context.ts";
import { May, useMay } from "./may.tsx";
import { Sure, toggled } from "./parts.tsx";
import { countUnsent, forgetReview } from "./review/kept-review.ts";
import { useApplyAsk } from "./review/unsent.tsx";
import { browserStorage } from "./kept-entries.ts";
import { addressOf } from "./route.ts";
import { Text } from "./text.tsx";
import type { WaitingItem } from "../../http/waiting-item.ts";

/** Held changes of a session, as an item that waits has them. */
interface HeldFacts {
  place: "inplace" | "worktree";
  held: HeldChange[];
}

/** Changes that are listed. */
const mostShown = 100;

const kindWords: Readonly<Record<HeldChange["kind"], string>> = {
  repository: "repository",
  git_settings: "git settings",
  acted_on: "acted on",
  link_out: "link",
  set_user_id: "owner's rights",
  device: "device",
  unseen: "not seen",
};

/** Names changes that can run programs, with what would start each, and packages with other install scripts. */
export function HeldList(
  { of: held, scripts = [], pick }: {
    of: readonly HeldChange[];
    scripts?: readonly InstallScripts[];
    pick?: { chosen: ReadonlySet<string>; toggle(path: string): void } | undefined;
  },
) {
  return (
    <ul class="plain-list files">
      {held.slice(0, mostShown).map(({ path, kind, change, by, why, target, files }) => (
        <li>
          {pick !== undefined && (
            <input
              type="checkbox"
              aria-label={`Select ${path}`}
              checked={pick.chosen.has(path)}
              onChange={() => pick.toggle(path)}
            />
          )} <span class="change change-deleted">{kindWords[kind]}</span>{" "}
          <code>
            <Text of={target === undefined ? path : `${path} → ${target}`} />
          </code>{" "}
          <span class="quiet-line">
            {change}
            {files !== undefined && `, ${files} ${files === 1 ? "file" : "files"}`} · <Text of={`${by}: ${why}`} />
          </span>
        </li>
      ))}
      {held.length > mostShown && <li class="quiet-line">and {held.length - mostShown} more</li>}
      {scripts.map((one) => <ScriptItem of={one} />)}
    </ul>
  );
}

function ScriptItem({ of: { path, names } }: { of: InstallScripts }) {
  return (
    <li>
      <span class="change change-modified">install</span>{" "}
      <code>
        <Text of={path} />
      </code>{" "}
      <span class="quiet-line">
        an install runs <Text of={names.join(", ")} />, which changed
      </span>
    </li>
  );
}

const dropQuestions: Readonly<Record<HeldFacts["place"], string>> = {
  inplace: "Remove them, and put back what was there?",
  worktree: "Remove them from the worktree?",
};

/** Names held changes of one session, and the ways to settle some or all of them. */
export function SettleHeld(
  { id, of: { place, held }, settled }: { id: string; of: HeldFacts; settled?: (left: HeldChange[]) => void },
) {
  const found = useConsole();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const toggle = (path: string) => setChosen(toggled(chosen, path));
  const some = held.filter(({ path }) => chosen.has(path)).map(({ path }) => path);
  const settle = async (action: "apply" | "drop") => {
    const body = { action, ...(some.length === 0 ? {} : { paths: some }) };
    const path = `/v1/sessions/${encodeURIComponent(id)}/held`;
    await attempt(found, action === "apply" ? "Applied." : "Dropped.", async () => {
      const outcome = await found.api.send<SettledHeld>("POST", path, body);
      setChosen(new Set());
      // The worktree goes with the last of them.
      if (action === "apply" && outcome.held.length === 0) forgetReview(browserStorage(), id);
      settled?.(outcome.held);
    });
    found.waiting.touch();
  };
  const endsReview = place === "worktree" && (some.length === 0 || some.length === held.length);
  const unsent = endsReview ? countUnsent(browserStorage(), [id]) : 0;
  const ask = useApplyAsk({ unsent, apply: () => settle("apply") });
  const which = some.length === 0 ? "all" : `${some.length} selected`;
  return (
    <>
      <HeldList of={held} pick={useMay("run") ? { chosen, toggle } : undefined} />
      <div class="answers">
        <May right="run">
          <button type="button" onClick={ask.begin}>Apply {which}</button>
          <Sure label={`Drop ${which}`} question={dropQuestions[place]} act={() => settle("drop")} />
        </May>
        {place === "worktree" && <a class="button" href={addressOf("review", id)}>Review</a>}
      </div>
      {ask.dialog}
    </>
  );
}

/** Ways to settle held changes that wait. */
export function HeldAnswer({ item: { session_id, input } }: { item: WaitingItem }) {
  return <SettleHeld id={session_id ?? ""} of={input as HeldFacts} />;
}
