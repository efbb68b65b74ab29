import type { PermissionOption } from "../../../plugin-sdk/events.ts";

/** One thing that waits for a person. */
export interface WaitingItem {
  kind: "permission" | "question" | "grant" | "quarantine" | "conflict" | "held";
  /** The same for the same thing, for as long as it waits. */
  id: string;
  /** RFC 3339, UTC; null where it is not known. */
  at: string | null;
  deadline: string | null;
  /** The wait that its session asked for, where a limit of the operator cut it; null elsewhere. */
  deadline_cut_from_ms: number | null;
  session_id: string | null;
  /** Folder of its session; null where it has none. */
  workdir: string | null;
  adapter_id: string | null;
  plugin_id: string | null;
  title: string;
  /** Tool that a permission is asked for; null elsewhere. */
  tool: string | null;
  text: string;
  /** A command line that settles it; null: it is answered through the API. */
  command: string | null;
  /** Arguments of a request's tool; {@link RefusedGrants}; paths and worktree of a conflict; held changes. */
  input: unknown;
  request_id: string | null;
  choices: PermissionOption[];
  hint: string | null;
}

/** Grants that sessions of a plugin were refused, those that were refused most first. */
export interface RefusedGrants {
  grants: {
    permission: string;
    target: string;
    /** Times it was refused, and in how many sessions. */
    times: number;
    sessions: number;
    /** Event of the newest refusal. */
    session_id: string;
    seq: number;
    at: string;
  }[];
}

/** Fields of an item that is no request of a session. */
export const noRequest: Pick<WaitingItem, "tool" | "deadline" | "deadline_cut_from_ms" | "request_id" | "choices"> = {
  tool: null,
  deadline: null,
  deadline_cut_from_ms: null,
  request_id: null,
  choices: [],
};
