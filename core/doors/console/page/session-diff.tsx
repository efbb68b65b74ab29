import { noticeOf, useConsole } from "./console-context.ts";
import { DiffText } from "./diff-text.tsx";
import { Failure, useLoaded } from "./parts.tsx";

/** Changes in a session's worktree, read when it is shown. */
export function SessionDiffText({ id }: { id: string }) {
  const { api } = useConsole();
  const [loaded] = useLoaded(
    (signal) => api.get<{ patch?: string }>(`/v1/sessions/${encodeURIComponent(id)}/diff`, {}, signal),
    [id],
  );
  if (loaded === undefined) return <p class="quiet-line">Reading …</p>;
  if ("failed" in loaded) return <Failure {...noticeOf(loaded.failed)} />;
  const { patch = "" } = loaded.value;
  return patch === "" ? <p class="quiet-line">No text was changed.</p> : <DiffText of={patch} />;
}
