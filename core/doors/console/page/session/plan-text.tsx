import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { ShownEvent } from "../shown-event.ts";
import { plainText } from "../shown-text.ts";
import { FoldRow, Text } from "../text.tsx";
import type { PlanPlace } from "./fold-places.ts";

type Plan = Extract<ShownEvent["event"], { type: "plan" }>;

const Newest = createContext<PlanPlace | undefined>(undefined);

/** Gives rows the place of their newest plan. */
export const PlanProvider = Newest.Provider;

/** A plan in one line with the step at which it is; the newest one for all of its updates. */
export function PlanRow({ event, seq }: { event: Plan; seq: number }) {
  const newest = useContext(Newest);
  const updates = newest?.seq === seq ? newest.updates ?? 0 : 0;
  const step = event.entries.find(({ status }) => status === "in_progress");
  const line = (
    <>
      <PlanHead of={event} />
      {step !== undefined && <span class="one-line">{plainText(step.content, 160)}</span>}
      {updates > 1 && <span class="tool-end">{updates.toLocaleString("en")} updates</span>}
      {newest !== undefined && newest.seq !== seq && <span class="tool-end">as it was here</span>}
    </>
  );
  return <FoldRow class="quiet plan" line={line}>{() => <PlanSteps of={event} />}</FoldRow>;
}

/** A plan with all its steps. */
export function PlanText({ event }: { event: Plan }) {
  return (
    <div class="plan">
      <p class="plan-head">
        <PlanHead of={event} />
      </p>
      <PlanSteps of={event} />
    </div>
  );
}

function PlanHead({ of: { entries } }: { of: Plan }) {
  const done = entries.filter(({ status }) => status === "completed").length;
  return (
    <span>
      <span class="tag">Plan</span> {done} of {entries.length} done
    </span>
  );
}

function PlanSteps({ of: { entries } }: { of: Plan }) {
  return (
    <ol>
      {entries.map(({ content, status }) => (
        <li class={`step-${status}`}>
          <span aria-hidden="true">{status === "completed" ? "✓" : status === "in_progress" ? "▸" : "·"}</span>
          <span>
            <Text of={content} />
            <span class="hidden">({status.replace("_", " ")})</span>
          </span>
        </li>
      ))}
    </ol>
  );
}
