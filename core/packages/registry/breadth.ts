/** Real reach of a permission, apart from its name: all that the operator can do, more than it seems, or itself. */
export type Breadth = "everything" | "much" | "bounded";

/** Why a permission is more than it seems. */
export interface Broadness {
  breadth: Exclude<Breadth, "bounded">;
  /** One sentence. */
  why: string;
}
