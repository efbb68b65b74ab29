import type { Manifest } from "../../../../plugin-sdk/manifest.ts";
import { completedWithout, mishap } from "../endings.ts";
import { garbageMarker, longMarker } from "../misbehaviour.ts";
import { type Rule, skipped } from "../rule.ts";
import type { Seen, Take, ToolMode } from "../seen.ts";

/** Rules of tools that misbehave. */
export const toolRules: readonly Rule[] = [
  // A router sends sessions to whom it takes for available.
  {
    id: "tool-missing",
    title: "Without its program or server the adapter is not available and completes nothing.",
    check({ missing, scripted, manifest }) {
      if (!scripted || missing === null) return skipped("No tool is scripted.");
      const { availability, success } = missing;
      const said = typeof availability.value === "object" && availability.value !== null
        ? Reflect.get(availability.value, "availability")
        : null;
      return [
        ...(said === "available"
          ? [{ message: `Its tool was not there, and isAvailable() says available.${advice(manifest)}` }]
          : []),
        ...(success ? [{ message: "Its tool was not there, and the session completed." }] : []),
      ];
    },
  },
  // Success of a tool cannot be assumed.
  {
    id: "tool-exits",
    title: "A tool that fails fails the session.",
    check: under(
      "exits",
      (take) => completed(take) ? "The tool said that it failed, and the session completed." : null,
    ),
  },
  // A tool of another version prints unexpected output.
  {
    id: "tool-garbage",
    title: "What the adapter does not understand is kept, or the session fails.",
    check: under(
      "garbage",
      (take) =>
        completedWithout(take, garbageMarker)
          ? "The tool printed nonsense, and the session completed without a trace of it."
          : null,
    ),
  },
  // Tools are killed while they print.
  {
    id: "tool-half-line",
    title: "A tool that stops in the middle of a line does not break the adapter.",
    check: under("half"),
  },
  // Tools print lines of such length. What a server sends as a comment may be passed over.
  {
    id: "tool-long-line",
    title: "A line of 300,000 characters comes through whole, or the session fails.",
    check: under(
      "long_line",
      (take, { script }) =>
        script.programs.length > 0 && completedWithout(take, longMarker)
          ? "The end of a long line was lost, and the session completed."
          : null,
    ),
  },
  // A megabyte in a thousand lines is nothing odd.
  { id: "tool-floods", title: "A flood of output does not break the adapter.", check: under("floods") },
  // The output of a tool before it hung is not its answer.
  {
    id: "tool-hangs",
    title: "A session whose tool hangs does not complete.",
    check: under(
      "hangs",
      (take) => completed(take) ? "The tool never came to an end, and the session completed." : null,
    ),
  },
  // A tool that was killed has no answer.
  {
    id: "tool-dies",
    title: "A session whose tool is killed does not complete.",
    check: under("dies", (take) => completed(take) ? "A signal ended the tool, and the session completed." : null),
  },
];

/** Looks at the session whose tool misbehaved so: for harm to the adapter, and for what else is wrong with it. */
function under(
  mode: ToolMode,
  wrong: (take: Take, seen: Seen) => string | null = () => null,
): Rule["check"] {
  return (seen) => {
    const take = seen.modes[mode];
    if (take === undefined) return skipped("No tool is scripted.");
    const message = mishap(take) ?? wrong(take, seen);
    return message === null ? [] : [{ message }];
  };
}

function completed({ result }: Take): boolean {
  return result?.outcome === "completed";
}

function advice({ cli }: Manifest): string {
  return cli && !cli.version && !cli.auth ? ' Say under "version" or "auth" how to look for it.' : "";
}
