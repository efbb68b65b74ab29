import { useState } from "preact/hooks";
import type { HeldChange } from "../../../../../plugin-sdk/held.ts";
import type { AppliedWorkspace } from "../../../../../plugin-sdk/workspace.ts";
import { RefusedCall } from "../api.ts";
import { noticeOf, useConsole } from "../console-context.ts";
import { goTo } from "../route.ts";

/** Applies a worktree, and keeps what stood against it: a conflict, and changes that can run programs. */
export function useApply(id: string) {
  const found = useConsole();
  const [conflict, setConflict] = useState<RefusedCall | null>(null);
  const [held, setHeld] = useState<HeldChange[]>([]);
  /** Returns whether the changes are in the repository. */
  const apply = async (): Promise<boolean> => {
    setConflict(null);
    try {
      const path = `/v1/sessions/${encodeURIComponent(id)}/apply`;
      const applied = await found.api.send<AppliedWorkspace>("POST", path);
      found.waiting.touch();
      setHeld(applied.held);
      const left = applied.held.length === 0 ? "" : " What can run programs waits for you.";
      found.notice.value = { text: `The changes are in the repository, not staged.${left}`, isFailure: false };
      if (applied.held.length === 0) goTo("review");
      return true;
    } catch (error) {
      found.waiting.touch();
      if (error instanceof RefusedCall && error.status !== 0) setConflict(error);
      else found.notice.value = noticeOf(error);
      return false;
    }
  };
  return { apply, conflict, held, setHeld };
}
