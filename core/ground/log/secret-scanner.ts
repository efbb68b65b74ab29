import type { SecretForm, Spelling } from "./secret-forms.ts";

/** A form of a secret to look for, and its replacement. */
interface SoughtForm {
  form: SecretForm;
  /** Null: as many asterisks as it has units. */
  label: string | null;
}

/** Forms to look for, indexed by their first units. */
export interface SoughtForms {
  starts: readonly (readonly Start[] | undefined)[];
}

/** One way to begin a form. */
interface Start {
  sought: SoughtForm;
  way: Spelling;
  /** Units that may come second: most texts that begin like a secret differ here. */
  second: string;
}

/** Indexes forms for {@link SecretScanner}. */
export function indexForms(forms: readonly SoughtForm[]): SoughtForms {
  const starts: (Start[] | undefined)[] = new Array<undefined>(128).fill(undefined);
  for (const sought of forms) {
    const { pieces, breaks } = sought.form;
    for (const way of pieces[0] ?? []) {
      const second = way[1] ?? [...pieces[1] ?? [], ...breaks].map((next) => next[0]).join("");
      for (const unit of way[0]!) {
        const code = unit.charCodeAt(0);
        starts[code] = [...starts[code] ?? [], { sought, way, second }];
      }
    }
  }
  return { starts };
}

/** A partial match of a form. */
interface Trail {
  sought: SoughtForm;
  /** Position of its first unit in the whole text. */
  start: number;
  /** Pieces that are complete. */
  done: number;
  /** The spelling being read, and how many of its units matched; null between two pieces. */
  way: Spelling | null;
  read: number;
  /** A line break is being read, or was just read: encoders never write two in a row. */
  broken: boolean;
}

interface Hit {
  start: number;
  end: number;
  label: string | null;
}

/** Matched pieces after which a form may hold text back over a line break: so many do not match by chance. */
const surePieces = 6;

/**
 * Finds secrets in a text that comes in parts, and removes them. Holds back a possible beginning of a secret until more
 * text comes; text that overlaps with a secret is removed with it.
 */
export class SecretScanner {
  readonly #starts: SoughtForms["starts"];
  #trails: Trail[] = [];
  #hits: Hit[] = [];
  /** Text not returned yet, and the position of its first unit. */
  #held = "";
  #given = 0;
  /** Position up to which a label already replaces the text. */
  #coveredTo = 0;

  constructor({ starts }: SoughtForms) {
    this.#starts = starts;
  }

  /** Whether nothing of the text so far may begin a secret; then nothing is held back. */
  get isIdle(): boolean {
    return this.#trails.length === 0;
  }

  /** Takes the next part and returns the settled text. */
  push(text: string): string {
    const base = this.#given + this.#held.length;
    for (let index = 0; index < text.length; index++) {
      if (this.#trails.length > 0) this.#follow(text[index]!, base + index);
      const starts = this.#starts[text.charCodeAt(index)];
      if (starts === undefined) continue;
      const next = text[index + 1];
      for (const { sought, way, second } of starts) {
        if (next !== undefined && !second.includes(next)) continue;
        this.#step({ sought, start: base + index, done: 0, way, read: 0, broken: false }, base + index);
      }
    }
    this.#held += text;
    const held = this.#trails.find(holds);
    return this.#give(held?.start ?? base + text.length);
  }

  /** Ends the text and returns the rest. */
  end(): string {
    this.#trails = [];
    return this.#give(this.#given + this.#held.length);
  }

  /** Trails stay in the order of their starts. */
  #follow(unit: string, at: number): void {
    const trails = this.#trails;
    this.#trails = [];
    for (const trail of trails) {
      if (trail.way !== null) {
        if (trail.way[trail.read]!.includes(unit)) this.#step(trail, at);
        continue;
      }
      const { pieces, breaks } = trail.sought.form;
      for (const way of pieces[trail.done]!) {
        if (way[0]!.includes(unit)) this.#step({ ...trail, way, read: 0, broken: false }, at);
      }
      if (trail.broken) continue;
      for (const way of breaks) if (way[0]!.includes(unit)) this.#step({ ...trail, way, read: 0, broken: true }, at);
    }
  }

  /** Matches one more unit of a spelling. */
  #step(trail: Trail, at: number): void {
    const { sought, start, way, broken } = trail;
    const read = trail.read + 1;
    if (read < way!.length) return void this.#trails.push({ ...trail, read });
    const done = broken ? trail.done : trail.done + 1;
    if (done === sought.form.pieces.length) {
      this.#hits.push({ start, end: at + 1, label: sought.label });
    } else if (!this.#known(sought, { start, done, broken })) {
      this.#trails.push({ sought, start, done, way: null, read: 0, broken });
    }
  }

  /**
   * Spellings of different lengths can lead to the same place: without this their number would double at each piece.
   */
  #known(sought: SoughtForm, { start, done, broken }: { start: number; done: number; broken: boolean }): boolean {
    for (let index = this.#trails.length - 1; index >= 0; index--) {
      const other = this.#trails[index]!;
      if (other.start !== start) return false;
      if (other.sought === sought && other.way === null && other.done === done && other.broken === broken) return true;
    }
    return false;
  }

  #give(end: number): string {
    let text = "";
    for (const { start, end: hitEnd, label } of merged(this.#hits)) {
      if (start >= end) break;
      const from = Math.max(this.#given, this.#coveredTo);
      if (start > from) text += this.#cut(from, start);
      if (label === null) text += "*".repeat(Math.max(0, hitEnd - Math.max(start, from)));
      else if (start >= this.#coveredTo && hitEnd > from) text += label;
      this.#coveredTo = Math.max(this.#coveredTo, hitEnd);
    }
    text += this.#cut(Math.max(this.#given, this.#coveredTo), end);
    this.#held = this.#held.slice(end - this.#given);
    this.#given = end;
    this.#hits = this.#hits.filter((hit) => hit.end > end);
    return text;
  }

  #cut(from: number, to: number): string {
    return from >= to ? "" : this.#held.slice(from - this.#given, to - this.#given);
  }
}

/** Few pieces before a line break prove little, and an interactive program must not wait for the end of its line. */
function holds({ done, broken }: Trail): boolean {
  return !broken || done >= surePieces;
}

/** Merges overlapping hits into one, under the label of the longest. */
function merged(hits: readonly Hit[]): Hit[] {
  const sorted = [...hits].sort((a, b) => a.start - b.start || b.end - a.end);
  const result: (Hit & { longest: number })[] = [];
  for (const hit of sorted) {
    const last = result.at(-1);
    const length = hit.end - hit.start;
    if (last === undefined || hit.start >= last.end) {
      result.push({ ...hit, longest: length });
      continue;
    }
    last.end = Math.max(last.end, hit.end);
    if (length > last.longest) [last.longest, last.label] = [length, hit.label];
  }
  return result;
}
