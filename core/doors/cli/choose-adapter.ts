import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { type NamedPlugin, unknownAdapter } from "../../sessions/routing/unknown-adapter.ts";

/** Options of {@link chooseAdapter}. */
interface ChooseAdapterOptions {
  /** From the command line: an id, several with commas, or `auto`. */
  given: string | undefined;
  plugins: readonly NamedPlugin[];
  routing: HostManifest["routing"] | undefined;
}

/**
 * Returns the wanted adapter: an id, a chain of ids or `auto`, from the command line or `routing.agent`. For `auto`
 * with a single enabled adapter it is that one, with no agents to ask first.
 * @throws {BulkheadError} `unknown_adapter` for an id that no enabled adapter has; `blocked_plugin`
 */
export function chooseAdapter({ given, plugins, routing }: ChooseAdapterOptions): string | string[] {
  const enabled = plugins.filter((plugin) => plugin.enabled).map((plugin) => plugin.id);
  const wanted = given?.split(",") ?? [routing?.agent ?? "auto"].flat();
  const [first = "auto", ...others] = wanted;
  if (others.length === 0 && first === "auto") return enabled.length === 1 ? enabled[0]! : "auto";
  // A chain goes on without one that cannot be used now; the session tells why.
  const passed = others.length === 0 ? [] : plugins.flatMap(({ id, stopped }) => stopped === undefined ? [] : [id]);
  const unknown = wanted.find((id) => !enabled.includes(id) && !passed.includes(id));
  if (unknown !== undefined) throw unknownAdapter(unknown, plugins);
  return others.length === 0 ? first : wanted;
}
