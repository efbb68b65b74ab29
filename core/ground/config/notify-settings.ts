import { isAbsolute } from "../platform/files/paths.ts";

/** Reasons to call a person. */
export const noticeKinds = ["request", "held", "ended"] as const;

/** One of {@link noticeKinds}. */
export type NoticeKind = (typeof noticeKinds)[number];

/** How a person is called who does not look: `notify:` of the host manifest. One of `run` and `url` is there. */
export interface NotifySettings {
  /** Program and its arguments; gets a notice as JSON on standard input. */
  run?: string[];
  /** Address to which a notice is posted as JSON. */
  url?: string;
  /** Headers of each post; a value may refer to a secret as `${secret:NAME}`. */
  headers: Record<string, string>;
  /** How long something waits without an answer before a person is called. Milliseconds. */
  after_ms: number;
  on: NoticeKind[];
  /** Posts titles, and what agents ask, to `url` too. */
  content: boolean;
}

/** Defaults for settings that the host manifest omits. */
export const defaultNotifySettings: Omit<NotifySettings, "run" | "url"> = {
  headers: {},
  after_ms: 30_000,
  on: ["request", "held"],
  content: false,
};

/** Files that the host runs to call a person: what is named with its whole path, also as an argument of a shell. */
export function noticePaths(settings: Pick<NotifySettings, "run"> | undefined): string[] {
  return settings?.run?.filter(isAbsolute) ?? [];
}
