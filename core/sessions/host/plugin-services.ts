import type { Registry, RegistryProblem } from "../../packages/registry/registry.ts";
import { stoppedPlugins, unknownAdapter } from "../routing/unknown-adapter.ts";
import { ServedPlugin, type ServedPluginDeps } from "./served-plugin.ts";

interface PluginServicesDeps extends ServedPluginDeps {
  registry: Pick<Registry, "get" | "list" | "problems">;
}

/** The plugins in service in one host, each with its script and its workers from its first use on. */
export class PluginServices {
  readonly #deps: PluginServicesDeps;
  readonly #inUse = new Map<string, ServedPlugin>();
  /** Services of plugins that a reload removed or changed; their sessions may still run. */
  readonly #retired = new Set<ServedPlugin>();

  constructor(deps: PluginServicesDeps) {
    this.#deps = deps;
  }

  /**
   * Returns the service of an enabled plugin as the registry has it now.
   * @throws {BulkheadError} `unknown_adapter`
   */
  of(id: string): ServedPlugin {
    const known = this.#inUse.get(id);
    const plugin = this.#deps.registry.get(id);
    if (known && known.plugin === plugin) return known;
    if (!plugin?.enabled) {
      throw unknownAdapter(id, [...this.#deps.registry.list(), ...stoppedPlugins(this.#deps.registry.problems)]);
    }
    const service = new ServedPlugin(plugin, this.#deps);
    this.#inUse.set(id, service);
    return service;
  }

  /** Returns the service of a plugin that was used already. */
  find(id: string): ServedPlugin | undefined {
    return this.#inUse.get(id);
  }

  /** Returns the enabled plugins whose code could not be loaded when that was tried last. */
  problems(): RegistryProblem[] {
    return [...this.#inUse].flatMap(([id, { plugin, loadFault: error }]) =>
      error !== null && this.#deps.registry.get(id) === plugin
        ? [{ id, folder: plugin.folder, error, unavailable: true }]
        : []
    );
  }

  /** Returns the ids of the plugins whose code has changed since it was loaded; sorted. */
  async outdated(): Promise<string[]> {
    return await this.#idsOf((service) => service.isOutdated());
  }

  /** Returns the ids of the plugins whose files look different from when they were loaded; sorted. */
  async edited(): Promise<string[]> {
    return await this.#idsOf((service) => service.isEdited());
  }

  async #idsOf(fits: (service: ServedPlugin) => Promise<boolean>): Promise<string[]> {
    const found = await Promise.all([...this.#inUse].map(async ([id, service]) => (await fits(service)) ? [id] : []));
    return found.flat().sort();
  }

  /** Ends a plugin's workers and so its sessions. */
  async remove(id: string): Promise<void> {
    const service = this.#inUse.get(id);
    this.#inUse.delete(id);
    await service?.pool.close(`Plugin "${id}" was taken out of service.`);
  }

  /** Gives new sessions another service; running ones keep theirs until `ended` settles. */
  retire(id: string, ended: Promise<void>): void {
    const service = this.#inUse.get(id);
    if (service === undefined) return;
    this.#inUse.delete(id);
    this.#retired.add(service);
    void ended.then(() => service.pool.close()).finally(() => this.#retired.delete(service));
  }

  /** Resolves when no script is being built. */
  async settled(): Promise<void> {
    await Promise.all(this.#all().map((service) => service.settled()));
  }

  /** Ends all workers. Never rejects. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#all().map(({ pool }) => pool.close()));
  }

  #all(): ServedPlugin[] {
    return [...this.#inUse.values(), ...this.#retired];
  }
}
