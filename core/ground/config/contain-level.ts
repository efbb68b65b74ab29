import type { RunPermission } from "../../../plugin-sdk/permissions.ts";

/** How far a run permission shuts its program in: the higher, the more. */
export function containLevel({ contain, contain_net }: Pick<RunPermission, "contain" | "contain_net">): number {
  if (contain_net === true) return 3;
  if (contain === "workdir") return 2;
  return contain === "off" ? 0 : 1;
}
