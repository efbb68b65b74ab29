import type { Rule } from "../rule.ts";
import { nameOf, ordinary, type Take } from "../seen.ts";

/** The host counts what git shows; a claim beyond that misleads people. */
export const claimsRule: Rule = {
  id: "claims",
  title: "Files that the adapter says are changed are changed.",
  check(seen) {
    return ordinary(seen).flatMap((take) =>
      claimed(take).filter((path) => !take.changed.includes(path)).map((path) => ({
        message: `It says that "${path}" was changed, and it was not.`,
        session: nameOf(take),
      }))
    );
  },
};

function claimed({ events, result }: Take): string[] {
  const workdir = result?.requested.workdir ?? "";
  const paths = events.flatMap((event) =>
    event.type === "file_change" ? [event.path] : event.type === "completed" ? event.files_changed : []
  );
  return [...new Set(paths.map((path) => path.replace(`${workdir}/`, "").replace(/^\.\//, "")))];
}
