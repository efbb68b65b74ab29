import type { Breadth } from "../../../plugin-sdk/plugin-report.ts";

/** Why a permission is more than it seems. */
export interface Broadness {
  breadth: Exclude<Breadth, "bounded">;
  /** One sentence. */
  why: string;
}
