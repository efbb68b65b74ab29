import type { Breadth } from "../../../plugin-sdk/plugin-report.ts";

/** Why a permission is more than it seems. */
export interface Broadness {
  breadth: Exclude<Breadth, "bounded">;
  /** One sentence. */
  why: string;
}

/** It amounts to everything that the user can do. */
export function everything(why: string): Broadness {
  return { breadth: "everything", why };
}

/** It is more than it seems. */
export function much(why: string): Broadness {
  return { breadth: "much", why };
}
