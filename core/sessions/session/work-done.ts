import type { ErrorData } from "../../../plugin-sdk/errors.ts";

/** Work of an agent before it failed. */
export interface WorkDone {
  tool_calls: number;
  /** Paths, relative to the working directory. */
  changed: string[];
}

const shownPaths = 20;

/** Explains in an error why the host did not retry: the agent would do its work a second time on top of the first. */
export function withWork(error: ErrorData, { tool_calls, changed }: WorkDone): ErrorData {
  const calls = tool_calls === 1 ? "made 1 tool call" : `made ${tool_calls} tool calls`;
  const files = changed.length === 1 ? "changed 1 file" : `changed ${changed.length} files`;
  const did = [...(tool_calls > 0 ? [calls] : []), ...(changed.length > 0 ? [files] : [])].join(" and ");
  return {
    ...error,
    message: `${error.message} It was not tried again, because the agent had ${did} already.`,
    hint:
      "Check the changes, then run it again: with retry: always on top of them, or with workspace: worktree from the start.",
    details: { ...error.details, tool_calls, changed: changed.slice(0, shownPaths) },
  };
}
