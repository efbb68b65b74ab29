import type { AdapterEvent } from "../../../plugin-sdk/events.ts";

/** An address that a program has instead of its model's. */
interface StandIn {
  /** Name of its path, which stands in no other text. */
  name: string;
  pattern: RegExp;
  url: string;
  place: string;
}

/**
 * The addresses that an agent's programs have instead of those of their models, since the host puts the keys in. Its
 * words name them, which tells a person nothing.
 */
export class StandInAddresses {
  readonly #known: StandIn[] = [];
  #bare: RegExp | null = null;

  /** Notes that programs reach a model below `name` on this port of their own machine. */
  add(name: string, { port, url: { href } }: { port: number; url: URL }): void {
    const url = href.replace(/\/$/, "");
    const pattern = new RegExp(`(https?://)?(?:127\\.0\\.0\\.1|localhost):${port}/${name}`, "g");
    this.#known.push({ name, pattern, url, place: url.replace(/^\w+:\/\//, "") });
    this.#bare = new RegExp(`(?<![@\\w.])127\\.0\\.0\\.1:${port}(?![\\d/])`, "g");
  }

  /** Puts the models' own addresses into a text that names stand-ins, each of which has a name like no other. */
  inText(text: string): string {
    let named = text;
    for (const { name, pattern, url, place } of this.#known) {
      if (named.includes(name)) named = named.replace(pattern, (_, scheme) => scheme === undefined ? place : url);
    }
    return named;
  }

  /**
   * An event whose words name the models; the data of tools stay as they are. The same event where none is named. Of an
   * address that pieces of output split, each piece stays as it is.
   */
  inEvent(event: AdapterEvent): AdapterEvent {
    if (this.#bare === null) return event;
    switch (event.type) {
      case "output":
        return changed(event, "data", this.inText(event.data));
      case "thinking":
        return changed(event, "content", this.inText(event.content));
      case "completed":
        return event.output === undefined ? event : changed(event, "output", this.inText(event.output));
      case "progress":
      case "error":
      case "rate_limit":
        return changed(event, "message", this.#inMessage(event.message));
      default:
        return event;
    }
  }

  /** In the agent's own messages the proxy alone is the model too, where there is one. A model may speak of that address. */
  #inMessage(message: string): string {
    const named = this.inText(message);
    const [{ place } = { place: "" }, ...others] = this.#known;
    return this.#bare === null || others.some((one) => one.place !== place)
      ? named
      : named.replace(this.#bare, () => place);
  }
}

function changed<E extends AdapterEvent, K extends keyof E>(event: E, field: K, text: E[K]): E {
  return text === event[field] ? event : { ...event, [field]: text };
}
