import { useState } from "preact/hooks";
import type { TestRun } from "../../../../ground/checks/test-commands.ts";
import { useConsole } from "../console-context.ts";
import { useLoaded } from "../parts.tsx";
import { addressOf } from "../route.ts";
import { MarkdownText } from "../rows/markdown-text.tsx";
import { Text } from "../text.tsx";

/** A session's end, as `GET /v1/sessions/{id}` shows it. */
interface Ended {
  result: { output: string } | null;
}

/** Shows the final words of an agent, and the tests that it ran. Reads them again for another `round`. */
export function SaidAndTested({ id, round }: { id: string; round: string }) {
  const { api } = useConsole();
  const path = `/v1/sessions/${encodeURIComponent(id)}`;
  const [loaded] = useLoaded(async (signal) => {
    const [session, { tests }] = await Promise.all([
      api.get<Ended>(path, {}, signal),
      api.get<{ tests: TestRun[] }>(`${path}/tests`, {}, signal),
    ]);
    return { said: session.result?.output ?? null, tests };
  }, [id, round]);
  // The diff is what a review needs: without these it is there all the same.
  if (loaded === undefined || "failed" in loaded) return null;
  const { said, tests } = loaded.value;
  return (
    <div class="said-and-tested">
      <Said of={said} />
      <section aria-label="Tests that ran">
        <h2>Tests that ran</h2>
        <TestList id={id} of={tests} />
      </section>
    </div>
  );
}

/** Characters that are shown before more is asked for. */
const mostSaid = 600;

function Said({ of: told }: { of: string | null }) {
  const [isWhole, setIsWhole] = useState(false);
  const said = told ?? "";
  const isLong = said.length > mostSaid || said.split("\n").length > 8;
  return (
    <section aria-label="What the agent said" class={isLong && !isWhole ? "said-cut" : undefined}>
      <h2>What the agent said</h2>
      {said === ""
        ? <p class="quiet-line">{told === null ? "It is at work." : "Nothing at the end."}</p>
        : <MarkdownText of={said} />}
      {isLong && (
        <button type="button" class="more" aria-expanded={isWhole} onClick={() => setIsWhole(!isWhole)}>
          {isWhole ? "Show less" : "Show all"}
        </button>
      )}
    </section>
  );
}

/** Commands of one kind that are listed: the newest. */
const mostTests = 8;

/** Test runs of a session, the newest last, each a link to its event. */
function TestList({ id, of: tests }: { id: string; of: readonly TestRun[] }) {
  if (tests.length === 0) return <p class="quiet-line">No command that looks like a test.</p>;
  const left = tests.length - mostTests;
  return (
    <ul class="plain-list test-list">
      {left > 0 && <li class="quiet-line">{left} earlier ones</li>}
      {tests.slice(-mostTests).map(({ seq, command, passed, counts }) => (
        <li>
          <TestMark passed={passed} />{" "}
          <a href={addressOf("sessions", id, seq)}>
            <code>
              <Text of={command} />
            </code>
          </a>
          {counts !== null && (
            <span class="quiet-line">
              <Text of={counts} />
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

/** How a test run ended, in a shape and a word. */
export function TestMark({ passed }: { passed: boolean | null }) {
  if (passed === null) return <span class="tag">no result</span>;
  return <span class={`tag ${passed ? "tag-done" : "tag-failed"}`}>{passed ? "✓ passed" : "✕ failed"}</span>;
}
