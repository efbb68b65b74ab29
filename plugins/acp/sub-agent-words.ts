import type { AdapterEvent } from "bulkhead/plugin-sdk";

/** Most characters that are held back. */
const most = 4000;

/** Joins the pieces of what sub-agents say to messages, which are told as progress. */
export class SubAgentWords {
  #speaker = "";
  #text = "";

  /** Takes a piece; returns what is told now, because another one speaks or much was said. */
  say(speaker: string, text: string): AdapterEvent[] {
    const before = speaker === this.#speaker && this.#text.length < most ? [] : this.said();
    this.#speaker = speaker;
    this.#text += text;
    return before;
  }

  /** Returns what is held back. */
  said(): AdapterEvent[] {
    const text = this.#text.trim();
    this.#text = "";
    return text === "" ? [] : [{ type: "progress", message: `${this.#speaker} ${text}` }];
  }
}
