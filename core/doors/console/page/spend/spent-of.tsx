interface SpentProps {
  /** The budget, for the name of the bar. */
  name: string;
  spent: number;
  whole: number;
  /** Writes an amount. */
  text: (amount: number) => string;
  unit?: string;
  /** Whether more may be spent than is known. */
  isLeast?: boolean;
}

/** A part of a budget that is spent, in words and a bar. */
export function SpentOf({ name, spent, whole, text, unit = "", isLeast = false }: SpentProps) {
  const words = `${text(spent)} of ${text(whole)}${unit}`;
  return (
    <p class={spent >= whole ? "spent-of spent" : "spent-of"}>
      {isLeast && "At least "}
      {words}
      <meter max={whole > 0 ? whole : 1} value={whole > 0 ? spent : 1} aria-label={`${name}: ${words}`} />
    </p>
  );
}
